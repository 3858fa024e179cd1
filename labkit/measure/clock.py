"""The clock: turns an iterator of tokens into timed steps, and those into a `Trace`.

The rules, all of them here: warm up, and keep the first call's cost apart; force the length; wait
for the device before reading the clock; time one forward pass at a time, so that whatever happens
between two passes (drawing, decoding text, the other arm's turn) is nobody's time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from time import perf_counter_ns
from typing import Protocol

import psutil
import torch

from ..records import Machine, ModelShape, Roofs, Settings, Step, Trace
from .detokenize import Detokenizer
from .machine import versions


class TokenStep(Protocol):
    """What an iterator of tokens must yield; `generate.Forward` does."""

    token_ids: torch.Tensor  # (B,)
    logits: torch.Tensor  # (B, vocab)
    tokens_in: int
    context_tokens: int
    cache: object | None


@dataclass(frozen=True)
class Arm:
    """One way to generate: its name, and a function that starts it from the beginning."""

    name: str
    start: Callable[[], Iterator[TokenStep]]


@dataclass(frozen=True)
class Setup:
    """What all arms of a comparison share. `decode` turns token ids into text.

    `roofs` are those of the machine where a probe has measured them: kept with the run.
    """

    shape: ModelShape | None
    settings: Settings
    machine: Machine
    device: torch.device
    decode: Callable[[Sequence[int]], str]
    roofs: Roofs | None = None


def synchronise(device: torch.device) -> None:
    """Waits until the device has done all it was given. A CPU has, when the call returns."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def cuda_event(device: torch.device) -> torch.cuda.Event:
    """The time at which `device` gets there. By default a mark goes to the *current* GPU."""
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


class Run:
    """One arm under the clock: `warm_up`, then `step` until it gives None; `trace` at any time.

    `device_share` is unknown until somebody measures it afterwards (`busy`).
    """

    def __init__(self, arm: Arm, setup: Setup):
        self.arm, self.setup = arm, setup
        self.steps: list[Step] = []
        self.first_call_ns: int | None = None
        self.device_share: float | None = None
        self._tokens: Iterator[TokenStep] | None = None
        self._started_at: str | None = None
        self._peak_memory_bytes: int | None = None
        self._rows: list[Detokenizer] = []

    def warm_up(self) -> None:
        """Runs the arm once for nothing; its first pass is the first-call cost.

        Two steps on a CPU. On a GPU the whole request, since libraries there pick a kernel for each
        new shape when they first see it, and a naive run has a new shape at every step.
        """
        tokens = self.arm.start()
        self.first_call_ns = self._timed_next(tokens)[1]
        steps = 2 if self.setup.device.type == "cpu" else self.setup.settings.new_tokens
        for _ in range(1, steps):
            next(tokens, None)
        synchronise(self.setup.device)

    def step(self) -> Step | None:
        """Makes and times the next token; None when the arm has made all of them."""
        if self._tokens is None:
            self._tokens = self.arm.start()
            self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        if self.setup.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.setup.device)
        forward, wall_ns = self._timed_next(self._tokens)
        if forward is None:
            return None
        self._note_memory()
        self.steps.append(self._record(forward, wall_ns))
        return self.steps[-1]

    def _timed_next(self, tokens: Iterator[TokenStep]) -> tuple[TokenStep | None, int]:
        start_ns = perf_counter_ns()
        forward = next(tokens, None)
        synchronise(self.setup.device)
        return forward, perf_counter_ns() - start_ns

    def _record(self, forward: TokenStep, wall_ns: int) -> Step:
        token_ids = tuple(forward.token_ids.tolist())
        self._rows = self._rows or [Detokenizer(self.setup.decode) for _ in token_ids]
        best, second = forward.logits.topk(2).values.T
        gap = (best - second).min().item()
        return Step(
            wall_ns=wall_ns,
            tokens_in=forward.tokens_in,
            context_tokens=forward.context_tokens,
            token_ids=token_ids,
            texts=tuple(row.add(t) for row, t in zip(self._rows, token_ids, strict=True)),
            top2_gap=gap if isfinite(gap) else None,  # 16 bits can overflow
            kv_bytes=None if forward.cache is None else cache_bytes(forward.cache),
        )

    def _note_memory(self) -> None:
        """Highest memory so far: allocated on a GPU, else what this process holds of RAM."""
        if self.setup.device.type == "cuda":
            now_bytes = torch.cuda.max_memory_allocated(self.setup.device)
        else:
            now_bytes = psutil.Process().memory_info().rss
        self._peak_memory_bytes = max(now_bytes, self._peak_memory_bytes or 0)

    def trace(self) -> Trace:
        """The run so far as a record, complete or not."""
        return Trace(
            arm=self.arm.name,
            model=self.setup.shape,
            settings=self.setup.settings,
            machine=self.setup.machine,
            steps=tuple(self.steps),
            versions=versions(),
            started_at=self._started_at,
            first_call_ns=self.first_call_ns,
            peak_memory_bytes=self._peak_memory_bytes,
            roofs=self.setup.roofs,
            device_share=self.device_share,
        )


def cache_bytes(cache) -> int:
    """Bytes of the keys and values that a transformers cache really holds, over all its layers."""
    layers = [layer for layer in cache.layers if layer.is_initialized]
    return sum(t.numel() * t.element_size() for layer in layers for t in (layer.keys, layer.values))


class Stepping(Protocol):
    """Whatever goes on step by step; a step gives None at the end."""

    def step(self) -> object | None: ...


def interleaved(runs: Iterable[Stepping]) -> Iterator[tuple[Stepping, object]]:
    """A step of each run in turn, so that a drifting machine slows all of them alike."""
    going = list(runs)
    while going:
        for run in list(going):
            step = run.step()
            if step is None:
                going.remove(run)
            else:
                yield run, step


def one_after_the_other(runs: Iterable[Run]) -> Iterator[tuple[Run, Step]]:
    """All steps of the first run, then all of the second, …"""
    for run in runs:
        while (step := run.step()) is not None:
            yield run, step
