"""Lesson 08's panels without a browser: they climb, guess, draw, say and refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from labkit import guesses, rungs, ui
from labkit.figures.speculative import GuessBar
from labkit.guesses import OWN_LAYERS
from labkit.ladder import DEFAULT
from labkit.models.text import ByteText
from labkit.records.ladder import Ladder, Rung
from labkit.records.machine import Roofs
from labkit.ui.ladder_text import guess_sentence, ladder_sentence, ladder_told
from labkit.ui.panel import Stopped

TIMEOUT_S = 60
ROOFS = Roofs("cpu", {"float32": 4e10}, 1e10, 1e10, overhead_s=0.001)
SCRIPT = "<script>alert(1)</script>"

pytestmark = pytest.mark.usefixtures("no_earlier_probe")


@pytest.fixture(scope="module")
def climbed(toy):
    panel = ui.ladder(toy, new_tokens=8, roofs=ROOFS)
    panel.wait(TIMEOUT_S)
    return panel


@pytest.fixture(scope="module")
def guessed(toy):
    panel = ui.guessing(toy, new_tokens=8, at_most=(2, 4), roofs=ROOFS)
    panel.wait(TIMEOUT_S)
    return panel


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


# ---- the ladder ---------------------------------------------------------------------------------


def test_nothing_runs_on_display(toy):
    panel = ui.ladder(toy)
    assert repr(panel) == "LadderPanel()"
    assert panel.figure.layout.title.text == "nothing measured yet"
    assert not panel.export.ready


def test_each_rung_has_its_bar_its_prediction_and_its_roof(climbed):
    for kind in ("measured", "predicted", "roof"):
        assert list(line(climbed, kind).y) == list(DEFAULT)
    rates = [rung.tokens_per_s for rung in climbed.ladder.rungs]
    np.testing.assert_allclose(line(climbed, "measured").x, rates)
    roofs = [1e10 / rung.token_bytes for rung in climbed.ladder.rungs]
    np.testing.assert_allclose(line(climbed, "roof").x, roofs)
    assert line(climbed, "predicted").marker.pattern.shape == "/"
    assert "measured on" in climbed.figure.layout.title.text


def test_the_text_twin_says_what_each_rung_costs_and_whether_the_text_is_the_same(climbed):
    text = climbed.text.value
    assert text.count("the same") == len(DEFAULT)
    assert text.count("Costs:") == len(DEFAULT)
    assert "off by" in text


def test_only_ticked_rungs_are_climbed_and_none_is_refused(toy):
    panel = ui.ladder(toy, new_tokens=4, rungs=("naive", "cached"))
    assert [rung.name for rung in panel.wait(TIMEOUT_S).rungs] == ["naive", "cached"]
    for box in panel.boxes:
        box.value = False
    panel.run()
    with pytest.raises(ValueError, match="no rung"):
        panel.wait(TIMEOUT_S)
    assert "choose from" in panel.status.value
    assert panel._climb is None  # no model is held


def test_what_is_got_ready_is_said_and_stop_is_heard_before_it(toy, monkeypatch):
    panel = ui.ladder(toy, new_tokens=4, rungs=("cached",))
    said = []
    monkeypatch.setattr(panel, "_say", said.append)
    panel.wait(TIMEOUT_S)
    assert "getting “cached” ready …" in said
    panel._stop.set()
    with pytest.raises(Stopped):
        panel._tell("compiling")


def test_a_skipped_rung_is_told_with_its_reason():
    skipped = Rung("compiled", "fewer launches", "minutes", skipped=f"no {SCRIPT} here")
    told = ladder_told(Ladder((skipped,)))
    assert "no &lt;script&gt;" in told
    assert "<script" not in told


def test_without_roofs_rungs_are_measured_and_nothing_is_predicted(toy):
    panel = ui.ladder(toy, new_tokens=4, rungs=("cached",))
    panel.wait(TIMEOUT_S)
    assert line(panel, "predicted").visible is False
    assert "unknown" in panel.text.value
    assert ladder_sentence(panel.ladder) == "One rung so far."


def test_a_climb_is_exported_with_every_step(climbed):
    assert climbed.export.ready
    rows = json.loads(climbed._write("json"))["ladder"]["rungs"]
    assert len(rows) == len(DEFAULT)
    assert climbed._write("csv").count("\n") == 1 + 8 * len(DEFAULT)


def test_a_text_of_ones_own_can_be_climbed(toy):
    panel = ui.ladder(toy, task="one of my own", new_tokens=4, rungs=("naive", "speculative"))
    found = panel.wait(TIMEOUT_S)
    assert found.rungs[0].traces[0].settings.prompt == "one of my own"
    panel.task.kind.value = "copying"
    assert panel.read().task == "copying"


def test_every_rung_can_be_ticked(toy):
    assert [box.description for box in ui.ladder(toy).boxes] == list(rungs.NAMES)


# ---- guessing -----------------------------------------------------------------------------------


def test_each_text_and_number_of_guesses_has_its_bars(guessed):
    assert [(one.task, one.at_most) for one in guessed.found] == [
        ("copying", 2),
        ("copying", 4),
        ("no repeats", 2),
        ("no repeats", 4),
    ]
    np.testing.assert_allclose(line(guessed, "measured").y, [one.speed_up for one in guessed.found])
    assert len(line(guessed, "predicted").y) == 4
    assert "tokens a pass" in guessed.text.value
    assert guessed.text.value.count("the same") == 4


def test_gain_and_loss_are_said_in_one_sentence():
    bars = [GuessBar("copying", 8, 2.51, 3.0), GuessBar("no repeats", 2, 0.8, 0.9)]
    said = guess_sentence(bars)
    assert "Best: 2.51 times" in said
    assert "Worst: 0.800 times" in said


def test_another_guesser_may_be_chosen_and_a_strange_one_is_refused(toy, monkeypatch):
    panel = ui.guessing(toy, tasks=("copying",), new_tokens=4, at_most=(2,), draft=OWN_LAYERS)
    assert panel.wait(TIMEOUT_S)[0].same.identical
    strange = replace(toy, tokenizer=ByteText(99), name="strange")
    monkeypatch.setattr(guesses.models, "load", lambda *choice: strange)
    panel.draft.value, panel.other.value = "another …", "strange"
    panel.run()
    with pytest.raises(ValueError, match="same family"):
        panel.wait(TIMEOUT_S)
    assert "same family" in panel.status.value


def test_guesses_are_exported(guessed):
    assert len(json.loads(guessed._write("json"))["runs"]) == 4
    assert guessed._write("csv").count("\n") == 5


@pytest.mark.parametrize("make", [ui.ladder, ui.guessing])
def test_a_models_name_is_never_taken_for_html(make):
    panel = make(SCRIPT)
    shown = [panel.status.value, panel.text.value, panel.figure.layout.title.text]
    assert not any("<script" in text for text in shown)
