"""A request becomes runs that measure what was asked for, or is refused with what to change."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from labkit import experiments, models
from labkit.experiments import RaceRequest
from labkit.generate import BadRequest


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu")


def race(request: RaceRequest, toy: models.Loaded) -> list:
    runs = experiments.prepare(request, toy)
    order = [run.arm.name for run, _ in experiments.steps(request, runs)]
    return [order, *(run.trace() for run in runs)]


def test_each_arm_makes_every_token_and_all_arms_the_same(toy):
    _, *traces = race(RaceRequest(toy, "abc", new_tokens=6, arms=tuple(experiments.ARMS)), toy)
    assert [len(trace.steps) for trace in traces] == [6, 6, 6]
    assert len({tuple(step.token_ids for step in trace.steps) for trace in traces}) == 1


def test_naive_reads_everything_again_and_cached_one_token(toy):
    _, naive, cached = race(RaceRequest(toy, "abcd", new_tokens=4), toy)
    assert [step.tokens_in for step in naive.steps] == [4, 5, 6, 7]
    assert [step.tokens_in for step in cached.steps] == [4, 1, 1, 1]


def test_the_order_is_the_one_asked_for(toy):
    request = RaceRequest(toy, "abc", new_tokens=2)
    interleaved, naive, _ = race(request, toy)
    assert interleaved == ["naive", "cached", "naive", "cached"]
    assert naive.settings.order == "interleaved"
    one_by_one, naive, _ = race(replace(request, order="one after the other"), toy)
    assert one_by_one == ["naive", "naive", "cached", "cached"]
    assert naive.settings.order == "one after the other"
    _, alone = race(replace(request, arms=("cached",)), toy)
    assert alone.settings.order == "alone"


def test_the_settings_say_everything_that_was_chosen(toy):
    request = RaceRequest(
        toy, "abc", 2, ("cached",), temperature=0.7, top_k=5, top_p=0.9, seed=3, batch=2
    )
    _, trace = race(request, toy)
    assert trace.settings == replace(
        trace.settings,
        **{"prompt": "abc", "prompt_tokens": 3, "new_tokens": 2, "batch": 2, "seed": 3},
        **{"temperature": 0.7, "top_k": 5, "top_p": 0.9, "dtype": "float32", "attention": "sdpa"},
        threads=torch.get_num_threads(),
    )
    assert trace.model == toy.shape
    assert len(trace.steps[0].token_ids) == 2


def test_the_order_of_the_weights_is_recorded(toy):
    plain = models.load("toy", device="cpu", layout="plain")
    for loaded, layout in ((toy, "fast"), (plain, "plain")):
        _, trace = race(RaceRequest(loaded, "abc", 1, ("cached",)), loaded)
        assert trace.settings.layout == layout


def test_all_arms_and_the_warm_up_draw_the_same_random_numbers(toy):
    _, naive, cached = race(RaceRequest(toy, "abc", 8, temperature=2.0, seed=1), toy)
    assert naive.text() == cached.text()
    _, other, _ = race(RaceRequest(toy, "abc", 8, temperature=2.0, seed=2), toy)
    assert other.text() != naive.text()


def test_a_prompt_by_length_is_seeded_and_holds_no_special_token(toy):
    config = toy.model.config
    ids = experiments.random_ids(toy, 5000, seed=1)
    assert ids == experiments.random_ids(toy, 5000, seed=1)
    assert ids != experiments.random_ids(toy, 5000, seed=2)
    assert min(ids) >= 0
    assert max(ids) < config.vocab_size
    assert {config.bos_token_id, config.pad_token_id}.isdisjoint(ids)
    _, trace = race(RaceRequest(toy, prompt=9, new_tokens=1, arms=("cached",)), toy)
    assert (trace.settings.prompt_tokens, trace.settings.prompt) == (9, None)
    assert trace.steps[0].tokens_in == 9


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"prompt": ""}, "write something"),
        ({"prompt": 0}, "1 token or more"),
        ({"prompt": -3}, "1 token or more"),
        ({"prompt": 10**12}, "shorten it to 8,192 or less"),
        ({"prompt": "x" * 9000}, "shorten it to 8,192 or less"),
        ({"new_tokens": 0}, "at least 1 new token"),
        ({"new_tokens": 10**6}, "ask for at most 8,190 new ones"),
        ({"batch": 0}, "a batch of at least 1"),
        ({"arms": ()}, "choose from naive, cached, preallocated"),
        ({"arms": ("warp",)}, "choose from naive, cached, preallocated"),
        ({"arms": ("naive", "naive")}, "name each once"),
        ({"order": "random"}, "choose from interleaved, one after the other"),
        ({"temperature": -1.0}, "temperature must be 0"),
        ({"top_p": 0.0}, "top_p above 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(toy, change, remedy):
    request = replace(RaceRequest(toy, "abc"), **change)
    with pytest.raises(BadRequest, match=remedy):
        experiments.prepare(request, toy)


def test_a_full_context_is_used_to_its_last_place(toy):
    """The last of the new tokens is never read: 8,190 of them fit behind a prompt of 3."""
    request = RaceRequest(toy, "abc", new_tokens=8190)
    assert len(experiments.prepare(request, toy)) == 2
    with pytest.raises(BadRequest):
        experiments.prepare(replace(request, new_tokens=8191), toy)


def test_a_run_that_does_not_fit_is_refused_with_the_arithmetic(toy):
    request = RaceRequest(toy, "abc", batch=10**9)
    with pytest.raises(models.ModelError, match=r"would not fit: .*KV cache"):
        experiments.prepare(request, toy)


def test_no_model_is_loaded_for_a_request_that_no_model_could_serve():
    with pytest.raises(BadRequest, match="unknown arm"):
        experiments.load(RaceRequest("no such model", arms=("warp",)))


def test_a_model_in_memory_is_used_as_it_is(toy):
    assert experiments.load(RaceRequest(toy)) is toy


def test_a_text_ends_where_the_model_ends_it_only_if_asked(toy):
    _, endless = race(RaceRequest(toy, "abc", 6, ("cached",)), toy)
    end = endless.steps[0].token_ids[0]
    ending = replace(toy, tokenizer=Ending(end))
    _, measured = race(RaceRequest(ending, "abc", 6, ("cached",)), ending)
    _, read = race(RaceRequest(ending, "abc", 6, ("cached",), stop_at_eos=True), ending)
    assert (len(measured.steps), len(read.steps)) == (6, 1)


class Ending:
    """A tokenizer whose texts end with one given token."""

    def __init__(self, end: int):
        self.eos_ids = (end,)

    def encode(self, text: str, chat: bool = False) -> list[int]:
        return list(text.encode())

    def decode(self, ids) -> str:
        return str(ids)


# ---- what suits this machine


def test_a_race_on_a_cpu_is_over_the_text_by_the_default_model():
    assert experiments.suited_race("a text") == (models.DEFAULT, "a text")


@pytest.mark.parametrize(("fits", "model"), [(True, "Llama-3.1-8B"), (False, models.DEFAULT)])
def test_a_race_on_a_gpu_takes_the_8b_shape_where_it_fits(monkeypatch, fits, model):
    monkeypatch.setattr(models, "default_device", lambda: torch.device("cuda"))
    monkeypatch.setattr(models, "fits", lambda *_: SimpleNamespace(ok=fits))
    assert experiments.suited_race("a text")[0] == model
