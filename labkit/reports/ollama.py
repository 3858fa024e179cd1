"""Ollama: the lines of `--verbose` and the API's JSON (nanoseconds); ktransformers' copies of both.

Lines with a zero are left out by the tool. With a cache hit the prompt count is still that of the
whole prompt. What total − load − prompt − eval leaves is real time outside the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report, whole
from .objects import group
from .paste import Paste
from .units import NUMBER, duration, number, seconds

TOOL = "Ollama"
MARKS = ("eval rate:", "eval count:", "eval duration:", "load duration:", "eval_duration")

_line = re.compile(
    r"\b(total duration|load duration|prompt eval count|prompt eval duration|prompt eval rate|"
    r"eval count|eval duration|eval rate):[ \t]{0,24}(\d[^\s/]{0,40})",
    re.IGNORECASE,
)
_served = re.compile(r"\[GIN\][^\n]{0,80}\|[ ]{0,4}200 \|[ ]{0,20}([\dhmsµ.]{2,30}) ?\|")
_split = re.compile(rf"(?<![\d.,])({NUMBER})%/({NUMBER})% CPU/GPU")
_rates = re.compile(
    rf"prefill ({NUMBER}), decode ({NUMBER})\. Time\(s\): tokenize ({NUMBER}), "
    rf"prefill ({NUMBER}), decode ({NUMBER})"
)


def read(paste: Paste) -> Iterator[Report]:
    cpu = _split.search(paste.text)
    share = number(cpu[1]) / 100 if cpu else None
    records = group((m[1].lower(), m[2]) for m in _line.finditer(paste.text))
    yield from (_verbose(record, share) for record in records)
    if paste.has("eval_duration"):
        yield from (_api(o, share) for o in paste.objects if "eval_duration" in o)


def _verbose(record: dict[str, str], cpu_share: float | None) -> Report:
    spent = {key: duration(text) for key, text in record.items() if key.endswith("duration")}
    counts = {key: number(text) for key, text in record.items() if not key.endswith("duration")}
    return _report(
        total_s=spent.get("total duration"),
        load_s=spent.get("load duration"),
        prefill_s=spent.get("prompt eval duration"),
        decode_s=spent.get("eval duration"),
        prompt_tokens=counts.get("prompt eval count"),
        output_tokens=counts.get("eval count"),
        prefill_tokens_per_s=counts.get("prompt eval rate"),
        decode_tokens_per_s=counts.get("eval rate"),
        cpu_share=cpu_share,
    )


def _api(record: dict, cpu_share: float | None) -> Report:
    return _report(
        total_s=seconds(record.get("total_duration"), "ns"),
        load_s=seconds(record.get("load_duration"), "ns"),
        prefill_s=seconds(record.get("prompt_eval_duration"), "ns"),
        decode_s=seconds(record.get("eval_duration"), "ns"),
        prompt_tokens=number(record.get("prompt_eval_count")),
        output_tokens=number(record.get("eval_count")),
        cpu_share=cpu_share,
    )


def _report(**figures: float | None) -> Report:
    """With TPOT as the tool counts it: its duration covers all the tokens that it counts."""
    spent_s, tokens = figures.get("decode_s"), figures.get("output_tokens")
    tpot_s = spent_s / tokens if spent_s and tokens else None
    prefill_s = figures.get("prefill_s")
    first_s = prefill_s + (figures.get("load_s") or 0.0) if prefill_s else None
    return report(TOOL, "request", tpot_s=tpot_s, ttft_s=first_s, **figures)


def read_served(paste: Paste) -> Iterator[Report]:
    """The server's access log: totals only, with queueing in them."""
    totals = (duration(m[1]) for m in _served.finditer(paste.text))
    return (report("Ollama server log", "request", total_s=total) for total in totals)


def read_ktransformers(paste: Paste) -> Iterator[Report]:
    """`Performance(T/s): … Time(s): …`, from which the token counts follow: rate × time."""
    return (_from_rates(*map(number, m.groups())) for m in _rates.finditer(paste.text))


def _from_rates(prefill: float, decode: float, _: float, first: float, later: float) -> Report:
    return report(
        "ktransformers",
        "request",
        prompt_tokens=whole(prefill * first),
        output_tokens=whole(decode * later),
        prefill_s=first,
        ttft_s=first,
        decode_s=later,
        tpot_s=1 / decode if decode else None,
        prefill_tokens_per_s=prefill,
        decode_tokens_per_s=decode,
    )


def render(one: Report) -> str:
    """The report as `ollama run --verbose` would print it."""
    lines = {
        "total duration": f"{one.total_s:.9f}s",
        "load duration": f"{one.load_s * 1e3:.6f}ms",
        "prompt eval count": f"{one.prompt_tokens:.0f} token(s)",
        "prompt eval duration": f"{one.prefill_s:.6f}s",
        "prompt eval rate": f"{one.prefill_tokens_per_s:.2f} tokens/s",
        "eval count": f"{one.output_tokens:.0f} token(s)",
        "eval duration": f"{one.decode_s:.6f}s",
        "eval rate": f"{one.decode_tokens_per_s:.2f} tokens/s",
    }
    return "".join(f"{name + ':':<22}{value}\n" for name, value in lines.items())
