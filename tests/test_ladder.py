"""The ladder: rungs in order, the same text, bytes from the theory, and what is missing is said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from toys import trace_of

from labkit import compiled, guesses, lean, models, roofline, rungs
from labkit.bench import ladder as bench
from labkit.bench import speculative as bench_speculative
from labkit.generate import BadRequest, preallocated
from labkit.guesses import LOOKUP, OWN_LAYERS, GuessRequest, compare, first_layers, guesser
from labkit.ladder import DEFAULT, Climb, LadderRequest
from labkit.models.text import ByteText
from labkit.records.ladder import Ladder, Rung, ladder_to_csv, ladder_to_json
from labkit.records.machine import Roofs

ROOFS = Roofs("cpu", {"float32": 4e10}, 1e10, 1e10, overhead_s=0.001)
ARMS = ("naive", "cached", "preallocated")


def climbed(toy, **options) -> Ladder:
    climb = Climb(LadderRequest(toy, new_tokens=12, **options), toy, ROOFS)
    assert list(climb.steps())[-1] == pytest.approx(1)
    return climb.ladder()


@pytest.fixture(scope="module")
def ladder(toy):
    return climbed(toy, rounds=2)


# ---- climbing -----------------------------------------------------------------------------------


def test_rungs_stand_in_order_and_all_give_the_same_text(ladder):
    assert tuple(rung.name for rung in ladder.rungs) == DEFAULT
    assert all(ladder.output(rung).identical for rung in ladder.rungs)
    assert all(len(trace.steps) == 12 for rung in ladder.rungs for trace in rung.traces)


def test_each_round_has_a_run_and_the_first_one_a_warm_up(ladder):
    for rung in ladder.rungs:
        assert len(rung.traces) == 2
        assert rung.traces[0].first_call_ns
        assert rung.traces[1].first_call_ns is None


def test_a_rungs_bytes_are_those_of_its_passes(ladder, toy):
    """12 tokens after a prompt of P: passes at contexts P + 1 to P + 11."""
    prompt = ladder.rungs[0].traces[0].settings.prompt_tokens
    contexts = range(prompt + 1, prompt + 12)
    steps = [roofline.decode_step(toy.shape, c, dtype="float32") for c in contexts]
    assert ladder.rung("cached").token_bytes == pytest.approx(sum(s.bytes for s in steps) / 11)
    predicted = sum(roofline.predict(s, ROOFS).seconds for s in steps) / 11
    assert ladder.rung("cached").predicted_s == pytest.approx(predicted)
    naive = [roofline.naive_step(toy.shape, c, dtype="float32") for c in contexts]
    assert ladder.rung("naive").token_bytes == pytest.approx(sum(s.bytes for s in naive) / 11)


def test_a_preallocated_cache_copies_nothing_and_reads_every_slot(ladder):
    assert ladder.rung("preallocated").token_bytes != ladder.rung("cached").token_bytes
    assert ladder.rung("preallocated").token_bytes == ladder.rung("weight layout").token_bytes


def test_layouts_are_what_the_traces_say(ladder, toy):
    layouts = {rung.name: rung.traces[0].settings.layout for rung in ladder.rungs}
    assert layouts == dict.fromkeys(ARMS, "plain") | dict.fromkeys(DEFAULT[3:], "fast")
    assert not all(weight.is_contiguous() for weight in toy.model.parameters())  # left as it was


def test_all_rungs_with_plain_weights_share_one_copy(toy):
    climb = Climb(LadderRequest(toy, new_tokens=4, names=ARMS), toy, ROOFS)
    list(climb.steps())
    models_used = {id(footing.loop.args[0]) for footing in climb._footings}
    assert len(models_used) == 1
    assert id(toy.model) not in models_used


def test_a_rung_that_lacks_something_is_kept_with_the_reason(toy, monkeypatch):
    def missing(loaded):
        raise rungs.NotHere("no compiler here: install one")

    broken = tuple(
        replace(kind, ready=missing) if kind.name == "cached" else kind for kind in rungs.KINDS
    )
    monkeypatch.setattr(rungs, "KINDS", broken)
    climb = Climb(LadderRequest(toy, new_tokens=4, names=("naive", "cached")), toy, ROOFS)
    list(climb.steps())
    naive, cached = climb.ladder().rungs
    assert cached.skipped == "no compiler here: install one"
    assert climb.ladder().measured == (naive,)


def test_another_order_of_weights_is_skipped_where_it_is_not_known_to_help():
    half = models.load("toy", dtype="bfloat16")
    found = climbed(half, names=("naive", "weight layout"))
    assert "float32 on a CPU" in found.rung("weight layout").skipped


def test_without_roofs_bytes_are_counted_and_nothing_is_predicted(toy, monkeypatch):
    monkeypatch.setattr("labkit.experiments._roofs", lambda loaded: None)
    climb = Climb(LadderRequest(toy, new_tokens=4, names=("cached",)), toy)
    list(climb.steps())
    (rung,) = climb.ladder().rungs
    assert rung.token_bytes
    assert (rung.predicted_s, rung.roof_tokens_per_s(climb.ladder().roofs)) == (None, None)


class Uncompiled:
    """Called like a compiled model, without the wait."""

    compile_s = 12.3

    def __init__(self, model):
        self._model = model

    def __call__(self, prompts, new_tokens):
        return preallocated(self._model, prompts, new_tokens)


def test_compiled_rungs_say_what_compiling_took_and_count_no_activations(toy, monkeypatch):
    monkeypatch.setattr(lean, "fastest", Uncompiled)
    found = climbed(toy, names=("naive", "compiled", "quantised"))
    one, small = found.rung("compiled"), found.rung("quantised")
    assert one.note == "Compiling took 12 s"
    assert found.output(one).identical
    assert small.token_bytes < 0.6 * one.token_bytes
    assert small.predicted_s < one.predicted_s
    assert rungs.rounded_up(1) == compiled.SLOTS


def test_without_a_compiler_the_rung_is_skipped(toy, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no C++ compiler" in climbed(toy, names=("naive", "compiled")).rung("compiled").skipped


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"names": ("magic",)}, "unknown rung"),
        ({"names": ()}, "no rung"),
        ({"rounds": 0}, "1 round"),
        ({"task": ""}, "empty"),
        ({"new_tokens": 100_000}, "at most"),
    ],
)
def test_what_can_not_be_climbed_is_refused(toy, options, says):
    with pytest.raises(ValueError, match=says):
        Climb(LadderRequest(toy, **options), toy)


# ---- the record ---------------------------------------------------------------------------------


def test_a_rung_is_set_against_its_own_roof():
    """100 and 50 tokens/s measured; 2 MB each at 1 GB/s allow 500."""
    slow, fast = (trace_of(5, ms, ms, ms) for ms in (20, 10))
    rung = Rung("r", "", "", (slow, fast, fast), token_bytes=2e6, predicted_s=0.012)
    roofs = Roofs("cpu", {}, 1e9)
    assert rung.tokens_per_s == pytest.approx(100)
    assert rung.roof_tokens_per_s(roofs) == 500
    assert rung.share_of_roof(roofs) == pytest.approx(0.2)
    assert rung.off_by == pytest.approx(0.2)
    assert Rung("r", "", "").tokens_per_s is None


def test_a_ladder_is_written_without_loss(ladder):
    saved = json.loads(ladder_to_json(ladder))["ladder"]
    assert [rung["name"] for rung in saved["rungs"]] == list(DEFAULT)
    assert ladder_to_csv(ladder).count("\n") == 1 + 5 * 2 * 12


# ---- guesses ------------------------------------------------------------------------------------


def test_plain_and_guessed_runs_are_of_the_same_text(toy):
    request = GuessRequest(toy, new_tokens=10, at_most=(2, 4), rounds=2)
    found = list(compare(request, toy))
    assert [one.at_most for one in found] == [2, 4, 2, 4]
    assert all(one.same.identical and one.same.compared == 10 for one in found)
    assert all(one.speed_up > 0 for one in found)
    assert all(max(p.guesses for p in one.counts.passes) <= one.at_most for one in found)


def test_the_first_layers_share_their_weights_and_leave_the_model_whole(toy):
    small = first_layers(toy.model)
    assert (len(small.model.layers), len(toy.model.model.layers)) == (1, 2)
    assert small.model.layers[0] is toy.model.model.layers[0]
    found = list(compare(GuessRequest(toy, new_tokens=8, at_most=(2,), draft=OWN_LAYERS), toy))
    assert found[0].same.identical
    assert found[0].counts.guesses > 0


def test_a_draft_model_of_another_tokenizer_is_refused(toy, monkeypatch):
    other = replace(toy, tokenizer=ByteText(99), name="GPT-2")
    monkeypatch.setattr(models, "load", lambda *choice: other)
    with pytest.raises(BadRequest, match=r"GPT-2 can't guess for toy.*same family"):
        guesser("GPT-2", toy)


def test_a_draft_model_may_have_the_same_tokens(toy):
    assert guesser("toy", toy)()([1, 2, 3], 2)
    assert guesser(LOOKUP, toy)()([1, 2, 1], 2) == [2, 1]


@pytest.mark.parametrize("options", [{"at_most": ()}, {"at_most": (0,)}, {"rounds": 0}])
def test_no_guesses_are_refused(toy, options):
    with pytest.raises(BadRequest, match="1 guess"):
        compare(GuessRequest(toy, **options), toy)


# ---- benchmarks ---------------------------------------------------------------------------------


def test_the_ladders_promises_are_about_the_best_plain_rung(toy, ladder):
    share, *rest = bench.figures_of(ladder)
    assert "÷ its roof" in share.name
    assert (share.at_least, len(share.repeats)) == (0.75, 2)
    assert [figure.at_most for figure in rest[:4]] == [0] * 4
    assert [figure.median for figure in rest[:4]] == [0] * 4


def test_guessing_is_promised_on_copying_and_shown_without_repeats(toy, monkeypatch):
    monkeypatch.setattr(bench_speculative.probing, "known_roofs", lambda device: ROOFS)
    monkeypatch.setattr(bench_speculative, "prompts", lambda: ["abc", "abcabc"])
    copying, plain, *_, same = bench_speculative.measure(toy, pairs=1, new_tokens=6)
    assert (copying.at_least, plain.at_least) == (1.3, None)
    assert same.repeats == (0, 0)
    assert len(set(guesses.TASKS)) == 2


def test_no_tensor_of_a_climb_is_kept_by_its_record(ladder):
    assert not any(isinstance(v, torch.Tensor) for r in ladder.rungs for v in vars(r).values())
