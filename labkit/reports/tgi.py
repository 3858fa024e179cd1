"""Text Generation Inference: the router's log fields, the response's headers, IBM's fork.

total = validation + queue + inference. `time_per_token` is inference ÷ generated tokens: it holds
the prefill, which nothing here tells apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report, whole
from .objects import group
from .paste import Paste
from .units import NUMBER, duration, number, seconds

TOOL = "TGI"
MARKS = ("queue_time=", "x-queue-time", "x-inference-time", "queue_and_inference_time")

_field = re.compile(
    r"\b(total_time|validation_time|queue_time|inference_time|queue_and_inference_time|"
    r"time_per_token|input_toks|generated_tokens)=\"?(\d[\d.hmsµun]{0,30})"
)
_header = re.compile(
    r"\bx-(total-time|queue-time|inference-time|time-per-token|prompt-tokens|generated-tokens)"
    rf"[\"']?[ ]{{0,4}}[:=][ ]{{0,4}}[\"']?({NUMBER})",
    re.IGNORECASE,
)


def read(paste: Paste) -> Iterator[Report]:
    fields = group((m[1], m[2]) for m in _field.finditer(paste.text))
    headers = group((m[1].lower(), m[2]) for m in _header.finditer(paste.text))
    yield from (one for one in map(_from_log, fields) if one)
    yield from (one for one in map(_from_headers, headers) if one)


def _from_log(record: dict[str, str]) -> Report | None:
    times = {name: duration(text) for name, text in record.items()}
    if not times.keys() & {"queue_time", "inference_time", "queue_and_inference_time"}:
        return None
    inference_s, each_s = times.get("inference_time"), times.get("time_per_token")
    spent_s = inference_s or times.get("queue_and_inference_time")
    output = whole(spent_s / each_s) if spent_s and each_s else None
    return report(
        TOOL,
        "request",
        queue_s=times.get("queue_time"),
        inference_s=inference_s,
        total_s=times.get("total_time") or times.get("queue_and_inference_time"),
        prompt_tokens=number(record.get("input_toks")),
        output_tokens=output or number(record.get("generated_tokens")),
    )


def _from_headers(record: dict[str, str]) -> Report | None:
    """Whole milliseconds, all of them."""
    if not record.keys() & {"queue-time", "inference-time"}:
        return None
    return report(
        TOOL,
        "request",
        queue_s=seconds(record.get("queue-time"), "ms"),
        inference_s=seconds(record.get("inference-time"), "ms"),
        total_s=seconds(record.get("total-time"), "ms"),
        prompt_tokens=number(record.get("prompt-tokens")),
        output_tokens=number(record.get("generated-tokens")),
    )
