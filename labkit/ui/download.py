"""Export buttons: the run's JSON and CSV, and a PNG of the chart, saved by the browser.

The browser saves, so that it works the same on a laptop and on a remote hub. Python is asked for
the text when a button is clicked; the PNG is taken by the chart's own camera.
"""

from __future__ import annotations

from collections.abc import Callable

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
  const buttons = [
    button("Export JSON", "The run without loss", () => model.send({ format: "json" })),
    button("Export CSV", "The run as a table, one row a step", () => model.send({ format: "csv" })),
    button("Export PNG", "A picture of the chart", () => photograph(el)),
  ];
  const enable = () => buttons.forEach((b) => (b.disabled = !model.get("ready")));
  model.on("change:ready", enable);
  model.on("msg:custom", (m) => save(m.name, m.text, m.type));
  enable();
}
export default { render };
"""

TYPES = {"json": "application/json", "csv": "text/csv"}


class Export(anywidget.AnyWidget):
    """Three buttons. `write(format)` gives the text to save, for "json" and "csv"."""

    _esm = SCRIPT
    ready = traitlets.Bool(False).tag(sync=True)

    def __init__(self, name: str, write: Callable[[str], str]):
        super().__init__()
        self._name, self._write = name, write
        self.on_msg(self._answer)

    def _answer(self, _widget, content: dict, _buffers) -> None:
        kind = content.get("format")
        if kind in TYPES:
            file = {"name": f"{self._name}.{kind}", "text": self._write(kind), "type": TYPES[kind]}
            self.send(file)
