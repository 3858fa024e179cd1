"""A report's times, split into what the user waits for: queue, load, prefill, decode, overhead.

Several rules, from the surest to the loosest; the first that applies decides. Waiting counts as
queue even where a tool calls it TTFT, and a prompt that is read slower than text is written was not
computed but loaded. What limits a phase is not asked here.
"""

from __future__ import annotations

from dataclasses import replace

from ..records.report import Report
from ..records.verdict import Evidence
from .figures import percent, quotient, tokens, tps
from .figures import seconds as text_s
from .first_token import before_first_token
from .parts import HIGH, LOW, MEDIUM, Split, insufficient
from .thresholds import CLEAR, DOMINANT, FEW_OUTPUT_TOKENS, FEWEST_TOKENS, MANY_OUTPUT_TOKENS


def split(r: Report) -> Split:
    """The split of one request or of a benchmark's mean request."""
    counted = (r.prompt_tokens or 0) + (r.output_tokens or 0)
    if r.prompt_tokens and r.output_tokens and counted < FEWEST_TOKENS:
        why = f"only {tokens(counted)} in all: start-up and rounding outweigh both phases"
        return insufficient(why, "a run with a longer prompt and a longer answer")
    rules = (_unfinished, _all_measured, _rate_of_rates, _part_of_total, _generation, _queue)
    for rule in (*rules, _break_even):
        found = rule(r)
        if found:
            return found
    return insufficient(*_what_is_missing(r))


def _what_is_missing(r: Report) -> tuple[str, ...]:
    if r.kind == "rates":
        return (
            "these are rates, not a request: which phase a user waits for depends on the lengths",
            "the prompt's and the answer's length of a real request",
        )
    if r.ttft_s or r.prefill_s:
        return ("nothing here tells how long decode took", "TPOT, or the total time of a request")
    if r.tpot_s:
        return ("nothing here tells when the first token came", "TTFT")
    if r.total_s:
        return ("one total time can't be split into phases", "TTFT")
    return ("no time of any phase is here", "TTFT and TPOT of one request")


# ---- the rules -----------------------------------------------------------------------------------


def _unfinished(r: Report) -> Split | None:
    """Progress lines of a request that has not ended."""
    if r.prompt_progress == 1 and r.decode_s:
        seen = Evidence("the prompt is read, and tokens are being written", text_s(r.decode_s))
        return Split({"decode": r.decode_s}, (seen,), ("how long the prompt took",), MEDIUM)
    if not r.prompt_progress or not r.prefill_s or r.decode_s:
        return None
    done = f"{text_s(r.prefill_s)} spent, {percent(r.prompt_progress)} of the prompt read"
    seen = Evidence("no token has come yet; nothing but prefill has taken time", done)
    return Split({"prefill": r.prefill_s}, (seen,), sure=HIGH)


def _all_measured(r: Report) -> Split | None:
    """Decode is known, and so is what came before the first token."""
    decode_s = 0.0 if r.output_tokens == 1 and not r.decode_s else r.decode_s
    if decode_s is None or not (r.prefill_s or r.ttft_s):
        return None
    found = before_first_token(r)
    load_s = 0.0 if r.total_counts_idle else r.load_s or 0.0
    parts = {"queue": 0.0, "load": load_s, "prefill": 0.0, "decode": decode_s}
    parts |= {name: parts[name] + spent for name, spent in found.parts.items()}
    if r.prefill_s and r.unaccounted_s and not r.total_counts_idle:
        parts["overhead"] = r.unaccounted_s
    surely = decode_s >= CLEAR * sum(parts.values())  # however TTFT splits into queue and prefill
    found = replace(found, parts=parts, sure=HIGH if surely else found.sure)
    return replace(found, evidence=(*_shares_said(found), *found.evidence, *_pauses(r)))


def _shares_said(found: Split) -> tuple[Evidence, ...]:
    """The largest part, as a quotient. What no phase explains is called that."""
    total = sum(found.parts.values())
    if total <= 0:
        return ()
    name = max(found.parts, key=found.parts.__getitem__)
    words = {"overhead": "time outside all phases", "load": "loading"}
    return (Evidence(words.get(name, name), quotient(found.parts[name], total)),)


def _pauses(r: Report) -> tuple[Evidence, ...]:
    spent = r.unaccounted_s
    if not r.total_counts_idle or not spent or not r.total_s or spent < 0.1 * r.total_s:
        return ()
    return (
        Evidence("the total holds time of no phase, which may be a user's pauses", text_s(spent)),
    )


def _rate_of_rates(r: Report) -> Split | None:
    """(output ÷ total) ÷ (output ÷ decode) is decode ÷ total."""
    if r.kind == "rates" or not (r.output_tokens_per_s and r.decode_tokens_per_s) or r.ttft_s:
        return None
    share = min(1.0, r.output_tokens_per_s / r.decode_tokens_per_s)
    if share < DOMINANT:
        return None
    arithmetic = f"{tps(r.output_tokens_per_s)} ÷ {tps(r.decode_tokens_per_s)} = {percent(share)}"
    seen = Evidence("decode's part of the total, from the two rates", arithmetic)
    return Split({"decode": share, "overhead": 1 - share}, (seen,), sure=MEDIUM)


def _part_of_total(r: Report) -> Split | None:
    """Parts that are known to be most of a known total; the rest may be anything."""
    load_s = None if r.total_counts_idle else r.load_s
    known = {"queue": r.queue_s, "load": load_s, "decode": r.decode_s}
    for names in (("queue",), ("decode",), ("load",), ("queue", "load")):
        parts = {name: known[name] for name in names if known[name]}
        spent = sum(parts.values())
        if spent and r.total_s and spent >= DOMINANT * r.total_s:
            said = f"{' and '.join(parts)} of the total"
            seen = Evidence(said, quotient(spent, max(r.total_s, spent)))
            return Split(parts | {"overhead": max(0.0, r.total_s - spent)}, (seen,))
    return None


def _generation(r: Report) -> Split | None:
    """Prefill and decode in one figure: a prompt's token takes no longer than one written."""
    whole_s = r.inference_s or (None if r.queue_s else r.total_s)
    if not whole_s or not r.prompt_tokens or not r.output_tokens or r.ttft_s:
        return None
    share = r.output_tokens / (r.output_tokens + r.prompt_tokens)
    queue_s = r.queue_s or 0.0
    if share * whole_s < DOMINANT * (whole_s + queue_s):
        return None
    count = f"{r.output_tokens:g} ÷ ({r.output_tokens:g} + {r.prompt_tokens:g})"
    seen = Evidence("decode's least part of it, tokens written of all", f"{count} = {share:.0%}")
    parts = {"queue": queue_s, "decode": share * whole_s, "prefill": (1 - share) * whole_s}
    return Split(parts, (seen,), ("TTFT, to replace this bound by a measurement",), LOW)


def _queue(r: Report) -> Split | None:
    """Nothing but a queue was measured."""
    others = (r.total_s, r.inference_s, r.ttft_s, r.tpot_s, r.prefill_s, r.decode_s)
    if not r.queue_s or any(others):
        return None
    seen = Evidence("the request waited in a queue, and no other time is known", text_s(r.queue_s))
    return Split({"queue": r.queue_s}, (seen,), ("the inference time beside it",), MEDIUM)


def _break_even(r: Report) -> Split | None:
    """TTFT and TPOT without the answer's length: is there a length that changes the class?"""
    if r.kind == "rates" or not (r.tpot_s and (r.ttft_s or r.prefill_s)):
        return None
    before = before_first_token(r)
    if r.load_s and not r.total_counts_idle:
        before = replace(before, parts={**before.parts, "load": r.load_s})
    first_s = sum(before.parts.values())
    enough = DOMINANT / (1 - DOMINANT) * first_s / r.tpot_s + 1
    arithmetic = f"{text_s(first_s)} before the first token, {text_s(r.tpot_s)} for each later one"
    ask = ("how many tokens the answers have",)
    if enough <= FEW_OUTPUT_TOKENS:
        seen = Evidence("decode takes most of the time of any but the shortest answer", arithmetic)
        return replace(before, parts={}, phase="decode", evidence=(seen, *before.evidence))
    name = max(before.parts, key=before.parts.__getitem__)
    until = (before.parts[name] / DOMINANT - first_s) / r.tpot_s
    if until >= MANY_OUTPUT_TOKENS:
        seen = Evidence(f"{name} takes most of the time unless answers are long", arithmetic)
        evidence = (seen, *before.evidence)
        return replace(before, parts={}, phase=name, evidence=evidence, missing=ask, sure=MEDIUM)
    return insufficient(f"the answer's length decides: {arithmetic}", *ask)
