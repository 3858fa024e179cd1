"""Whether an exercise could be real: the bytes fit, no roof is passed, the truth has the time.

Consistency comes from construction; this says so independently, from the finished exercise.
"""

from __future__ import annotations

from ..catalog import model
from . import physics
from .scenario import Run, Scenario, Setup

LARGEST_PART = 0.6  # a phase that is called the trouble has at least this part of the time
BUSY = 0.4  # below this part, the device is waiting for its host
SLACK = 1.001  # rounding of floats


def problems(scenario: Scenario) -> list[str]:
    """What can't be, in words; empty for a sound exercise."""
    run, setup = scenario.run, scenario.setup
    found = [] if scenario.card and scenario.story else ["nothing is shown"]
    if not 1 <= scenario.level <= 5:
        found.append(f"level {scenario.level} is not 1 to 5")
    if run is None or setup is None:
        known = scenario.truth.phase == "insufficient-data" or bool(scenario.caveat)
        return found if known else [*found, "no run, though the phase can be told"]
    found += _memory(run, setup)
    return found or _roofs(run, setup) + _shares(scenario, run)


def _memory(run: Run, setup: Setup) -> list[str]:
    context = run.prompt_tokens + run.output_tokens
    if context > model(setup.model).max_context:
        return [f"{context} positions are more than {setup.model} takes"]
    fits = physics.fits(setup, context, run.batch)
    if run.offloaded:
        kept = (1 - run.offloaded) * physics.weights(setup)
        tight = kept <= physics.ROOM * physics.memory_bytes(setup)
        return [] if tight and not fits else ["the offloaded part does not match the memory"]
    return [] if fits else ["weights and cache do not fit"]


def _roofs(run: Run, setup: Setup) -> list[str]:
    found = []
    context = run.prompt_tokens + run.output_tokens // 2
    least_step_s = physics.step_s(setup, context, run.batch)
    if run.offloaded:
        least_step_s = physics.offloaded_step_s(setup, context, run.offloaded)
    if run.step_s * SLACK < least_step_s:
        found.append("a decode step is faster than its bytes can be read: MBU above 100 %")
    new = run.prompt_tokens - run.cached_tokens
    if run.prefill_s * SLACK < physics.prefill_s(setup, new):
        found.append("prefill is faster than its FLOPs can be done: MFU above 100 %")
    if run.device_s > run.step_s * SLACK:
        found.append("the device works longer than the step takes")
    return found


def _shares(scenario: Scenario, run: Run) -> list[str]:
    phase, found = scenario.truth.phase, []
    if phase == "insufficient-data":
        return found
    if run.share(phase) < LARGEST_PART:
        found.append(f"{phase} has only {run.share(phase):.0%} of the time")
    if (run.device_s / run.step_s < BUSY) != (phase == "overhead"):
        found.append("the device's busy part and the phase do not go together")
    slow_steps = run.batch == 1 and run.tpot_s > run.prefill_s
    if slow_steps and not scenario.caveat:
        found.append("alone, a step takes longer than prefill, which reads the same weights")
    return found
