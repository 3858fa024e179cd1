"""How an answer is judged: a number, a choice or a function becomes a `CheckResult`.

An exercise brings the right answer, why it is right, and the wrong answers it expects, each with
what it confuses (`Slip`). A blank is "not yet". A learner's function runs on several cases, and the
first one where it errs is shown.

Nothing here knows an exercise, a model or torch: tensors are read through `tolist` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..records import CheckResult, Trace

NOT_YET = CheckResult("not yet", "Replace the ... by your answer and run the check again.")
SHORT = CheckResult("not yet", "The run is too short for this: let it make 10 tokens or more.")


@dataclass(frozen=True)
class Slip:
    """A wrong answer that is likely, and what it confuses.

    `answer` is a number, or for a function exercise a function of the same arguments.
    """

    answer: Any
    reason: str


@dataclass(frozen=True)
class Case:
    """One call of a learner's function, what it should give, and how to write the call down."""

    args: tuple
    right: Any
    call: str


def passed(reason: str) -> CheckResult:
    return CheckResult("passed", reason)


def wrong(reason: str) -> CheckResult:
    return CheckResult("wrong", reason)


def is_blank(answer: Any) -> bool:
    """Whether nothing was answered yet: the `...` still stands there, or None."""
    return answer is None or answer is ...


def not_ready(answer: Any, *traces: Trace) -> CheckResult | None:
    """ "Not yet" where nothing was answered, or where a run was stopped too early to judge by."""
    if is_blank(answer):
        return NOT_YET
    return SHORT if any(len(trace.steps) < 10 for trace in traces) else None


# ---- numbers and choices ------------------------------------------------------------------------


def number(
    answer: Any, right: float, why: str, slips: Sequence[Slip] = (), tolerance: float = 0.02
) -> CheckResult:
    """Judges one number; `tolerance` is relative, so that rounding a little is fine."""
    if is_blank(answer):
        return NOT_YET
    values = numbers(answer)
    if values is None or len(values) != 1 or not math.isfinite(values[0]):
        return wrong(f"A number is wanted here, and {show(answer)} is not one.")
    value = values[0]
    if math.isclose(value, right, rel_tol=tolerance):
        return passed(f"{show(value)}. {why}")
    for slip in slips:
        if math.isclose(value, slip.answer, rel_tol=tolerance):
            return wrong(f"{show(value)}: {slip.reason}")
    return wrong(f"{show(value)} is {distance(value, right)}.")


def distance(value: float, right: float) -> str:
    """How far `value` is from `right`, without telling `right`."""
    if value <= 0 or right <= 0:
        return "not it, and its sign or zero already says so"
    if value > right:
        return f"too large, {show(value / right)} times"
    return f"too small, {show(right / value)} times"


def choice(answer: Any, right: str, why: str, others: dict[str, str]) -> CheckResult:
    """Judges one word: `right`, or one of `others`, which says of each why it is wrong."""
    if is_blank(answer):
        return NOT_YET
    word = answer.strip().lower() if isinstance(answer, str) else ""
    if word == right:
        return passed(why)
    if word in others:
        return wrong(others[word])
    options = ", ".join(f'"{option}"' for option in sorted([right, *others]))
    return wrong(f"Answer with one of {options}.")


# ---- functions ----------------------------------------------------------------------------------


def function(
    answer: Any,
    cases: Sequence[Case],
    why: str,
    slips: Sequence[Slip] = (),
    tolerance: float = 1e-6,
) -> CheckResult:
    """Runs a learner's function on every case; the first wrong result decides."""
    if is_blank(answer):
        return NOT_YET
    if not callable(answer):
        return wrong("A function is wanted here: write its name alone, without calling it.")
    for case in cases:
        given, problem = run(answer, case.args, case.call)
        if problem:
            return problem
        if not same(given, case.right, tolerance):
            return wrong(_counter_example(case, given, slips, tolerance))
    return passed(why)


def run(answer: Callable, args: tuple, call: str) -> tuple[Any, CheckResult | None]:
    """What the learner's function gives, or else the result that says why it gives nothing.

    Their code may fail in any way, so this one place catches everything it raises.
    """
    try:
        given = answer(*args)
    except Exception as error:  # noqa: BLE001
        if _has_blank(answer):
            return None, NOT_YET
        return None, wrong(f"{call} raised {type(error).__name__}: {error}")
    if is_blank(given):
        hint = "Fill in the ... and return the result; so far the function gives nothing back."
        return None, CheckResult("not yet", hint)
    return given, None


def _has_blank(answer: Callable) -> bool:
    """Whether a `...` is left in the function's body, which then explains any failure."""
    code = getattr(answer, "__code__", None)
    return code is not None and ... in code.co_consts


def _counter_example(case: Case, given: Any, slips: Sequence[Slip], tolerance: float) -> str:
    text = f"{case.call} gave {show(given)}, and {show(case.right)} is right."
    for slip in slips:
        if same(given, slip.answer(*case.args), tolerance):
            return f"{text} {slip.reason}"
    return text


# ---- values -------------------------------------------------------------------------------------


def numbers(value: Any) -> list[float] | None:
    """All numbers of a number, a tensor or nested lists; None if anything else is in there."""
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if isinstance(value, list | tuple):
        parts = [numbers(item) for item in value]
        return None if None in parts else [x for part in parts for x in part]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [float(value)] if abs(value) < 1e300 else [math.inf]
    return None


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether both hold the same numbers, whatever their shapes: (1, 3) is as good as (3,)."""
    a, b = numbers(one), numbers(other)
    if a is None or b is None or len(a) != len(b):
        return False
    pairs = zip(a, b, strict=True)
    return all(math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance * 1e-3) for x, y in pairs)


def show(value: Any) -> str:
    """A value as a learner reads it: 538,060,032 or 0.0125 or [3, 17, 4, …]."""
    found = numbers(value)
    if found is None:
        return repr(value)[:60] if isinstance(value, str | bool) else f"a {type(value).__name__}"
    texts = [_show_number(x) for x in found[:5]]
    if len(found) == 1:
        return texts[0]
    return f"[{', '.join(texts)}{', …' if len(found) > 5 else ''}]"


def _show_number(x: float) -> str:
    return f"{x:,.0f}" if x == round(x, 0) and abs(x) < 1e15 else f"{x:,.4g}"
