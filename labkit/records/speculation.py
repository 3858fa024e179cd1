"""What became of the guesses of a speculative run: counted from its trace.

A pass that read one token and k guesses shows as a step with `tokens_in` k + 1, followed by one
step that read nothing for each guess that was right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .agreement import Agreement, agreement
from .trace import Trace


@dataclass(frozen=True)
class GuessPass:
    """One pass after the prefill: how many guesses it read, how many were right, and its context.

    `context` is the position of its last guess.
    """

    guesses: int
    right: int
    context: int


@dataclass(frozen=True)
class Speculation:
    """All passes of a run after the prefill."""

    passes: tuple[GuessPass, ...]

    @property
    def guesses(self) -> int:
        return sum(one.guesses for one in self.passes)

    @property
    def right(self) -> int:
        return sum(one.right for one in self.passes)

    @property
    def tokens(self) -> int:
        """Each pass gives a token of its own besides the guesses that were right."""
        return len(self.passes) + self.right

    @property
    def tokens_per_pass(self) -> float | None:
        return self.tokens / len(self.passes) if self.passes else None

    @property
    def acceptance(self) -> float | None:
        """Right guesses ÷ judged guesses. One behind a wrong guess is not judged.

        This is the α of Leviathan et al. 2023 (arXiv:2211.17192), section 3.1.
        """
        judged = self.right + sum(one.right < one.guesses for one in self.passes)
        return self.right / judged if judged else None


def speculation(trace: Trace) -> Speculation:
    """The passes of a speculative run; those of `cached` are passes without guesses."""
    passes: list[GuessPass] = []
    for step in trace.steps[1:]:
        if step.tokens_in:
            guesses = step.tokens_in - 1
            passes.append(GuessPass(guesses, 0, step.context_tokens + guesses))
        else:
            last = passes[-1]
            passes[-1] = GuessPass(last.guesses, last.right + 1, last.context)
    return Speculation(tuple(passes))


@dataclass(frozen=True)
class Guessed:
    """A run with at most `at_most` guesses a pass, beside the plain run of the same text."""

    task: str
    at_most: int
    plain: Trace
    guessed: Trace

    @property
    def counts(self) -> Speculation:
        return speculation(self.guessed)

    @property
    def speed_up(self) -> float | None:
        """How many times faster the tokens after the first came, guessing included."""
        if self.plain.tpot_s is None or self.guessed.tpot_s is None:
            return None
        return self.plain.tpot_s / self.guessed.tpot_s

    @property
    def same(self) -> Agreement:
        return agreement(self.plain, self.guessed)


SCHEMA = "labkit-guesses-1"
COLUMNS = "text,at_most,guesses,right,passes,tokens,plain_tpot_s,guessed_tpot_s"


def guesses_to_json(found: Sequence[Guessed]) -> str:
    """Everything, as JSON text."""
    rows = [asdict(one) for one in found]
    return json.dumps({"schema": SCHEMA, "runs": rows}, ensure_ascii=False)


def guesses_to_csv(found: Sequence[Guessed]) -> str:
    """A row for each text and number of guesses, for spreadsheets."""
    return "\n".join([COLUMNS, *map(_row, found)]) + "\n"


def _row(one: Guessed) -> str:
    counts = one.counts
    task = one.task.replace('"', "'").replace("\n", " ")
    cells = (one.at_most, counts.guesses, counts.right, len(counts.passes), counts.tokens)
    times = (one.plain.tpot_s, one.guessed.tpot_s)
    return ",".join([f'"{task}"', *map(str, cells), *map(str, times)])
