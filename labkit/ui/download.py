"""Export buttons: a run's JSON and CSV and a PNG of its chart, or a text; saved by the browser.

The browser saves, so that it works the same on a laptop and on a remote hub. Python is asked for
the text when a button is clicked; the PNG is taken by the chart's own camera.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anywidget
import traitlets

SCRIPT = """
function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function photograph(el) {
  const panel = el.closest(".labkit-panel");
  panel?.querySelector('.modebar-btn[data-title^="Download plot"]')?.click();
}
function render({ model, el }) {
  const button = (label, title, act) => {
    const b = document.createElement("button");
    b.textContent = label;
    b.title = title;
    b.className = "lm-Widget jupyter-widgets jupyter-button widget-button";
    b.style.width = "auto";
    b.onclick = act;
    el.appendChild(b);
    return b;
  };
  el.style.display = "flex";
  const act = (kind) => () => (kind === "png" ? photograph(el) : model.send({ format: kind }));
  const buttons = model.get("kinds").map(([kind, label, title]) => button(label, title, act(kind)));
  const enable = () => buttons.forEach((b) => (b.disabled = !model.get("ready")));
  model.on("change:ready", enable);
  model.on("msg:custom", (m) => save(m.name, m.text, m.type));
  enable();
}
export default { render };
"""

TYPES = {"json": "application/json", "csv": "text/csv", "md": "text/markdown"}
OF_A_RUN = (
    ("json", "Export JSON", "The run without loss"),
    ("csv", "Export CSV", "The run as a table, one row a step"),
    ("png", "Export PNG", "A picture of the chart"),
)


class Export(anywidget.AnyWidget):
    """A button for each of `kinds`: (kind, label, title). `write(kind)` gives the text to save.

    The kind "png" is not written: it is the panel's chart.
    """

    _esm = SCRIPT
    ready = traitlets.Bool(False).tag(sync=True)
    kinds = traitlets.List().tag(sync=True)

    def __init__(
        self,
        name: str,
        write: Callable[[str], str],
        kinds: Sequence[tuple[str, str, str]] = OF_A_RUN,
    ):
        super().__init__(kinds=[list(kind) for kind in kinds])
        self._name, self._write = name, write
        self.on_msg(self._answer)

    def _answer(self, _widget, content: dict, _buffers) -> None:
        kind = content.get("format")
        if kind in TYPES:
            file = {"name": f"{self._name}.{kind}", "text": self._write(kind), "type": TYPES[kind]}
            self.send(file)
