"""The clock for single calls: the same call at several lengths, in rounds, warmed up.

A round goes through all calls once, so that a machine which gets slower makes every length slower
and bends no curve. A `Stopwatch` adds up one part of a call while the whole is timed as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter_ns
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from .clock import cuda_event, synchronise

Key = TypeVar("Key")
SHORT_NS = 2_000_000  # calls shorter than this are timed several at a time: less jitter


def timed(call: Callable[[], object], device: torch.device, times: int = 1) -> int:
    """Nanoseconds of one call, the device's work included; the mean of `times` in a row."""
    synchronise(device)
    start_ns = perf_counter_ns()
    for _ in range(times):
        call()
    synchronise(device)
    return (perf_counter_ns() - start_ns) // times


def in_rounds(
    calls: Mapping[Key, Callable[[], object]], rounds: int, device: torch.device
) -> Iterator[tuple[Key, int]]:
    """Each call's key and nanoseconds, all calls in turn, `rounds` times.

    Before its first timing a call runs once for nothing. How long it took then says how many of
    it fill `SHORT_NS`.
    """
    times = {}
    for round_number in range(rounds):
        for key, call in calls.items():
            if not round_number:
                call()
                times[key] = 1 + SHORT_NS // max(1, timed(call, device))
            yield key, timed(call, device, times[key])


class Stopwatch:
    """Adds up the time of the calls that run through `around`.

    On CUDA it lays events into the stream and waits for nothing until `wall_ns` is asked. On MPS it
    waits around each call, which slows the whole a little.
    """

    def __init__(self, device: torch.device):
        self._device, self._spans = device, []

    def around(self, call: Callable, *args, **kwargs):
        """What `call` gives; its time is added."""
        start = self._mark()
        out = call(*args, **kwargs)
        self._spans.append((start, self._mark()))
        return out

    @property
    def calls(self) -> int:
        return len(self._spans)

    def wall_ns(self) -> int:
        """Nanoseconds of all calls so far."""
        synchronise(self._device)
        if self._device.type == "cuda":
            return round(sum(start.elapsed_time(end) for start, end in self._spans) * 1e6)
        return sum(end - start for start, end in self._spans)

    def _mark(self):
        if self._device.type == "cuda":
            return cuda_event(self._device)
        synchronise(self._device)
        return perf_counter_ns()


class WatchAttention(TorchFunctionMode):
    """While entered, sends this thread's scaled_dot_product_attention through a stopwatch.

    Models whose attention is not torch's own function never come by: then `watch.calls` stays 0.
    """

    def __init__(self, watch: Stopwatch):
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            return self._watch.around(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))
