"""From a reader's figures to a Report: absent values left out, impossible ones refused, rest derived.

Every reader ends in `report`, so that what counts as absent or impossible is decided once.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from ..records.report import Report

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
    kept = {name: value for name, value in figures.items() if _present(name, value)}
    return complete(plausible(Report(tool, kind, warnings=warnings, **kept)))


def _present(name: str, value: object) -> bool:
    if value is None or isinstance(value, str | tuple | bool):
        return value is not None
    return isfinite(value) and (value > 0 or (value == 0 and name in MAY_BE_ZERO))


def whole(count: float | None) -> float | None:
    """A count that was calculated, rounded as counts are."""
    return round(count) if count is not None and isfinite(count) else None


def refuse(old: Report, names: tuple[str, ...], reason: str) -> Report:
    """The report without these figures, and with the reason among its warnings."""
    gone = dict.fromkeys(names)
    return replace(old, **gone, warnings=(*old.warnings, f"refused: {reason}"))


# ---- what can't be -------------------------------------------------------------------------------


def plausible(old: Report) -> Report:
    """The report without figures that no machine can have produced; each refusal says why."""
    for check in (_prefill_rate, _decode_rate, _seconds_per_token, _no_first_token, _mean_tpot):
        old = check(old)
    return old


def _prefill_rate(old: Report) -> Report:
    rate = old.prefill_tokens_per_s
    if rate is None and old.prefill_s and old.prompt_tokens:
        rate = max(0.0, old.prompt_tokens - (old.cached_tokens or 0)) / old.prefill_s
    if rate is None or rate <= MOST_PREFILL_TOKENS_PER_S:
        return old
    cached = old.prompt_tokens if old.cached_tokens is None else old.cached_tokens
    reason = f"{rate:,.0f} prompt tokens/s is no prefill; most of this prompt came from a cache"
    return replace(
        refuse(old, ("prefill_tokens_per_s",), reason),
        cached_tokens=cached,
    )


def _decode_rate(old: Report) -> Report:
    rate = old.decode_tokens_per_s or (1 / old.tpot_s if old.tpot_s else 0.0)
    if rate <= MOST_DECODE_TOKENS_PER_S:
        return old
    reason = f"{rate:,.0f} tokens/s for one user is no measurement of decode"
    return refuse(old, ("decode_tokens_per_s", "tpot_s", "decode_s"), reason)


def _seconds_per_token(old: Report) -> Report:
    if old.tpot_s is None or old.tpot_s <= MOST_SECONDS_PER_TOKEN:
        return old
    return refuse(
        old,
        ("tpot_s", "decode_s", "decode_tokens_per_s", "total_s"),
        f"{old.tpot_s:,.0f} s per token is an overflow, not a measurement",
    )


def _no_first_token(old: Report) -> Report:
    """A benchmark without streaming prints no TTFT, and a TPOT that is total ÷ (tokens − 1)."""
    if old.kind != "aggregate" or old.ttft_s or old.prefill_s or not (old.tpot_s and old.total_s):
        return old
    if not old.output_tokens or old.tpot_s * old.output_tokens < 0.95 * old.total_s:
        return old
    return refuse(
        old,
        ("tpot_s", "decode_s", "decode_tokens_per_s"),
        "there is no TTFT, and TPOT x tokens is the whole latency: nothing was streamed",
    )


def _mean_tpot(old: Report) -> Report:
    """A mean TPOT that a few short outputs destroyed; the median stands in where there is one."""
    limit_s = old.total_s if old.kind == "request" else old.duration_s
    if not (limit_s and old.tpot_s and old.output_tokens) or old.total_counts_idle:
        return old
    if old.tpot_s * (old.output_tokens - 1) <= ROUNDING * limit_s:
        return old
    reason = (
        f"mean TPOT {old.tpot_s * 1e3:,.4g} ms x {old.output_tokens - 1:,.0f} tokens is longer "
        f"than the {limit_s:,.4g} s that hold it"
    )
    refused = refuse(old, ("tpot_s", "decode_s", "decode_tokens_per_s"), reason)
    if not old.tpot_median_s:
        return refused
    return replace(refused, tpot_s=old.tpot_median_s, statistic="median")


# ---- what follows from what ----------------------------------------------------------------------


def complete(old: Report) -> Report:
    """The report with every figure that follows from others by its definition, in this order."""
    if old.kind == "window":
        return old
    for name, derive in DERIVED:
        value = derive(old) if getattr(old, name) is None else None
        if value is not None and isfinite(value) and value > 0:
            old = replace(old, **{name: value})
    return old


def _prefill_s(r: Report) -> float | None:
    if r.kind != "request" or not (r.prompt_tokens and r.prefill_tokens_per_s):
        return None
    return (r.prompt_tokens - (r.cached_tokens or 0)) / r.prefill_tokens_per_s


def _ttft_s(r: Report) -> float | None:
    return r.queue_s + r.prefill_s if r.prefill_s and r.queue_s is not None else None


def _decode_s(r: Report) -> float | None:
    if r.kind == "rates":
        return None
    if r.tpot_s and r.output_tokens and r.output_tokens > 1:
        return r.tpot_s * (r.output_tokens - 1)
    if r.decode_tokens_per_s and r.output_tokens and r.output_tokens > 1:
        return (r.output_tokens - 1) / r.decode_tokens_per_s
    return r.total_s - r.ttft_s if r.total_s and r.ttft_s else None


def _output_tokens(r: Report) -> float | None:
    if r.tpot_s and r.decode_s and r.kind != "rates":
        return round(r.decode_s / r.tpot_s) + 1
    return None


def _tpot_s(r: Report) -> float | None:
    if r.decode_tokens_per_s:
        return 1 / r.decode_tokens_per_s
    if r.decode_s and r.output_tokens and r.output_tokens > 1:
        return r.decode_s / (r.output_tokens - 1)
    return None


def _decode_rate_of(r: Report) -> float | None:
    return 1 / r.tpot_s if r.tpot_s else None


def _prefill_rate_of(r: Report) -> float | None:
    """Not from a time that the cache shortened, and never from a TTFT, which may hold a queue."""
    if not (r.prompt_tokens and r.prefill_s) or r.prompt_progress:
        return None
    rate = (r.prompt_tokens - (r.cached_tokens or 0)) / r.prefill_s
    return rate if rate <= MOST_PREFILL_TOKENS_PER_S else None


def _total_s(r: Report) -> float | None:
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
