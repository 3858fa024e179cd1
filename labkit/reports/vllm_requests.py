"""vLLM's `RequestMetrics(…)` of one offline request: moments in seconds since 1970.

`last_token_time` was sometimes never updated and equals the arrival; `finished_time` is right.
"""

from __future__ import annotations

import re

from ..records.report import Report
from .build import report
from .paste import Paste
from .units import NUMBER, number

MARKS = ("first_scheduled_time",)

_record = re.compile(r"arrival_time=[^()\n]{10,900}first_token_time[^()\n]{0,900}")
_moment = re.compile(rf"\b(\w{{5,40}})=({NUMBER})")


def read(paste: Paste) -> list[Report]:
    return [one for m in _record.finditer(paste.text) if (one := _report(m[0]))]


def _report(text: str) -> Report | None:
    at = {name: number(value) for name, value in _moment.findall(text)}
    arrived, scheduled = at.get("arrival_time"), at.get("first_scheduled_time")
    first, last = at.get("first_token_time"), at.get("finished_time")
    if not arrived or not scheduled or not first:
        return None
    if not last and at.get("last_token_time", 0.0) > first:
        last = at["last_token_time"]
    return report(
        "vLLM RequestMetrics",
        "request",
        queue_s=max(0.0, scheduled - arrived),
        prefill_s=first - scheduled,
        ttft_s=first - arrived,
        decode_s=last - first if last else None,
        total_s=last - arrived if last else None,
    )
