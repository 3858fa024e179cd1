"""Endless exercises: the same level and seed give the same one, on any machine.

A draw whose figures don't carry its truth (a prompt that isn't long enough on this machine, say) is
drawn again from the same stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from . import faults
from .checks import problems
from .scenario import Scenario

LEVELS: dict[int, tuple[Callable[[Random], Scenario], ...]] = {
    1: (faults.slow_decode, faults.long_prompt),
    2: (faults.queue_shown, faults.cold_start, faults.one_number, faults.long_prompt),
    3: (faults.launch_overhead, faults.batched_decode, faults.long_context, faults.queue_shown),
    4: (faults.queue_in_ttft, faults.load_in_prefill, faults.cache_hit, faults.offload),
    5: (faults.speculation, faults.log_window, faults.utilisation, faults.queue_in_ttft),
}
TRIES = 200


def generate(level: int, seed: int) -> Scenario:
    """One exercise of that level, 1 (plain) to 5 (misleading).

    Raises ValueError for a level that isn't there.
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level}; choose 1 to {max(LEVELS)}")
    rng = Random(f"{level}/{seed}")  # noqa: S311 - an exercise, no secret
    fault = LEVELS[level][seed % len(LEVELS[level])]
    for _ in range(TRIES):
        scenario = replace(fault(rng), name=f"{level}-{seed}", level=level)
        if not problems(scenario):
            return scenario
    raise AssertionError(f"level {level}, seed {seed}: {fault.__name__} draws nothing sound")
