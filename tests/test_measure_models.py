"""The clock over real loops and tiny models, the machine it runs on, and the text it keeps."""

from __future__ import annotations

from functools import partial

import torch
from toys import MACHINE, SHAPE, tiny_model

from labkit import generate
from labkit.measure import Arm, Run, Setup, this_machine
from labkit.measure.detokenize import Detokenizer
from labkit.records import Settings

CPU = torch.device("cpu")
SETUP = Setup(SHAPE, Settings(prompt_tokens=4, new_tokens=6), MACHINE, CPU, decode=str)


def run_of(model, name: str, prompts, new_tokens: int) -> Run:
    """A real arm of `generate` under the real clock."""
    start = partial(getattr(generate, name), model, prompts, new_tokens)
    return Run(Arm(name, start), SETUP)


def to_the_end(run: Run):
    while run.step() is not None:
        pass
    return run.trace()


# ---- the cache's bytes --------------------------------------------------------------------------

PROMPT = [5, 17, 80, 3]
BYTES_A_TOKEN = 2 * 2 * 2 * 12 * 4  # keys and values × layers × KV heads × head_dim × float32


def test_kv_bytes_count_kv_heads_not_query_heads_and_grow_by_one_token(llama):
    trace = to_the_end(run_of(llama, "cached", [PROMPT], 5))
    assert BYTES_A_TOKEN == 384
    assert [step.context_tokens for step in trace.steps] == [4, 5, 6, 7, 8]
    assert [step.kv_bytes for step in trace.steps] == [384 * n for n in (4, 5, 6, 7, 8)]


def test_kv_bytes_count_every_sequence_and_its_padding(llama):
    trace = to_the_end(run_of(llama, "cached", [PROMPT, PROMPT[:2], PROMPT], 2))
    assert [step.kv_bytes for step in trace.steps] == [3 * 4 * 384, 3 * 5 * 384]


def test_kv_bytes_of_a_preallocated_cache_are_those_of_its_final_size(llama):
    trace = to_the_end(run_of(llama, "preallocated", [PROMPT], 5))
    assert {step.kv_bytes for step in trace.steps} == {384 * 8}


def test_kv_bytes_stop_growing_where_a_window_is_full():
    trace = to_the_end(run_of(tiny_model("mistral"), "cached", [PROMPT * 9], 12))
    held = [min(n, 39) for n in range(36, 48)]  # a window of 40 is 39 earlier tokens and its own
    assert [step.kv_bytes for step in trace.steps] == [384 * n for n in held]


def test_a_run_without_a_cache_has_no_kv_bytes(llama):
    trace = to_the_end(run_of(llama, "naive", [PROMPT], 3))
    assert [step.kv_bytes for step in trace.steps] == [None] * 3
    assert [step.tokens_in for step in trace.steps] == [4, 5, 6]


def test_a_warmed_up_run_gives_the_tokens_of_a_cold_one(llama):
    """The warm-up must leave nothing behind, such as a cache that the run goes on with."""
    cold, warm = (run_of(llama, "preallocated", [PROMPT], 6) for _ in range(2))
    warm.warm_up()
    assert to_the_end(warm).text() == to_the_end(cold).text()
    assert warm.first_call_ns > 0


# ---- the machine --------------------------------------------------------------------------------


def test_this_machine_tells_what_the_system_reports():
    machine = this_machine(CPU)
    assert (machine.device, machine.source) == ("cpu", "")
    assert machine.name
    assert machine.cores >= 1
    assert machine.memory_bytes > 2**28
    assert machine.cache_bytes is None or machine.cache_bytes >= 2**18
    assert machine.bandwidth_bytes_per_s is None  # nobody has measured it


# ---- text, token by token ----------------------------------------------------------------------


def test_a_character_split_over_tokens_appears_once_with_the_token_that_completes_it():
    pieces = [b"caf", "é".encode()[:1], "é".encode()[1:], b"!"]
    row = Detokenizer(lambda ids: b"".join(pieces[i] for i in ids).decode(errors="replace"))
    assert [row.add(i) for i in range(4)] == ["caf", "", "é", "!"]


def test_a_space_that_a_tokenizer_drops_at_the_start_is_kept_between_tokens():
    words = [" one", " two", " three"]
    row = Detokenizer(lambda ids: "".join(words[i] for i in ids).removeprefix(" "))
    assert [row.add(i) for i in range(3)] == ["one", " two", " three"]
