"""How far the theory is from the clock: decode steps and prefills, predicted and measured.

The prediction knows the model's shape and the roofs that a probe measures; nothing is fitted to the
passes that it is about. A machine drifts, so probe and passes take turns: each round's times are
set against what that round's probe allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from .. import probing, roofline
from ..models import Loaded, dtype_name
from ..records.machine import Roofs
from ..records.passes import Pass
from ..summary import ms
from ..sweeps_passes import PassRun
from .stats import Figure

CONTEXTS = (64, 128, 256, 512, 1024, 2048)
PROMPTS = (16, 32, 64, 128, 256, 512, 1024, 2048)
DECODE, TTFT = "decode step", "TTFT"
AT_MOST_PERCENT = {DECODE: 15.0, TTFT: 20.0}
TRIES = {DECODE: 5, TTFT: 2}  # in each round
Probing = Callable[[torch.device], Roofs]


@dataclass(frozen=True)
class Round:
    """One pass in one round: predicted seconds, and the median of the measured ones."""

    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1


def measure(
    loaded: Loaded,
    rounds: int = 3,
    contexts: Sequence[int] = CONTEXTS,
    prompts: Sequence[int] = PROMPTS,
    probe: Probing = probing.probe,
) -> tuple[Figure, ...]:
    """The median error of both kinds of passes, and for each pass its times and its prediction."""
    dtype = dtype_name(loaded.dtype)
    runs = [PassRun(DECODE, Pass(1, context, dtype=dtype), loaded) for context in contexts]
    runs += [PassRun(TTFT, Pass(length, length, dtype=dtype), loaded) for length in prompts]
    for run in runs:
        run.warm_up()
    found: dict[PassRun, list[Round]] = {run: [] for run in runs}
    for _ in range(rounds):
        roofs = probe(loaded.device)
        for run in runs:
            predicted_s = roofline.expected(loaded.shape, run.what, roofs).seconds
            found[run].append(Round(predicted_s, _median_s(run)))
    return (*_errors(found), *(_times(run, found[run]) for run in runs))


def _median_s(run: PassRun) -> float:
    tries = TRIES[run.curve]
    for _ in range(tries):
        run.time()
    return median(run.wall_ns[-tries:]) * 1e-9


def _errors(found: Mapping[PassRun, Sequence[Round]]) -> list[Figure]:
    """One figure for each kind: its repeats are the errors of its passes, without their signs."""
    return [
        Figure(
            f"{kind}s: error of the prediction, %",
            tuple(100 * abs(_error(one)) for run, one in found.items() if run.curve == kind),
            at_most,
        )
        for kind, at_most in AT_MOST_PERCENT.items()
    ]


def _error(rounds: Sequence[Round]) -> float:
    return median(one.error for one in rounds)


def _times(run: PassRun, rounds: Sequence[Round]) -> Figure:
    """The measured times of a pass; what was predicted stands in the name."""
    predicted = ms(median(one.predicted_s for one in rounds))
    what = f"{run.curve} at {run.what.context:,} tokens"
    return Figure(
        f"{what}, ms (predicted {predicted}, {_error(rounds):+.0%})",
        tuple(one.measured_s * 1e3 for one in rounds),
    )
