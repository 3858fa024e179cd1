"""Sums that a learner writes down, done again: "900 x 95 ms = 85 s".

Units count by their prefix only (ms, GB, TFLOPS, k), so that "16 GB / 0.5 s = 32 GB/s" is right and
rounding is forgiven. Where the result differs by a power of ten, a unit was probably left out, and
nothing is said.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMBER = r"(\d{1,12}(?:[.,]\d{1,9}){0,4})[ ]?([a-zA-Zµ%/]{0,12})"
SUM = re.compile(rf"{NUMBER}[ ]?([x×*·/÷+−-])[ ]?{NUMBER}[ ]{{0,2}}(?:=|≈|~|->|→)+[ ]?~?{NUMBER}")
PREFIX = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3}
PREFIX |= {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
UNITS = ("s", "sec", "B", "b", "bytes", "FLOP", "FLOPs", "FLOPS", "flops", "flop", "Hz", "tok")
TOLERANCE = 0.12  # relative; learners round in their heads


@dataclass(frozen=True, slots=True)
class Sum:
    """One sum as it was written, where it stands, and what it gives in its own unit."""

    quote: str
    start: int
    end: int
    right: bool
    result: float


def sums(visible: str) -> list[Sum]:
    """The sums in a text whose results can be judged. Takes linear time."""
    found = (_judge(match) for match in SUM.finditer(visible))
    return [one for one in found if one]


def _judge(match: re.Match) -> Sum | None:
    a, a_unit, sign, b, b_unit, c, c_unit = match.groups()
    one, other, claimed = (number(text) for text in (a, b, c))
    scale = _scale(a_unit), _scale(b_unit), _scale(c_unit)
    if not claimed or (sign in "/÷" and not other):
        return None
    result = _apply(sign, one * scale[0], other * scale[1]) / scale[2]
    right = math.isclose(result, claimed, rel_tol=TOLERANCE)
    if not right and (result <= 0 or sign in "+−-" or _only_a_power_of_ten(result / claimed)):
        return None
    return Sum(match[0].strip(), *match.span(), right, result)


def number(text: str) -> float:
    """Reads "24,000", "3.35" and "0,4": a comma before three digits groups them."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return float(text.replace(",", ""))
    whole, *rest = re.split("[.,]", text)
    return float(f"{whole}.{''.join(rest)}") if rest else float(whole)


def _scale(unit: str) -> float:
    unit = unit.partition("/")[0]
    if unit in ("k", "K", "M", "G", "T") or (unit[:1] in PREFIX and unit[1:] in UNITS):
        return PREFIX[unit[0]]
    return 0.01 if unit == "%" else 1.0


def _apply(sign: str, one: float, other: float) -> float:
    if sign in "/÷":
        return one / other
    return one + other if sign == "+" else one - other if sign in "−-" else one * other


def _only_a_power_of_ten(ratio: float) -> bool:
    exponent = math.log10(ratio)
    return abs(exponent - round(exponent)) < 0.06
