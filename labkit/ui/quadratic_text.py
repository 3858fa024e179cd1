"""The text twins of lesson 02's panels: sentences and tables. Pure functions to HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .. import roofline
from ..records.estimate import Cost
from ..records.model_shape import ModelShape
from ..records.sweep import PowerLaw, Sweep, SweepPoint, meeting_length
from ..summary import Table, digits, gb, ms
from ..sweeps import ATTENTION, REST, WHOLE


def paragraphs(*lines: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


# ---- the matrix ----------------------------------------------------------------------------------


def linear_flops(shape: ModelShape, length: int) -> int:
    """FLOPs of all layers' matrices for so many positions."""
    return 2 * length * roofline.matrix_parameters(shape)


def matrix_told(shape: ModelShape, length: int, dtype: str) -> str:
    """What the picture and the curves show, and what doubling the length does to each."""
    seen = roofline.query_key_pairs(length, length, None)
    meet = roofline.length_where_attention_equals_linear(shape)
    meets = (
        "never have equally many, since its windows are short"
        if meet is None
        else f"have equally many at {meet:,} tokens"
    )
    beyond = (
        f" {shape.name} itself takes at most {shape.max_context:,} tokens."
        if length > shape.max_context
        else ""
    )
    line = (
        f"{length:,} tokens make {length**2:,} pairs of query and key for each head of each layer. "
        f"The causal mask leaves {seen:,} of them, {seen / length**2:.1%}. Attention and the "
        f"linear layers of {shape.name} {meets}.{beyond}"
    )
    return paragraphs(line) + _doubling(shape, length, dtype).html()


def _doubling(shape: ModelShape, length: int, dtype: str) -> Table:
    rows = {
        "pairs, one head, all": lambda n: n**2,
        "pairs that the mask leaves": lambda n: roofline.query_key_pairs(n, n, None),
        "matrices of one layer, if written out, bytes": lambda n: roofline.score_bytes(
            shape, n, dtype
        ),
        "attention, all layers, FLOPs": lambda n: roofline.attention_flops(shape, n, n),
        "linear layers, FLOPs": lambda n: linear_flops(shape, n),
    }
    made = tuple(_doubled(name, count(length), count(2 * length)) for name, count in rows.items())
    return Table(("", f"L = {length:,}", f"L = {2 * length:,}", "times"), made)


def _doubled(name: str, here: int, twice: int) -> tuple[str, ...]:
    show = gb if name.endswith("bytes") else _count
    return (name, show(here), show(twice), f"{twice / here:.2f}")


def _count(value: float) -> str:
    """12,345 or, from ten million on, 1.23e+09."""
    return f"{value:,.0f}" if value < 1e7 else f"{value:.2e}"


# ---- attention's time ----------------------------------------------------------------------------


def attention_told(
    sweeps: Sequence[Sweep], fits: dict[str, PowerLaw | None], shape: ModelShape
) -> str:
    """The exponents with their errors, and the times length by length."""
    if not sweeps:
        return ""
    lines = [_grows(sweep, fits.get(sweep.name)) for sweep in sweeps]
    by_name = {sweep.name: sweep for sweep in sweeps}
    if "written out" in by_name:
        longest = by_name["written out"].points[-1].length
        size = roofline.score_bytes(shape, longest, sweeps[0].dtype)
        lines.append(
            f"Written out, the matrices of one layer take {gb(size)} at {longest:,} tokens; the "
            "other kernels keep only a tile of them at a time."
        )
    return paragraphs(*lines) + _by_length(sweeps).html()


def _grows(sweep: Sweep, fit: PowerLaw | None) -> str:
    if fit is None:
        return ""
    points = sweep.upper_half()
    error = "" if fit.error is None else ", ± its standard error"
    return (
        f"{sweep.name}: time grows as L to the power {fit} between {points[0].length:,} and "
        f"{points[-1].length:,} tokens (fit over {len(points)} lengths{error}), so "
        f"twice the length takes {2**fit.exponent:.1f} times as long."
    )


def _by_length(sweeps: Sequence[Sweep]) -> Table:
    """A row for each length, a column for each sweep: median, fastest and slowest."""
    lengths = sorted({point.length for sweep in sweeps for point in sweep.points})
    found = [{point.length: point for point in sweep.points} for sweep in sweeps]
    rows = ((f"{n:,}", *(_spread(points.get(n)) for points in found)) for n in lengths)
    return Table(("tokens", *(sweep.name for sweep in sweeps)), tuple(rows))


def _spread(point: SweepPoint | None) -> str:
    if point is None:
        return ""
    return f"{ms(point.median_s)} ({digits(point.low_s * 1e3)} to {digits(point.high_s * 1e3)})"


# ---- a naive pass --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """The length where attention takes as long as everything else: by FLOPs, and by the clock.

    `measured` comes from the two fits; None while they don't meet. `longest` is what was measured:
    beyond it, `measured` is an extrapolation.
    """

    predicted: int | None
    measured: float | None
    longest: int

    def __str__(self) -> str:
        by_flops = (
            "By FLOPs, attention never reaches the linear layers."
            if self.predicted is None
            else f"By FLOPs, attention equals the linear layers at {self.predicted:,} tokens "
            "(predicted from the shape, causal)."
        )
        if self.measured is None:
            return f"{by_flops} The fits to the measured times do not meet."
        how = "inside" if self.measured <= self.longest else "extrapolated beyond"
        off = f", {self.measured / self.predicted:.2f} times that" if self.predicted else ""
        return (
            f"{by_flops} By the clock the fits meet near {self.measured:,.0f} tokens{off}; this is "
            f"{how} what was measured, up to {self.longest:,}."
        )


def meeting(
    sweeps: Sequence[Sweep], fits: dict[str, PowerLaw | None], shape: ModelShape | None
) -> Meeting | None:
    """None while there are no fits of both parts."""
    attention, rest = fits.get(ATTENTION), fits.get(REST)
    if attention is None or rest is None:
        return None
    measured = meeting_length(attention, rest) if attention.exponent > rest.exponent else None
    return Meeting(
        predicted=roofline.length_where_attention_equals_linear(shape) if shape else None,
        measured=measured if measured is not None and measured < 1e7 else None,
        longest=max(point.length for sweep in sweeps for point in sweep.points),
    )


def naive_told(
    sweeps: Sequence[Sweep], fits: dict[str, PowerLaw | None], shape: ModelShape | None
) -> str:
    """How each part grows, where they meet, and how fast each ran."""
    by_name = {sweep.name: sweep for sweep in sweeps}
    if REST not in by_name:  # the last of the three that a pass gives
        return ""
    met = meeting(sweeps, fits, shape)
    lines = [_grows(by_name[name], fits.get(name)) for name in (ATTENTION, REST)]
    lines += [str(met) if met else "", _rates(by_name, shape)]
    table = _by_length([by_name[name] for name in (WHOLE, ATTENTION, REST)])
    return paragraphs(*lines) + table.html()


def _rates(by_name: dict[str, Sweep], shape: ModelShape | None) -> str:
    """Why the clock and the FLOPs disagree: the two parts don't run equally fast."""
    if shape is None:
        return ""
    attention, rest = by_name[ATTENTION].points[-1], by_name[REST].points[-1]
    length = rest.length
    fast = linear_flops(shape, length) / rest.median_s / 1e9
    slow = roofline.attention_flops(shape, length, length) / attention.median_s / 1e9
    return (
        f"At {length:,} tokens the linear layers ran at {digits(fast)} GFLOP/s, with everything "
        f"else that is not attention in their time, and attention at {digits(slow)} GFLOP/s."
    )


# ---- the cost of a token -------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenCost:
    """Token `number` both ways: work and predicted seconds, its own and those of all up to it."""

    number: int
    naive: Cost
    cached: Cost
    naive_s: float
    cached_s: float
    naive_total_s: float
    cached_total_s: float

    @property
    def attention_share(self) -> float:
        return self.naive.attention_flops / self.naive.flops


def cost_told(costs: Sequence[TokenCost], where: str) -> str:
    """One sentence for the ratios, and a row for each token."""
    first, last = costs[0], costs[-1]
    line = (
        f"Predicted for {where}. Without a cache, token {last.number:,} takes "
        f"{digits(last.naive.flops / first.naive.flops)} times the FLOPs of token "
        f"{first.number:,}, and {digits(last.naive_s / first.naive_s)} times as long. With one, "
        f"{digits(last.cached.flops / first.cached.flops)} times the FLOPs and "
        f"{digits(last.cached_s / first.cached_s)} times as long."
    )
    header = ("", *(f"token {cost.number:,}" for cost in costs))
    rows = {
        "naive, FLOPs": lambda c: _count(c.naive.flops),
        "attention's share of them": lambda c: f"{c.attention_share:.1%}",
        "cached, FLOPs": lambda c: _count(c.cached.flops),
        "naive, predicted": lambda c: ms(c.naive_s),
        "cached, predicted": lambda c: ms(c.cached_s),
        "all tokens so far, naive": lambda c: _seconds(c.naive_total_s),
        "all tokens so far, cached": lambda c: _seconds(c.cached_total_s),
    }
    made = tuple((name, *map(cell, costs)) for name, cell in rows.items())
    return paragraphs(line) + Table(header, made).html()


def _seconds(seconds: float) -> str:
    return f"{digits(seconds)} s" if seconds >= 1 else ms(seconds)
