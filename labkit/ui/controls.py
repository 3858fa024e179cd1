"""Controls that several panels share: which model, on which device, in which format.

They read and offer; they load nothing. Whether a choice fits is said below them at once, with the
bytes, and decided again when the run starts.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import ipywidgets as w

from .. import models
from .worker import Worker

OTHER = "another …"
WIDE = {"description_width": "initial"}


class ModelControls(w.VBox):
    """Model, device and dtype. `preset` is a model's name, or a `Loaded` that is used as it is."""

    def __init__(self, preset: str | models.Loaded):
        self._given = preset if isinstance(preset, models.Loaded) else None
        name = self._given.name if self._given else preset
        known = list(models.choices())
        first = name if name in known or self._given else OTHER
        names = list(dict.fromkeys([first, *known, OTHER]))
        self.model = w.Dropdown(options=names, value=first, description="Model", style=WIDE)
        self.other = w.Text(
            value="" if first == name else name,
            placeholder="Hugging Face id, or a folder",
            layout={"width": "240px"},
        )
        devices = [str(device) for device in models.devices()]
        self.device = w.Dropdown(options=devices, description="Device", style=WIDE)
        self.dtype = w.Dropdown(description="Format", style=WIDE)
        for narrow in (self.device, self.dtype):
            narrow.layout.width = "160px"
        self.note = w.HTML()
        super().__init__([w.HBox([self.model, self.other, self.device, self.dtype]), self.note])
        self._offer_dtypes()
        if self._given:
            self.device.value = str(self._given.device)
            self.dtype.value = models.dtype_name(self._given.dtype)
        self.model.observe(self._refresh, "value")
        self.device.observe(self._offer_dtypes, "value")
        self.dtype.observe(self._refresh, "value")
        self._refresh()

    @property
    def name(self) -> str:
        """The model's name as chosen or typed."""
        return self.other.value.strip() if self.model.value == OTHER else self.model.value

    @property
    def given(self) -> models.Loaded | None:
        """The model that the notebook handed over, while it is the one chosen."""
        given = self._given
        chosen = (self.name, self.device.value, self.dtype.value)
        if given and chosen == (given.name, str(given.device), models.dtype_name(given.dtype)):
            return given
        return None

    def load(self, worker: Worker, progress: Callable) -> models.Loaded:
        """The chosen model, in memory. Call it on the worker's thread."""
        return self.given or worker.load(self.name, self.device.value, self.dtype.value, progress)

    def _offer_dtypes(self, _=None) -> None:
        device = models.resolve_device(self.device.value)
        names = [models.dtype_name(dtype) for dtype in models.dtypes(device)]
        self.dtype.options, self.dtype.value = names, names[0]
        self._refresh()

    def _refresh(self, _=None) -> None:
        self.other.layout.display = "" if self.model.value == OTHER else "none"
        self.note.value = f"<small>{escape(self._fit())}</small>"

    def _fit(self) -> str:
        """One line: the bytes that the model and a short text need, and whether they are free."""
        if self.given:
            return "already in memory"
        shape = models.choices().get(self.name)
        if shape is None or self.dtype.value is None:
            return "size unknown until it is loaded; only safetensors weights are read"
        device = models.resolve_device(self.device.value)
        dtype = models.resolve_dtype(self.dtype.value, device)
        return str(models.fits(shape, dtype, device, prompt_tokens=64, new_tokens=64))
