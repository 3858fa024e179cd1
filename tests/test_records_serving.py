"""The metrics of a served workload, on numbers that can be checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from grading_answers_batching import CONTINUOUS, STATIC, serving
from toys import MACHINE

from labkit import catalog, roofline
from labkit.records.machine import Roofs
from labkit.records.serving import (
    Request,
    RequestTimes,
    Serving,
    same_answers,
    servings_to_csv,
    servings_to_json,
)
from labkit.roofline.batching import batch_points, saturation_batch


def stay(number, arrival, start, first, last, tokens) -> RequestTimes:
    request = Request(number, arrival, 4, tokens)
    return RequestTimes(request, number, start, first, last, last, tuple(range(tokens)))


TWO = Serving(
    policy="continuous",
    slots=2,
    requests=(stay(0, 0.0, 0.0, 1.0, 5.0, 5), stay(1, 2.0, 3.0, 4.0, 10.0, 4)),
    passes=(),
    name="toy",
    model=None,
    dtype="float32",
    machine=MACHINE,
)


def test_the_first_token_waits_for_queue_and_prefill_and_counts_in_no_gap():
    first, second = TWO.requests
    assert (first.ttft_s, second.ttft_s) == (1.0, 2.0)
    assert (first.tpot_s, second.tpot_s) == (1.0, 2.0)
    assert (first.latency_s, second.latency_s) == (5.0, 8.0)
    assert TWO.ttft_s(50) == 1.5
    assert TWO.tpot_s() == 1.5


def test_throughput_is_all_tokens_over_the_whole_span():
    assert TWO.span_s == 10.0
    assert TWO.tokens_per_s == 9 / 10


def test_littles_law_holds_for_the_record_itself():
    """2 requests in 10 s, 6.5 s each on average: 0.2 × 6.5 = 1.3 inside."""
    assert TWO.in_flight == pytest.approx(0.2 * 6.5)


def test_slots_are_wasted_where_decode_made_a_token_for_nobody():
    assert STATIC.wasted_slots == 0.5
    assert CONTINUOUS.wasted_slots == 0
    assert TWO.wasted_slots is None
    assert TWO.padding is None


def test_an_unfinished_request_has_no_latency_and_none_without_a_token():
    begun = replace(TWO.requests[0], token_ids=(1, 2))
    assert not begun.done
    assert begun.latency_s is None
    waiting = RequestTimes(Request(3, 1.0, 4, 5))
    assert waiting.ttft_s is waiting.tpot_s is None
    assert replace(TWO, requests=(begun, waiting)).in_flight is None


def test_answers_are_compared_as_far_as_both_have_come():
    assert same_answers(STATIC, CONTINUOUS)
    short = tuple(replace(times, token_ids=times.token_ids[:3]) for times in STATIC.requests)
    assert same_answers(replace(STATIC, requests=short), CONTINUOUS)
    other = tuple(replace(times, token_ids=(9,)) for times in STATIC.requests)
    assert not same_answers(replace(STATIC, requests=other), CONTINUOUS)


def test_servings_are_exported_with_every_request():
    kept = json.loads(servings_to_json([STATIC, TWO]))["servings"]
    assert kept[0]["passes"][0]["wall_ns"] == 10**9
    lines = servings_to_csv([STATIC, TWO]).splitlines()
    assert len(lines) == 1 + 4
    assert lines[-1] == '"continuous",2,,1,4,4,2.0,1,3.0,4.0,10.0,10.0'


# ---- predicted saturation ------------------------------------------------------------------------

GPU = Roofs("cuda", {"bfloat16": 989e12}, 3.35e12)
LLAMA = catalog.model("Llama-3.1-8B")


def test_short_contexts_saturate_at_the_ridge():
    assert saturation_batch(LLAMA, 1, GPU) == pytest.approx(roofline.ridge_tokens(LLAMA, GPU))


def test_long_contexts_saturate_where_the_caches_are_as_large_as_the_weights():
    """At 32,768 positions a cache has 4.3 GB, and a step reads 15 GB of weights: some 3.5."""
    batch = saturation_batch(LLAMA, 32_768, GPU)
    read = roofline.decode_step(LLAMA, 32_768).weight_bytes
    assert batch == pytest.approx(read / roofline.kv_bytes(LLAMA, 32_768))
    assert 3 < batch < 4


def test_below_saturation_a_doubled_batch_nearly_doubles_the_rate_and_above_it_hardly_helps():
    end = saturation_batch(LLAMA, 512, GPU)
    sizes = [max(1, round(end / 16)), round(end / 8), round(end * 8), round(end * 16)]
    few, more, many, most = (p.tokens_per_s for p in batch_points(LLAMA, 512, sizes, GPU))
    assert more / few > 1.7
    assert most / many < 1.15


def test_an_unknown_roof_is_refused():
    with pytest.raises(ValueError, match="probe"):
        saturation_batch(LLAMA, 512, Roofs("cpu"))


def test_serving_of_the_checks_is_what_it_says():
    assert serving("static", 22.0, [1]).requests[0].tpot_s == 2.1
