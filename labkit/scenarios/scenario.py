"""An exercise: what the learner is shown, and what is true of it.

`Run` holds the figures behind the card, exact and complete. The card shows only some of them,
rounded; what it leaves out is part of the exercise.
"""

from __future__ import annotations

from dataclasses import dataclass

from .truth import Truth

QUESTION = "Which phase is struggling, why, and what upgrade or change would help?"


@dataclass(frozen=True)
class Setup:
    """A model on `gpus` equal machines, by their names in the catalogue."""

    model: str
    machine: str
    dtype: str = "bfloat16"
    gpus: int = 1


@dataclass(frozen=True)
class Run:
    """One request among `batch` that are decoded together; times in seconds.

    The time to first token is `queue_s + load_s + prefill_s`. `step_s` is one decode step, in which
    a request gets `accepted` tokens (more than 1 with speculation). `cached_tokens` of the prompt
    were found in a prefix cache. `offloaded` is the part of the weights read over PCIe. `device_s`
    is how long the device works in a step.
    """

    prompt_tokens: int
    output_tokens: int
    prefill_s: float
    step_s: float
    device_s: float
    queue_s: float = 0.0
    load_s: float = 0.0
    batch: int = 1
    accepted: float = 1.0
    cached_tokens: int = 0
    offloaded: float = 0.0

    @property
    def ttft_s(self) -> float:
        return self.queue_s + self.load_s + self.prefill_s

    @property
    def tpot_s(self) -> float:
        return self.step_s / self.accepted

    @property
    def decode_s(self) -> float:
        return self.tpot_s * (self.output_tokens - 1)

    @property
    def total_s(self) -> float:
        return self.ttft_s + self.decode_s

    def share(self, phase: str) -> float:
        """The part of the time that a phase takes; overhead is paid inside the decode steps."""
        seconds = {
            "prefill": self.prefill_s,
            "decode": self.decode_s,
            "overhead": self.decode_s,
            "queue": self.queue_s,
            "load": self.load_s,
        }
        return seconds[phase] / self.total_s


@dataclass(frozen=True)
class Scenario:
    """`story` and `card` are shown; `run` and `setup` are None where they aren't known at all.

    `caveat` says what the figures leave unexplained: shown after an attempt, whatever the verdict.
    """

    name: str
    level: int
    fault: str
    story: str
    card: tuple[str, ...]
    truth: Truth
    setup: Setup | None = None
    run: Run | None = None
    caveat: str = ""

    @property
    def text(self) -> str:
        """All that the learner sees."""
        return "\n".join([self.story, *(f"- {line}" for line in self.card), QUESTION])
