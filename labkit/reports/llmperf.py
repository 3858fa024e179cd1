"""LLMPerf: the console's blocks of quantiles, and the summary JSON. Seconds.

Its inter-token latency counts the TTFT in: it is latency ÷ tokens. So TPOT is calculated here, from
latency, TTFT and the number of tokens, which is rate × latency where it isn't printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report, whole
from .objects import group
from .paste import Paste
from .units import NUMBER, number

TOOL = "LLMPerf"
MARKS = ("end_to_end_latency_s",)

NAMES = (
    "ttft_s",
    "end_to_end_latency_s",
    "inter_token_latency_s",
    "request_output_throughput_token_per_s",
    "number_input_tokens",
    "number_output_tokens",
)
_piece = re.compile(rf"\b({'|'.join(NAMES)})\s|\b(p50|p99|mean|min|max) = ({NUMBER})")


def read(paste: Paste) -> Iterator[Report]:
    records = group(_console(paste.text))
    records += [_from_summary(o) for o in paste.objects if "results_end_to_end_latency_s_mean" in o]
    return (one for one in map(_report, records) if one.total_s)


def _console(text: str) -> list[tuple[str, str]]:
    """("ttft_s mean", "1.58") for each line below a metric's name."""
    name, found = None, []
    for match in _piece.finditer(text):
        if match[1]:
            name = match[1]
        elif name:
            found.append((f"{name} {match[2]}", match[3]))
    return found


def _from_summary(record: dict) -> dict[str, object]:
    found = {}
    for name in NAMES:
        for ours, theirs in (("mean", "mean"), ("p50", "quantiles_p50"), ("p99", "quantiles_p99")):
            found[f"{name} {ours}"] = record.get(f"results_{name}_{theirs}")
    found["requests"] = record.get("results_num_completed_requests")
    found["concurrency"] = record.get("num_concurrent_requests")
    return found


def _report(record: dict) -> Report:
    def figure(name: str) -> float | None:
        return number(record.get(f"{name} mean"))

    total_s = figure("end_to_end_latency_s")
    rate, itl_s = figure("request_output_throughput_token_per_s"), figure("inter_token_latency_s")
    output = figure("number_output_tokens")
    if total_s and output is None:
        output = whole(total_s / itl_s) if itl_s else whole(rate * total_s) if rate else None
    return report(
        TOOL,
        "aggregate",
        requests=number(record.get("requests")),
        concurrency=number(record.get("concurrency")),
        prompt_tokens=figure("number_input_tokens"),
        output_tokens=output,
        ttft_s=figure("ttft_s"),
        ttft_median_s=number(record.get("ttft_s p50")),
        ttft_min_s=number(record.get("ttft_s min")),
        ttft_tail_s=number(record.get("ttft_s p99")),
        total_s=total_s,
        output_tokens_per_s=rate,
    )
