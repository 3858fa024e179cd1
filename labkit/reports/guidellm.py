"""GuideLLM: the console's tables (one row for each strategy) and its JSON.

Its ITL is what others call TPOT; its TPOT holds the TTFT and is never used. The strategy
"synchronous" has one request at a time, so no queue; "throughput" sends all at once. The console
prints medians; older versions print means too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .tables import Table
from .units import number, seconds

TOOL = "GuideLLM"
MARKS = ("itl ms", "itl ", "inter_token_latency_ms")

COLUMNS = {  # our name: how the column's name reads, once its head rows are joined
    "total": r"^req\w* lat\w*.*(mdn|median|mean)",
    "ttft": r"^ttft.*(mdn|median|mean)",
    "ttft_tail": r"^ttft.*(p95|p99)",
    "itl": r"^itl.*(mdn|median|mean)",
    "prompt": r"^input tok.*per req.*(mdn|median|mean)|prompt tok\w*.*mean",
    "output": r"^output tok.*per req.*(mdn|median|mean)|output tok\w*/req.*mean",
    "concurrency": r"concurrency",
    "served": r"^requests? .*per sec|^per second",
}


def read(paste: Paste) -> Iterator[Report]:
    """The latency table's rows, joined by place with those of the tables beside it."""
    runs: list[dict[str, float | None]] = []
    for table in paste.tables:
        if table.column("^(metadata )?(benchmark|strategy)") is None:
            continue
        for place, row in enumerate(_rows(table)):
            if place == len(runs):
                runs.append({})
            runs[place] |= {name: v for name, v in row.items() if runs[place].get(name) is None}
    yield from (_report(run) for run in runs if run.get("ttft") and run.get("itl"))
    if paste.has("inter_token_latency_ms"):
        yield from (one for o in paste.objects if (one := _from_json(o)))


def _rows(table: Table) -> list[dict[str, object]]:
    places = {name: table.column(pattern) for name, pattern in COLUMNS.items()}
    found = []
    for row in table.rows:
        cells = {n: row[i] for n, i in places.items() if i is not None and i < len(row)}
        figures: dict[str, object] = {name: number(cell) for name, cell in cells.items()}
        found.append({"strategy": row[0] if row else "", **figures})
    return found


def _report(run: dict) -> Report:
    one_at_a_time = "synchronous" in str(run.get("strategy", ""))
    return report(
        TOOL,
        "aggregate",
        label=str(run.get("strategy") or "") or None,
        statistic="median",
        concurrency=1.0 if one_at_a_time else run.get("concurrency"),
        served_per_s=run.get("served"),
        prompt_tokens=run.get("prompt"),
        output_tokens=run.get("output"),
        ttft_s=seconds(run["ttft"], "ms"),
        ttft_tail_s=seconds(run.get("ttft_tail"), "ms"),
        tpot_s=seconds(run["itl"], "ms"),
        total_s=run.get("total"),
    )


def _from_json(record: dict) -> Report | None:
    """One `metrics` object: `{name: {"successful": {"mean": …, "median": …}}}`."""
    if not isinstance(record.get("inter_token_latency_ms"), dict):
        return None

    def mean(name: str) -> float | None:
        metric = record.get(name)
        metric = metric.get("successful", metric) if isinstance(metric, dict) else {}
        return number(metric.get("mean")) if isinstance(metric, dict) else None

    return report(
        TOOL,
        "aggregate",
        concurrency=mean("request_concurrency"),
        served_per_s=mean("requests_per_second"),
        prompt_tokens=mean("prompt_token_count"),
        output_tokens=mean("output_token_count"),
        ttft_s=seconds(mean("time_to_first_token_ms"), "ms"),
        tpot_s=seconds(mean("inter_token_latency_ms"), "ms"),
        total_s=mean("request_latency"),
    )
