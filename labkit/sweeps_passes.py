"""Single forward passes under the clock: prefills of many lengths, decode steps of many sizes.

    runs = [PassRun("prefill", Pass(length, length), loaded) for length in (16, 64, 256)]
    for share in time_all(runs):
        ...                      # no clock runs here: draw, print, break
    passes = passes_of(runs, loaded, roofs)

The rules are those of `measure.clock`: each shape is warmed up and its first call kept apart, the
device is waited for, and the passes take turns, so that a machine that slows down slows all alike.
Which settings are worth trying, and what the times mean, is unknown here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from time import perf_counter_ns

import torch
from transformers import Cache, DynamicCache

from . import measure, models
from .experiments import random_ids
from .generate import last_logits
from .records.machine import Roofs
from .records.passes import Pass, Passes, Timing

REPEATS = 5
ENOUGH_S = 2.0  # a pass that has taken this long in all needs no further repeat
FLOOR_TOKENS = 32  # a pass over few tokens costs about what one over these does: for progress only


class PassRun:
    """One pass, ready to be timed again and again. What it reads is drawn by a fixed seed.

    `prepare` fills the cache with the positions before the new tokens, off the clock.
    """

    def __init__(self, curve: str, what: Pass, loaded: models.Loaded):
        self.curve, self.what, self.loaded = curve, what, loaded
        self.wall_ns: list[int] = []
        self.first_call_ns: int | None = None
        self._ids: torch.Tensor | None = None  # (B, new tokens)
        self._cache: Cache | None = None

    @torch.inference_mode()
    def prepare(self) -> None:
        ids = random_ids(self.loaded, self.what.context, seed=0)
        row = torch.tensor([ids], device=self.loaded.device)  # (1, context)
        past = self.what.context - self.what.new_tokens
        self._ids = row[:, past:].repeat(self.what.batch, 1)
        self._cache = DynamicCache(config=self.loaded.model.config)
        if past:
            last_logits(self.loaded.model, row[:, :past], cache=self._cache)
            self._cache.batch_repeat_interleave(self.what.batch)

    def warm_up(self) -> None:
        self.prepare()
        self.first_call_ns = self._once()
        if self.loaded.device.type != "cpu":  # a GPU's clock rises under load
            self._once()

    def time(self) -> None:
        self.wall_ns.append(self._once())

    @property
    def enough(self) -> bool:
        tries = len(self.wall_ns)
        return tries >= REPEATS or (tries >= 2 and sum(self.wall_ns) > ENOUGH_S * 1e9)

    @torch.inference_mode()
    def _once(self) -> int:
        past, cache = self.what.context - self.what.new_tokens, fork(self._cache)
        measure.synchronise(self.loaded.device)
        start_ns = perf_counter_ns()
        token = last_logits(self.loaded.model, self._ids, past=past, cache=cache).argmax(-1)
        token.tolist()  # the next pass needs it, so the host has to have it
        return perf_counter_ns() - start_ns

    def timing(self) -> Timing:
        return Timing(self.curve, self.what, tuple(self.wall_ns), self.first_call_ns)


def fork(cache: Cache) -> Cache:
    """The same cache as another, for free: a growing cache makes new tensors and keeps the old."""
    twin = copy.copy(cache)
    twin.layers = [copy.copy(layer) for layer in cache.layers]
    return twin


def time_all(runs: Sequence[PassRun]) -> Iterator[float]:
    """Warms every pass up, then times them in turns; after each try gives the share that is done.

    A pass is tried `REPEATS` times, a long one fewer.
    """
    weights = [run.what.tokens + FLOOR_TOKENS for run in runs]
    total, done = sum(weights) * (1 + REPEATS), 0
    for run, weight in zip(runs, weights, strict=True):
        run.warm_up()
        done += weight
        yield done / total
    going = list(zip(runs, weights, strict=True))
    while going:
        for run, weight in list(going):
            run.time()
            done += weight
            if run.enough:
                going.remove((run, weight))
                done += weight * (REPEATS - len(run.wall_ns))
            yield done / total


def passes_of(runs: Sequence[PassRun], loaded: models.Loaded, roofs: Roofs | None) -> Passes:
    """The run so far as a record, complete or not."""
    return Passes(
        name=loaded.name,
        model=loaded.shape,
        machine=measure.this_machine(loaded.device),
        timings=tuple(run.timing() for run in runs if run.wall_ns),
        roofs=roofs,
        attention=loaded.model.config._attn_implementation,
        threads=torch.get_num_threads() if loaded.device.type == "cpu" else None,
        versions=measure.versions(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
