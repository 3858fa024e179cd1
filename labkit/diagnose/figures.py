"""Figures as the evidence writes them: three digits, in the unit that a reader expects."""

from __future__ import annotations

from ..summary import digits as three_digits
from ..summary import gb


def digits(value: float) -> str:
    """Three digits; in powers of ten where nobody would write the zeros."""
    return three_digits(value) if 1e-9 < value < 1e12 else f"{value:.3g}"


def seconds(value: float) -> str:
    """0.0463 s as "46.3 ms", 12.3 s as "12.3 s"."""
    return f"{digits(value)} s" if value >= 1 else f"{digits(value * 1e3)} ms"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def quotient(part_s: float, whole_s: float) -> str:
    """ "8.73 s ÷ 9.81 s = 89 %"."""
    return f"{seconds(part_s)} ÷ {seconds(whole_s)} = {percent(part_s / whole_s)}"


def tokens(count: float) -> str:
    return f"{count:,.0f} token{'' if round(count) == 1 else 's'}"


def tps(rate: float) -> str:
    return f"{digits(rate)} tokens/s"


def per_second(rate: float, unit: str = "B") -> str:
    """3.35e12 bytes/s as "3.35 TB/s"."""
    if not 1 <= rate < 1e21:
        return f"{rate:.3g} {unit}/s"
    return f"{gb(rate)}/s" if unit == "B" else f"{digits(rate / 1e12)} TFLOP/s"


def size(n_bytes: float) -> str:
    """16e9 bytes as "16.0 GB"."""
    return per_second(n_bytes).removesuffix("/s")
