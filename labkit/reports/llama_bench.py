"""llama-bench (table, JSON, CSV) and sweep-bench / batched-bench: rates, not requests.

`ppN` is a prefill of N tokens, `tgN` a decode of N. The model's size in bytes makes this the one
format from which the use of bandwidth follows: tg × size. Which phase a user would wait for
depends on the lengths, which a benchmark of rates has not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .tables import Table
from .units import BYTES, number

TOOL = "llama-bench"
MARKS = ("t/s", "avg_ts", "s_pp t/s")

_test = re.compile(r"\b(pp|tg) ?(\d{1,8})\b")
_size = re.compile(r"([\d.]{1,12}) ?([KMGT]i?B)")
Speed = tuple[str, float | None, float | None]  # "pp" or "tg", tokens, tokens/s


def read(paste: Paste) -> Iterator[Report]:
    for table in paste.tables:
        yield from _bench(table) or _sweep(table)
    records = [o for o in paste.objects if "avg_ts" in o] if paste.has("avg_ts") else []
    csv = [dict(zip(t.head, row, strict=False)) for t in paste.csv("avg_ts") for row in t.rows]
    yield from _from_records(records or csv)


def _bench(table: Table) -> list[Report]:
    """Rows that differ in the test alone make one report."""
    test, speed = table.column("^test$"), table.column("^t/s$")
    if test is None or speed is None:
        return []
    size, parameters = table.column("^size$"), table.column("^params$")
    runs: dict[tuple[str, ...], list[Speed]] = {}
    for row in table.rows:
        if len(row) != len(table.head) or "+" in row[test]:
            continue
        match = _test.search(row[test])
        same = tuple(cell for i, cell in enumerate(row) if i not in (test, speed))
        if match:
            speeds = runs.setdefault(same, [])
            speeds.append((match[1], number(match[2]), number(row[speed])))
    place = {
        name: i - (i > test) - (i > speed)
        for name, i in (("size", size), ("n", parameters))
        if i is not None
    }
    return [_report(speeds, *_of_model(same, place)) for same, speeds in runs.items()]


def _of_model(same: tuple[str, ...], place: dict[str, int]) -> tuple[float | None, float | None]:
    """Bytes and parameters of the model, from "8.37 GiB" and "14.77 B"."""
    size = _size.search(same[place["size"]]) if "size" in place else None
    count = number(same[place["n"]]) if "n" in place else None
    scale = 1e6 if count and same[place["n"]].endswith("M") else 1e9
    n_bytes = number(size[1]) * BYTES[size[2].lower()] if size and number(size[1]) else None
    return n_bytes, count * scale if count else None


def _sweep(table: Table) -> list[Report]:
    """`S_PP t/s` and `S_TG t/s` at each depth; the first row stands for the table."""
    prefill, decode = table.column("^s_pp"), table.column("^s_tg")
    if prefill is None or decode is None:
        return []
    batch = table.column("^b$")
    first = next((row for row in table.rows if len(row) == len(table.head)), None)
    if first is None:
        return []
    several = (number(first[batch]) if batch is not None else 1) or 1
    last = [row for row in table.rows if len(row) == len(table.head)][-1]
    speeds: list[Speed] = []
    for row in (first, last):
        speeds.append(("pp", None, number(row[prefill])))
        speeds.append(("tg", None, (number(row[decode]) or 0.0) / several))
    return [_report(speeds, None, None, "sweep-bench")]


def _from_records(records: Iterable[dict]) -> Iterator[Report]:
    runs: dict[tuple, list[Speed]] = {}
    for record in records:
        same = (number(record.get("model_size")), number(record.get("model_n_params")))
        n_prompt, n_gen = number(record.get("n_prompt")), number(record.get("n_gen"))
        if bool(n_prompt) == bool(n_gen):  # both at once, or neither
            continue
        kind = "pp" if n_prompt else "tg"
        speeds = runs.setdefault(same, [])
        speeds.append((kind, n_prompt or n_gen, number(record.get("avg_ts"))))
    return (_report(speeds, *same) for same, speeds in runs.items())


def _report(
    speeds: list[Speed], n_bytes: float | None, parameters: float | None, tool: str = TOOL
) -> Report:
    prefills = [(tokens, rate) for kind, tokens, rate in speeds if kind == "pp" and rate]
    decodes = [(tokens, rate) for kind, tokens, rate in speeds if kind == "tg" and rate]
    notes = tuple(
        f"{name} falls from {seen[0][1]:g} to {seen[-1][1]:g} tokens/s as the text grows"
        for name, seen in (("prefill", prefills), ("decode", decodes))
        if len(seen) > 1 and seen[-1][1] < 0.8 * seen[0][1]
    )
    return report(
        tool,
        "rates",
        prefill_tokens_per_s=prefills[0][1] if prefills else None,
        decode_tokens_per_s=decodes[0][1] if decodes else None,
        weight_bytes=n_bytes,
        parameters=parameters,
        warnings=notes,
    )
