"""The three loops give the same tokens and cost the passes they claim; bad requests cost none."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice

import pytest
import torch
from toys import CONTEXT, FAMILIES, VOCAB, WINDOW, tiny_model

from labkit import generate
from labkit.generate import BadRequest, cached, greedy, naive, preallocated, probabilities, sampler

ARMS = (naive, cached, preallocated)
PROMPT = [5, 17, 80, 3, 42, 99, 8, 61, 23]
every_arm = pytest.mark.parametrize("arm", ARMS)


def tokens(forwards, row: int = 0) -> list[int]:
    return [forward.token_ids[row].item() for forward in forwards]


def logits(forwards, row: int = 0) -> torch.Tensor:
    """(passes, vocab)"""
    return torch.stack([forward.logits[row] for forward in forwards])


def smallest_gap(scores: torch.Tensor) -> float:
    """Distance of the best logit from the second best, where it is smallest."""
    best, second = scores.topk(2).values.T
    return (best - second).min().item()


@contextmanager
def watched(model):
    """The keyword arguments of each forward pass, and how many positions its output head saw."""
    calls, head_positions = [], []
    hooks = [
        model.register_forward_pre_hook(lambda _, args, kw: calls.append(kw), with_kwargs=True),
        model.lm_head.register_forward_hook(lambda _, x, y: head_positions.append(y.shape[1])),
    ]
    yield calls, head_positions
    for hook in hooks:
        hook.remove()


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


# ---- the end of a sequence ----------------------------------------------------------------------

EOS, OTHER_EOS = 1, 2


def scripted(*rows):
    """A pick that ignores the logits and gives each row's next scripted token."""
    columns = zip(*rows, strict=True)
    return lambda _: torch.tensor(next(columns))


@every_arm
def test_text_ends_at_an_end_of_sequence_token_with_no_pass_after_it(llama, arm):
    with watched(llama) as (calls, _):
        run = arm(llama, [PROMPT], 9, scripted([7, 8, OTHER_EOS, 9, 9]), (EOS, OTHER_EOS))
        assert tokens(run) == [7, 8, OTHER_EOS]
    assert len(calls) == 3


@every_arm
def test_measuring_ignores_the_end_of_a_sequence(llama, arm):
    run = arm(llama, [PROMPT], 5, scripted([7, EOS, EOS, 8, 9]), eos_ids=())
    assert tokens(run) == [7, EOS, EOS, 8, 9]


@every_arm
def test_a_batch_goes_on_until_its_last_sequence_ends_and_the_others_hold_eos(llama, arm):
    script = scripted([7, EOS, 8, 9, 9], [7, 7, 7, OTHER_EOS, 9])
    run = list(arm(llama, [PROMPT, PROMPT[:2]], 5, script, (EOS, OTHER_EOS)))
    assert tokens(run, 0) == [7, EOS, EOS, EOS]
    assert tokens(run, 1) == [7, 7, 7, OTHER_EOS]


# ---- picking ------------------------------------------------------------------------------------

HALVES = torch.tensor([[0.5, 0.3, 0.2]]).log()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.5, 0.3, 0.2]),
        ({"temperature": 0.5}, [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38]),  # squares
        ({"top_k": 2}, [0.625, 0.375, 0]),
        ({"top_k": 99}, [0.5, 0.3, 0.2]),
        ({"top_p": 0.45}, [1, 0, 0]),
        ({"top_p": 0.6}, [0.625, 0.375, 0]),  # 0.5 falls short of 0.6, so one more
        ({"top_p": 1.0}, [0.5, 0.3, 0.2]),
        ({"top_k": 2, "top_p": 0.6}, [1, 0, 0]),  # 0.625 already reaches 0.6
    ],
)
def test_probabilities_by_hand(options, expected):
    assert probabilities(HALVES, **options)[0].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"temperature": 3.0}, {"top_k": 5}, {"top_p": 0.7}])
def test_every_row_of_probabilities_sums_to_one(options):
    scores = torch.randn(4, VOCAB, generator=torch.Generator().manual_seed(1)) * 5
    chances = probabilities(scores, **options)
    assert chances.sum(-1).tolist() == pytest.approx([1] * 4)
    assert (chances > 0).sum(-1).max() <= options.get("top_k", VOCAB)


def test_16_bit_logits_are_sampled_in_32_bits():
    assert probabilities(HALVES.bfloat16()).dtype is torch.float32


def test_draws_are_as_frequent_as_their_probabilities():
    drawn = sampler(seed=3)(HALVES.expand(10_000, 3))
    shares = torch.bincount(drawn, minlength=3) / 10_000
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.02)  # 4 standard deviations


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0}, {"temperature": 2.0, "top_k": 1}, {"temperature": 2.0, "top_p": 1e-6}],
)
def test_what_leaves_one_candidate_is_greedy(llama, options):
    run = list(cached(llama, [PROMPT], 30, sampler(**options)))
    assert tokens(run) == tokens(cached(llama, [PROMPT], 30, greedy))


def test_a_seed_draws_the_same_tokens_in_every_arm(llama):
    runs = [tokens(arm(llama, [PROMPT], 40, sampler(0.9, seed=4))) for arm in ARMS]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0] != tokens(cached(llama, [PROMPT], 40, sampler(0.9, seed=5)))
    assert runs[0] != tokens(cached(llama, [PROMPT], 40))


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"temperature": -0.1}, "temperature must be 0"),
        ({"temperature": float("nan")}, "temperature must be 0"),
        ({"top_k": 0}, "top_k must be 1 or more"),
        ({"top_p": 0.0}, "top_p above 0"),
        ({"top_p": 1.1}, "at most 1"),
    ],
)
def test_senseless_sampling_is_refused(options, remedy):
    with pytest.raises(BadRequest, match=remedy):
        sampler(**options)


# ---- bad requests -------------------------------------------------------------------------------


@every_arm
@pytest.mark.parametrize(
    ("prompts", "new_tokens", "remedy"),
    [
        ([], 5, "at least one token"),
        ([[]], 5, "at least one token"),
        ([PROMPT, []], 5, "at least one token"),
        ([PROMPT], 0, "at least 1, not 0"),
        ([PROMPT], -3, "at least 1, not -3"),
        ([PROMPT], CONTEXT - 7, f"context of {CONTEXT}: .* at most {CONTEXT - 8} new tokens"),
        ([PROMPT[:1], PROMPT], CONTEXT - 7, f"at most {CONTEXT - 8} new tokens"),
        ([PROMPT], 1_000_000, f"at most {CONTEXT - 8} new tokens"),
        ([[1] * (CONTEXT + 1)], 1, "shorten the prompt"),
    ],
)
def test_a_bad_request_names_the_remedy_before_any_pass(llama, arm, prompts, new_tokens, remedy):
    with watched(llama) as (calls, _), pytest.raises(BadRequest, match=remedy):
        next(arm(llama, prompts, new_tokens))
    assert calls == []


@every_arm
@pytest.mark.parametrize("family", FAMILIES)
def test_the_context_can_be_used_to_its_last_position(family, arm):
    """9 prompt tokens and 8 new ones in a context of 16: the 17th token is made, never read."""
    model = tiny_model(family, context=16)
    with watched(model) as (calls, _):
        assert len(list(arm(model, [PROMPT], 8))) == 8
    assert calls[-1]["position_ids"].max() == 15
    with pytest.raises(BadRequest, match="at most 8 new tokens"):
        next(arm(model, [PROMPT], 9))


def test_the_arms_run_one_beside_the_other(llama):
    """The race takes a step of each in turn; neither may disturb the other."""
    apart = tokens(cached(llama, [PROMPT], 12))
    turns = list(zip(naive(llama, [PROMPT], 12), cached(llama, [PROMPT], 12), strict=True))
    assert tokens(a for a, _ in turns) == tokens(b for _, b in turns) == apart
