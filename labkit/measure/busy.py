"""What share of a step the device computes; the rest of it waits for the host.

A step of a small model on a fast GPU takes as long as Python needs to launch its kernels. No roof
explains such a step, and the wall clock alone can't tell. So a few more steps are made after a run,
off its clock, and watched:

- CUDA: the step is queued behind a kernel that only waits. When that ends, all of the step's
  kernels are there and run back to back; two events around them give their time alone. A queue that
  fills up (some thousand launches) lets a few gaps in, so the share is, if anything, too high.
- CPU: host and device are the same cores. Each operator is timed on its own, less what the same
  call costs where there is nothing to compute (a view), and compared with a step nobody watched.
- MPS: unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from statistics import median
from time import perf_counter, perf_counter_ns

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .clock import Arm, TokenStep, cuda_event, synchronise

STEPS = 3
UNTIMED_STEPS = 2  # the prefill, and a first step that may meet a new shape
ENOUGH_S = 1.0  # no further step after so long


def device_share(arm: Arm, device: torch.device, steps: int = STEPS) -> float | None:
    """Starts `arm` again and gives the median share, 0 to 1, over `steps` of its later steps.

    None where it is unknown: on MPS, and for an arm that ends too early.
    """
    if device.type not in ("cpu", "cuda"):
        return None
    share_of = _share_on_cuda if device.type == "cuda" else _share_on_cpu
    start_s = perf_counter()
    tokens = arm.start()
    for _ in islice(tokens, UNTIMED_STEPS):
        pass
    shares = []
    while len(shares) < steps and (not shares or perf_counter() - start_s < ENOUGH_S):
        share = share_of(tokens, device)
        if share is None:
            break
        shares.append(share)
    return median(shares) if shares else None


def _timed_next(tokens: Iterator[TokenStep], device: torch.device) -> int | None:
    """Nanoseconds of the next step; None when there is none."""
    synchronise(device)
    start_ns = perf_counter_ns()
    if next(tokens, None) is None:
        return None
    synchronise(device)
    return perf_counter_ns() - start_ns


# ---- CPU ----------------------------------------------------------------------------------------


def _share_on_cpu(tokens: Iterator[TokenStep], device: torch.device) -> float | None:
    wall_ns = _timed_next(tokens, device)
    with _WatchOperators() as watch:
        watched_ns = _timed_next(tokens, device)
    if wall_ns is None or watched_ns is None:
        return None
    return min(1.0, watch.computing_ns() / wall_ns)


class _WatchOperators(TorchDispatchMode):
    """While entered, times each operator of this thread."""

    def __init__(self) -> None:
        super().__init__()
        self._computing_ns: list[int] = []
        self._view_ns: list[int] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        times = self._view_ns if func.is_view else self._computing_ns
        start_ns = perf_counter_ns()
        out = func(*args, **(kwargs or {}))
        times.append(perf_counter_ns() - start_ns)
        return out

    def computing_ns(self) -> float:
        """Time inside operators that compute, without what calling them costs."""
        call_ns = median(self._view_ns) if self._view_ns else 0
        return sum(max(0.0, ns - call_ns) for ns in self._computing_ns)


# ---- CUDA ---------------------------------------------------------------------------------------


def _share_on_cuda(tokens: Iterator[TokenStep], device: torch.device) -> float | None:
    wall_ns = _timed_next(tokens, device)
    if wall_ns is None:
        return None
    wait_s = 2 * wall_ns * 1e-9  # long enough to queue a step meanwhile
    with torch.cuda.device(device):  # the kernel that waits goes to the current one
        torch.cuda._sleep(int(wait_s * _cycles_per_s(device)))
    kernels = _Events(device)
    if next(tokens, None) is None:
        return None
    return min(1.0, kernels.seconds() / (wall_ns * 1e-9))


class _Events:
    """An event in the stream now, and another when `seconds` asks for the time between them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._start = cuda_event(device)

    def seconds(self) -> float:
        end = cuda_event(self._device)
        synchronise(self._device)
        return self._start.elapsed_time(end) * 1e-3


def _cycles_per_s(device: torch.device, cycles: int = 10_000_000) -> float:
    """Clock rate of the device as its waiting kernel counts it."""
    torch.cuda._sleep(cycles)  # the clock rises under load
    events = _Events(device)
    torch.cuda._sleep(cycles)
    return cycles / events.seconds()
