"""Records to JSON and CSV and back, without loss.

JSON holds records as they are. CSV is for spreadsheets: a row for each step; what the columns can't
hold (model, machine, settings) stands above them as one comment line of JSON for each trace. Files
come from strangers: whatever is wrong with one, reading it raises BrokenFile and nothing else.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import types
from dataclasses import asdict, fields, is_dataclass, replace
from reprlib import repr as short_repr
from typing import Any, Union, get_args, get_origin, get_type_hints

from .trace import Step, Trace

SCHEMA = "labkit-traces-1"


class BrokenFile(ValueError):
    """The text is no file of traces for this version; the message says where it breaks."""


# ---- values of JSON to records ------------------------------------------------------------------

PLAIN = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def build(kind: Any, value: Any, place: str = "value") -> Any:
    """Makes a value of the annotated type `kind` from what JSON gave; `place` says where it stood.

    Knows dataclasses, `X | None`, `tuple[X, ...]`, `dict[str, X]`, numbers and text. Raises
    BrokenFile for a missing or unknown field and for a value that the type does not allow.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = next(a for a in args if a is not type(None))
        return None if value is None else build(inner, value, place)
    if is_dataclass(kind):
        return _build_record(kind, value, place)
    if origin is tuple:
        _expect(isinstance(value, list), "a list", value, place)
        return tuple(build(args[0], item, f"{place}[{i}]") for i, item in enumerate(value))
    if origin is dict:
        _expect(isinstance(value, dict), "named values", value, place)
        return {key: build(args[1], item, f"{place}.{key}") for key, item in value.items()}
    return _build_plain(kind, value, place)


def _build_plain(kind: type, value: Any, place: str) -> Any:
    right = isinstance(value, (int, float) if kind is float else kind)
    right = right and isinstance(value, bool) == (kind is bool)  # for Python, True is a number
    _expect(right, PLAIN[kind], value, place)
    if kind in (int, float):  # neither NaN nor infinite, nor too long to compute with
        _expect(abs(value) <= sys.float_info.max, "a finite number", value, place)
    return kind(value)


def _build_record(kind: type, value: Any, place: str) -> Any:
    _expect(isinstance(value, dict), "named values", value, place)
    unknown = set(value) - {f.name for f in fields(kind)}
    if unknown:
        raise BrokenFile(f"{place}: {kind.__name__} has no field {short_repr(sorted(unknown))}")
    hints = get_type_hints(kind)
    values = {name: build(hints[name], item, f"{place}.{name}") for name, item in value.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:  # a required field is missing, or the record refuses
        raise BrokenFile(f"{place}: {error}") from error


def _expect(right: bool, wanted: str, value: Any, place: str) -> None:
    if not right:
        raise BrokenFile(f"{place}: expected {wanted}, found {short_repr(value)}")


def _read_json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for thousands of digits
        raise BrokenFile(f"{place} is not JSON: {error}") from error


def _build_trace(value: Any, place: str) -> Trace:
    trace = build(Trace, value, place)
    batch = trace.settings.batch
    for number, step in enumerate(trace.steps):
        if not len(step.token_ids) == len(step.texts) == batch:
            raise BrokenFile(f"{place}.steps[{number}]: expected {batch} tokens, the batch")
    return trace


# ---- the two formats ----------------------------------------------------------------------------


def to_json(traces: list[Trace]) -> str:
    """All the traces of one run as JSON text."""
    return json.dumps({"schema": SCHEMA, "traces": [asdict(t) for t in traces]}, ensure_ascii=False)


def from_json(text: str) -> list[Trace]:
    """The traces that `to_json` wrote. Raises BrokenFile with the place where the text breaks."""
    data = _read_json(text, "this file")
    _expect_schema(data)
    traces = data.get("traces")
    _expect(isinstance(traces, list), "a list", traces, "traces")
    return [_build_trace(trace, f"traces[{number}]") for number, trace in enumerate(traces)]


def _expect_schema(data: Any) -> None:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise BrokenFile(f'this is no file of traces: it lacks "schema": "{SCHEMA}"')


STEP_COLUMNS = [f.name for f in fields(Step)]


def to_csv(traces: list[Trace]) -> str:
    """A row for each step of each trace; the first column, `trace`, counts the traces from 0.

    Each comment line says how many steps follow and each cell is quoted, so that a file cut short
    shows it.
    """
    out = io.StringIO()
    for trace in traces:
        head = asdict(replace(trace, steps=())) | {"schema": SCHEMA, "steps": len(trace.steps)}
        out.write("# " + json.dumps(head) + "\n")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["trace", *STEP_COLUMNS])
    for number, trace in enumerate(traces):
        for step in trace.steps:
            writer.writerow([number, *(json.dumps(getattr(step, name)) for name in STEP_COLUMNS)])
    return out.getvalue()


def from_csv(text: str) -> list[Trace]:
    """The traces that `to_csv` wrote. Raises BrokenFile with the place where the text breaks."""
    lines = text.splitlines()
    heads = [_read_json(line[2:], "a comment line") for line in lines if line.startswith("# ")]
    steps: dict[str, list[dict]] = {str(number): [] for number in range(len(heads))}
    for number, row in enumerate(_rows([line for line in lines if not line.startswith("# ")])):
        if row["trace"] not in steps:
            raise BrokenFile(
                f"row {number}: no comment line tells of trace {short_repr(row['trace'])}"
            )
        cells = {name: _read_json(row[name], f"row {number}, {name},") for name in STEP_COLUMNS}
        steps[row["trace"]].append(cells)
    return [_join(head, steps[str(number)], number) for number, head in enumerate(heads)]


def _rows(lines: list[str]) -> list[dict[str, str]]:
    table = csv.DictReader(lines, strict=True)
    try:
        rows = list(table)
    except csv.Error as error:
        raise BrokenFile(f"the table breaks off in row {table.line_num - 1}: {error}") from error
    if sorted(table.fieldnames or ()) != sorted(["trace", *STEP_COLUMNS]):
        raise BrokenFile(f"the table must have the columns trace, {', '.join(STEP_COLUMNS)}")
    for number, row in enumerate(rows):
        if None in row or None in row.values():  # DictReader's marks for too many and too few
            raise BrokenFile(
                f"row {number} has not the {len(table.fieldnames)} cells of the others"
            )
    return rows


def _join(head: Any, steps: list[dict], number: int) -> Trace:
    _expect_schema(head)
    count = head.pop("steps", None)
    if count != len(steps):
        raise BrokenFile(f"trace {number} should have {count} steps and has {len(steps)}")
    del head["schema"]
    return _build_trace({**head, "steps": steps}, f"trace {number}")


def parse(text: str) -> list[Trace]:
    """Traces from the text of either format, marked as recorded: they were not measured here.

    Raises BrokenFile, also where the text holds no trace at all.
    """
    read = from_csv if text.lstrip().startswith("#") else from_json
    traces = read(text)
    if not traces:
        raise BrokenFile("the file holds no trace")
    return [replace(trace, origin="recorded") for trace in traces]
