"""Lesson 06's first panels: the cache of any model, and the formula against real tensors.

`growth` times two caches, `memory_plan` has what fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from json import dumps

import ipywidgets as w
import numpy as np

from .. import caches, catalog, figures, roofline
from ..caches import CacheCount
from ..figures import Curve
from ..records.model_shape import ModelShape
from .calculator import (
    CACHE_DTYPES,
    Calculator,
    batch_choice,
    dtype_choice,
    length_slider,
    shape_choice,
)
from .download import Export
from .live import LiveFigure
from .memory_text import (
    all_models,
    kind_with_windows,
    kv_told,
    proof_told,
)
from .panel import Panel

GB = 1e9
LONGEST = 2**20
KINDS = ("MHA", "GQA", "MQA", "MLA", "half windows", "all windows")


# ---- the cache of any model ----------------------------------------------------------------------


class KvCalculator(Calculator):
    """A model's cache over the context, with and without what makes it small; and all models'."""

    def __init__(self, model: str, context: int):
        self.model = shape_choice(model)
        self.context = length_slider(context, 128, LONGEST, "Context")
        self.batch = batch_choice(1)
        self.dtype = dtype_choice("bfloat16", CACHE_DTYPES, "Cache format")
        self._shapes = sorted(catalog.models().values(), key=roofline.kv_bytes_per_token)
        rows = [(shape.name, kind_with_windows(shape)) for shape in self._shapes]
        controls = [w.HBox([self.model, self.dtype, self.batch]), self.context]
        super().__init__(figures.kv_calculator(rows), controls)

    def compute(self) -> tuple[list[Curve], str]:
        shape = catalog.model(self.model.value)
        how = (self.context.value, self.batch.value, self.dtype.value)
        text = kv_told(shape, *how) + all_models(self._shapes, *how)
        return model_curves(shape, *how) + all_dots(self._shapes, *how), text


def model_curves(shape: ModelShape, context: int, batch: int, dtype: str) -> list[Curve]:
    """GB over the context: as it is, with other sharing, without windows; and the weights."""
    lengths = np.unique(np.geomspace(128, LONGEST, 60).round())
    variants = {"as it is": shape, **_variants(shape)}
    curves = []
    for name, variant in variants.items():
        y = [roofline.kv_bytes(variant, int(n), batch, dtype) / GB for n in lengths]
        curves.append(Curve(name, lengths, np.array(y)))
    for name in {"MQA: one pair for all heads", "without windows"} - set(variants):
        curves.append(Curve(name, np.empty(0), np.empty(0), visible=False))
    saved = roofline.mha_kv_bytes_per_token(shape) / roofline.kv_bytes_per_token(shape)
    curves.append(Curve("MHA: a pair for each query head", lengths, curves[0].y * saved))
    weights = roofline.weight_bytes(shape) / GB
    curves.append(Curve("weights", lengths, np.full(len(lengths), weights)))
    here = roofline.kv_bytes(shape, context, batch, dtype) / GB
    return [*curves, Curve("chosen", np.array([context], "f8"), np.array([here]))]


def _variants(shape: ModelShape) -> dict[str, ModelShape]:
    """What the model would be with one KV head, and without windows, where that differs."""
    found = {}
    if not shape.mla:
        found["MQA: one pair for all heads"] = replace(shape, kv_heads=1)
    if shape.window:
        found["without windows"] = replace(shape, window=None, window_layers=0)
    return found


def all_dots(shapes: list[ModelShape], context: int, batch: int, dtype: str) -> list[Curve]:
    """A dot for each model, by kind; y is the model's place in the list."""
    curves = []
    for kind in sorted({kind_with_windows(shape) for shape in shapes}):
        rows = [(y, s) for y, s in enumerate(shapes) if kind_with_windows(s) == kind]
        x = [roofline.kv_bytes(shape, context, batch, dtype) / GB for _, shape in rows]
        text = tuple(f"{s.name}: {gb:.3g} GB" for (_, s), gb in zip(rows, x, strict=True))
        curves.append(Curve(kind, np.array(x), np.array([y for y, _ in rows], "f8"), text))
    return curves


# ---- formula and tensors -------------------------------------------------------------------------


class CacheProof(Panel):
    """Fills the caches of small real models and sets the tensors' bytes beside the formula's."""

    CONTEXTS = (8, 16, 32, 64, 128, 256, 512)

    def __init__(self):
        self.counts: tuple[CacheCount, ...] = ()
        self.figure, self.text = LiveFigure(figures.cache_proof()), w.HTML()
        self.export = Export("cache_bytes", self._write)
        super().__init__([], [self.figure.framed(), self.text, self.export])

    def read(self) -> tuple[int, ...]:
        return self.CONTEXTS

    def work(self, request: tuple[int, ...]) -> Iterator[float]:
        found: list[CacheCount] = []
        total = len(caches.kinds()) * len(request)
        for count in caches.counts(request):
            found.append(count)
            self.counts = tuple(found)
            yield len(found) / total

    def draw(self) -> None:
        self.figure.show_curves(proof_curves(self.counts), {})
        self.text.value = proof_told(self.counts)
        self.export.ready = bool(self.counts)

    def wait(self, timeout_s: float | None = None) -> tuple[CacheCount, ...]:
        """The caches weighed. Starts a run if none was; raises what it raised."""
        super().wait(timeout_s)
        return self.counts

    def _write(self, kind: str) -> str:
        rows = [asdict(count) for count in self.counts]
        if kind == "json":
            return dumps({"schema": "labkit-cache-bytes-1", "counts": rows})
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        return "\n".join(lines) + "\n"


def proof_curves(counts: tuple[CacheCount, ...]) -> list[Curve]:
    """kB over positions: the tensors' as dots, the formula's as a line."""
    curves = []
    for kind in KINDS:
        own = [count for count in counts if count.kind == kind]
        x = np.array([count.context for count in own], "f8")
        tensors = np.array([count.tensor_bytes for count in own], "f8") / 1e3
        formula = np.array([count.formula_bytes for count in own], "f8") / 1e3
        text = tuple(f"{kind}, {c.context:,} positions: {c.tensor_bytes:,} bytes" for c in own)
        curves += [Curve(kind, x, tensors, text), Curve(f"{kind}-formula", x, formula)]
    return curves
