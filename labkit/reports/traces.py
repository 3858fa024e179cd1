"""The lab's own traces, as the panels and the command line export them: JSON or CSV."""

from __future__ import annotations

from ..records import files
from ..records.report import Report
from ..records.trace import Trace
from .build import report
from .paste import Paste

MARKS = (files.SCHEMA,)


def read(paste: Paste) -> list[Report]:
    """One report for each trace. A broken file gives none: `records.parse` says where it breaks."""
    try:
        return [from_trace(trace) for trace in files.parse(paste.raw)]
    except files.BrokenFile:
        return []


def from_trace(trace: Trace) -> Report:
    """The figures of a measured run. There is no queue in a trace, so TTFT is the prefill."""
    settings = trace.settings
    return report(
        "labkit",
        "request",
        label=trace.arm,
        concurrency=float(settings.batch),
        prompt_tokens=float(settings.prompt_tokens),
        output_tokens=float(len(trace.steps)),
        prefill_s=trace.ttft_s,
        ttft_s=trace.ttft_s,
        decode_s=sum(trace.itl_s) or None,
        tpot_s=trace.tpot_s,
        total_s=trace.total_s,
        machine=trace.machine.name,
    )
