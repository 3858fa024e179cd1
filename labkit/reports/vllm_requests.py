"""vLLM's `RequestMetrics(…)` and V1's `RequestStateStats(…)` of one offline request: moments.

`last_token_time` was sometimes never updated and equals the arrival; `finished_time` is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .units import NUMBER, number

MARKS = ("first_scheduled_time", "scheduled_ts")

_record = re.compile(
    r"(?:num_generation_tokens=\d{1,9},\s{1,60})?arrival_time=[^()]{10,900}first_token_t[^()]{0,900}"
)
_moment = re.compile(rf"\b(\w{{5,40}})=({NUMBER})")


def read(paste: Paste) -> Iterator[Report]:
    return (one for m in _record.finditer(paste.text) if (one := _report(m[0])))


def _report(text: str) -> Report | None:
    at = {name: number(value) for name, value in _moment.findall(text)}
    arrived = at.get("queued_ts") or at.get("arrival_time")
    scheduled = at.get("scheduled_ts") or at.get("first_scheduled_time")
    first = at.get("first_token_ts") or at.get("first_token_time")
    last = at.get("last_token_ts") or at.get("finished_time")
    if not arrived or not scheduled or not first:
        return None
    if not last and at.get("last_token_time", 0.0) > first:
        last = at["last_token_time"]
    return report(
        "vLLM RequestMetrics",
        "request",
        output_tokens=at.get("num_generation_tokens"),
        queue_s=max(0.0, scheduled - arrived),
        prefill_s=first - scheduled,
        ttft_s=first - arrived,
        decode_s=last - first if last else None,
        total_s=last - arrived if last else None,
    )
