"""Each metric against numbers worked out by hand, and the verdict on two arms' tokens."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from toys import trace_of

from labkit.records import CheckResult, agreement, percentile

# ---- metrics ------------------------------------------------------------------------------------


def test_ttft_is_the_prefill_and_tpot_leaves_it_out():
    trace = trace_of(100, 10, 20, 30)
    assert trace.ttft_s == pytest.approx(0.100)
    assert trace.itl_s == pytest.approx([0.010, 0.020, 0.030])
    assert trace.tpot_s == pytest.approx(0.020)  # 60 ms / 3 gaps, not 160 ms / 4 tokens
    assert trace.total_s == pytest.approx(0.160)


def test_tokens_per_s_holds_the_prefill_and_decode_tokens_per_s_does_not():
    trace = trace_of(100, 10, 20, 30)
    assert trace.tokens_per_s == pytest.approx(4 / 0.160)
    assert trace.decode_tokens_per_s == pytest.approx(1 / 0.020)


def test_rates_count_every_sequence_of_the_batch_and_latencies_do_not():
    one, three = trace_of(100, 10, 30), trace_of(100, 10, 30, batch=3)
    assert three.tokens_per_s == pytest.approx(9 / 0.140)
    assert three.decode_tokens_per_s == pytest.approx(3 / 0.020)
    assert three.tpot_s == one.tpot_s


def test_percentiles_interpolate_between_neighbours():
    assert percentile([40, 10, 30, 20], 50) == 25
    assert percentile([10, 20, 30], 95) == pytest.approx(29)  # place 1.9: 20 + 0.9 × 10
    assert (percentile([10, 20, 30], 0), percentile([10, 20, 30], 100)) == (10, 30)
    assert percentile([7], 99) == 7
    assert percentile([], 50) is None


def test_itl_percentiles_and_median_do_not_see_the_prefill():
    trace = trace_of(900, 10, 20, 30)
    assert trace.median_itl_s == pytest.approx(0.020)
    assert trace.itl_percentile_s(95) == pytest.approx(0.029)
    assert trace.itl_percentile_s(100) == pytest.approx(0.030)


def test_kv_bytes_are_those_after_the_last_step():
    assert trace_of(100, 10, 10).kv_bytes == 384 * 10
    step = replace(trace_of(100).steps[0], kv_bytes=None)
    assert replace(trace_of(100), steps=(step,)).kv_bytes is None


def test_a_run_that_has_not_begun_knows_nothing():
    trace = trace_of()
    unknown = (trace.ttft_s, trace.tpot_s, trace.tokens_per_s, trace.decode_tokens_per_s)
    unknown += (trace.median_itl_s, trace.itl_percentile_s(95), trace.kv_bytes)
    assert unknown == (None,) * 7
    assert (trace.total_s, trace.text()) == (0, "")


def test_one_token_has_a_ttft_but_no_gap():
    trace = trace_of(100)
    assert (trace.ttft_s, trace.tokens_per_s) == (pytest.approx(0.1), pytest.approx(10))
    assert (trace.tpot_s, trace.median_itl_s, trace.decode_tokens_per_s) == (None, None, None)


def test_steps_too_short_for_the_clock_give_unknown_rates_not_infinite_ones():
    trace = trace_of(0, 0, 0)
    assert (trace.tokens_per_s, trace.decode_tokens_per_s) == (None, None)


def test_text_is_one_sequence_of_the_batch():
    trace = trace_of(9, 9)
    mixed = tuple(replace(step, texts=("a" * i, "b")) for i, step in enumerate(trace.steps, 1))
    trace = replace(trace, steps=mixed)
    assert (trace.text(), trace.text(row=1)) == ("aaa", "bb")


def test_records_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        trace_of(1).arm = "naive"


# ---- agreement ----------------------------------------------------------------------------------


def parted(at: int, gap: float | None, dtype: str):
    """Two traces of 4 tokens; the second has another token at `at`, with that top-2 gap."""
    one = trace_of(9, 9, 9, 9, dtype=dtype)
    steps = list(one.steps)
    steps[at] = replace(steps[at], token_ids=(77,), top2_gap=gap)
    return one, replace(one, steps=tuple(steps))


def test_equal_tokens_are_identical_over_what_both_have_reached():
    verdict = agreement(trace_of(9, 9, 9), trace_of(50, 50))
    assert (verdict.identical, verdict.compared) == (True, 2)
    assert str(verdict) == "identical so far: 2 tokens"


def test_nothing_compared_is_not_called_identical():
    assert str(agreement(trace_of(), trace_of(9))) == "nothing to compare yet"


def test_float32_has_no_tie_rule_not_even_for_an_exact_tie():
    for gap in (0.0, 1e-6):
        verdict = agreement(*parted(2, gap, "float32"))
        assert (verdict.first_difference, verdict.tie) == (2, False)
    assert str(verdict) == "the arms differ from token 3 on"


@pytest.mark.parametrize(
    ("dtype", "gap", "tie"),
    [
        ("bfloat16", 0.125, True),  # two steps of 2^-4
        ("bfloat16", 0.126, False),
        ("float16", 0.03125, True),  # two steps of 2^-6
        ("float16", 0.125, False),
        ("bfloat16", None, False),  # an unknown gap excuses nothing
    ],
)
def test_16_bits_may_part_where_two_candidates_tie(dtype, gap, tie):
    one, other = parted(1, gap, dtype)
    one = replace(one, steps=tuple(replace(step, top2_gap=None) for step in one.steps))
    assert agreement(one, other).tie is agreement(other, one).tie is tie


def test_a_tie_is_said_to_be_one():
    assert "token 2, where two candidates tie" in str(agreement(*parted(1, 0.0, "bfloat16")))


def test_one_sequence_of_a_batch_that_differs_is_a_difference():
    one = trace_of(9, 9, batch=2)
    steps = (one.steps[0], replace(one.steps[1], token_ids=(1, 77)))
    assert agreement(one, replace(one, steps=steps)).first_difference == 1


# ---- check results ------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["passed", "not yet", "wrong"])
def test_a_check_result_reads_the_same_in_a_terminal_and_in_a_notebook(status):
    result = CheckResult(status, "because 2 < 3")
    assert repr(result) == f"{status}: because 2 < 3"
    assert status in result._repr_html_()
    assert "because 2 &lt; 3" in result._repr_html_()  # what a learner typed is never markup
    assert result.passed is (status == "passed")
