"""From a reader's figures to a Report: absent ones left out, impossible ones refused, rest derived.

Every reader ends in `report`, so that what counts as absent or impossible is decided once.
"""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from types import SimpleNamespace as Draft  # a report before it is frozen

from ..records.report import Report

# All figures of a Report, unknown so far.
DEFAULTS = {f.name: f.default for f in fields(Report)[2:] if f.name != "warnings"}
TINY, HUGE = 1e-15, 1e18  # what lies outside is an overflow, in any of our units

# Zero is a measurement only for these; a time or rate of 0.00 is a figure that was not taken.
MAY_BE_ZERO = frozenset({"queue_s", "cached_tokens", "running", "waiting", "kv_usage", "cpu_share"})

# Above what one device computes; a prompt that seems faster came from a cache.
MOST_PREFILL_TOKENS_PER_S = 1e5
# Small models on the fastest chips write some thousand tokens/s to one user.
MOST_DECODE_TOKENS_PER_S = 1e5
# Nobody waits an hour for a token: such a figure is an overflow or a clock that jumped.
MOST_SECONDS_PER_TOKEN = 3600.0
# A printed figure is rounded; TPOT × tokens may exceed the time that holds it by this much.
ROUNDING = 1.05


def report(tool: str, kind: str, warnings: tuple[str, ...] = (), **figures: object) -> Report:
    """A Report of these figures: senseless ones absent, impossible ones refused in `warnings`."""
    draft = Draft(**DEFAULTS, tool=tool, kind=kind, warnings=warnings)
    vars(draft).update({name: v for name, v in figures.items() if _present(name, v)})
    for check in (_prefill_rate, _decode_rate, _seconds_per_token, _no_first_token, _mean_tpot):
        check(draft)
    if kind != "window":
        _complete(draft)
    return Report(**vars(draft))


def _present(name: str, value: object) -> bool:
    if value is None or isinstance(value, (str, tuple, bool)):
        return value is not None
    return (0 if name in MAY_BE_ZERO else TINY) <= value < HUGE


def whole(count: float | None) -> float | None:
    """A count that was calculated, rounded as counts are."""
    return round(count) if count is not None and isfinite(count) else None


# ---- what can't be -------------------------------------------------------------------------------


def _refuse(d: Draft, names: tuple[str, ...], reason: str) -> None:
    """Takes these figures out, and says why."""
    for name in names:
        setattr(d, name, None)
    d.warnings = (*d.warnings, f"refused: {reason}")


def _prefill_rate(d: Draft) -> None:
    rate = d.prefill_tokens_per_s
    if rate is None and d.prefill_s and d.prompt_tokens:
        rate = max(0.0, d.prompt_tokens - (d.cached_tokens or 0)) / d.prefill_s
    if rate is None or rate <= MOST_PREFILL_TOKENS_PER_S:
        return
    reason = f"{rate:,.0f} prompt tokens/s is no prefill; most of this prompt came from a cache"
    _refuse(d, ("prefill_tokens_per_s",), reason)
    d.cached_tokens = d.cached_tokens or d.prompt_tokens


def _decode_rate(d: Draft) -> None:
    rate = d.decode_tokens_per_s or (1 / d.tpot_s if d.tpot_s else 0.0)
    if rate > MOST_DECODE_TOKENS_PER_S:
        reason = f"{rate:,.0f} tokens/s for one user is no measurement of decode"
        _refuse(d, ("decode_tokens_per_s", "tpot_s", "decode_s"), reason)


def _seconds_per_token(d: Draft) -> None:
    if d.tpot_s and d.tpot_s > MOST_SECONDS_PER_TOKEN:
        reason = f"{d.tpot_s:,.0f} s per token is an overflow, not a measurement"
        _refuse(d, ("tpot_s", "decode_s", "decode_tokens_per_s", "total_s"), reason)


def _no_first_token(d: Draft) -> None:
    """A benchmark without streaming prints no TTFT, and a TPOT that is total ÷ (tokens − 1)."""
    if d.kind != "aggregate" or d.ttft_s or d.prefill_s or not (d.tpot_s and d.total_s):
        return
    if d.output_tokens and d.tpot_s * d.output_tokens >= 0.95 * d.total_s:
        reason = "there is no TTFT, and TPOT x tokens is the whole latency: nothing was streamed"
        _refuse(d, ("tpot_s", "decode_s", "decode_tokens_per_s"), reason)


def _mean_tpot(d: Draft) -> None:
    """A mean TPOT that a few short outputs destroyed; the median stands in where there is one."""
    limit_s = d.total_s if d.kind == "request" else d.duration_s
    if not (limit_s and d.tpot_s and d.output_tokens) or d.total_counts_idle:
        return
    if d.tpot_s * (d.output_tokens - 1) <= ROUNDING * limit_s:
        return
    reason = (
        f"mean TPOT {d.tpot_s * 1e3:,.4g} ms x {d.output_tokens - 1:,.0f} tokens is longer "
        f"than the {limit_s:,.4g} s that hold it"
    )
    _refuse(d, ("tpot_s", "decode_s", "decode_tokens_per_s"), reason)
    if d.tpot_median_s:
        d.tpot_s, d.statistic = d.tpot_median_s, "median"


# ---- what follows from what ----------------------------------------------------------------------


def _complete(d: Draft) -> None:
    """Fills in every figure that follows from others by its definition, in this order."""
    for name, derive in DERIVED:
        value = derive(d) if getattr(d, name) is None else None
        if value is not None and TINY <= value < HUGE:
            setattr(d, name, value)


def _prefill_s(r: Draft) -> float | None:
    if r.kind != "request" or not (r.prompt_tokens and r.prefill_tokens_per_s):
        return None
    return (r.prompt_tokens - (r.cached_tokens or 0)) / r.prefill_tokens_per_s


def _ttft_s(r: Draft) -> float | None:
    return r.queue_s + r.prefill_s if r.prefill_s and r.queue_s is not None else None


def _decode_s(r: Draft) -> float | None:
    if r.kind == "rates":
        return None
    if r.tpot_s and r.output_tokens and r.output_tokens > 1:
        return r.tpot_s * (r.output_tokens - 1)
    if r.decode_tokens_per_s and r.output_tokens and r.output_tokens > 1:
        return (r.output_tokens - 1) / r.decode_tokens_per_s
    if r.inference_s and r.prefill_s:
        return r.inference_s - r.prefill_s
    if not (r.total_s and r.ttft_s) or r.total_counts_idle:
        return None
    return r.total_s - r.ttft_s


def _output_tokens(r: Draft) -> float | None:
    if r.tpot_s and r.decode_s and r.kind != "rates":
        return round(r.decode_s / r.tpot_s) + 1
    return None


def _tpot_s(r: Draft) -> float | None:
    if r.decode_tokens_per_s:
        return 1 / r.decode_tokens_per_s
    if r.decode_s and r.output_tokens and r.output_tokens > 1:
        return r.decode_s / (r.output_tokens - 1)
    return None


def _decode_rate_of(r: Draft) -> float | None:
    return 1 / r.tpot_s if r.tpot_s else None


def _prefill_rate_of(r: Draft) -> float | None:
    """Not from a time that the cache shortened, and never from a TTFT, which may hold a queue."""
    if not (r.prompt_tokens and r.prefill_s) or r.prompt_progress:
        return None
    rate = (r.prompt_tokens - (r.cached_tokens or 0)) / r.prefill_s
    return rate if rate <= MOST_PREFILL_TOKENS_PER_S else None


def _total_s(r: Draft) -> float | None:
    if r.prompt_progress or r.kind == "rates" or r.total_counts_idle:
        return None
    return r.ttft_s + r.decode_s if r.ttft_s and r.decode_s else None


DERIVED = (
    ("prefill_s", _prefill_s),
    ("ttft_s", _ttft_s),
    ("decode_s", _decode_s),
    ("tpot_s", _tpot_s),
    ("output_tokens", _output_tokens),
    ("decode_tokens_per_s", _decode_rate_of),
    ("prefill_tokens_per_s", _prefill_rate_of),
    ("total_s", _total_s),
)
