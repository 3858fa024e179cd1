"""When guessing pays: tokens for each pass against what a longer pass costs more.

A pass over k guesses and one token moves hardly more bytes than a step for one token and does k + 1
times its FLOPs. While memory is what binds, the guesses are checked for nothing.
"""

from __future__ import annotations

from ..records.estimate import Estimate
from ..records.machine import Roofs
from ..records.model_shape import ModelShape
from ..records.speculation import Speculation
from .times import predict
from .work import forward


def expected_tokens(acceptance: float, guesses: int) -> float:
    """Tokens that a pass gives on average, each guess being right with that probability.

    1 + α + α² + … + α^k: the model's own token, and every guess whose forerunners were all right
    (Leviathan et al. 2023, arXiv:2211.17192, equation 1).
    """
    return sum(acceptance**place for place in range(guesses + 1))


def checking_pass(
    shape: ModelShape, context: int, guesses: int, roofs: Roofs, dtype: str
) -> Estimate:
    """The pass over one token and its guesses, the last of them at position `context`."""
    new = guesses + 1
    return predict(forward(shape, new, context, dtype=dtype, logits=new), roofs)


def predicted_s(shape: ModelShape, run: Speculation, roofs: Roofs, dtype: str) -> float:
    """Seconds that the roofs allow all passes of that run; the guesser's time is not in it."""
    return sum(
        checking_pass(shape, one.context, one.guesses, roofs, dtype).seconds for one in run.passes
    )


def predicted_speed_up(
    shape: ModelShape, run: Speculation, roofs: Roofs, dtype: str, guessing_s: float = 0.0
) -> float:
    """How many times faster the run's tokens come than one by one, from its counts alone.

    `guessing_s` is what a guesser took in all.
    """
    one = checking_pass(shape, run.passes[-1].context, 0, roofs, dtype)
    return run.tokens * one.seconds / (predicted_s(shape, run, roofs, dtype) + guessing_s)
