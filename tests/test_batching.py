"""Traffic, slots and policies: who gets what when, and that nobody's answer depends on company."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import pairwise
from statistics import mean, median

import pytest
from toys import tiny_model, watched

from labkit import batching, generate, models
from labkit.batching import LENGTHS, Traffic
from labkit.batching.paged import Paged, PagedFailed
from labkit.batching.slots import Slots
from labkit.batching.traffic import AZURE
from labkit.bench import batching as bench
from labkit.generate import BadRequest
from labkit.records.serving import Request, same_answers

RAGGED = Traffic(7, "even", (2, 9), (1, 24), seed=3)


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu")


def alone(model, prompt: list[int], new_tokens: int) -> list[int]:
    return [each.token_ids.item() for each in generate.cached(model, [prompt], new_tokens)]


def served(loaded, requests, slots, **options) -> list:
    services = batching.serve(loaded, requests, slots, **options)
    for _ in batching.in_turns(services):
        pass
    return services


def asked(*answers: int, arrivals: tuple[float, ...] | None = None) -> list[Request]:
    """Requests with prompts of 4 tokens."""
    at = arrivals or (0.0,) * len(answers)
    return [Request(n, s, 4, tokens) for n, (s, tokens) in enumerate(zip(at, answers, strict=True))]


# ---- traffic -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lengths_stay_between_their_ends_and_the_seed_decides_them(lengths):
    traffic = Traffic(200, lengths, (8, 32), (8, 256), per_s=2.0)
    requests = traffic.requests()
    assert requests == traffic.requests()
    assert all(8 <= each.prompt_tokens <= 32 for each in requests)
    assert all(8 <= each.new_tokens <= 256 for each in requests)
    assert lengths == "equal" or requests != replace(traffic, seed=1).requests()


def test_arrivals_are_poisson_at_the_rate_asked_for():
    """The gaps of a Poisson process have mean 1 ÷ rate, and as large a standard deviation."""
    at = [each.arrival_s for each in Traffic(4000, per_s=5.0).requests()]
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert at[0] == 0
    assert mean(gaps) == pytest.approx(0.2, rel=0.1)
    assert mean(gap**2 for gap in gaps) ** 0.5 == pytest.approx(0.2 * 2**0.5, rel=0.1)


def test_a_long_tail_has_most_of_its_answers_short():
    sizes = [each.new_tokens for each in Traffic(2000).requests()]
    assert median(sizes) == pytest.approx(8 * 32 ** (1 / 3), rel=0.1)
    assert mean(sizes) > 1.5 * median(sizes)


def test_the_recorded_shape_is_that_of_the_trace_scaled_to_its_longest():
    requests = Traffic(48, "recorded", (1, 4085), (1, 401)).requests()
    assert [(each.prompt_tokens, each.new_tokens) for each in requests] == list(AZURE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lengths": "magic"},
        {"count": 0},
        {"per_s": 0.0},
        {"per_s": float("nan")},
        {"answer": (9, 8)},
        {"prompt": (0, 8)},
    ],
)
def test_traffic_that_can_not_be_is_refused_with_a_remedy(wrong):
    with pytest.raises(BadRequest, match=r"choose from|at least 1"):
        Traffic(**wrong)


# ---- slots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2"])
def test_rows_at_different_positions_each_compute_what_they_would_alone(family):
    model = tiny_model(family)
    long, short = [5, 17, 80, 3, 42, 99], [8, 61]
    slots = Slots(model, 3, 24)
    made = {0: slots.prefill([0], [long])}
    made[0] += [slots.decode()[0] for _ in range(3)]
    made[2] = slots.prefill([2], [short])
    for _ in range(8):
        for slot, token in slots.decode().items():
            made[slot].append(token)
    assert made[0] == alone(model, long, 12)
    assert made[2] == alone(model, short, 9)


def test_a_row_that_moves_into_a_hole_goes_on_as_if_nothing_were(llama):
    """Padding moves with it: the prompts start together."""
    prompts = [[5, 17, 80, 3, 42, 99, 8], [8, 61], [23, 4, 4]]
    slots = Slots(llama, 3, 24)
    made = {slot: [token] for slot, token in enumerate(slots.prefill([0, 1, 2], prompts))}
    for step in range(8):
        if step == 3:
            slots.free(0)
        for slot, token in slots.decode().items():
            made[slot].append(token)
    assert len(made[0]) == 1 + 3
    for slot in (1, 2):
        assert made[slot] == alone(llama, prompts[slot], 9)


def test_free_slots_are_not_computed(llama):
    slots = Slots(llama, 3, 24)
    slots.prefill([0, 1, 2], [[5, 17]] * 3)
    slots.free(1)
    with watched(llama) as (calls, _):
        assert set(slots.decode()) == {0, 2}
    assert calls[0]["input_ids"].shape == (2, 1)


def test_a_row_that_was_used_before_starts_from_nothing(llama):
    slots = Slots(llama, 1, 24)
    slots.prefill([0], [[5, 17, 80, 3, 42, 99, 8]])
    for _ in range(9):
        slots.decode()
    slots.free(0)
    again = slots.prefill([0], [[8, 61]]) + [slots.decode()[0] for _ in range(5)]
    assert again == alone(llama, [8, 61], 6)


def test_the_table_takes_its_final_size_at_once(llama):
    """3 rows × 24 positions × 2 layers × (key + value) × 2 heads × 12 numbers × 4 bytes."""
    slots = Slots(llama, 3, 24)
    assert slots.kv_bytes == 0
    slots.prefill([1], [[5, 17]])
    assert slots.kv_bytes == 3 * 24 * 2 * 2 * 2 * 12 * 4


# ---- policies ------------------------------------------------------------------------------------


def test_every_answer_is_the_one_that_the_request_gets_alone(toy):
    requests = RAGGED.requests()
    for service in served(toy, requests, slots=3):
        for times in service.record().requests:
            prompt = service.prompts[times.request.number]
            assert list(times.token_ids) == alone(toy.model, prompt, times.request.new_tokens)


def test_static_batches_last_as_long_as_their_longest_answer(toy):
    """[3, 9] and [5, 2]: 8 + 4 decode passes of 2 slots, of which 2 + 8 + 4 + 1 were wanted."""
    static, continuous = (s.record() for s in served(toy, asked(3, 9, 5, 2), slots=2))
    assert [each.kind for each in static.passes].count("decode") == 8 + 4
    assert static.wasted_slots == pytest.approx(1 - 15 / 24)
    assert continuous.wasted_slots < static.wasted_slots
    first, second, third, _ = static.requests
    assert first.release_s == second.release_s > first.last_token_s
    assert third.start_s >= second.release_s


def test_continuous_batching_gives_a_free_slot_to_the_next_request(toy):
    _, continuous = (s.record() for s in served(toy, asked(3, 9, 5, 2), slots=2))
    first, second, third, last = continuous.requests
    assert (first.slot, second.slot, third.slot) == (0, 1, 0)
    assert third.start_s == first.release_s == first.last_token_s
    assert third.start_s < second.last_token_s
    assert last.done


def test_equal_answers_leave_nothing_to_gain(toy):
    static, continuous = (s.record() for s in served(toy, asked(5, 5, 5, 5), slots=2))
    assert static.wasted_slots == continuous.wasted_slots == 0


def test_static_prompts_are_padded_to_the_longest_and_continuous_ones_are_not(toy):
    requests = [Request(0, 0.0, 2, 3), Request(1, 0.0, 10, 3)]
    static, continuous = (s.record() for s in served(toy, requests, slots=2))
    assert static.padding == 8 / 20
    assert continuous.padding == 0


def test_nobody_is_served_before_he_comes_and_idle_time_is_not_waited_for(toy):
    requests = asked(2, 2, arrivals=(0.0, 3600.0))
    for service in served(toy, requests, slots=2):
        second = service.record().requests[1]
        assert second.start_s == 3600.0
        assert 0 < second.ttft_s < 60


def test_cache_in_use_counts_the_positions_of_unfinished_requests(toy):
    """A prompt of 4 and 3 tokens fill 4, then 5 positions; after the last token none."""
    (service,) = served(toy, asked(3), 2, policies=["continuous"])
    one = service.passes[0].kv_bytes / (2 * (4 + 3 - 1))
    assert [each.kv_used_bytes / one for each in service.passes] == [4, 5, 0]


def test_the_clock_counts_passes_only(toy):
    (service,) = served(toy, asked(3, 4), 2, policies=["continuous"])
    assert service.now_s == pytest.approx(sum(each.wall_ns for each in service.passes) * 1e-9)


def test_a_batch_that_can_not_fit_is_refused_with_the_arithmetic_and_the_remedy(toy):
    wide = replace(toy, shape=models.choices()["Llama-3.1-8B"])
    with pytest.raises(models.ModelError, match=r"KV cache .* GB.* What would fit: a batch of"):
        batching.serve(wide, [Request(0, 0.0, 64, 1000)], slots=100_000)
    with pytest.raises(BadRequest, match="at least 1 slot"):
        batching.serve(toy, asked(3), slots=0)
    with pytest.raises(BadRequest, match="can attend to"):
        batching.serve(toy, asked(100_000), slots=2)


def test_a_window_that_the_slots_would_not_keep_is_refused(toy):
    windowed = replace(toy, shape=replace(toy.shape, window=8, window_layers=1))
    with pytest.raises(BadRequest, match="forgets"):
        batching.serve(windowed, asked(20), slots=2)


# ---- transformers' own ---------------------------------------------------------------------------


def test_transformers_own_gives_the_same_answers_and_each_tokens_time(toy):
    requests = RAGGED.requests()
    paged = Paged(toy, requests, slots=3)
    counts = list(paged.steps())
    static, _ = (service.record() for service in served(toy, requests, slots=3))
    run = paged.record()
    assert counts[-1] == run.tokens == static.tokens
    assert same_answers(run, static)
    assert all(0 < t.first_token_s <= t.last_token_s for t in run.requests)


def test_closing_it_early_ends_its_thread_and_leaves_the_model_as_it_was(toy):
    before = toy.model.config._attn_implementation
    paged = Paged(toy, Traffic(4, answer=(200, 256)).requests(), slots=2)
    steps = paged.steps()
    next(steps)
    steps.close()
    gc.collect()
    assert toy.model.config._attn_implementation == before
    assert not [o for o in gc.get_objects() if type(o).__name__ == "PagedAttentionCache"]
    assert paged.record().tokens < 4 * 200
    assert alone(toy.model, [1, 2, 3], 2)


def test_a_request_that_transformers_gives_up_is_said(toy, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no more pages")

    monkeypatch.setattr(toy.model, "forward", broken)
    with pytest.raises(PagedFailed, match="no more pages"):
        list(Paged(toy, asked(3), slots=1).steps())


# ---- the benchmark -------------------------------------------------------------------------------


def test_the_benchmark_compares_three_ways_and_counts_tokens_unlike_those_of_runs_alone(
    toy, monkeypatch
):
    monkeypatch.setattr(bench, "ANSWER", (2, 6))
    ratio, _, static, continuous, _, *waste, unlike = bench.measure(toy, 2, requests=3, slots=2)
    assert ratio.at_least == 1.5
    assert ratio.repeats == pytest.approx(
        [a / b for a, b in zip(continuous.repeats, static.repeats, strict=True)]
    )
    assert all(0 <= share < 100 for figure in waste for share in figure.repeats)
    assert unlike.repeats == (0, 0)


def test_the_benchmark_sees_a_token_that_is_not_the_requests_own(toy, monkeypatch):
    monkeypatch.setattr(bench, "ANSWER", (2, 6))
    monkeypatch.setattr(bench, "tokens_alone", lambda loaded, prompt, new: [-1] * new)
    *_, unlike = bench.measure(toy, 1, requests=2, slots=2)
    assert not unlike.kept
