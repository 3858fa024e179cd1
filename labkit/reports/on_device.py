"""Runtimes for phones and boards: MLC-LLM and MNN (a pair of rates, or two blocks), ExecuTorch.

ExecuTorch prints lines for a reader and one JSON object with moments in milliseconds. It loads the
model before the clock of the inference starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .objects import group
from .paste import Paste
from .units import N, number, seconds

MARKS = ("prefill:", "prefill speed", "- prefill -")
MARKS_EXECUTORCH = ("prompt evaluation:", "prompt_eval_end_ms")

RATES = ("prefill_tokens_per_s", "decode_tokens_per_s")
_pair = re.compile(
    rf"prefill(?: speed)?: ?{N} tok\w*/s\w*, decode(?: speed)?: ?{N} tok", re.IGNORECASE
)
_half = rf"throughput: {N} tok/s\s{{1,60}}total tokens: {N} tok\w*\s{{1,60}}total time: {N} s"
_blocks = re.compile(rf"prefill -+\s{{1,60}}{_half}\s{{1,60}}-+ decode -+\s{{1,60}}{_half}")
_lines = re.compile(
    rf"(Prompt Tokens|Generated Tokens|Model Load Time|Prompt evaluation):\s{{1,20}}{N}"
    rf"|(Generated) {N} tokens:\s{{1,20}}{N}"
)


def read(paste: Paste) -> Iterator[Report]:
    """`prefill: 258.7 tok/s, decode: 44.3 tok/s` is a pair of rates without a workload."""
    for match in _pair.finditer(paste.text):
        rates = dict(zip(RATES, map(number, match.groups()), strict=True))
        yield report("MLC-style rates", "rates", **rates)
    for match in _blocks.finditer(paste.text):
        _, prompt, first_s, _, output, later_s = map(number, match.groups())
        yield _request("MLC-LLM", prompt, first_s, output, later_s)


def read_executorch(paste: Paste) -> Iterator[Report]:
    """From the JSON where it is there, which holds the same times with more digits."""
    if paste.has("prompt_eval_end_ms"):
        return (_observed(o) for o in paste.objects if "prompt_eval_end_ms" in o)
    pairs = (
        (m[3], (m[4], m[5])) if m[3] else (m[1], (m[2], None)) for m in _lines.finditer(paste.text)
    )
    return (_printed(record) for record in group(pairs) if "Prompt evaluation" in record)


def _observed(record: dict) -> Report:
    def between(start: str, end: str) -> float | None:
        times = number(record.get(start)), number(record.get(end))
        return seconds(times[1] - times[0], "ms") if None not in times else None

    return _request(
        "ExecuTorch",
        number(record.get("prompt_tokens")),
        between("inference_start_ms", "prompt_eval_end_ms"),
        number(record.get("generated_tokens")),
        between("prompt_eval_end_ms", "inference_end_ms"),
        between("model_load_start_ms", "model_load_end_ms"),
    )


def _printed(record: dict[str, tuple[str, str | None]]) -> Report:
    def figure(name: str, place: int = 0) -> float | None:
        return number(record.get(name, (None, None))[place])

    return _request(
        "ExecuTorch",
        figure("Prompt Tokens"),
        figure("Prompt evaluation"),
        figure("Generated") or figure("Generated Tokens"),
        figure("Generated", 1),
        figure("Model Load Time"),
    )


def _request(
    tool: str,
    prompt: float | None,
    prefill_s: float | None,
    output: float | None,
    decode_s: float | None,
    load_s: float | None = None,
) -> Report:
    """With TPOT as these tools count it: their time of decode covers all tokens they count."""
    return report(
        tool,
        "request",
        prompt_tokens=prompt,
        output_tokens=output,
        load_s=load_s,
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=decode_s,
        tpot_s=decode_s / output if decode_s and output else None,
        total_counts_idle=load_s is not None,
    )
