"""Attention back ends: the same sums from different kernels, and what each needs to do them.

    for one in compare(shape, at=(256, 1024)):
        print(one)                         # time and peak memory of one layer, one sequence

All of them multiply every query with every key that it may see, so their FLOPs are the same. They
differ in what they write to memory on the way: "eager" and "math" the whole matrix of scores,
L · L numbers for each head, the others a tile at a time (FlashAttention, Dao et al. 2022,
arXiv:2205.14135). Which of them transformers would choose for a model is unknown here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import accumulate
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from . import measure, roofline
from .models import dtype_name
from .records import ModelShape
from .summary import gb, ms
from .sweeps import BadSweep, check_room, check_rounds, queries_keys_values, written_out

KERNELS = {
    "sdpa: math": SDPBackend.MATH,
    "sdpa: memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa: flash": SDPBackend.FLASH_ATTENTION,
    "sdpa: cuDNN": SDPBackend.CUDNN_ATTENTION,
}
EAGER, PACKAGE = "eager", "flash-attn package"
BACK_ENDS = (EAGER, *KERNELS, PACKAGE)
WRITE_SCORES = (EAGER, "sdpa: math")


class NoBackEnd(BadSweep):
    """This machine has no such kernel; the message says which it has."""


@dataclass(frozen=True)
class Measured:
    """One back end at one length. `peak_bytes` are those beyond its inputs, output included."""

    back_end: str
    length: int
    wall_ns: tuple[int, ...]
    peak_bytes: int

    @property
    def median_s(self) -> float:
        return median(self.wall_ns) * 1e-9

    def __str__(self) -> str:
        time, memory = ms(self.median_s), gb(self.peak_bytes)
        return f"{self.back_end:22} at {self.length:6,} tokens: {time:>8}, {memory:>8} of memory"


# ---- which there are ----------------------------------------------------------------------------


def by_kernel(kernel: SDPBackend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's attention by that kernel or not at all. RuntimeError where it can't be used."""
    with sdpa_kernel(kernel):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_package(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """flash-attn's own function, which has heads and positions the other way round."""
    from flash_attn import flash_attn_func

    return flash_attn_func(q.mT, k.mT, v.mT, causal=True).mT


def function_of(name: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The back end as a function of queries, keys and values (1, heads, L, head size), causal."""
    if name == EAGER:
        return written_out
    return by_package if name == PACKAGE else partial(by_kernel, KERNELS[name])


def missing(name: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why that back end can't be used here, found out by trying; None: it can."""
    if name not in BACK_ENDS:
        return f"unknown back end {name!r}: choose from {', '.join(BACK_ENDS)}"
    if name == PACKAGE and (device.type != "cuda" or not find_spec("flash_attn")):
        return "needs a CUDA GPU and `pip install flash-attn`"
    small = torch.zeros(1, 2, 16, 64, device=device, dtype=dtype)
    try:
        function_of(name)(small, small, small)
    except RuntimeError:
        return f"has no kernel for {dtype_name(dtype)} on this {device.type}"
    return None


def available(device: torch.device, dtype: torch.dtype) -> tuple[str, ...]:
    """The back ends that work here."""
    return tuple(name for name in BACK_ENDS if missing(name, device, dtype) is None)


# ---- comparing ----------------------------------------------------------------------------------


def compare(
    shape: ModelShape,
    at: Sequence[int],
    back_ends: Sequence[str] | None = None,
    rounds: int = 3,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Iterator[Measured]:
    """Time and peak memory of one layer's attention at each length, back ends in turns.

    Without `back_ends`, all that work here. Raises NoBackEnd for one that does not, and BadSweep
    for what can't be timed.
    """
    device = device or torch.device("cpu")
    names = available(device, dtype) if back_ends is None else tuple(back_ends)
    _check(shape, names, at, rounds, dtype, device)
    return _compare(shape, names, at, rounds, dtype, device)


@torch.inference_mode()
def _compare(shape, names, at, rounds, dtype, device) -> Iterator[Measured]:
    for length in at:
        inputs = queries_keys_values(shape, length, dtype, device)
        calls = {name: partial(function_of(name), *inputs) for name in names}
        peaks = {name: peak_bytes(call, device) for name, call in calls.items()}
        found: dict[str, list[int]] = {name: [] for name in names}
        for name, wall_ns in measure.in_rounds(calls, rounds, device):
            found[name].append(wall_ns)
        for name in names:
            yield Measured(name, length, tuple(found[name]), peaks[name])


def _check(shape, names, at, rounds, dtype, device) -> None:
    check_rounds(rounds)
    if not at or min(at) < 1:
        raise BadSweep("give one length or more, each of 1 token or more")
    for name in names:
        if reason := missing(name, device, dtype):
            here = ", ".join(available(device, dtype))
            raise NoBackEnd(f"{name}: {reason}; this machine has {here}")
    if set(names) & set(WRITE_SCORES):  # scores, masked scores and softmax stand side by side
        needed = 3 * roofline.score_bytes(shape, max(at), dtype_name(dtype))
        check_room(needed, device, "the attention matrices written out", max(at))


def peak_bytes(call: Callable[[], object], device: torch.device) -> int:
    """The most memory that the call held at once beyond what there was before.

    On a GPU its allocator keeps count. On a CPU torch's profiler notes each allocation, those
    inside a kernel too.
    """
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it writes two lines for each use
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watch:
        call()
    events = watch.profiler.kineto_results.events()
    changes = [event.nbytes() for event in events if event.name() == "[memory]"]
    return max(accumulate(changes), default=0)
