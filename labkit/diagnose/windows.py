"""Lines of an engine's log: what the engine did, and who waited.

More requests waiting than running, or a full KV cache with anybody waiting, is a queue. Else the
lines are sorted by what they did: read prompts, wrote tokens, or both. One line is a moment, not a
trend; a line that did both can't be split unless few prompt tokens stand against many written ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..records.report import Report, Window
from ..records.verdict import Evidence
from .figures import percent, tps
from .parts import HIGH, MEDIUM, Split, insufficient
from .thresholds import COLLAPSED, DOMINANT, KV_FULL, MANY_WAITING

ASK = "TTFT and TPOT of one request, or queue, prefill and decode time from the engine's metrics"


def split_windows(r: Report) -> Split:
    """The split of a log. Shares are shares of lines, or of engine time where lines tell it."""
    seen = r.windows
    if len(seen) < 2:
        return insufficient("one line is a moment, not a trend", f"more lines, or {ASK}")
    return _queue(seen) or _doing(seen)


def _queue(seen: Sequence[Window]) -> Split | None:
    waiting = sum(w.waiting or 0 for w in seen) / len(seen)
    running = sum(w.running or 0 for w in seen) / len(seen)
    counts = f"{waiting:.3g} waiting, {running:.3g} running, on average of {len(seen)} lines"
    share = waiting / (waiting + running) if waiting else 0.0
    parts = {"queue": share, "decode": 1 - share}
    full = [w for w in seen if (w.kv_usage or 0) >= KV_FULL and w.waiting]
    if len(full) > len(seen) / 2:
        usage = f"{counts}; KV cache at {percent(full[-1].kv_usage)}"
        claim = "requests wait because the KV cache is full"
        return Split(parts, (Evidence(claim, usage),), (), MEDIUM, "queue")
    if waiting >= MANY_WAITING and waiting >= running:
        claim = "more requests wait than run, and the KV cache has room"
        return Split(parts, (Evidence(claim, counts),), (), MEDIUM, "queue")
    if waiting and not any(w.prompt_tokens_per_s or w.output_tokens_per_s for w in seen):
        claim = "requests wait and nothing moves: the engine is stuck"
        return Split(parts, (Evidence(claim, counts),), (ASK,), MEDIUM, "queue")
    return None


def _doing(seen: Sequence[Window]) -> Split:
    timed = all(w.weight_s for w in seen)
    spent = {"prefill": 0.0, "decode": 0.0, "both": 0.0}
    most = max(map(_each, seen))
    reads = any(w.prompt_tokens_per_s or w.batch == "prefill" for w in seen)
    for window in seen:
        what = _what(window, most, reads)
        if what:
            spent[what] += window.weight_s if timed else 1.0
    total = sum(spent.values())
    if not total:
        return insufficient("the engine was idle in every line", ASK)
    both = spent.pop("both")
    evidence = [Evidence(_said(name, seen), f"{percent(v / total)} of {len(seen)} lines")
                for name, v in spent.items() if v]  # fmt: skip
    evidence += _waiting(seen)
    if max(spent.values()) < DOMINANT * total and both:
        why = "the lines read prompts and write tokens at once, which can't be split"
        return insufficient(why, ASK)
    top = max(spent.values()) / total
    return Split(spent, tuple(evidence), (ASK,), HIGH if top == 1 else MEDIUM)


def _each(w: Window) -> float:
    """Tokens/s written for one request."""
    return (w.output_tokens_per_s or 0.0) / (w.running or 1.0)


def _what(w: Window, most: float, reads: bool) -> str | None:
    """What the engine did. V1 books a prompt when it is read: before, text only stalls."""
    if w.batch:
        return w.batch
    prompt, output = w.prompt_tokens_per_s or 0.0, w.output_tokens_per_s or 0.0
    if not output and not w.running:
        return "prefill" if prompt else None
    if reads and _each(w) <= COLLAPSED * most:
        return "prefill"
    # A prompt's token costs no more than one written, so decode takes output ÷ (output + prompt).
    return "decode" if output >= DOMINANT * (output + prompt) else "both"


def _said(name: str, seen: Sequence[Window]) -> str:
    if name == "decode":
        return "the engine wrote tokens, and read few prompts or none"
    rates = [w.prompt_tokens_per_s for w in seen if w.prompt_tokens_per_s]
    at = f" at {tps(rates[-1])}" if rates else ""
    return f"the engine read prompts{at} while nobody's text went on"


def _waiting(seen: Sequence[Window]) -> list[Evidence]:
    last = seen[-1]
    if not last.waiting or last.running is None:
        return []
    counts = f"{last.waiting:g} waiting, {last.running:g} running in the last line"
    return [Evidence("others wait behind it", counts)]
