"""A Plotly figure that grows while a run goes on, and that a reloaded page finds as it is.

FigureWidget has no message for "append": each update sends whole arrays, in four messages. So
updates are few (`Pace`), carry float64 arrays (sent as raw bytes), and touch all curves at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from time import monotonic

import anywidget
import ipywidgets as w
import plotly.graph_objects as go

from ..figures import Curve

UPDATES_PER_S = 8
# A FigureWidget in a box is drawn before the box has a width, as 700 pixels, and does not see it
# change. So the page tells when the box gets another width, and when the figure is drawn in it.
TELL_WIDTH = """
function render({ model, el }) {
  const box = () => el.closest(".labkit-figure");
  let width, timer;
  const fit = () => { clearTimeout(timer); timer = setTimeout(() => model.send("fit"), 100); };
  const observer = new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) { width = contentRect.width; fit(); }
  });
  const observe = () => box() ? observer.observe(box()) : requestAnimationFrame(observe);
  const drawn = ({ detail }) => { if (box()?.contains(detail.element)) fit(); };
  document.addEventListener("plotlywidget-after-render", drawn);
  observe();
  return () => {
    observer.disconnect();
    document.removeEventListener("plotlywidget-after-render", drawn);
  };
}
export default { render };
"""


class LiveFigure(go.FigureWidget):
    """A FigureWidget whose state, when a page asks for it, is the figure as it is now.

    Plotly sends changes as they come but keeps the state of the last display for pages that open
    later; a page reloaded during a run would show an empty chart.
    """

    def get_state(self, key=None, drop_defaults=False):
        state = super().get_state(key, drop_defaults)
        if key is not None or "_layout_obj" not in vars(self):  # a part, or still being built
            return state
        now = {"_widget_data": self._data, "_widget_layout": self._layout_obj._props}
        for name, value in now.items():
            state[name] = self.trait_metadata(name, "to_json")(deepcopy(value), self)
        return state

    def framed(self) -> w.VBox:
        """The figure in a box whose width it takes, when displayed and whenever that changes."""
        box = w.VBox([self, WidthTeller(self.fit_width)])
        box.add_class("labkit-figure")
        return box

    def fit_width(self) -> None:
        """Takes the width that the page has now."""
        self.plotly_relayout({"autosize": True})

    def show_curves(self, curves: Iterable[Curve], layout: dict) -> None:
        """Gives each curve of the figure the points of the `Curve` of its name, in one update."""
        by_name = {trace.meta: trace for trace in self.data}
        with self.batch_update():
            for curve in curves:
                by_name[curve.name].update(
                    x=curve.x, y=curve.y, text=curve.text, visible=curve.visible
                )
            for path, value in layout.items():
                if self.layout[path] != value:
                    self.layout[path] = value


class WidthTeller(anywidget.AnyWidget):
    """An invisible widget beside a figure: calls `fit` when the page tells a new width."""

    _esm = TELL_WIDTH

    def __init__(self, fit: Callable[[], None]) -> None:
        super().__init__(layout={"display": "none"})
        self.on_msg(lambda _widget, _content, _buffers: fit())


class Pace:
    """Says when the next update is due: the first at once, then `UPDATES_PER_S` at most.

    Where drawing is slow there are fewer: after each, as long again goes to the run as it took.
    """

    def __init__(self, per_s: float = UPDATES_PER_S, clock=monotonic):
        self._gap_s, self._clock = 1 / per_s, clock
        self._began_s = float("-inf")
        self._next_s = float("-inf")

    def due(self) -> bool:
        now_s = self._clock()
        if now_s < self._next_s:
            return False
        self._began_s, self._next_s = now_s, now_s + self._gap_s
        return True

    def drawn(self) -> None:
        """The update that was due has been drawn."""
        now_s = self._clock()
        self._next_s = max(self._next_s, now_s + (now_s - self._began_s))
