"""Compiled steps: the same tokens, what compiling takes told apart, and clear words without it."""

from __future__ import annotations

import shutil
from itertools import islice

import pytest
import torch
from toys import PROMPT, tiny_model, tokens

from labkit import compiled, lean
from labkit.compiled import SLOTS, Compiled
from labkit.generate import BadRequest, naive

needs_compiler = pytest.mark.skipif(
    shutil.which(compiled._cpu_compiler()) is None, reason="no C++ compiler here"
)


@pytest.fixture
def uncompiled(monkeypatch):
    """Steps run as they are written, which takes no compiler and no time."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(compiled, "check_compiler", lambda device: None)


# ---- the same tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2"])
def test_the_step_gives_the_same_tokens(uncompiled, family):
    model = tiny_model(family)
    assert tokens(Compiled(model)([PROMPT], 64)) == tokens(naive(model, [PROMPT], 64))


def test_rows_of_a_ragged_batch_get_what_they_would_alone(uncompiled, llama):
    prompts = [PROMPT, PROMPT[:3], PROMPT[2:8]]
    together = list(compiled.compiled(llama, prompts, 20))
    for row, prompt in enumerate(prompts):
        assert tokens(together, row) == tokens(naive(llama, [prompt], 20))


def test_a_lean_step_gives_the_same_tokens(uncompiled, llama):
    assert tokens(lean.lean(llama)([PROMPT], 200)) == tokens(naive(llama, [PROMPT], 200))


@needs_compiler
def test_compiled_loops_give_the_same_tokens_and_are_compiled_once(llama):
    step = lean.lean(llama)
    assert tokens(step([PROMPT], 64)) == tokens(naive(llama, [PROMPT], 64))
    took = step.compile_s
    assert took > 0
    list(step([PROMPT], 90))
    assert (step.compile_s, step.recompiles) == (took, 0)


def test_passes_are_those_of_the_cached_arm(uncompiled, llama):
    forwards = list(compiled.compiled(llama, [PROMPT], 4))
    assert [f.tokens_in for f in forwards] == [9, 1, 1, 1]
    assert [f.context_tokens for f in forwards] == [9, 10, 11, 12]


def test_a_text_ends_where_other_arms_end_it(uncompiled, llama):
    third = tokens(naive(llama, [PROMPT], 3))[2]
    assert len(list(compiled.compiled(llama, [PROMPT], 9, eos_ids=(third,)))) == 3


# ---- what compiling takes -----------------------------------------------------------------------


def test_getting_ready_is_paid_before_the_first_token_and_once_for_each_size(uncompiled, llama):
    positions = []

    def step(ids, at, mask, cache):
        positions.append(at.item())
        return inner(ids, at, mask, cache)

    inner = compiled._whole_step(llama)
    arm = Compiled(llama, step)
    run = arm([PROMPT], 3)
    next(run)
    assert positions == [1, 2, 3]  # on an empty cache
    took = arm.compile_s
    list(run)
    list(arm([PROMPT], SLOTS - 9))  # the most that its slots hold
    assert positions[3:] == [9, 10, *range(9, SLOTS - 1)[: SLOTS - 10]]
    assert arm.compile_s == took
    list(arm([PROMPT], SLOTS - 7))
    assert arm.compile_s > took


@needs_compiler
def test_recompiles_inside_steps_are_counted(llama):
    def recompiling(x):
        return x + 1

    def step(ids, positions, mask, cache):
        more = torch.zeros(positions.item())  # another size at each step
        torch.compile(recompiling, backend="eager", dynamic=False)(more)
        return torch.zeros(1, 101)

    arm = Compiled(llama, step)
    list(arm([PROMPT], 4))
    assert arm.recompiles == 3


def test_a_run_that_was_stopped_leaves_the_next_one_right(uncompiled, llama):
    step = Compiled(llama)
    expected = tokens(naive(llama, [PROMPT[::-1]], 12))
    list(islice(step([PROMPT], 40), 7))
    assert tokens(step([PROMPT[::-1]], 12)) == expected


def test_a_stop_before_it_is_ready_leaves_the_next_run_right(uncompiled, llama):
    calls = []

    def step(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return inner(*args)

    inner = compiled._whole_step(llama)
    arm = Compiled(llama, step)
    with pytest.raises(KeyboardInterrupt):
        next(arm([PROMPT], 12))
    assert tokens(arm([PROMPT], 12)) == tokens(naive(llama, [PROMPT], 12))


# ---- what can't be compiled ---------------------------------------------------------------------


def test_without_a_compiler_the_message_says_what_to_install(monkeypatch, llama):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BadRequest, match=r"no C\+\+ compiler .no-such-compiler.*install.*prealloc"):
        Compiled(llama)
    with pytest.raises(BadRequest, match="MPS"):
        compiled.check_compiler(torch.device("mps"))


@needs_compiler
def test_a_compiler_that_fails_costs_one_line(llama):
    def broken(graph, inputs):
        raise RuntimeError("Python.h: no such file")

    def step(ids, positions, mask, cache):
        return torch.compile(lambda x: x + 1, backend=broken)(positions)

    with pytest.raises(BadRequest, match=r"Python\.h.*python3-dev.*preallocated"):
        next(Compiled(llama, step)([PROMPT], 2))


@pytest.mark.parametrize("family", ["gpt2", "qwen3"])
def test_the_lean_step_refuses_what_it_does_not_compute(uncompiled, family):
    with pytest.raises(BadRequest, match=r"Llama family.*use 'compiled'"):
        lean.lean(tiny_model(family))
    assert tokens(lean.fastest(tiny_model(family))([PROMPT], 3))  # any model


@pytest.mark.parametrize("family", ["gemma2", "mistral"])
def test_windows_are_refused_since_each_step_would_be_compiled_anew(uncompiled, family):
    with pytest.raises(BadRequest, match=r"sliding windows.*use 'cached'"):
        lean.fastest(tiny_model(family))


def test_the_lean_step_is_for_one_stream(uncompiled, llama):
    with pytest.raises(BadRequest, match="batch of 1"):
        next(lean.lean(llama)([PROMPT, PROMPT], 2))
