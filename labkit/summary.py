"""The text twin of every chart: the same traces as a sentence and a table.

Pure functions from records to strings; a panel shows them below its chart, the command line prints
them. The only place where seconds become ms and bytes become GB. It judges nothing: why a number
is what it is, `diagnose` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from statistics import median

from .records import Machine, Roofs, Trace, agreement

LATE_TOKENS = 8  # "at the end" means the last few tokens: one alone would be noise

# ---- units ---------------------------------------------------------------------------------------


def digits(value: float) -> str:
    """Three significant digits, as many as a timing deserves: 0.0123, 4.56, 78.9, 1,234."""
    decimals = max(0, 2 - floor(log10(abs(value)))) if value else 0
    return f"{value:,.{decimals}f}"


def ms(seconds: float | None) -> str:
    """0.0463 s as "46.3 ms"."""
    return "unknown" if seconds is None else f"{digits(seconds * 1e3)} ms"


def rate(tokens_per_s: float | None) -> str:
    """21.6 as "21.6 tokens/s"."""
    return "unknown" if tokens_per_s is None else f"{digits(tokens_per_s)} tokens/s"


def gb(n_bytes: float | None) -> str:
    """Powers of 1000, as datasheets count: 538,000,000 bytes are "538 MB"."""
    return _scaled(n_bytes, 1000, ("bytes", "kB", "MB", "GB", "TB"))


def gib(n_bytes: float | None) -> str:
    """Powers of 1024, as memory is sold: 25,769,803,776 bytes are "24.0 GiB"."""
    return _scaled(n_bytes, 1024, ("bytes", "KiB", "MiB", "GiB", "TiB"))


def flops_per_s(rate: float | None) -> str:
    """187e9 as "187 GFLOP/s"."""
    units = ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s")
    return _scaled(rate, 1000, units)


def bytes_per_s(rate: float | None) -> str:
    """20.4e9 as "20.4 GB/s"."""
    return "unknown" if rate is None else f"{gb(rate)}/s"


def _scaled(n_bytes: float | None, base: int, units: Sequence[str]) -> str:
    if n_bytes is None:
        return "unknown"
    power = 0
    while n_bytes >= base and power < len(units) - 1:
        n_bytes, power = n_bytes / base, power + 1
    return f"{digits(n_bytes) if power else round(n_bytes)} {units[power]}"


# ---- a sentence ----------------------------------------------------------------------------------


def heading(trace: Trace) -> str:
    """What was run, and where: "toy in float32 on Xeon (cpu): 12 prompt tokens, 64 new ones"."""
    settings, machine = trace.settings, trace.machine
    batch = f", batch of {settings.batch}" if settings.batch > 1 else ""
    order = f", {settings.order}" if settings.order != "alone" else ""
    return (
        f"{settings.model} in {settings.dtype} on {machine.name} ({machine.device}): "
        f"{settings.prompt_tokens:,} prompt tokens, {settings.new_tokens:,} new ones{batch}{order}"
    )


def sentence(traces: Sequence[Trace]) -> str:
    """One run, or a race, in a sentence. Every arm of a race is compared with the slowest.

    They are compared at the same length: as far as all of them came.
    """
    begun = [trace for trace in traces if trace.steps]
    if not begun:
        return "Nothing was measured yet."
    if len(begun) == 1:
        return _alone(begun[0])
    length = min(len(trace.steps) for trace in begun)
    if length < 2:
        return "Too few tokens to compare: each arm needs two or more."
    slowest, *others = sorted(begun, key=lambda trace: -late_s(trace, length))
    compared = "; ".join(_compared(slowest, other, length) for other in others)
    return f"At the end (median of {min(LATE_TOKENS, length - 1)} tokens) {compared}."


def late_s(trace: Trace, length: int) -> float:
    """Median time of a token near the end of the first `length` tokens; `length` is 2 or more."""
    return median(trace.step_s[1:length][-LATE_TOKENS:])


def _alone(trace: Trace) -> str:
    first = f"{_label(trace)} made its first token in {ms(trace.ttft_s)}"
    if trace.median_itl_s is None:
        return f"{first}."
    return (
        f"{first}, then one every {ms(trace.median_itl_s)} (median): "
        f"{rate(trace.tokens_per_s)} over {len(trace.steps):,} tokens."
    )


def _compared(slow: Trace, fast: Trace, length: int) -> str:
    slow_s, fast_s = late_s(slow, length), late_s(fast, length)
    return (
        f"{_label(fast)} took {ms(fast_s)} for a token and {_label(slow)} {ms(slow_s)}, "
        f"{digits(slow_s / fast_s)} times as long; {agreement(slow, fast)}"
    )


def _label(trace: Trace) -> str:
    return trace.arm if trace.origin == "measured" else f"{trace.arm} ({trace.origin})"


# ---- a table -------------------------------------------------------------------------------------

CELL = "padding:2px 12px;text-align:right"
NAME = "padding:2px 12px;text-align:left;font-weight:normal"


@dataclass(frozen=True)
class Table:
    """Strings in rows below a header; the first cell of each row names it."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Aligned plain text: names to the left, figures to the right."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(_aligned(line, widths) for line in lines)

    def html(self) -> str:
        """A table that a screen reader can walk; without a colour, so that it suits every theme."""
        head = "".join(
            f'<th scope="col" style="{CELL if place else NAME}">{escape(cell)}</th>'
            for place, cell in enumerate(self.header)
        )
        rows = "".join(f"<tr>{_row_html(row)}</tr>" for row in self.rows)
        return (
            '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    figures = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return "  ".join([line[0].ljust(widths[0]), *figures]).rstrip()


def _row_html(row: Sequence[str]) -> str:
    cells = "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row[1:])
    return f'<th scope="row" style="{NAME}">{escape(row[0])}</th>{cells}'


def table(traces: Sequence[Trace]) -> Table:
    """Every metric of every trace, a column for each arm: the eye compares along a line."""
    rows = ((name, *(metric(trace) for trace in traces)) for name, metric in _METRICS)
    return Table(header=("arm", *(trace.arm for trace in traces)), rows=tuple(rows))


def _first_call(trace: Trace) -> str:
    return ms(None if trace.first_call_ns is None else trace.first_call_ns * 1e-9)


def _kv(trace: Trace) -> str:
    return "none" if trace.kv_bytes is None else gb(trace.kv_bytes)


def _device_share(trace: Trace) -> str:
    return "unknown" if trace.device_share is None else f"{trace.device_share:.0%} of a step"


def _origin(trace: Trace) -> str:
    elsewhere = f" on {trace.machine.name}" if trace.origin != "measured" else ""
    return trace.origin + elsewhere


_METRICS: tuple[tuple[str, Callable[[Trace], str]], ...] = (
    ("tokens made", lambda trace: f"{len(trace.steps):,}"),
    ("first token (TTFT)", lambda trace: ms(trace.ttft_s)),
    ("later tokens, mean (TPOT)", lambda trace: ms(trace.tpot_s)),
    ("later tokens, median (ITL)", lambda trace: ms(trace.median_itl_s)),
    ("95 % of them within", lambda trace: ms(trace.itl_percentile_s(95))),
    ("99 % of them within", lambda trace: ms(trace.itl_percentile_s(99))),
    ("speed, first token included", lambda trace: rate(trace.tokens_per_s)),
    ("first call, not counted above", _first_call),
    ("the device computes", _device_share),
    ("KV cache", _kv),
    ("peak memory", lambda trace: gib(trace.peak_memory_bytes)),
    ("origin", _origin),
)


# ---- roofs ---------------------------------------------------------------------------------------


def roofs_table(roofs: Roofs, datasheet: Machine | None) -> Table:
    """What a probe measured, beside what the machine's datasheet states where it is known."""
    stated = datasheet.peak_flops_per_s if datasheet else {}
    bandwidth = datasheet.bandwidth_bytes_per_s if datasheet else None
    rows = [
        ("read", bytes_per_s(roofs.read_bytes_per_s), bytes_per_s(bandwidth)),
        ("copy, read and written", bytes_per_s(roofs.copy_bytes_per_s), bytes_per_s(bandwidth)),
        *(
            (f"products in {dtype}", flops_per_s(rate), flops_per_s(stated.get(dtype)))
            for dtype, rate in roofs.flops_per_s.items()
        ),
    ]
    if roofs.layers is not None:
        host = f"the host's time for a pass of {roofs.layers} layers"
        rows.append((host, ms(roofs.overhead_s), "on no datasheet"))
    header = ("roof", "measured here", datasheet.name if datasheet else "datasheet")
    return Table(header, tuple(rows))
