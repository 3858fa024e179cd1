"""The text twins of lesson 07's panels: servings, batches and waits, in sentences and tables.

Pure functions from records to HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .. import summary
from ..records.serving import RequestTimes, Serving, same_answers
from ..roofline.batching import BatchPoint
from ..summary import Table


def seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{summary.digits(value)} s"


def share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


# ---- who held which slot -------------------------------------------------------------------------

ROWS = (
    ("answers complete", lambda s: f"{sum(t.done for t in s.requests)} of {len(s.requests)}"),
    ("output tokens", lambda s: f"{s.tokens:,}"),
    ("speed, all users together", lambda s: summary.rate(s.tokens_per_s)),
    ("first token (TTFT), median", lambda s: seconds(s.ttft_s())),
    ("95 % had it within", lambda s: seconds(s.ttft_s(95))),
    ("later tokens (TPOT), median", lambda s: summary.ms(s.tpot_s())),
    ("whole answer, median", lambda s: seconds(s.latency_s())),
    ("forward passes", lambda s: f"{len(s.passes):,}"),
    ("slots wasted in decode", lambda s: share(s.wasted_slots)),
    ("padding among prompt tokens", lambda s: share(s.padding)),
    ("cache allocated", lambda s: summary.gb(max(p.kv_bytes for p in s.passes))),
    ("cache in use at most", lambda s: summary.gb(max(p.kv_used_bytes for p in s.passes))),
)


def slots_told(servings: Sequence[Serving]) -> str:
    """Who won, whether the answers agree, who held everybody up, and every metric, as HTML."""
    begun = [serving for serving in servings if serving.passes]
    if len(begun) < 2:
        return "<p>Nothing was measured yet.</p>"
    header = ("", *(serving.policy for serving in begun))
    rows = tuple((name, *(metric(serving) for serving in begun)) for name, metric in ROWS)
    said = (compared(*begun), straggler(begun[0]))
    return f"<p>{escape(' '.join(filter(None, said)))}</p>{Table(header, rows).html()}"


def compared(one: Serving, other: Serving) -> str:
    """The second's tokens a second over the first's, and whether both gave the same answers."""
    if not all(times.done for serving in (one, other) for times in serving.requests):
        return "Both are still serving, or were stopped."
    times = other.tokens_per_s / one.tokens_per_s
    same = "The answers are the same" if same_answers(one, other) else "The answers differ"
    return (
        f"{other.policy.capitalize()} batching gave {summary.digits(times)} times the tokens a "
        f"second of {one.policy} batches. {same}."
    )


def straggler(serving: Serving) -> str:
    """Which request made the others of its batch keep their slots longest."""
    kept = {}
    for times in serving.requests:
        if times.done and times.release_s is not None:
            kept.setdefault(times.start_s, []).append(times)
    if not kept:
        return ""
    worst = max(kept.values(), key=_kept_s)
    if len(worst) < 2 or not _kept_s(worst):
        return ""
    last = max(worst, key=lambda times: times.last_token_s)
    others = f"{len(worst) - 1} other slot{'s' * (len(worst) > 2)}"
    return (
        f"In {serving.policy} batches, request {last.request.number} with its "
        f"{last.request.new_tokens} tokens kept {others} for "
        f"{seconds(_kept_s(worst))} in all after their own answers were done."
    )


def _kept_s(batch: list[RequestTimes]) -> float:
    return sum(times.release_s - times.last_token_s for times in batch)


# ---- what a batch gives --------------------------------------------------------------------------

BATCH_HEADER = ("sequences", "ms a token", "predicted", "off by", "tokens/s", "cache in use")
WAIT_HEADER = ("policy", "load", "arrivals", "TTFT, median", "TTFT, 95 %", "TPOT, median")


def batches_told(steps: Sequence[tuple[Serving, float]], said: Sequence[BatchPoint]) -> str:
    """Each batch's decode step, measured beside predicted. `steps` has the median seconds."""
    if not steps:
        return ""
    by_batch = {point.batch: point for point in said}
    rows = tuple(_batch_row(serving, s, by_batch.get(serving.slots)) for serving, s in steps)
    return Table(BATCH_HEADER, rows).html()


def _batch_row(serving: Serving, step_s: float, said: BatchPoint | None) -> tuple[str, ...]:
    predicted = ("unknown", "unknown")
    if said is not None:
        predicted = (summary.ms(said.step_s), f"{said.step_s / step_s - 1:+.0%}")
    used = max(each.kv_used_bytes for each in serving.passes)
    rate = summary.digits(serving.slots / step_s)
    return (f"{serving.slots:,}", summary.ms(step_s), *predicted, rate, summary.gb(used))


def saturation_said(batch: float | None) -> str:
    if batch is None:
        return "No prediction: the roofs of this machine are unknown. Lesson 00 probes them."
    return (
        f"Predicted: at {batch:.0f} sequences their own arithmetic or caches take as long as the "
        "weights that they share."
    )


def waits_told(loads: Sequence[tuple[float, Serving]]) -> str:
    """The wait under each load, for each policy."""
    rows = tuple(_wait_row(load, serving) for load, serving in loads)
    return Table(WAIT_HEADER, rows).html() if rows else ""


def _wait_row(load: float, serving: Serving) -> tuple[str, ...]:
    waits = (seconds(serving.ttft_s()), seconds(serving.ttft_s(95)), summary.ms(serving.tpot_s()))
    arrivals = f"{summary.digits(serving.per_s)} requests/s"
    return (serving.policy, f"{load:.2f}", arrivals, *waits)
