"""A broken file of traces raises BrokenFile, which says where it breaks, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import trace_of

from labkit.records import BrokenFile, Trace, parse, to_csv, to_json

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
WORDS = st.text(max_size=5)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
)


@settings(max_examples=300, deadline=None, derandomize=True)
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
