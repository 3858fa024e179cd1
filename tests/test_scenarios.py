"""The exercises: could they be real, are they the same everywhere, do the figures carry them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from labkit.diagnose import diagnose
from labkit.grading.free_text import grade
from labkit.reports import parse
from labkit.scenarios import (
    LEVELS,
    Run,
    Setup,
    Truth,
    curated,
    generate,
    physics,
    problems,
    scenario,
)
from labkit.scenarios.cards import gb, ms, rate

SEEDS = range(12)


# ---- generated -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_generated_exercises_could_be_real(level):
    assert [problems(generate(level, seed)) for seed in SEEDS] == [[]] * len(SEEDS)


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_seed_gives_the_same_exercise(level):
    assert generate(level, 7) == generate(level, 7)
    assert generate(level, 7) != generate(level, 7 + len(LEVELS[level]))


def test_every_fault_of_a_level_comes_up():
    for level, faults in LEVELS.items():
        found = {generate(level, seed).fault for seed in SEEDS}
        assert found == {fault.__name__ for fault in faults}


def test_an_unknown_level_is_refused_with_the_levels_there_are():
    with pytest.raises(ValueError, match="choose 1 to 5"):
        generate(6, 0)


def test_misleading_levels_hide_what_plain_ones_show():
    shown, hidden = generate(2, 0), generate(4, 0)
    assert (shown.fault, hidden.fault) == ("queue_shown", "queue_in_ttft")
    assert "queue time" in shown.text
    assert "queue" not in " ".join(hidden.card)


# ---- curated -------------------------------------------------------------------------------------


def test_there_are_forty_curated_exercises_and_none_twice():
    cards = [one.card for one in curated()]
    assert len(cards) >= 40
    assert len(set(cards)) == len({one.name for one in curated()}) == len(cards)


def test_curated_exercises_could_be_real():
    assert {one.name: problems(one) for one in curated() if problems(one)} == {}


def test_curated_exercises_rise_in_level_and_cover_every_phase():
    levels = [one.level for one in curated()]
    assert levels == sorted(levels)
    assert set(levels) == {1, 2, 3, 4, 5}
    phases = {one.truth.phase for one in curated()}
    assert phases == {"prefill", "decode", "queue", "load", "overhead", "insufficient-data"}


def test_the_first_exercise_says_what_its_figures_leave_unexplained():
    """At batch 1 a step can't take 500 ms for weights that prefill read within 50 ms."""
    first = curated()[0]
    assert first.truth.phase == "decode"
    assert "same weights" in first.caveat
    assert problems(replace(first, caveat="")) != []


def test_no_card_gives_its_truth_away():
    for one in curated():
        assert one.truth.limiter not in one.text
        assert one.truth.why not in one.text


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match="seed"):
        scenario("no such")


@pytest.mark.parametrize("one", curated(), ids=lambda one: one.name)
def test_an_answer_in_plain_words_to_each_exercise_is_graded_correct(one):
    answers = {
        "decode": "It's decode, limited by memory bandwidth. Quantise the weights.",
        "prefill": "Reading the prompt is slow, it is compute bound. Send shorter prompts.",
        "queue": "Requests wait in the queue, there are too few slots. Add replicas.",
        "load": "It's a cold start: the model is being loaded. Keep it warm.",
        "overhead": "Launch overhead: the host can't keep up. Use CUDA graphs.",
        "insufficient-data": "You can't tell from that. I'd measure TTFT and TPOT.",
    }
    assert grade(answers[one.truth.phase], one.truth).verdict == "correct"


# ---- against the diagnosis -----------------------------------------------------------------------

# What a card leaves open may stay open. Weights that don't fit are named by what is to be done.
ALSO_RIGHT = {"offload": "capacity-or-scheduling"}
MANY = [generate(level, seed) for level in LEVELS for seed in range(60)]


def contradictions(one):
    """Where the diagnosis of what the learner sees says something else than is true."""
    told = diagnose(parse(one.text))
    right = (one.truth.limiter, "undetermined", ALSO_RIGHT.get(one.fault))
    wrong = [(one.name, told.phase)] if told.phase != one.truth.phase else []
    return wrong if told.limiter in right else [*wrong, (one.name, told.limiter)]


def test_the_diagnosis_of_a_card_never_contradicts_its_truth():
    assert [found for one in (*curated(), *MANY) for found in contradictions(one)] == []


def test_a_false_truth_contradicts_the_diagnosis():
    assert contradictions(replace(MANY[0], truth=Truth("queue", "compute", ("more-replicas",))))


def test_every_level_has_at_least_two_faults_and_many_setups():
    for level in LEVELS:
        mine = [one for one in MANY if one.level == level]
        assert len({one.fault for one in mine}) >= 2
        assert len({one.setup for one in mine if one.setup}) >= 12
        assert len({one.card for one in mine}) >= 45


# ---- checks that can fail ------------------------------------------------------------------------


def sound():
    """An 8B model alone on an L4: 16 GB of weights over 300 GB/s are 54 ms a step."""
    setup = Setup("Llama-3.1-8B", "L4")
    run = Run(300, 500, prefill_s=0.12, step_s=0.08, device_s=0.08)
    truth = Truth("decode", "memory-bandwidth", ("fewer-bytes",))
    return replace(generate(1, 0), setup=setup, run=run, truth=truth)


BROKEN = {
    "do not fit": {"batch": 400},
    "positions": {"prompt_tokens": 200_000},
    "MBU above 100 %": {"step_s": 0.04, "device_s": 0.04},
    "MFU above 100 %": {"prompt_tokens": 3000, "prefill_s": 0.1},
    "of the time": {"queue_s": 60.0},
    "longer than the step": {"device_s": 0.09},
    "do not go together": {"device_s": 0.01},
    "the same weights": {"prefill_s": 0.07},
    "offloaded": {"offloaded": 0.5, "step_s": 0.6, "device_s": 0.6, "prefill_s": 0.7},
}


def test_a_sound_exercise_has_no_problem():
    assert problems(sound()) == []


@pytest.mark.parametrize("complaint", BROKEN)
def test_what_cannot_be_is_noticed(complaint):
    one = sound()
    broken = replace(one, run=replace(one.run, **BROKEN[complaint]))
    assert any(complaint in problem for problem in problems(broken))


def test_a_truth_in_other_words_is_refused():
    with pytest.raises(ValueError, match="bandwidth"):
        Truth("decode", "bandwidth", ("fewer-bytes",))


# ---- parts ---------------------------------------------------------------------------------------


def test_times_of_a_request_add_up():
    run = Run(100, 11, 1.0, 0.3, 0.3, queue_s=2.0, load_s=3.0, accepted=3.0)
    assert run.ttft_s == 6.0
    assert run.tpot_s == pytest.approx(0.1)
    assert run.total_s == pytest.approx(7.0)
    assert run.share("load") == pytest.approx(3 / 7)


def test_a_step_takes_the_time_of_its_bytes():
    """8.03e9 weights less the embedding's other rows, 2 bytes each, over the L4's 300 GB/s."""
    setup = Setup("Llama-3.1-8B", "L4")
    assert physics.step_s(setup, 300) == pytest.approx(0.050, rel=0.02)
    assert physics.step_s(setup, 300, mbu=0.5) == pytest.approx(2 * physics.step_s(setup, 300))


def test_offloaded_weights_come_at_the_speed_of_pcie():
    setup = Setup("Llama-3.1-8B", "L4")
    all_of_them = physics.offloaded_step_s(setup, 300, part=1.0)
    assert all_of_them == pytest.approx(physics.weights(setup) / 25e9)


def test_figures_are_shown_with_two_or_three_digits():
    assert [ms(s) for s in (0.00035, 0.05, 0.133, 1.44, 38.2)] == [
        "0.35 ms",
        "50 ms",
        "133 ms",
        "1.4 s",
        "38 s",
    ]
    assert (rate(16.7), gb(16.06e9), gb(141e9)) == ("17 tokens/s", "16 GB", "141 GB")


def test_exercises_go_through_json_unchanged():
    from labkit.records.files import build
    from labkit.scenarios import Scenario

    one = generate(3, 1)
    assert build(Scenario, json.loads(json.dumps(asdict(one)))) == one
