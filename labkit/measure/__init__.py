"""The measuring protocol, in one place: `clock` times any iterator of tokens, `repeat` any call.

`probe` finds out what the machine can reach, `busy` what share of a step its device computes.

Knows nothing of the theory that will judge its numbers, nor of charts: whoever draws does so
between two steps, when no clock runs.
"""

from .busy import device_share
from .clock import Arm, Run, Setup, interleaved, one_after_the_other, synchronise
from .machine import this_machine, versions
from .probe import OnePass, Probe, probe
from .repeat import Stopwatch, WatchAttention, in_rounds, timed

__all__ = [
    "Arm",
    "OnePass",
    "Probe",
    "Run",
    "Setup",
    "Stopwatch",
    "WatchAttention",
    "device_share",
    "in_rounds",
    "interleaved",
    "one_after_the_other",
    "probe",
    "synchronise",
    "this_machine",
    "timed",
    "versions",
]
