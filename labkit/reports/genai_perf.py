"""Tables with a row for each metric: genai-perf, AIPerf, AISBench, evalscope; also as CSV and JSON.

ITL is (latency − TTFT) ÷ (tokens − 1), one value for each request: our TPOT. "Time to second token"
is a gap, not a time since the request. The unit stands in the label or the cell; genai-perf once
had ns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..records.report import Report
from .build import report
from .paste import Paste
from .tables import Table
from .units import number, seconds

TOOL = "genai-perf"
MARKS = ("latency", "time to first token", "ttft", "request_latency")

# Our name, and how a label reads, in lower case.
LABELS = {
    "ttft": r"(average )?time to first token|ttft\b",
    "itl": r"(average )?inter[- ]token latency|(average )?time per output token|tpot\b",
    "total": r"request latency|average latency|(average )?end[- ]to[- ]end latency|e2el?\b",
    "output": r"output (sequence length|token count)|(num|average) output token|outputtokens",
    "input": r"input sequence length|(num|average) input token|inputtokens",
    "served": r"request throughput",
    "requests": r"request count|succeed requests",
    "concurrency": r"number of concurrency|concurrency",
}
_labels = {name: re.compile(pattern) for name, pattern in LABELS.items()}
_unit = re.compile(r"(?<![a-z])(ns|us|µs|ms|s|sec)(?![a-z/])")
Rows = dict[str, tuple[str, Mapping[str, object]]]


def read(paste: Paste) -> Iterator[Report]:
    tables = paste.tables + paste.csv("metric,avg")
    yield from (one for table in tables if (one := _from_table(table)))
    if paste.has("request_latency"):
        yield from (one for o in paste.objects if (one := _from_json(o)))


def _from_table(table: Table) -> Report | None:
    average = table.column("^(avg|average|mean|value)$")
    if average is None or table.column("statistic|metric|^performance param|^key$") is None:
        return None
    head = [_statistic(name) for name in table.head]
    rows: Rows = {}
    for label, cells in _rows(table):
        name = next((n for n, known in _labels.items() if known.match(label.lower())), None)
        if name:
            unit = _unit.search(label.lower()) or _unit.search(cells[average].lower())
            values = dict(zip(head, cells, strict=False))
            rows.setdefault(name, (unit[1] if unit else "ms", values))
    tool = TOOL if table.column("^(statistic|metric)$") is not None else "table of metrics"
    return _report(rows, tool) if "total" in rows or "ttft" in rows else None


def _statistic(name: str) -> str:
    """A column's name as the exported JSON would have it."""
    name = name.lower()
    return {"average": "avg", "mean": "avg", "value": "avg", "median": "p50"}.get(name, name)


def _rows(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Label and cells of each row. A label that wraps goes on in rows whose cells are blank."""
    label, cells = "", []
    for row in table.rows:
        if any(row[1:]) and label:
            yield label, cells
            label = ""
        if any(row[1:]):
            label, cells = row[0], [*row, *[""] * (len(table.head) - len(row))]
        elif row:
            label = f"{label} {row[0]}"
    if label:
        yield label, cells


def _from_json(record: dict) -> Report | None:
    """`{"time_to_first_token": {"unit": "ms", "avg": 17.6, …}, …}`; genai-perf nests it in records.

    AIPerf's `prefill_throughput` is left out: it is prompt ÷ TTFT, wrong wherever there is a queue.
    """
    rows: Rows = {}
    for label, metric in record.items():
        name = next((n for n, p in _labels.items() if p.match(label.replace("_", " "))), None)
        if name and isinstance(metric, dict) and "avg" in metric:
            rows.setdefault(name, (str(metric.get("unit", "ms")), metric))
    return _report(rows) if "total" in rows else None


def _report(rows: Rows, tool: str = TOOL) -> Report:
    def spent(name: str, statistic: str = "avg") -> float | None:
        unit, values = rows.get(name, ("ms", {}))
        return seconds(values.get(statistic), unit)

    def count(name: str) -> float | None:
        return number(rows.get(name, ("", {}))[1].get("avg"))

    total_s, served = spent("total"), count("served")
    return report(
        tool,
        "aggregate",
        requests=count("requests"),
        concurrency=served * total_s if served and total_s else count("concurrency"),
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
