"""OpenVINO's llm_bench and PerfMetrics.

llm_bench times steps: "419.68 ms/2tokens" is one step of a batch of two. PerfMetrics are printed in
ms with a spread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .objects import group
from .paste import Paste
from .units import N, number, seconds

MARKS = ("first token latency", "1st token latency", "tpot:", "ttft:")

_first = re.compile(
    rf"(?:First|1st) token latency: {N} ms(?:/(?:{N} ?)?tokens?)?"
    rf"(?:,? (?:other|2nd) tokens? latency: {N} ms(?:/(?:{N} ?)?tokens?)?)?"
    rf"(?:, len of tokens: {N}(?: \* {N})?)?",
    re.IGNORECASE,
)
_sizes = re.compile(rf"Input token size: {N}(?:,? Output size: {N})?", re.IGNORECASE)
_perf = re.compile(
    r"\b(Load time|Generate time|Tokenization time|TTFT|TPOT|Number of input tokens|"
    r"Input token size|Output size|Number of generated tokens)"
    rf": ?{N}(?: ?(?:±|\+/-) ?{N})? ?(ms|s)?\b",
    re.IGNORECASE,
)


def read(paste: Paste) -> Iterator[Report]:
    sizes = [(number(m[1]), number(m[2])) for m in _sizes.finditer(paste.text)]
    steps = list(_first.finditer(paste.text))
    aligned = sizes if len(sizes) == len(steps) else [(None, None)] * len(steps)
    yield from (_llm_bench(m, *size) for m, size in zip(steps, aligned, strict=True))
    if not steps and paste.has("±", "+/-"):
        records = group((m[1].lower(), (m[2], m[4])) for m in _perf.finditer(paste.text))
        yield from (_perf_metrics(r) for r in records if "ttft" in r and "tpot" in r)


def _llm_bench(match: re.Match[str], prompt: float | None, output: float | None) -> Report:
    return report(
        "OpenVINO llm_bench",
        "request",
        concurrency=number(match[2]) or number(match[6]),
        prompt_tokens=prompt,
        output_tokens=number(match[5]) or output,
        prefill_s=seconds(match[1], "ms"),
        ttft_s=seconds(match[1], "ms"),
        tpot_s=seconds(match[3], "ms"),
    )


def _perf_metrics(record: dict[str, tuple[str, str | None]]) -> Report:
    def spent(name: str) -> float | None:
        value, unit = record.get(name, (None, None))
        return seconds(value, unit or "ms")

    def count(*names: str) -> float | None:
        return next((number(record[name][0]) for name in names if name in record), None)

    return report(
        "OpenVINO GenAI",
        "request",
        prompt_tokens=count("input token size", "number of input tokens"),
        output_tokens=count("output size", "number of generated tokens"),
        prefill_s=spent("ttft"),
        ttft_s=spent("ttft"),
        tpot_s=spent("tpot"),
        total_s=spent("generate time"),
    )
