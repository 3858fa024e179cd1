"""What limits a phase: only with facts of model and machine, and only where they show it."""

from __future__ import annotations

from dataclasses import replace

from labkit import catalog
from labkit.diagnose import diagnose
from labkit.records import Machine, Report, Settings, Step, Trace
from labkit.records.machine import Roofs
from labkit.reports import parse
from labkit.reports.build import report

LLAMA = catalog.model("Llama-3.1-8B")
H100 = catalog.machine("H100-SXM")


def request(**figures: object) -> Report:
    return report("test", "request", **figures)


def decoding(**figures: object) -> Report:
    return request(prompt_tokens=500, output_tokens=500, ttft_s=0.1, **figures)


def test_decode_is_bandwidth_limited_from_sixty_percent_of_the_bandwidth():
    fast = decoding(tpot_s=0.0065, weight_bytes=16e9)  # 2.46 TB/s of 3.35
    verdict = diagnose(fast, machine=H100)
    assert (verdict.phase, verdict.limiter) == ("decode", "memory-bandwidth")
    assert verdict.remedies[0].family == "fewer-bytes"
    assert "More bandwidth shortens decode" in verdict.hardware


def test_decode_far_from_the_bandwidth_is_overhead():
    verdict = diagnose(decoding(tpot_s=0.021, weight_bytes=1e9), machine=H100)
    assert (verdict.phase, verdict.limiter) == ("overhead", "host-overhead")
    assert "Neither" in verdict.hardware


def test_in_between_the_limiter_is_undetermined():
    verdict = diagnose(decoding(tpot_s=0.0095, weight_bytes=16e9), machine=H100)
    assert (verdict.phase, verdict.limiter) == ("decode", "undetermined")


def test_more_bytes_than_the_memory_delivers_is_a_wrong_figure():
    verdict = diagnose(decoding(tpot_s=0.002, weight_bytes=16e9), machine=H100)
    assert verdict.limiter == "undetermined"
    assert any("a figure is wrong" in str(one) for one in verdict.evidence)


def test_no_limiter_follows_from_the_name_of_the_phase():
    assert diagnose(decoding(tpot_s=0.02)).limiter == "undetermined"
    prefill = request(prompt_tokens=9000, output_tokens=9, prefill_s=5.0, decode_s=0.1)
    assert diagnose(prefill).limiter == "undetermined"


def test_unknown_bits_make_a_range_and_only_what_holds_at_both_ends_is_said():
    assert diagnose(decoding(tpot_s=0.007, parameters=8e9), machine=H100).limiter == "undetermined"
    slow = diagnose(decoding(tpot_s=0.08, parameters=8e9), machine=H100)
    assert slow.limiter == "host-overhead"


def test_a_long_context_without_a_shape_isnt_called_overhead():
    """8 x 30,000 positions hold from 0 to 126 GB of KV beside 7 GB of weights."""
    one = request(
        prompt_tokens=30_000,
        output_tokens=1000,
        concurrency=8,
        queue_s=0.0,
        ttft_s=0.05,
        tpot_s=0.03,
        parameters=7e9,
        weight_bits=8,
    )
    assert diagnose(one, machine=H100).limiter == "undetermined"
    short = replace(one, prompt_tokens=300, output_tokens=300, decode_s=9.0, concurrency=1)
    assert diagnose(short, machine=H100).limiter == "host-overhead"


def test_a_machine_named_without_its_memory_is_the_larger_one():
    """64 GB of weights fit an A100 with 80 GB: nothing says that it is the one with 40."""
    verdict = diagnose(decoding(tpot_s=0.045, weight_bytes=64e9, machine="a100"))
    assert verdict.limiter == "memory-bandwidth"


def test_attention_over_a_long_prompt_may_be_what_the_count_lacks():
    long = request(prompt_tokens=25_000, output_tokens=40, prefill_s=2.0, tpot_s=0.01)
    verdict = diagnose(replace(long, parameters=8e9), machine=H100)
    assert (verdict.phase, verdict.limiter) == ("prefill", "undetermined")
    assert any("attention over so much" in str(one) for one in verdict.evidence)


def test_weights_that_fit_the_cache_say_nothing_of_memory():
    verdict = diagnose(decoding(tpot_s=0.0005, weight_bytes=40e6), machine=H100)
    assert verdict.limiter == "undetermined"
    assert any("fit the cache" in str(one) for one in verdict.evidence)


def test_weights_larger_than_the_memory_are_a_matter_of_capacity():
    verdict = diagnose(decoding(tpot_s=0.09, weight_bytes=140e9), machine=H100)
    assert (verdict.phase, verdict.limiter) == ("decode", "capacity-or-scheduling")


def test_a_cpu_that_computes_part_of_the_model_is_a_matter_of_capacity():
    verdict = diagnose(decoding(tpot_s=0.09, cpu_share=0.42))
    assert (verdict.phase, verdict.limiter) == ("decode", "capacity-or-scheduling")


def test_speculative_steps_are_longer_than_their_tokens():
    one = decoding(tpot_s=0.0033, tokens_per_step=2.0, weight_bytes=16e9)
    assert diagnose(one, machine=H100).limiter == "memory-bandwidth"


def test_a_step_longer_than_the_prefill_isnt_explained_by_weights():
    """The seed's case: prefill reads the same weights, with the same launches, in 50 ms."""
    verdict = diagnose(parse("TTFT 50 ms, 2 tok/s, 8B on a 4090"))
    assert (verdict.phase, verdict.limiter) == ("decode", "undetermined")
    assert any("doesn't explain" in str(one) for one in verdict.evidence)
    assert verdict.missing


def test_prefill_is_compute_limited_from_thirty_percent_of_the_peak():
    long = request(prompt_tokens=24_000, output_tokens=100, prefill_s=1.0, tpot_s=0.005)
    verdict = diagnose(long, machine=H100, shape=LLAMA)  # 2 x 7e9 x 24,000: 336 TFLOP/s of 989
    assert (verdict.phase, verdict.limiter) == ("prefill", "compute")
    slow = diagnose(replace(long, prefill_s=10.0), machine=H100, shape=LLAMA)
    assert slow.limiter == "undetermined"


# ---- traces --------------------------------------------------------------------------------------


def trace(step_s: list[float], tokens_in: int = 1, device_s: float | None = None) -> Trace:
    steps = [
        Step(
            wall_ns=int(spent * 1e9),
            tokens_in=512 if number == 0 else tokens_in,
            context_tokens=512 + number,
            token_ids=(0,),
            texts=("a",),
            device_ns=None if device_s is None else int(device_s * 1e9),
        )
        for number, spent in enumerate(step_s)
    ]
    settings = Settings(512, len(steps), dtype="bfloat16")
    return Trace("cached", LLAMA, settings, H100, tuple(steps))


def test_a_trace_close_to_the_memorys_rate_is_bandwidth_limited():
    verdict = diagnose(trace([0.02] + [0.006] * 63))  # 16 GB at 3.35 TB/s: 4.8 ms
    assert (verdict.phase, verdict.limiter) == ("decode", "memory-bandwidth")


def test_a_trace_whose_device_idles_is_overhead():
    verdict = diagnose(trace([0.03] + [0.03] * 63, device_s=0.006))
    assert (verdict.phase, verdict.limiter) == ("overhead", "host-overhead")


def test_a_probed_overhead_shows_without_device_times():
    roofs = Roofs("cuda", {"bfloat16": 9e14}, 3e12, overhead_s=0.025)
    assert diagnose(trace([0.03] * 64), machine=roofs).limiter == "host-overhead"


def test_the_device_share_measured_with_a_run_is_evidence():
    run = trace([0.02] + [0.006] * 63)
    idle = diagnose(replace(run, device_share=0.2))
    assert (idle.phase, idle.limiter) == ("overhead", "host-overhead")
    assert any("idle 80 %" in str(one) for one in idle.evidence)
    busy = diagnose(replace(run, device_share=0.9))
    assert busy.limiter == "memory-bandwidth"
    assert any("busy 90 %" in str(one) for one in busy.evidence)


def test_a_share_of_later_steps_says_nothing_of_a_prefill():
    long = trace([5.0] + [0.001] * 63)
    assert diagnose(replace(long, device_share=0.1)).limiter == "undetermined"


def test_a_run_is_judged_by_the_roofs_that_were_probed_with_it():
    """16 GB at half the datasheet's rate take 9.6 ms: the step of 10 ms is at its roof."""
    run = trace([0.03] + [0.010] * 63)
    assert diagnose(run).limiter == "undetermined"
    probed = Roofs("cuda", {"bfloat16": 9e14}, 1.675e12, overhead_s=0.002)
    assert diagnose(replace(run, roofs=probed)).limiter == "memory-bandwidth"


def test_a_naive_trace_is_told_by_its_tokens_not_its_name():
    verdict = diagnose(trace([0.03] * 64, tokens_in=560))
    assert any("without a KV cache" in str(one) for one in verdict.evidence)
    assert verdict.limiter in ("undetermined", "compute")


def test_a_trace_far_from_every_roof_is_undetermined():
    assert diagnose(trace([0.05] * 64)).limiter == "undetermined"


def test_a_short_trace_is_insufficient():
    assert diagnose(replace(trace([0.1]), steps=())).phase == "insufficient-data"


def test_machine_and_shape_are_optional_facts_of_any_device():
    laptop = Machine("laptop", "cpu", 16 * 2**30)
    assert diagnose(decoding(tpot_s=0.02), machine=laptop, shape=LLAMA).limiter == "undetermined"
