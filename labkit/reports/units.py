"""Numbers and durations as tools print them: 1,764.61; 2m7.682s; 49.382µs; inf for "not measured".

Thousands separators are read here. Decimal commas were turned into dots before, by `paste`, which
sees a whole block and can tell the two apart.
"""

from __future__ import annotations

import re
from math import isfinite

NUMBER = r"[-+]?\d[\d,]{0,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"
N = rf"({NUMBER})"  # one, as a group of a reader's pattern
SECONDS = {
    "h": 3600.0,
    "m": 60.0,
    "min": 60.0,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "milliseconds": 1e-3,
    "µs": 1e-6,
    "us": 1e-6,
    "microseconds": 1e-6,
    "ns": 1e-9,
    "nanoseconds": 1e-9,
}
BYTES = {
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
}

_number = re.compile(NUMBER)
_thousands = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?![\d,])")
_parts = re.compile(r"(\d{1,12}(?:\.\d{1,18})?) ?(h|min|ms|m|s|µs|us|ns)(?![a-zµ])")


def number(text: object) -> float | None:
    """The first number in `text`, a thousands separator taken out; None: there is none.

    >>> number("--->  1,764.61"), number("N/A"), number("24,")
    (1764.61, None, 24.0)
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        return _finite(text)
    found = _number.search(text) if isinstance(text, str) else None
    if found is None:
        return None
    digits = found[0].rstrip(",")
    if "," in digits:
        grouped = _thousands.match(digits)
        digits = digits.replace(",", "") if grouped else digits.split(",")[0]
    return _finite(float(digits))


def _finite(value: float) -> float | None:
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:  # a whole number with hundreds of digits
        return None


def seconds(value: object, unit: str) -> float | None:
    """A number of that unit in seconds; None for no number or an unknown unit.

    >>> seconds("8,734.21", "ms")
    8.73421
    """
    found, scale = number(value), SECONDS.get(unit.lower().replace("μ", "µ"))
    if found is None or scale is None:
        return None
    return found / round(1 / scale) if scale < 1 else found * scale


def duration(text: str) -> float | None:
    """Seconds of a duration as Go and Rust print it; None if it is none.

    >>> duration("2m7.682s"), duration("49.382µs"), duration("1h2m3s")
    (127.682, 4.9382e-05, 3723.0)
    """
    parts = [seconds(value, unit) for value, unit in _parts.findall(text[:80])]
    return sum(parts) if parts else None
