"""Traces survive JSON and CSV unchanged; a broken file raises BrokenFile and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import MACHINE, SHAPE, trace_of

from labkit.records import (
    BrokenFile,
    Machine,
    ModelShape,
    Settings,
    Step,
    Trace,
    from_csv,
    from_json,
    parse,
    to_csv,
    to_json,
)
from labkit.records.machine import Rate, Roofs
from labkit.records.model_shape import Experts

fixed = settings(max_examples=60, deadline=None, derandomize=True)

# ---- round trips --------------------------------------------------------------------------------

ODD = ['"', "\n", "\r\n", "\u2028", "# {", ",", "'", "\\", "\0", "🙂", "null", " 1", "\ufeff", ""]
texts = st.sampled_from(ODD) | st.text(max_size=5)
counts = st.integers(0, 2**62)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def maybe(strategy):
    return st.none() | strategy


def steps(batch: int):
    return st.builds(
        Step,
        wall_ns=counts,
        tokens_in=counts,
        context_tokens=counts,
        token_ids=st.tuples(*[counts] * batch),
        texts=st.tuples(*[texts] * batch),
        top2_gap=maybe(numbers),
        device_ns=maybe(counts),
        kv_bytes=maybe(counts),
    )


@st.composite
def traces(draw) -> Trace:
    batch = draw(st.integers(1, 3))
    chosen = st.builds(
        Settings,
        prompt_tokens=counts,
        new_tokens=counts,
        batch=st.just(batch),
        dtype=texts,
        temperature=numbers,
        top_k=maybe(counts),
        top_p=maybe(numbers),
        threads=maybe(counts),
        prompt=maybe(texts),
    )
    return Trace(
        arm=draw(texts),
        model=draw(st.sampled_from([SHAPE, ODD_SHAPE, None])),
        settings=draw(chosen),
        machine=draw(st.sampled_from([MACHINE, ODD_MACHINE])),
        steps=tuple(draw(st.lists(steps(batch), max_size=4))),
        versions=draw(st.dictionaries(texts, texts, max_size=3)),
        started_at=draw(maybe(texts)),
        first_call_ns=draw(maybe(counts)),
        peak_memory_bytes=draw(maybe(counts)),
        roofs=draw(st.sampled_from([None, ROOFS])),
        device_share=draw(maybe(numbers)),
    )


ODD_SHAPE = ModelShape(
    'a "quoted"\nname', "mixtral", 4, 64, 8, 2, 8, 128, 1000, 4096, tied=True,
    window=64, window_layers=2, experts=Experts(8, 2, 32), source="https://a.example/#x",
)  # fmt: skip
ODD_MACHINE = Machine(
    "Ryzen™ 9, 16-core", "cuda", 2**37, cores=132, peak_flops_per_s={"bfloat16": 1.5e15}
)

ROOFS = Roofs(
    "cpu",
    {"float32": 1e11},
    overhead_s=1e-3,
    read_by_bytes={"float32": (Rate(2.0**20, 2e10), Rate(2.0**28, 1.1e10))},
)


@pytest.mark.parametrize(("write", "read"), [(to_json, from_json), (to_csv, from_csv)])
@fixed
@given(st.lists(traces(), min_size=1, max_size=3))
def test_a_round_trip_loses_nothing(write, read, run):
    again = read(write(run))
    assert again == run
    assert [asdict(t) for t in again] == [asdict(t) for t in run]  # also what == leaves out


@pytest.mark.parametrize("write", [to_json, to_csv])
def test_parse_tells_the_format_and_marks_the_traces_as_recorded(write):
    run = [trace_of(9, 5, arm="naive"), trace_of(3, 2)]
    assert parse(write(run)) == [replace(trace, origin="recorded") for trace in run]


def test_csv_is_a_table_with_a_row_for_each_step():
    lines = to_csv([trace_of(9, 5, arm="naive"), trace_of(3)]).splitlines()
    assert [line[:2] for line in lines] == ["# ", "# ", '"t', '"0', '"0', '"1']
    assert lines[2].startswith('"trace","wall_ns","tokens_in"')
    assert lines[4].startswith('"0","5000000","1"')


def test_csv_keeps_a_trace_that_was_stopped_before_its_first_step():
    run = [trace_of(arm="naive"), trace_of(3, 2)]
    assert from_csv(to_csv(run)) == run


def test_csv_is_read_as_a_spreadsheet_saves_it_without_needless_quotes():
    run = [trace_of(9, 5)]
    bare = to_csv(run).replace('"9000000"', "9000000").replace('"0"', "0").replace("\n", "\r\n")
    assert from_csv(bare) == run


# ---- broken files -------------------------------------------------------------------------------

GOOD = [trace_of(9, 5, arm="naive"), trace_of(3, 2)]


def broken_json(*path, value) -> str:
    """Good JSON with one value replaced (or, for `...`, removed)."""
    data = inner = json.loads(to_json(GOOD))
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(data)


STEP = ("traces", 1, "steps", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("hello", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5_000, "not JSON"),  # Python refuses to read so long a number
        ("null", "no file of traces"),
        ("[1, 2]", "no file of traces"),
        ('{"cells": []}', "no file of traces"),
        (broken_json("schema", value="labkit-traces-9"), "no file of traces"),
        (broken_json("traces", value=...), "traces: expected a list, found None"),
        (broken_json("traces", value=[]), "holds no trace"),
        (broken_json("traces", 0, value=5), r"traces\[0\]: expected named values, found 5"),
        (broken_json("traces", 0, "arm", value=...), r"traces\[0\].* 'arm'"),
        (broken_json("traces", 0, "arms", value=1), r"traces\[0\]: Trace has no field \['arms'\]"),
        (broken_json("traces", 0, "steps", value={}), r"traces\[0\]\.steps: expected a list"),
        (broken_json("traces", 0, "versions", value=[]), "versions: expected named values"),
        (
            broken_json("traces", 0, "versions", value={"a": 1}),
            "versions.a: expected text, found 1",
        ),
        (broken_json("traces", 0, "model", "tied", value=1), "tied: expected true or false"),
        (broken_json("traces", 0, "model", "layers", value=0), "layers is 0; give 1 or more"),
        (broken_json("traces", 0, "machine", "device", value="tpu"), "'tpu'; use cpu"),
        (broken_json(*STEP, "wall_ns", value="9"), r"\[1\]\.steps\[0\]\.wall_ns: .* whole number"),
        (broken_json(*STEP, "wall_ns", value=1.5), "whole number, found 1.5"),
        (broken_json(*STEP, "wall_ns", value=True), "whole number, found True"),
        (broken_json(*STEP, "wall_ns", value=None), "whole number, found None"),
        (broken_json(*STEP, "wall_ns", value=10**400), "finite number"),
        (broken_json(*STEP, "top2_gap", value=float("nan")), "finite number, found nan"),
        (broken_json(*STEP, "top2_gap", value=float("inf")), "finite number, found inf"),
        (broken_json(*STEP, "top2_gap", value=10**400), "finite number"),
        (broken_json(*STEP, "texts", value="<0>"), "texts: expected a list"),
        (broken_json(*STEP, "texts", value=[]), r"traces\[1\]\.steps\[0\]: expected 1 tokens"),
        (broken_json(*STEP, "token_ids", value=[1, 2]), "expected 1 tokens, the batch"),
        (broken_json("traces", 1, "settings", "batch", value=2), "expected 2 tokens, the batch"),
    ],
)
def test_broken_json_says_where_it_breaks(text, message):
    with pytest.raises(BrokenFile, match=message):
        parse(text)


CSV = to_csv(GOOD)
HEAD, OTHER_HEAD, COLUMNS, *ROWS = CSV.splitlines()


def lines(*parts: str) -> str:
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# ", "a comment line is not JSON"),
        ("#", "must have the columns"),
        (HEAD, "must have the columns"),
        (lines(COLUMNS, *ROWS), "not JSON"),  # without its head nothing says that this is CSV
        (lines("# 5", COLUMNS), "no file of traces"),
        (lines("# [1]", COLUMNS), "no file of traces"),
        (lines("# " + "[" * 100_000, COLUMNS), "a comment line is not JSON"),
        (lines(HEAD.replace("labkit-traces-1", "other"), COLUMNS, *ROWS[:2]), "no file of traces"),
        (lines(HEAD, COLUMNS.replace("wall_ns", "wall_s"), *ROWS[:2]), "must have the columns"),
        (lines(HEAD, COLUMNS, ROWS[0]), "trace 0 should have 2 steps and has 1"),
        (lines(HEAD, COLUMNS, *ROWS[:2], ROWS[1]), "trace 0 should have 2 steps and has 3"),
        (lines(HEAD, COLUMNS, *ROWS), "row 2: no comment line tells of trace '1'"),
        (lines(HEAD, COLUMNS, ROWS[0], ROWS[1].replace('"0"', '"-1"', 1)), "tells of trace '-1'"),
        (lines(HEAD, COLUMNS, ROWS[0], ROWS[1] + ',"1"'), "row 1 has not the 9 cells"),
        (lines(HEAD, COLUMNS, ROWS[0], '"0","7"'), "row 1 has not the 9 cells"),
        (lines(HEAD, COLUMNS, ROWS[0], ROWS[1][:-1]), "breaks off in row 1"),
        (lines(HEAD, COLUMNS, ROWS[0].replace("9000000", "x"), ROWS[1]), "row 0, wall_ns, is not"),
        (lines(HEAD, COLUMNS, ROWS[0].replace("9000000", "0.5"), ROWS[1]), "wall_ns: .*found 0.5"),
        (lines(HEAD, COLUMNS, ROWS[0].replace("9000000", "[" * 9999), ROWS[1]), "row 0, wall_ns,"),
        (lines(HEAD, COLUMNS, ROWS[0].replace("9000000", "9" * 200_000), ROWS[1]), "field larger"),
    ],
)
def test_broken_csv_says_where_it_breaks(text, message):
    with pytest.raises(BrokenFile, match=message):
        parse(text)


@pytest.mark.parametrize("whole", [to_json(GOOD), CSV.rstrip("\n")])
def test_a_file_cut_short_anywhere_is_broken(whole):
    for length in range(len(whole)):
        with pytest.raises(BrokenFile):
            parse(whole[:length])


def places(value, path=()):
    """The path of every value inside a JSON value, itself included."""
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))


METRICS = [name for name, member in vars(Trace).items() if isinstance(member, property)]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


@settings(fixed, max_examples=300)
@given(st.sampled_from([p for p in places(json.loads(to_json(GOOD))) if p]), ANY_JSON)
def test_a_wrong_value_anywhere_breaks_the_file_or_leaves_traces_that_can_be_read(path, value):
    try:
        found = parse(broken_json(*path, value=value))
    except BrokenFile:
        return
    for trace in found:
        for name in METRICS:
            getattr(trace, name)  # raises nothing
        trace.text()
