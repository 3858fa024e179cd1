"""The measuring protocol, in one place: `clock` times any iterator of tokens, `repeat` any call.

Knows nothing of the theory that will judge its numbers, nor of charts: whoever draws does so
between two steps, when no clock runs.
"""

from .clock import Arm, Run, Setup, interleaved, one_after_the_other, synchronise
from .machine import this_machine, versions
from .repeat import Stopwatch, WatchAttention, in_rounds, timed

__all__ = [
    "Arm",
    "Run",
    "Setup",
    "Stopwatch",
    "WatchAttention",
    "in_rounds",
    "interleaved",
    "one_after_the_other",
    "synchronise",
    "this_machine",
    "timed",
    "versions",
]
