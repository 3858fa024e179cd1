"""The three loops give the same tokens, alone and in ragged batches, for the passes they claim."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from toys import ARMS, PROMPT, VOCAB, WINDOW, every_arm, tiny_model, tokens, watched

from labkit import generate
from labkit.generate import cached, naive, preallocated


def logits(forwards, row: int = 0) -> torch.Tensor:
    """(passes, vocab)"""
    return torch.stack([forward.logits[row] for forward in forwards])


def smallest_gap(scores: torch.Tensor) -> float:
    """Distance of the best logit from the second best, where it is smallest."""
    best, second = scores.topk(2).values.T
    return (best - second).min().item()


# ---- the same tokens ----------------------------------------------------------------------------


def test_all_arms_give_the_same_256_tokens(any_model):
    runs = {arm: list(arm(any_model, [PROMPT], 256)) for arm in ARMS}
    scores = logits(runs[naive])
    rounding = max((logits(run) - scores).abs().max().item() for run in runs.values())
    assert smallest_gap(scores) > 10 * rounding  # no tie can blame an arm or excuse it
    assert tokens(runs[cached]) == tokens(runs[preallocated]) == tokens(runs[naive])
    assert len(set(tokens(runs[naive]))) > 20  # a text that repeats itself would hide much


def test_a_sliding_window_is_in_force_in_these_runs():
    """Else the test above would say nothing about it: tokens before the window change no logit."""
    long = PROMPT * 10
    far = [long[0] + 1, *long[1:]]  # two layers reach back two windows: 79 of the 90 tokens
    near = [*long[:-WINDOW], long[-WINDOW] + 1, *long[1 - WINDOW :]]
    plain, far, near = (
        next(naive(tiny_model("mistral"), [p], 1)).logits for p in (long, far, near)
    )
    assert torch.equal(plain, far)
    assert not torch.allclose(plain, near)


def test_cached_gives_the_tokens_of_transformers_own_generate(any_model):
    ids = torch.tensor([PROMPT])
    theirs = any_model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=64
    )
    assert tokens(cached(any_model, [PROMPT], 64)) == theirs[0, len(PROMPT) :].tolist()


@every_arm
def test_a_ragged_batch_gives_each_prompt_what_it_gets_alone(any_model, arm):
    prompts = [PROMPT[:3], PROMPT, PROMPT[4:6]]
    together = list(arm(any_model, prompts, 60))
    for row, prompt in enumerate(prompts):
        alone = list(arm(any_model, [prompt], 60))
        rounding = (logits(together, row) - logits(alone)).abs().max().item()
        assert smallest_gap(logits(alone)) > 5 * rounding
        assert tokens(together, row) == tokens(alone)


def test_a_batch_of_equal_lengths_needs_no_mask(llama):
    with watched(llama) as (calls, _):
        together = list(cached(llama, [PROMPT, PROMPT[::-1]], 4))
    assert [call["attention_mask"] for call in calls] == [None] * 4
    assert tokens(together, 1) == tokens(cached(llama, [PROMPT[::-1]], 4))


def test_padding_stands_on_the_left():
    ids, mask = generate.pad_left([[7], [1, 2, 3]], 0, "cpu")
    assert ids.tolist() == [[0, 0, 7], [1, 2, 3]]
    assert mask.tolist() == [[0, 0, 1], [1, 1, 1]]


# ---- the passes ---------------------------------------------------------------------------------


@every_arm
@pytest.mark.parametrize("eos_ids", [(), (VOCAB,)])
def test_n_tokens_cost_n_passes(any_model, arm, eos_ids):
    with watched(any_model) as (calls, _):
        assert len(list(arm(any_model, [PROMPT], 7, eos_ids=eos_ids))) == 7
    assert len(calls) == 7


@every_arm
def test_a_token_is_made_only_when_it_is_asked_for(llama, arm):
    with watched(llama) as (calls, _):
        run = arm(llama, [PROMPT], 50)
        assert len(calls) == 0
        assert len(list(islice(run, 3))) == 3
    assert len(calls) == 3


def test_naive_works_through_everything_at_each_pass(any_model):
    with watched(any_model) as (calls, _):
        run = list(naive(any_model, [PROMPT], 4))
    assert [forward.tokens_in for forward in run] == [9, 10, 11, 12]
    assert [forward.context_tokens for forward in run] == [9, 10, 11, 12]
    assert [call["input_ids"].shape[1] for call in calls] == [9, 10, 11, 12]  # as it says
    sequence = PROMPT + tokens(run)
    assert calls[-1]["input_ids"].tolist() == [sequence[:12]]


@pytest.mark.parametrize("arm", [cached, preallocated])
def test_cached_works_through_the_prompt_once_and_then_through_single_tokens(any_model, arm):
    with watched(any_model) as (calls, _):
        run = list(arm(any_model, [PROMPT], 4))
    assert [forward.tokens_in for forward in run] == [9, 1, 1, 1]
    assert [forward.context_tokens for forward in run] == [9, 10, 11, 12]
    assert [call["input_ids"].shape[1] for call in calls] == [9, 1, 1, 1]
    assert [call["position_ids"][0, -1].item() for call in calls] == [8, 9, 10, 11]
    assert [call["input_ids"].item() for call in calls[1:]] == tokens(run)[:3]


def test_naive_keeps_no_cache_and_says_so_to_the_model(any_model):
    with watched(any_model) as (calls, _):
        run = list(naive(any_model, [PROMPT], 3))
    assert [(call["use_cache"], call["cache"]) for call in calls] == [(False, None)] * 3
    assert [forward.cache for forward in run] == [None] * 3


def test_cached_passes_its_one_cache_on(any_model):
    with watched(any_model) as (calls, _):
        run = list(cached(any_model, [PROMPT], 3))
    assert all(call["use_cache"] and call["cache"] is run[0].cache for call in calls)


@every_arm
def test_only_the_last_position_goes_through_the_output_head(any_model, arm):
    with watched(any_model) as (_, head_positions):
        run = list(arm(any_model, [PROMPT, PROMPT[:4]], 3))
    assert head_positions == [1, 1, 1]
    assert run[0].logits.shape == (2, VOCAB)


def test_preallocated_has_a_slot_for_each_token_that_is_read_and_none_more(llama):
    run = list(preallocated(llama, [PROMPT, PROMPT[:4]], 5))
    assert {layer.keys.shape[2] for layer in run[-1].cache.layers} == {9 + 5 - 1}


@every_arm
def test_no_gradients_are_kept(llama, arm):
    assert next(arm(llama, [PROMPT], 1)).logits.is_inference()
    assert not torch.is_inference_mode_enabled()  # between two steps the caller's mode holds


def test_the_arms_run_one_beside_the_other(llama):
    """The race takes a step of each in turn; neither may disturb the other."""
    apart = tokens(cached(llama, [PROMPT], 12))
    turns = list(zip(naive(llama, [PROMPT], 12), cached(llama, [PROMPT], 12), strict=True))
    assert tokens(a for a, _ in turns) == tokens(b for _, b in turns) == apart
