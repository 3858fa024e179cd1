"""Tables that people or harnesses make: a row for each setting, columns ISL, TTFT (ms), tok/s, …

Columns are found by name and read with the unit in their head. "Tput User" is left alone: it was
tokens ÷ latency in one version of a harness and 1 ÷ TPOT in the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .tables import Table
from .units import number, seconds

MARKS = ("ttft", "tpot", "first token", "prefill", "decode", "tok/s", "t/s")

TIMES = {
    "ttft_s": r"^(?!.*p9\d).*(\bttft\b|first token)",
    "tpot_s": r"^(?!.*p9\d).*(\btpot\b|time per output)",
    "total_s": r"^(?!.*p9\d).*(\be2e|request latency|total (time|latency))|^latency|^p50 \(\w+\)$",
    "queue_s": r"queue (time|wait)|^queue\b",
    "prefill_s": r"^(prefill|prompt eval)( time)? \(m?s\)",
    "decode_s": r"^(decode|eval)( time)? \(m?s\)",
    "load_s": r"^load( time| duration)? \(m?s\)",
}
COUNTS = {
    "prompt_tokens": r"\bisl\b|^(input|prompt)( len\w*| seq\w*| tok\w*)?$",
    "output_tokens": r"\bosl\b|^(output|generated|gen)( len\w*| seq\w*| tok\w*)?$",
    "concurrency": r"concurren|^batch|^users?$|^bs$",
    "requests": r"^n req|^num req|^requests$",
    "served_per_s": r"req tput|\brps\b|req/s|request throughput",
    "prefill_tokens_per_s": r"^(prefill|prompt|pp).*(tok\w*/s|t/s)",
    "decode_tokens_per_s": r"^(decode|generation|tg).*(tok\w*/s|t/s)",
    "output_tokens_per_s": r"^(tok\w*/s\w*|t/s|tps)$",
}
TOLD_ELSEWHERE = r"^test$|^s_pp|^statistic$|^metric$|^strategy|^benchmark"
MEDIAN = ("50%", "p50", "P50", "50")  # of rows that are percentiles of one run
_unit = re.compile(r"\b(ms|s|sec|seconds|µs|us|ns)\b")


def read(paste: Paste) -> Iterator[Report]:
    for table in paste.tables:
        if table.column(TOLD_ELSEWHERE) is None:
            yield from _from_table(table)


def _from_table(table: Table) -> Iterable[Report]:
    patterns = (TIMES | COUNTS).items()
    places = {n: i for n, pattern in patterns if (i := table.column(pattern)) is not None}
    if not places.keys() & {"ttft_s", "tpot_s", "prefill_s", "decode_s", "decode_tokens_per_s"}:
        return []
    rows = [row for row in table.rows if len(row) == len(table.head)]
    if table.column("^percentiles?$") == 0:
        rows = [row for row in rows if row[0] in MEDIAN]
    return (_report(table, row, places) for row in rows)


def _report(table: Table, row: tuple[str, ...], places: dict[str, int]) -> Report:
    figures: dict[str, object] = {}
    for name, place in places.items():
        cell, head = row[place], table.head[place]
        figures[name] = _time(cell, head) if name in TIMES else number(cell)
    named = row[0] if row and number(row[0][:1]) is None else None
    return report("table of runs", "aggregate", label=named or None, **figures)


def _time(cell: str, head: str) -> float | None:
    """Seconds, by the unit in the cell or in the column's name; without a unit unknown."""
    unit = _unit.search(cell.lower()) or _unit.search(head.lower())
    return seconds(cell, unit[1]) if unit else None
