"""The truth that goes with each phase, and the arithmetic that shows it."""

from __future__ import annotations

from dataclasses import replace

from . import physics
from .cards import gb, ms, rate, share
from .scenario import Run, Setup
from .truth import Truth

DECODE = Truth("decode", "memory-bandwidth", ("more-bandwidth", "fewer-bytes", "fewer-steps"))
TRUTHS = {
    "decode": DECODE,
    "prefill": Truth("prefill", "compute", ("more-compute", "less-prompt")),
    "queue": Truth("queue", "capacity-or-scheduling", ("more-replicas",)),
    "overhead": Truth("overhead", "host-overhead", ("less-overhead",)),
    "load": Truth("load", "model-loading", ("keep-warm",)),
    "insufficient-data": Truth("insufficient-data", "undetermined", ("measure-more",)),
}

WHY_LOG = (
    "A window averages over all requests and over idle time; one request's TTFT and TPOT can't be "
    "had from it. Ask for those, or for the lines before and after."
)


def because(phase: str, why: str) -> Truth:
    """The truth of that phase with the scenario's own arithmetic."""
    return replace(TRUTHS[phase], why=why)


def why(phase: str, setup: Setup, run: Run) -> str:
    """The run's own figures, put so that they show the phase and its limiter."""
    part = f"{phase.capitalize()} has {share(run, phase)} of the {ms(run.total_s)}."
    context = run.prompt_tokens + run.output_tokens // 2
    least = physics.step_s(setup, context, run.batch)
    if phase == "decode":
        if run.offloaded:
            return (
                f"{part} {run.offloaded:.0%} of the weights do not fit and cross PCIe, at some "
                f"{gb(physics.PCIE_BYTES_PER_S)}/s, for each token."
            )
        speculative = f" for {run.accepted} tokens" if run.accepted > 1 else ""
        return (
            f"{part} A step{speculative} takes {ms(run.step_s)}, and its bytes alone need "
            f"{ms(least)} at the memory's full speed."
        )
    if phase == "overhead":
        return (
            f"A step takes {ms(run.step_s)}, its bytes need {ms(least)}, and the device works "
            f"{run.device_s / run.step_s:.0%} of the time: it waits for launches."
        )
    if phase == "load":
        seconds = ms(physics.weights(setup) / physics.DISK_BYTES_PER_S)
        return f"{part} {gb(physics.weights(setup))} from a disk take about {seconds}."
    if phase == "queue":
        return f"{part} Prefill itself takes {ms(run.prefill_s)}."
    speed = rate(run.prompt_tokens / run.prefill_s)
    return f"{part} {run.prompt_tokens} tokens at {speed}: dense matrix products, many at a time."


def why_one_number(speed: int) -> str:
    return (
        f"{speed} tokens/s may be one user or the sum over many, a small model or a large one, and "
        "may count the prompt. TTFT and TPOT of one request would settle it."
    )
