"""What happens before the first token: queue, loading, prefill. TTFT holds all three.

TTFT counts as prefill only where nobody else is there to wait for. Else a prefill can't have taken
longer than some bounds, and the rest is queue.
"""

from __future__ import annotations

from dataclasses import replace

from ..records.report import Report
from ..records.verdict import Evidence
from .figures import digits, tokens
from .figures import seconds as text_s
from .parts import LOW, MEDIUM, Split
from .thresholds import ALONE, LONG_PROMPT, PROMPT_HEAVY, ROUNDED, SHORT_PROMPT, SPREAD


def alone(r: Report) -> bool:
    """One request at a time: nobody to queue behind."""
    if r.served_per_s and r.total_s and r.served_per_s * r.total_s <= ALONE:
        return True
    if r.concurrency is None:
        return r.kind == "request"
    return r.concurrency <= ALONE


def before_first_token(r: Report) -> Split:
    """Queue, load and prefill seconds of one request."""
    if r.prefill_s:
        return _cold(r, Split({"queue": r.queue_s or 0.0, "prefill": r.prefill_s}))
    if r.queue_s is not None:
        if r.queue_s > r.ttft_s:  # a clock that started behind the queue
            return Split({"queue": r.queue_s, "prefill": r.ttft_s})
        rest_s = r.ttft_s - r.queue_s
        arithmetic = f"{text_s(r.ttft_s)} - {text_s(r.queue_s)} = {text_s(rest_s)}"
        seen = Evidence("TTFT without the queue in it", arithmetic)
        return Split({"queue": r.queue_s, "prefill": rest_s}, (seen,))
    if alone(r):
        return _cold(r, Split({"prefill": r.ttft_s}))
    return _queue_in_ttft(r)


def _cold(r: Report, found: Split) -> Split:
    """A short prompt that is read slower than text is written: the weights were being loaded."""
    spent = found.parts["prefill"]
    if not (r.prompt_tokens and r.tpot_s) or r.prompt_tokens >= SHORT_PROMPT:
        return found
    each_s = spent / r.prompt_tokens
    if each_s <= r.tpot_s:
        return found
    arithmetic = f"{text_s(each_s)} for a prompt token, {text_s(r.tpot_s)} for a written one"
    seen = Evidence("a cold start: computed together, prompt tokens are never slower", arithmetic)
    parts = {**found.parts, "prefill": 0.0, "load": spent}
    return replace(found, parts=parts, evidence=(*found.evidence, seen))


def _queue_in_ttft(r: Report) -> Split:
    """What TTFT has beyond the longest possible prefill is queue."""
    bounds = {
        "the shortest TTFT": r.ttft_min_s if _spread(r) else None,
        "run time ÷ requests": _between_ends(r),
        "prompt tokens ÷ prefill rate": r.prompt_tokens / r.prefill_tokens_per_s
        if r.prompt_tokens and r.prefill_tokens_per_s
        else None,
        "prompt tokens x TPOT": r.prompt_tokens * r.tpot_s
        if r.prompt_tokens and r.tpot_s
        else None,
    }
    known = {name: bound for name, bound in bounds.items() if bound}
    ask = ("the queue time, or TTFT with one request at a time",)
    if not known:
        return Split({"prefill": r.ttft_s}, missing=ask, sure=LOW)
    name = min(known, key=known.__getitem__)
    prefill_s = min(r.ttft_s, known[name])
    queue_s = r.ttft_s - prefill_s
    parts = {"queue": queue_s, "prefill": prefill_s}
    if queue_s <= 0:
        return Split(parts, missing=ask, sure=MEDIUM)
    arithmetic = f"{text_s(r.ttft_s)} - {text_s(prefill_s)} = {text_s(queue_s)}"
    evidence = (Evidence(f"queue in TTFT: what it has beyond {name}", arithmetic),)
    return Split(parts, evidence + _overload(r) + _made_by_prefill(r), ask, MEDIUM)


def _between_ends(r: Report) -> float | None:
    """Seconds from one request's end to the next one's: no prefill alone takes longer."""
    if r.duration_s and r.requests:
        return r.duration_s / r.requests
    return 1 / r.served_per_s if r.served_per_s else None


def _spread(r: Report) -> bool:
    """Whether TTFT differs more than prompts of about one length make it differ."""
    return bool(r.ttft_min_s) and r.ttft_s >= SPREAD * r.ttft_min_s


def _overload(r: Report) -> tuple[Evidence, ...]:
    """Requests that come faster than they end."""
    if not (r.offered_per_s and r.served_per_s) or r.offered_per_s <= r.served_per_s * ROUNDED:
        return ()
    rates = f"{digits(r.offered_per_s)} offered, {digits(r.served_per_s)} served in a second"
    return (Evidence("more requests come than are served", rates),)


def _made_by_prefill(r: Report) -> tuple[Evidence, ...]:
    if not (r.prompt_tokens and r.output_tokens) or r.prompt_tokens < LONG_PROMPT:
        return ()
    if r.prompt_tokens < PROMPT_HEAVY * r.output_tokens:
        return ()
    lengths = f"{tokens(r.prompt_tokens)} in, {tokens(r.output_tokens)} out"
    return (Evidence("prefill of other requests makes this queue", lengths),)
