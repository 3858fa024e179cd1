"""The sentence and the table below the chart say what the traces say, and nothing they don't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit import summary
from labkit.records import Machine, ModelShape, Roofs, Settings, Step, Trace

SHAPE = ModelShape("toy", "llama", 2, 32, 4, 2, 8, 64, 256, 128, tied=True)
MACHINE = Machine("a laptop", "cpu", memory_bytes=8 << 30)


def trace_of(arm: str, step_ms: list[float], kv_bytes: int | None = None) -> Trace:
    """A trace whose forward passes took `step_ms`; token i has the id i."""
    steps = tuple(
        Step(round(ms * 1e6), 1, 4 + i, (i,), (f" {i}",), kv_bytes=kv_bytes)
        for i, ms in enumerate(step_ms)
    )
    settings = Settings(4, len(steps), model="toy", order="interleaved")
    return Trace(arm, SHAPE, settings, MACHINE, steps, first_call_ns=5_000_000)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (summary.ms(0.0463), "46.3 ms"),
        (summary.ms(0.000512), "0.512 ms"),
        (summary.ms(12.3456), "12,346 ms"),
        (summary.ms(0.0), "0 ms"),
        (summary.rate(21.62), "21.6 tokens/s"),
        (summary.gb(538_000_000), "538 MB"),
        (summary.gb(999), "999 bytes"),
        (summary.gb(24 * 2**30), "25.8 GB"),
        (summary.gib(24 * 2**30), "24.0 GiB"),
        (summary.ms(None), "unknown"),
        (summary.rate(None), "unknown"),
        (summary.gb(None), "unknown"),
    ],
)
def test_units_are_three_digits_with_gb_and_gib_apart_and_none_unknown(shown, expected):
    assert shown == expected


def test_the_end_is_the_median_of_the_last_eight_tokens_without_the_prefill():
    trace = trace_of("naive", [900, 1, 1, 10, 20, 30, 40, 50, 60, 70, 80])
    assert summary.late_s(trace, length=11) == pytest.approx(0.045)  # of 10 … 80
    assert summary.late_s(trace, length=3) == pytest.approx(0.001)  # of 1, 1: not of 900


def test_a_race_is_told_with_both_times_their_ratio_and_the_tokens():
    told = summary.sentence([trace_of("naive", [9, 40, 40]), trace_of("cached", [9, 10, 10])])
    assert told == (
        "At the end (median of 2 tokens) cached took 10.0 ms for a token and naive 40.0 ms, "
        "4.00 times as long; identical so far: 3 tokens."
    )


def test_a_race_is_compared_as_far_as_both_arms_came():
    """Naive got slower later, where cached has no token to compare with."""
    naive = trace_of("naive", [9, 40, 40, 9000, 9000, 9000])
    assert "4.00 times" in summary.sentence([naive, trace_of("cached", [9, 10, 10])])


def test_arms_that_differ_are_said_to_differ():
    cached = trace_of("cached", [9, 10, 10])
    wrong = replace(cached, steps=(cached.steps[0], replace(cached.steps[1], token_ids=(7,))))
    told = summary.sentence([trace_of("naive", [9, 40, 40]), wrong])
    assert "the arms differ from token 2 on" in told


def test_no_arm_is_assumed_to_win():
    told = summary.sentence([trace_of("naive", [9, 5]), trace_of("cached", [9, 10])])
    assert "naive took 5.00 ms for a token and cached 10.0 ms, 2.00 times as long" in told


def test_too_few_tokens_are_said_to_be_too_few():
    assert summary.sentence([]) == "Nothing was measured yet."
    assert summary.sentence([trace_of("naive", [])]) == "Nothing was measured yet."
    one = [trace_of("naive", [9]), trace_of("cached", [9, 1])]
    assert summary.sentence(one).startswith("Too few tokens")
    assert summary.sentence(one[:1]) == "naive made its first token in 9.00 ms."


def test_a_single_run_is_told_with_its_speed():
    told = summary.sentence([trace_of("cached", [80, 10, 10])])
    assert told == (
        "cached made its first token in 80.0 ms, then one every 10.0 ms (median): "
        "30.0 tokens/s over 3 tokens."
    )


def test_the_table_has_a_column_for_each_arm_and_each_metric_once():
    table = summary.table([trace_of("naive", [9, 40, 60]), trace_of("cached", [9, 10, 10], 2000)])
    cells = {name: row for name, *row in table.rows}
    assert table.header == ("arm", "naive", "cached")
    assert cells["tokens made"] == ["3", "3"]
    assert cells["first token (TTFT)"] == ["9.00 ms", "9.00 ms"]
    assert cells["later tokens, mean (TPOT)"] == ["50.0 ms", "10.0 ms"]
    assert cells["95 % of them within"] == ["59.0 ms", "10.0 ms"]
    assert cells["first call, not counted above"] == ["5.00 ms", "5.00 ms"]
    assert cells["KV cache"] == ["none", "2.00 kB"]
    assert cells["peak memory"] == ["unknown", "unknown"]
    assert len(cells) == len(table.rows)


def test_a_recorded_trace_is_labelled_with_its_machine():
    recorded = replace(trace_of("cached", [9, 10]), origin="recorded")
    assert summary.table([recorded]).rows[-1] == ("origin", "recorded on a laptop")
    assert "cached (recorded)" in summary.sentence([recorded])


def test_plain_text_is_aligned():
    table = summary.Table(("arm", "naive"), (("TTFT", "9 ms"), ("tokens made", "3")))
    assert table.text() == "arm          naive\nTTFT          9 ms\ntokens made      3"


def test_html_is_escaped_and_its_headers_have_a_scope():
    page = summary.Table(("<i>", "arm"), (("<b>", "<script>"),)).html()
    assert all(tag not in page for tag in ("<i>", "<b>", "<script>"))
    assert page.count("&lt;") == 3
    assert (page.count('scope="col"'), page.count('scope="row"')) == (2, 1)
    assert "color" not in page


def test_the_heading_says_what_ran_and_where():
    assert summary.heading(trace_of("cached", [9, 10])) == (
        "toy in float32 on a laptop (cpu): 4 prompt tokens, 2 new ones, interleaved"
    )


def test_roofs_stand_beside_the_datasheet_and_what_is_not_stated_is_unknown():
    roofs = Roofs(
        "cuda", {"float32": 5e13, "bfloat16": 8e14}, 4.2e12, 3.9e12, overhead_s=0.0045, layers=16
    )
    sheet = Machine(
        "H200", "cuda", 1, bandwidth_bytes_per_s=4.8e12, peak_flops_per_s={"bfloat16": 9.894e14}
    )
    table = summary.roofs_table(roofs, sheet)
    assert table.header == ("roof", "measured here", "H200")
    assert table.rows == (
        ("read", "4.20 TB/s", "4.80 TB/s"),
        ("copy, read and written", "3.90 TB/s", "4.80 TB/s"),
        ("products in float32", "50.0 TFLOP/s", "unknown"),
        ("products in bfloat16", "800 TFLOP/s", "989 TFLOP/s"),
        ("the host's time for a pass of 16 layers", "4.50 ms", "on no datasheet"),
    )
    assert summary.roofs_table(Roofs("cpu"), None).rows[0] == ("read", "unknown", "unknown")


def test_the_devices_share_is_told_where_it_is_known():
    shares = (None, 0.317)
    traces = [replace(trace_of("cached", [100, 10]), device_share=share) for share in shares]
    cells = {name: shown for name, *shown in summary.table(traces).rows}
    assert cells["the device computes"] == ["unknown", "32% of a step"]
