"""Plain words: "TTFT 50 ms, 2 tok/s, 8B on a 4090", "prompts of 300 tokens, 200 users at once".

Read only where no tool's output was found. What one pattern has read is taken out of the text, so
that "the first request takes 38 s" isn't read again as the time of every request.
"""

from __future__ import annotations

import re

from ..records.report import Report
from .build import report
from .paste import Paste
from .units import NUMBER, number, seconds

MOST_CHARACTERS = 20_000  # who describes a run in words is done before that

_unit = r"(ms|milliseconds?|secs?|seconds?|s|minutes?|min|µs|us)\b"
_time = rf"(?<![\w.,])({NUMBER}) ?{_unit}"
_gap = r"[^\d\n;.]{0,25}?"
_rate = rf"(?<![\w.,])({NUMBER}) ?(?:tok(?:en)?s? ?(?:/|per|a) ?s(?:ec(?:ond)?)?\b|t/s\b|tps\b)"
_names = {
    "first": r"first (?:request|call|run)",
    "fastest": r"(?:shortest|fastest|lowest|min(?:imum)?) ttft",
    "queue": r"queue(?:d|ing)?(?: time)?|waiting(?: time)?|\bwait(?:s|ed)?(?: time)?\b",
    "ttft": r"\bttft\b|time[ -]to[ -]first[ -]token|first token|starts? (?:answering )?in",
    "tpot": r"\btpot\b|\bitl\b|time per output token|inter-token latency|per token",
    "load": r"\bload(?:ing)?(?: time)?\b|cold start",
    "prefill": r"\bprefill(?: time)?\b|prompt processing",
    "decode": r"\bdecod(?:e|ing)(?: time)?\b",
    "total": r"\btotal(?: time)?\b|end[ -]to[ -]end|\b(?:e2e|latency|takes|took|wall)\b",
}
TIMES = {name: re.compile(rf"(?:{words}){_gap}{_time}") for name, words in _names.items()}
_in_name = re.compile(
    r"\b(?:(ttft|time to first token)|tpot|itl|time per output token|inter-token latency)"
    rf"[ _]?[(\[]?(ms|s)[)\]]?[\"' :=|]{{1,8}}({NUMBER})"
)
_each = re.compile(rf"{_time} ?(?:/|per|a|each) ?token")
_before_first = re.compile(
    rf"{_time}{_gap}(?:before|until|till|to|for) (?:the |its |my )?first token"
)
_per_s = r"tok(?:en)?s?/s\w{0,4}[^a-z\d\n;,]{0,15}?"
PREFILL_RATES = (
    re.compile(rf"(?:prefill|prompt|\bpp\b|reading|\binput:)[^\d\n;.,]{{0,25}}?{_rate}"),
    re.compile(rf"(?:prefill|prompt|\bpp) ?{_per_s}({NUMBER})"),
    re.compile(rf"({NUMBER}) (?:prefill|prompt|pp) ?(?:tok(?:en)?s?/s|t/s|tps)"),
)
DECODE_RATES = (
    re.compile(rf"(?:decod(?:e|ing)|generation|\btg) ?{_per_s}({NUMBER})"),
    re.compile(rf"decode_tps ?[=:] {{0,3}}({NUMBER})"),
    re.compile(_rate),
)
_of_prompt = r"prompts?|documents?|contexts?|inputs?"
_of_output = r"answers?|outputs?|responses?|completions?|replies|reply"
_k = rf"({NUMBER})(k?)"
SPANS = {  # "prompt eval: 15 tokens in 9 s": which time, which count
    ("prefill", "prompt"): re.compile(
        rf"(?:prompt|prefill)[^\d\n;.]{{0,20}}{_k} tokens? in {_time}"
    ),
    ("decode", "output"): re.compile(
        rf"(?:eval|generat|decod|writ|output)[^\d\n;.]{{0,20}}{_k} tokens? in {_time}"
    ),
}
_says = r"(?:[ _]tokens?|\"| length| num| of| are| is| ?:| {0,2}=){1,4} ?"
_counts = {
    "prompt": re.compile(
        rf"{_k}[- ]?tokens? (?:long )?(?:{_of_prompt}|in\b)|{_k} (?:prompt|input)\b(?: tok\w*)?"
        rf"|(?:{_of_prompt})(?:{_says}{_k}(?: tokens?)?| {_k} tokens)"
    ),
    "output": re.compile(
        rf"{_k}[- ]?tokens? (?:long )?(?:{_of_output}|out\b)"
        rf"|{_k} (?:output|generated|new)\b(?: tok\w*)?|\btoks= {{0,3}}{_k}"
        rf"|(?:{_of_output})(?:{_says}{_k}(?: tokens?)?| {_k} tokens)"
    ),
}
_users = re.compile(
    rf"(one|single|{NUMBER}) (?:concurrent |parallel )?(?:users?|clients?|requests? at once)\b"
    rf"|(?:batch(?: size)?|concurrency)(?: of|:|=)? ?({NUMBER})"
)


class Text:
    """The words not read yet."""

    def __init__(self, text: str) -> None:
        self.left = text[:MOST_CHARACTERS]

    def take(self, pattern: re.Pattern[str]) -> list[str | None] | None:
        """The groups of the first match, which is then blanked out; None without a match."""
        match = pattern.search(self.left)
        if match is None:
            return None
        self.left = self.left[: match.start()] + " ; " + self.left[match.end() :]
        return list(match.groups())


def read(paste: Paste) -> list[Report]:
    text = Text(paste.lower)
    times = {}
    while found := text.take(_in_name):
        times.setdefault("ttft" if found[0] else "tpot", seconds(found[2], found[1]))
    if found := text.take(_before_first):
        times.setdefault("ttft", seconds(found[0], _short(found[1])))
    counts = {}
    for (time, counted), pattern in SPANS.items():
        if found := text.take(pattern):
            times[time], counts[counted] = seconds(found[2], _short(found[3])), _count(found)
    prefill = _first_number(text, PREFILL_RATES)
    per_token = text.take(_each)
    for name, pattern in TIMES.items():
        found = text.take(pattern)
        if found and times.get(name) is None:
            times[name] = seconds(found[0], _short(found[1]))
    if per_token:
        times.setdefault("tpot", seconds(per_token[0], _short(per_token[1])))
    decode = _first_number(text, DECODE_RATES)
    if prefill is None and decode is None and not any(times.values()):
        return []
    for name, pattern in _counts.items():
        counts.setdefault(name, _count(text.take(pattern)))
    return [_report(times, prefill, decode, counts["prompt"], counts["output"], _in_flight(text))]


def _report(
    times: dict[str, float | None],
    prefill: float | None,
    decode: float | None,
    prompt: float | None,
    output: float | None,
    users: float | None,
) -> Report:
    first_s, ttft_s = times.get("first"), times.get("ttft")
    load_s = times.get("load")
    if first_s and not load_s:  # only the first request: what later ones don't take is loading
        load_s = first_s - (ttft_s or 0.0)
    alone = decode is not None and prefill is not None and not times
    return report(
        "words",
        "rates" if alone and not prompt else "request",
        concurrency=users,
        prompt_tokens=prompt,
        output_tokens=output,
        queue_s=times.get("queue"),
        load_s=load_s,
        prefill_s=times.get("prefill"),
        ttft_s=ttft_s,
        ttft_min_s=times.get("fastest"),
        decode_s=times.get("decode"),
        tpot_s=times.get("tpot"),
        total_s=times.get("total"),
        prefill_tokens_per_s=prefill,
        decode_tokens_per_s=decode,
    )


def _short(unit: str) -> str:
    return {"milli": "ms", "secon": "s", "sec": "s", "secs": "s", "minut": "min"}.get(
        unit[:5], unit
    )


def _first_number(text: Text, patterns: tuple[re.Pattern[str], ...]) -> float | None:
    """What the first pattern that matches has read."""
    found = next((groups for pattern in patterns if (groups := text.take(pattern))), None)
    return number(found[0]) if found else None


def _count(found: list[str | None] | None) -> float | None:
    """The number among the groups, times 1,000 where a k follows it."""
    if not found:
        return None
    place = next(i for i, group in enumerate(found) if group)
    value = number(found[place])
    return value * 1000 if value is not None and found[place + 1] == "k" else value


def _in_flight(text: Text) -> float | None:
    found = text.take(_users)
    if not found:
        return None
    word = found[0] or found[1]
    return 1.0 if word in ("one", "single") else number(word)


def render(one: Report) -> str:
    """The report as a sentence."""
    return (
        f"TTFT {one.ttft_s * 1e3:.2f} ms, TPOT {one.tpot_s * 1e3:.2f} ms, "
        f"queue {one.queue_s * 1e3:.2f} ms, prompts of {one.prompt_tokens:.0f} tokens, "
        f"answers of {one.output_tokens:.0f} tokens, {one.concurrency:.0f} users"
    )
