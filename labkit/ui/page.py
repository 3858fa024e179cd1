"""Asks the page whether it has finished drawing, so that its work falls between two timed steps.

A browser on the same cores takes from a step what it needs to draw a chart: on two cores, a step
beside a drawing took twice its time. So the worker asks, and waits for the answer off the clock.
"""

from __future__ import annotations

import threading

import anywidget

# Two frames after the question all that came before it is painted; then the page says when it has
# nothing left to do. A hidden page draws no frames and answers late or never.
SCRIPT = """
function initialize({ model }) {
  const idle = window.requestIdleCallback ?? ((act) => setTimeout(act, 50));
  const answer = () => idle(() => model.send("idle"), { timeout: 300 });
  model.on("msg:custom", () => requestAnimationFrame(() => requestAnimationFrame(answer)));
}
export default { initialize };
"""
PATIENCE_S = 0.5  # a page that takes longer is closed, hidden or hopeless


class Page(anywidget.AnyWidget):
    """An invisible widget in a panel: the ear of the page that shows it."""

    _esm = SCRIPT

    def __init__(self) -> None:
        super().__init__(layout={"display": "none"})
        self._idle, self._patience_s = threading.Event(), PATIENCE_S
        self.on_msg(self._hear)

    def wait_until_idle(self) -> None:
        """Waits until the page has drawn what was sent so far.

        Where nothing answers (no page is open, or a cell keeps the kernel busy) it waits once, and
        then no more until something answers again.
        """
        self._idle.clear()
        self.send("idle?")
        if not self._idle.wait(self._patience_s):
            self._patience_s = 0.0

    def _hear(self, _widget, _content, _buffers) -> None:
        self._patience_s = PATIENCE_S
        self._idle.set()
