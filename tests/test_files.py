"""Traces survive JSON and CSV unchanged, whatever texts and numbers they hold."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import MACHINE, SHAPE, trace_of

from labkit.records import (
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
