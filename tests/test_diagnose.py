"""Where the time goes: the real pastes, each rule by hand, and the lines of engines' logs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from diagnosis_cases import CASES, text
from test_reports_formats import sample

from labkit.diagnose import diagnose
from labkit.records import Report, Window
from labkit.reports import parse
from labkit.reports.build import report


def request(**figures: object) -> Report:
    return report("test", "request", **figures)


def test_phases_of_the_real_pastes(capsys):
    labels = {case["id"]: diagnose(parse(text(case))).label for case in CASES}
    strict = sum(labels[case["id"]] == case["expected"] for case in CASES)
    accepted = [{case["expected"], *case.get("accept", [])} for case in CASES]
    lenient = sum(labels[c["id"]] in fine for c, fine in zip(CASES, accepted, strict=True))
    with capsys.disabled():
        print(f"\nphase right in {strict} of {len(CASES)} pastes, {lenient} with what is accepted")
    assert strict >= 28
    assert lenient >= 30


# ---- where the time goes -------------------------------------------------------------------------


def test_the_part_with_sixty_percent_names_the_phase():
    assert diagnose(request(prefill_s=6.0, decode_s=4.0)).phase == "prefill"
    assert diagnose(request(prefill_s=5.9, decode_s=4.1)).phase == "balanced"


def test_shares_are_parts_of_the_whole_wait():
    verdict = diagnose(parse(sample("vLLM Prometheus")))
    assert verdict.shares["queue"] == pytest.approx(9 / 12)
    assert sum(verdict.shares.values()) == pytest.approx(1)


def test_time_outside_all_phases_is_overhead():
    verdict = diagnose(request(load_s=0.1, prefill_s=0.2, decode_s=2.7, total_s=8.1))
    assert (verdict.phase, verdict.limiter) == ("overhead", "host-overhead")


def test_a_users_pauses_are_no_overhead():
    pause = request(prefill_s=1.0, decode_s=9.0, total_s=60.0, total_counts_idle=True)
    assert diagnose(pause).phase == "decode"


def test_a_short_prompt_read_slower_than_text_is_written_was_loaded():
    cold = request(prompt_tokens=13, output_tokens=32, prefill_s=14.8, decode_s=3.4, tpot_s=0.107)
    assert diagnose(cold).phase == "load"
    assert diagnose(replace(cold, prompt_tokens=130.0)).phase == "prefill"


def test_ttft_of_many_at_once_is_queue_beyond_the_longest_prefill():
    figures = {"ttft_s": 20.0, "tpot_s": 0.05, "prompt_tokens": 200, "output_tokens": 101}
    crowd = report(
        "bench", "aggregate", requests=100, duration_s=100.0, served_per_s=1.0, **figures
    )
    verdict = diagnose(crowd)
    assert verdict.phase == "queue"
    assert verdict.shares["queue"] == pytest.approx((20 - 1) / 25)  # run time ÷ requests: 1 s
    assert diagnose(report("bench", "aggregate", concurrency=1, **figures)).phase == "prefill"


def test_ttft_beyond_prompt_by_prefill_rate_is_queue():
    crowd = report(
        "bench",
        "aggregate",
        concurrency=50,
        ttft_s=10.0,
        tpot_s=0.02,
        prompt_tokens=1000,
        output_tokens=101,
        prefill_tokens_per_s=1000,
    )
    assert diagnose(crowd).shares["queue"] == pytest.approx(9 / 12)


def test_a_known_queue_leaves_the_rest_of_ttft_to_prefill():
    known = report("bench", "aggregate", concurrency=50, queue_s=0.0, ttft_s=9.0, decode_s=1.0)
    assert diagnose(known).phase == "prefill"


def test_a_ttft_shorter_than_the_queue_was_taken_behind_it():
    late = request(queue_s=20.0, ttft_s=0.5, decode_s=2.5)
    assert diagnose(late).shares["prefill"] == pytest.approx(0.5 / 23)


def test_one_spread_of_ttft_is_lengths_another_is_a_queue():
    figures = {"ttft_s": 2.0, "tpot_s": 0.01, "prompt_tokens": 500, "output_tokens": 101}
    near = report("bench", "aggregate", ttft_min_s=1.5, **figures)
    far = report("bench", "aggregate", ttft_min_s=0.1, **figures)
    assert (diagnose(near).phase, diagnose(far).phase) == ("prefill", "queue")


def test_more_offered_than_served_is_evidence_of_a_queue():
    figures = {"ttft_s": 60.0, "tpot_s": 0.05, "prompt_tokens": 200, "output_tokens": 101}
    crowd = report("bench", "aggregate", offered_per_s=40.0, served_per_s=8.0, **figures)
    verdict = diagnose(crowd)
    assert verdict.phase == "queue"
    assert any("40.0 offered, 8.00 served" in str(one) for one in verdict.evidence)


def test_a_queue_before_a_full_cache_says_so():
    full = report("engine", "aggregate", queue_s=9.0, prefill_s=0.5, decode_s=0.5, kv_usage=0.97)
    assert any("97 %" in str(one) for one in diagnose(full).evidence)


def test_rates_alone_and_one_window_are_not_judged():
    rates = report("bench", "rates", prefill_tokens_per_s=900, decode_tokens_per_s=30)
    assert diagnose(rates).phase == "insufficient-data"
    assert "length" in diagnose(rates).missing[0]


def test_balanced_runs_get_a_remedy_for_each_large_part_the_largest_first():
    verdict = diagnose(request(load_s=2.0, prefill_s=0.1, decode_s=5.8, total_s=10.0))
    assert verdict.phase == "balanced"
    assert [r.family for r in verdict.remedies] == ["fewer-steps", "less-overhead", "keep-warm"]


def test_a_rerun_that_reads_the_prompt_faster_shows_the_first_as_cold():
    cold = request(prompt_tokens=68, output_tokens=32, load_s=4.3, prefill_s=4.5, decode_s=3.2)
    warm = request(prompt_tokens=68, output_tokens=38, load_s=0.2, prefill_s=0.1, decode_s=4.9)
    verdict = diagnose([cold, warm])
    assert verdict.phase == "decode"
    assert any("cold start" in str(one) for one in verdict.evidence)


def test_an_unknown_answer_length_is_asked_for_only_where_it_decides():
    assert diagnose(request(ttft_s=0.05, tpot_s=0.5)).phase == "decode"
    assert diagnose(request(ttft_s=14.0, tpot_s=0.018)).phase == "prefill"
    open_question = diagnose(request(ttft_s=1.0, tpot_s=0.02))
    assert open_question.phase == "insufficient-data"
    assert "how many tokens" in open_question.missing[0]


@pytest.mark.parametrize(
    ("figures", "asked"),
    [
        ({"decode_tokens_per_s": 31}, "TTFT"),
        ({"total_s": 4.0, "output_tokens": 300}, "TTFT"),
        ({"ttft_s": 2.0}, "TPOT"),
        ({}, "TTFT and TPOT"),
    ],
)
def test_insufficient_data_names_the_figure_that_would_settle_it(figures, asked):
    verdict = diagnose(request(**figures))
    assert verdict.phase == "insufficient-data"
    assert asked in verdict.missing[0]
    assert [remedy.family for remedy in verdict.remedies] == ["measure-more"]


def test_a_handful_of_tokens_is_not_judged():
    few = request(prompt_tokens=1, output_tokens=2, prefill_s=1.0, decode_s=9.0)
    assert diagnose(few).phase == "insufficient-data"


def test_nothing_recognised_is_insufficient_data():
    assert diagnose([]).label == "insufficient-data"


# ---- logs ----------------------------------------------------------------------------------------


def log(*windows: Window) -> Report:
    return report("vLLM log", "window", windows=windows)


def line(
    prompt: float, output: float, running: float, waiting: float = 0, kv: float = 0.1
) -> Window:
    return Window(prompt, output, running, waiting, kv)


def test_one_line_of_a_log_is_no_trend():
    assert diagnose(log(line(0, 500, 10))).phase == "insufficient-data"


def test_text_that_stalls_while_others_prompts_are_booked_later_is_prefill():
    """V1 books a prompt when its first token comes; the windows before show stalled text alone."""
    stalls = log(line(6000, 5, 9), line(0, 7, 9), line(3000, 6, 10), line(2000, 120, 10))
    assert diagnose(stalls).phase == "prefill"


def test_lines_of_decode_alone_are_decode():
    assert diagnose(log(line(0, 500, 10), line(0, 510, 10))).phase == "decode"


def test_prompts_that_stop_everybodys_text_are_prefill():
    stalls = log(line(0, 120, 20, 9), line(1000, 0, 22, 7), line(1100, 0, 24, 5))
    assert diagnose(stalls).phase == "prefill"


def test_a_full_cache_with_requests_waiting_is_a_queue():
    full = log(line(0, 500, 18, 5, 0.97), line(0, 500, 18, 6, 0.96))
    verdict = diagnose(full)
    assert (verdict.phase, verdict.limiter) == ("queue", "capacity-or-scheduling")


def test_more_waiting_than_running_is_a_queue():
    assert diagnose(log(line(0, 500, 8, 30), line(0, 500, 8, 29))).phase == "queue"


def test_waiting_while_nothing_moves_is_a_queue():
    assert diagnose(log(line(0, 0, 3, 1), line(0, 0, 3, 1))).phase == "queue"


def test_lines_that_read_and_write_at_once_cant_be_split():
    assert diagnose(log(line(5000, 900, 40), line(5100, 880, 41))).phase == "insufficient-data"
