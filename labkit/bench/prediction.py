"""How far the theory is from the clock: decode steps and prefills, predicted and then measured.

The prediction knows the model's shape and the roofs that a probe has just measured here; nothing
of the passes that it is about. Each pass is set against the median of its tries.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import probing, roofline
from ..models import Loaded, dtype_name
from ..records.machine import Roofs
from ..records.passes import Pass, Timing
from ..summary import ms
from ..sweeps_passes import PassRun, time_all
from .stats import Figure

CONTEXTS = (64, 128, 256, 512, 1024, 2048)
PROMPTS = (16, 32, 64, 128, 256, 512, 1024, 2048)
DECODE, TTFT = "decode step", "TTFT"
AT_MOST_PERCENT = {DECODE: 15.0, TTFT: 20.0}


def measure(
    loaded: Loaded,
    contexts: Sequence[int] = CONTEXTS,
    prompts: Sequence[int] = PROMPTS,
    roofs: Roofs | None = None,
) -> tuple[Figure, ...]:
    """The median error of both kinds of passes, and each pass's times with what was predicted.

    `roofs`: those of a probe; None probes now.
    """
    roofs = roofs or probing.probe(loaded.device)
    dtype = dtype_name(loaded.dtype)
    steps = [PassRun(DECODE, Pass(1, context, dtype=dtype), loaded) for context in contexts]
    prefills = [PassRun(TTFT, Pass(length, length, dtype=dtype), loaded) for length in prompts]
    for runs in (steps, prefills):
        for _ in time_all(runs):
            pass
    timings = [run.timing() for run in (*steps, *prefills)]
    said = [roofline.expected(loaded.shape, timing.what, roofs).seconds for timing in timings]
    return (*_errors(timings, said), *map(_times, timings, said))


def _errors(timings: Sequence[Timing], said: Sequence[float]) -> list[Figure]:
    """One figure for each kind: its repeats are the errors of the passes, without their signs."""
    figures = []
    for kind, at_most in AT_MOST_PERCENT.items():
        percent = tuple(
            abs(predicted_s / timing.median_s - 1) * 100
            for timing, predicted_s in zip(timings, said, strict=True)
            if timing.curve == kind
        )
        figures.append(Figure(f"{kind}s: error of the prediction, %", percent, at_most))
    return figures


def _times(timing: Timing, predicted_s: float) -> Figure:
    error = predicted_s / timing.median_s - 1
    name = f"{timing.curve} at {timing.what.context:,} tokens, ms"
    return Figure(
        f"{name} (predicted {ms(predicted_s)}, {error:+.0%})",
        tuple(ns * 1e-6 for ns in timing.wall_ns),
    )
