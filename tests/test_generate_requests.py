"""Where a text ends, which token is picked, and what can't be generated at all."""

from __future__ import annotations

import pytest
import torch
from toys import ARMS, CONTEXT, FAMILIES, PROMPT, VOCAB, every_arm, tiny_model, tokens, watched

from labkit.generate import BadRequest, cached, greedy, probabilities, sampler

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
