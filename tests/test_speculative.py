"""Speculative decoding gives plain greedy's tokens, whoever guesses; and its counts add up."""

from __future__ import annotations

import copy

import pytest
import torch
from toys import PROMPT, VOCAB, tiny_model, tokens, watched

from labkit import catalog, roofline
from labkit.generate import BadRequest, cached, sampler
from labkit.measure import Arm, Run, Setup, this_machine
from labkit.records import Settings
from labkit.records.machine import Roofs
from labkit.records.speculation import GuessPass, Speculation, speculation
from labkit.roofline.speculative import (
    checking_pass,
    expected_tokens,
    predicted_s,
    predicted_speed_up,
)
from labkit.speculative import (
    DraftModel,
    accepted,
    check_same_tokens,
    prompt_lookup,
    speculative,
)

LOOP = [7, 8, 9, 10] * 6  # a text that repeats itself, so that there is something to look up


def right_guesses(model, prompt: list[int], new_tokens: int):
    """A guesser that knows the answer."""
    text = prompt + tokens(cached(model, [prompt], new_tokens))
    return lambda so_far, at_most: text[len(so_far) :][:at_most]


def wrong_guesses(text, at_most):
    return [(text[-1] + 1) % VOCAB] * at_most


def half_right(model, prompt: list[int], new_tokens: int):
    """Right at even places of the text, wrong at odd ones."""
    right = right_guesses(model, prompt, new_tokens)

    def guess(text, at_most):
        found = right(text, at_most)
        return [(t + (len(text) + i) % 2) % VOCAB for i, t in enumerate(found)]

    return guess


# ---- the same tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [PROMPT, LOOP], ids=["plain", "repeating"])
def test_prompt_lookup_gives_plain_greedys_tokens(any_model, prompt):
    assert tokens(speculative(any_model, [prompt], 80)) == tokens(cached(any_model, [prompt], 80))


@pytest.mark.parametrize("seed", range(20))
def test_twenty_prompts_give_plain_greedys_tokens(llama, seed):
    random = torch.Generator().manual_seed(seed)
    prompt = torch.randint(VOCAB, (12,), generator=random).tolist() * 2
    plain = tokens(cached(llama, [prompt], 30))
    assert tokens(speculative(llama, [prompt], 30)) == plain
    assert tokens(speculative(llama, [prompt], 30, draft=half_right(llama, prompt, 30))) == plain


def test_guesses_of_any_quality_change_no_token(any_model):
    plain = tokens(cached(any_model, [PROMPT], 60))
    for draft in (
        right_guesses(any_model, PROMPT, 60),
        half_right(any_model, PROMPT, 60),
        wrong_guesses,
        lambda text, at_most: [],
    ):
        assert tokens(speculative(any_model, [PROMPT], 60, draft=draft)) == plain


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_a_draft_model_guesses_without_changing_a_token(family):
    """A draft whose weights are a little off is right sometimes and wrong sometimes."""
    model = tiny_model(family)
    small = copy.deepcopy(model)
    with torch.no_grad():
        small.lm_head.weight += 0.02 * torch.randn(
            small.lm_head.weight.shape, generator=torch.Generator().manual_seed(1)
        )
    run = list(speculative(model, [PROMPT], 80, draft=DraftModel(small)))
    assert tokens(run) == tokens(cached(model, [PROMPT], 80))
    counts = speculation(trace_of(run))
    assert 0 < counts.right < counts.guesses


def test_a_draft_model_guesses_what_it_would_write_itself(llama):
    draft = DraftModel(llama)
    own = tokens(cached(llama, [PROMPT], 9))
    assert draft(PROMPT, 4) == own[:4]
    assert draft(PROMPT + own[:2], 4) == own[2:6]  # goes back over its own guesses
    assert draft(PROMPT[:5], 1) == tokens(cached(llama, [PROMPT[:5]], 1))  # another text


# ---- the passes ---------------------------------------------------------------------------------


def test_right_guesses_make_passes_fewer_and_wrong_ones_do_not_make_them_more(llama):
    right = right_guesses(llama, PROMPT, 21)
    with watched(llama) as (calls, heads):
        list(speculative(llama, [PROMPT], 21, draft=right, at_most=4))
        assert [call["input_ids"].shape[1] for call in calls] == [9, 5, 5, 5, 5]
        assert heads == [1, 5, 5, 5, 5]
    with watched(llama) as (calls, _):
        list(speculative(llama, [PROMPT], 21, draft=wrong_guesses, at_most=4))
        assert len(calls) == 21


def test_no_guess_is_made_that_nobody_would_see(llama):
    right = right_guesses(llama, PROMPT, 40)
    with watched(llama) as (calls, _):
        assert len(list(speculative(llama, [PROMPT], 7, draft=right, at_most=4))) == 7
    assert [call["input_ids"].shape[1] for call in calls] == [9, 5, 1]


def test_the_steps_of_a_pass_say_what_went_in_and_how_far_each_token_could_see(llama):
    run = list(speculative(llama, [PROMPT], 6, draft=right_guesses(llama, PROMPT, 40), at_most=2))
    assert [forward.tokens_in for forward in run] == [9, 3, 0, 0, 2, 0]
    assert [forward.context_tokens for forward in run] == [9, 10, 11, 12, 13, 14]


def test_a_wrong_guess_leaves_nothing_in_the_cache(llama):
    for forward in speculative(llama, [PROMPT], 10, draft=wrong_guesses):
        assert forward.cache.get_seq_length() == forward.context_tokens


def test_the_end_of_a_text_ends_the_run_within_a_pass(llama):
    plain = tokens(cached(llama, [PROMPT], 20))
    place = next(i for i in range(5, 20) if plain[i] not in plain[:i])
    run = speculative(
        llama, [PROMPT], 20, eos_ids=(plain[place],), draft=right_guesses(llama, PROMPT, 20)
    )
    assert tokens(run) == plain[: place + 1]


# ---- the rule and the lookup --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guesses", "chosen", "right"),
    [
        ([5, 6, 7], [5, 6, 7, 8], 3),
        ([5, 6, 7], [5, 9, 7, 8], 1),  # a right one behind a wrong one does not count
        ([5, 6, 7], [4, 6, 7, 8], 0),
        ([], [4], 0),
    ],
)
def test_guesses_stand_up_to_the_first_wrong_one(guesses, chosen, right):
    assert accepted(guesses, chosen) == right


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ([1, 2, 3, 9, 1, 2, 3], [9, 1, 2]),
        ([1, 2, 8, 1, 2, 9, 5, 1, 2], [9, 5, 1]),  # the latest place
        ([1, 2, 3, 4, 9, 3, 1, 2, 3], [4, 9, 3]),  # a long match before a late one
        ([4, 4, 4], [4]),
        ([1, 2, 3], []),
        ([1], []),
    ],
)
def test_prompt_lookup_copies_what_followed_the_same_words(text, found):
    assert prompt_lookup(text, 3) == found


# ---- counts and theory --------------------------------------------------------------------------


def trace_of(forwards, new_tokens: int = 80):
    """The trace of these forwards."""
    device = torch.device("cpu")
    settings = Settings(prompt_tokens=len(PROMPT), new_tokens=new_tokens)
    run = Run(
        Arm("speculative", lambda: iter(forwards)),
        Setup(None, settings, this_machine(device), device, decode=lambda ids: ""),
    )
    while run.step():
        pass
    return run.trace()


def test_a_trace_tells_what_became_of_the_guesses(llama):
    draft = half_right(llama, PROMPT, 40)
    found = speculation(trace_of(speculative(llama, [PROMPT], 8, draft=draft, at_most=3), 8))
    assert found.passes[0] == GuessPass(guesses=3, right=1, context=13)
    assert found.tokens == 7  # all but the prefill's
    assert found.guesses == sum(one.guesses for one in found.passes)


def test_acceptance_counts_judged_guesses_only():
    """4 right, then 1 right and 1 wrong with 2 unjudged: 5 of 6."""
    run = Speculation((GuessPass(4, 4, 20), GuessPass(4, 1, 22)))
    assert run.acceptance == pytest.approx(5 / 6)
    assert run.tokens_per_pass == 7 / 2
    assert Speculation((GuessPass(0, 0, 20),)).acceptance is None


def test_plain_decoding_is_a_speculation_without_guesses(llama):
    found = speculation(trace_of(cached(llama, [PROMPT], 5)))
    assert [one.guesses for one in found.passes] == [0] * 4
    assert (found.tokens_per_pass, found.acceptance) == (1, None)


def test_expected_tokens_are_a_geometric_sum():
    assert expected_tokens(0, 4) == 1
    assert expected_tokens(1, 4) == 5
    assert expected_tokens(0.5, 2) == 1.75


ROOFS = Roofs("cpu", {"float32": 1e11}, 1e10, 1e10)


def test_a_checking_pass_reads_the_weights_once_and_computes_for_each_guess():
    shape = catalog.model("SmolLM2-135M")
    one = roofline.forward(shape, 1, 100, dtype="float32")
    five = roofline.forward(shape, 5, 104, dtype="float32", logits=5)
    assert five.bytes < 1.02 * one.bytes
    assert five.flops == pytest.approx(5 * one.flops, rel=0.01)
    assert (five.logit_rows, five.sequences) == (5, 1)


def test_guesses_pay_where_memory_binds_and_cost_where_compute_does():
    shape = catalog.model("SmolLM2-135M")
    all_right = Speculation((GuessPass(4, 4, 100),) * 3)
    all_wrong = Speculation((GuessPass(4, 0, 100),) * 3)
    assert predicted_speed_up(shape, all_right, ROOFS, "float32") == pytest.approx(5, rel=0.05)
    assert predicted_speed_up(shape, all_wrong, ROOFS, "float32") == pytest.approx(1, rel=0.05)
    slow = Roofs("cpu", {"float32": 1e9}, 1e10, 1e10)
    assert predicted_speed_up(shape, all_wrong, slow, "float32") == pytest.approx(0.2, rel=0.05)
    together = predicted_s(shape, all_right, ROOFS, "float32")
    assert together == 3 * checking_pass(shape, 100, 4, ROOFS, "float32").seconds


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompts", "options", "says"),
    [
        ([PROMPT, PROMPT], {}, "one sequence"),
        ([PROMPT], {"pick": sampler(0.7)}, "greedy"),
        ([PROMPT], {"at_most": 0}, "1 or more"),
        ([[]], {}, "empty"),
    ],
)
def test_what_has_no_exact_rule_here_is_refused(llama, prompts, options, says):
    with pytest.raises(BadRequest, match=says):
        next(speculative(llama, prompts, 4, **options))


def test_another_tokenizer_is_refused_with_a_remedy():
    check_same_tokens({"a": 0}, {"a": 0}, "large", "small")
    with pytest.raises(BadRequest, match="same family"):
        check_same_tokens({"a": 0}, {"a": 1}, "large", "small")
