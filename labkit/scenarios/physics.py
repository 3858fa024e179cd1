"""Times of prefill and decode on a machine's datasheet, at a stated part of its peaks.

A real server reaches 35 to 60 % of the peak FLOP/s in a long prefill and 55 to 85 % of the peak
bandwidth in decode; each exercise draws its own. Several GPUs add up, without a word about what
their links cost.
"""

from __future__ import annotations

from ..catalog import machine, model
from ..records.machine import Roofs
from ..roofline import datasheet_roofs, decode_step, kv_bytes, predict, prefill, weight_bytes
from .scenario import Setup

PCIE_BYTES_PER_S = 25e9  # what a 4.0 x16 slot delivers; its peak is 32 GB/s
DISK_BYTES_PER_S = 1.5e9  # a good NVMe disk, read through the file system
ROOM = 0.92  # of the memory, for weights and cache; the rest is activations and fragments


def memory_bytes(setup: Setup) -> float:
    return setup.gpus * machine(setup.machine).memory_bytes


def weights(setup: Setup) -> int:
    return weight_bytes(model(setup.model), setup.dtype)


def needed_bytes(setup: Setup, context: int, batch: int = 1) -> int:
    """Weights and cache."""
    return weights(setup) + kv_bytes(model(setup.model), context, batch)


def fits(setup: Setup, context: int, batch: int = 1) -> bool:
    short = context <= model(setup.model).max_context
    return short and needed_bytes(setup, context, batch) <= ROOM * memory_bytes(setup)


def prefill_s(setup: Setup, tokens: int, mfu: float = 1.0, mbu: float = 1.0) -> float:
    """One prompt of `tokens`; with the parts at 1 the least that the datasheet allows."""
    least = predict(prefill(model(setup.model), tokens, 1, setup.dtype), _roofs(setup))
    return max(least.compute_s / mfu, least.memory_s / mbu) / setup.gpus


def step_s(setup: Setup, context: int, batch: int = 1, mbu: float = 1.0) -> float:
    """One decode step into a preallocated cache: no copying."""
    cost = decode_step(model(setup.model), context, batch, setup.dtype, slots=context)
    least = predict(cost, _roofs(setup))
    return max(least.compute_s, least.memory_s) / (mbu * setup.gpus)


def offloaded_step_s(setup: Setup, context: int, part: float, mbu: float = 1.0) -> float:
    """A step with that part of the weights in the host's memory, fetched over PCIe each time."""
    fetched_s = part * weights(setup) / PCIE_BYTES_PER_S
    return (1 - part) * step_s(setup, context, 1, mbu) + fetched_s


def _roofs(setup: Setup) -> Roofs:
    return datasheet_roofs(machine(setup.machine))
