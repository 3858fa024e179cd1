"""genai-perf and AIPerf: the boxed table of statistics, and the exported JSON.

ITL is (latency − TTFT) ÷ (tokens − 1), one value for each request: our TPOT. "Time to second token"
is a gap, not a time since the request. The unit stands in the label; an early version had ns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .tables import Table
from .units import number, seconds

TOOL = "genai-perf"
MARKS = ("request latency", "time to first token", "request_latency")

# What the label starts with, in lower case, and our name.
LABELS = {
    "time to first token": "ttft",
    "inter token latency": "itl",
    "request latency": "total",
    "output sequence length": "output",
    "output token count": "output",
    "num output token": "output",
    "input sequence length": "input",
    "request throughput": "served",
    "request count": "requests",
}
_unit = re.compile(r"\((ns|us|µs|ms|s|sec)\)")
Rows = dict[str, tuple[str, dict[str, str]]]


def read(paste: Paste) -> list[Report]:
    found = [one for table in paste.tables if (one := _from_table(table))]
    if paste.has("request_latency"):
        found += [one for o in paste.objects if (one := _from_json(o))]
    return found


def _from_table(table: Table) -> Report | None:
    average = table.column(r"^avg$")
    if average is None or table.column("statistic|metric") is None:
        return None
    rows: Rows = {}
    for label, cells in _rows(table):
        name = next((LABELS[known] for known in LABELS if label.lower().startswith(known)), None)
        if name:
            unit = _unit.search(label)
            rows[name] = (unit[1] if unit else "ms", dict(zip(table.head, cells, strict=False)))
    return _report(rows) if "total" in rows or "ttft" in rows else None


def _rows(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Label and cells of each row. A label that wraps goes on in rows whose cells are blank."""
    label, cells = "", []
    for row in table.rows:
        if any(row[1:]) and label:
            yield label, cells
            label = ""
        if any(row[1:]):
            label, cells = row[0], list(row)
        elif row:
            label = f"{label} {row[0]}"
    if label:
        yield label, cells


def _from_json(record: dict) -> Report | None:
    """`{"time_to_first_token": {"unit": "ms", "avg": 17.6, …}, …}`; genai-perf nests it in records.

    AIPerf's `prefill_throughput` is left out: it is prompt ÷ TTFT, wrong wherever there is a queue.
    """
    rows: Rows = {}
    for label, name in LABELS.items():
        metric = record.get(label.replace(" ", "_"))
        if isinstance(metric, dict) and "avg" in metric:
            rows.setdefault(name, (str(metric.get("unit", "ms")), metric))
    return _report(rows) if "total" in rows else None


def _report(rows: Rows) -> Report:
    def spent(name: str, statistic: str = "avg") -> float | None:
        unit, values = rows.get(name, ("ms", {}))
        return seconds(values.get(statistic), unit)

    def count(name: str) -> float | None:
        return number(rows.get(name, ("", {}))[1].get("avg"))

    total_s, served = spent("total"), count("served")
    return report(
        TOOL,
        "aggregate",
        requests=count("requests"),
        concurrency=served * total_s if served and total_s else None,
        served_per_s=served,
        prompt_tokens=count("input"),
        output_tokens=count("output"),
        ttft_s=spent("ttft"),
        ttft_min_s=spent("ttft", "min"),
        ttft_median_s=spent("ttft", "p50"),
        ttft_tail_s=spent("ttft", "p99") or spent("ttft", "max"),
        tpot_s=spent("itl"),
        tpot_median_s=spent("itl", "p50"),
        total_s=total_s,
    )
