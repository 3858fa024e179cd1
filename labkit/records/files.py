"""Records to JSON and CSV and back, without loss.

JSON holds records as they are. CSV is for spreadsheets: a row for each step; what the columns can't
hold (model, machine, settings) stands above them as one comment line of JSON for each trace.
"""

from __future__ import annotations

import csv
import io
import json
import types
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any, Union, get_args, get_origin, get_type_hints

from .trace import Step, Trace

SCHEMA = "labkit-traces-1"


class BrokenFile(ValueError):
    """The text is no file of traces that this version can read; the message says where it breaks."""


def build(kind: Any, value: Any) -> Any:
    """Makes a value of the annotated type `kind` from what JSON gave.

    Knows dataclasses, `X | None`, `tuple[X, ...]`, `dict[str, X]`, numbers and text. Raises
    BrokenFile for a missing or unknown field and for a value of another type.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = next(a for a in args if a is not type(None))
        return None if value is None else build(inner, value)
    if is_dataclass(kind):
        return _build_record(kind, value)
    if origin is tuple:
        _expect(isinstance(value, list | tuple), kind, value)
        return tuple(build(args[0], item) for item in value)
    if origin is dict:
        _expect(isinstance(value, dict), kind, value)
        return {key: build(args[1], item) for key, item in value.items()}
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    _expect(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), kind, value)
    return value


def _build_record(kind: type, value: Any) -> Any:
    _expect(isinstance(value, dict), kind.__name__, value)
    unknown = set(value) - {f.name for f in fields(kind)}
    if unknown:
        raise BrokenFile(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    hints = get_type_hints(kind)
    try:
        return kind(**{name: build(hints[name], item) for name, item in value.items()})
    except TypeError as error:  # a required field is missing
        raise BrokenFile(f"{kind.__name__}: {error}") from error


def _expect(right: bool, kind: Any, value: Any) -> None:
    if not right:
        raise BrokenFile(f"expected {getattr(kind, '__name__', kind)}, found {str(value)[:60]!r}")


def to_json(traces: list[Trace]) -> str:
    """All the traces of one run as JSON text."""
    return json.dumps({"schema": SCHEMA, "traces": [asdict(t) for t in traces]}, ensure_ascii=False)


def from_json(text: str) -> list[Trace]:
    """The traces that `to_json` wrote. Raises BrokenFile with the place where the text breaks."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BrokenFile(f"this is no JSON file: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise BrokenFile(f"this is no file of traces: it lacks the line 'schema': '{SCHEMA}'")
    return list(build(tuple[Trace, ...], data.get("traces")))


# ---------------------------------------------------------------------------------------------------

STEP_COLUMNS = [f.name for f in fields(Step)]


def to_csv(traces: list[Trace]) -> str:
    """A row for each step of each trace; the first column, `trace`, counts the traces from 0."""
    out = io.StringIO()
    for trace in traces:
        head = asdict(replace(trace, steps=()))
        out.write("# " + json.dumps({"schema": SCHEMA, **head}) + "\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["trace", *STEP_COLUMNS])
    for number, trace in enumerate(traces):
        for step in trace.steps:
            writer.writerow([number, *(json.dumps(getattr(step, name)) for name in STEP_COLUMNS)])
    return out.getvalue()


def from_csv(text: str) -> list[Trace]:
    """The traces that `to_csv` wrote. Raises BrokenFile with the place where the text breaks."""
    lines = text.splitlines()
    heads = [line[2:] for line in lines if line.startswith("# ")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    if not heads or (rows and set(rows[0]) != {"trace", *STEP_COLUMNS}):
        raise BrokenFile("this is no CSV file of traces: its comment lines or columns are missing")
    try:
        head_dicts = [json.loads(head) for head in heads]
        steps: list[list[dict]] = [[] for _ in heads]
        for row in rows:
            cells = {name: json.loads(row[name]) for name in STEP_COLUMNS}
            steps[int(row["trace"])].append(cells)
    except (json.JSONDecodeError, TypeError, ValueError, IndexError) as error:
        raise BrokenFile(f"a line of the CSV file can't be read: {error}") from error
    return [_trace_of(head, its_steps) for head, its_steps in zip(head_dicts, steps, strict=True)]


def _trace_of(head: dict, steps: list[dict]) -> Trace:
    if head.pop("schema", None) != SCHEMA:
        raise BrokenFile(f"this is no file of traces: it lacks the line 'schema': '{SCHEMA}'")
    return build(Trace, {**head, "steps": steps})


def parse(text: str) -> list[Trace]:
    """Traces from the text of either format, marked as recorded: they were not measured here."""
    read = from_csv if text.lstrip().startswith("#") else from_json
    return [replace(trace, origin="recorded") for trace in read(text)]
