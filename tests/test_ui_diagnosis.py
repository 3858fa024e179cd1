"""Lesson 09's panels without a browser: the exercise, practice, verdict cards, the report."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from toys import trace_of

from labkit import records, scenarios, ui
from labkit.diagnose import diagnose
from labkit.figures import diagnosis as figures
from labkit.progress import Attempt, Book
from labkit.records.machine import Roofs
from labkit.records.verdict import Verdict
from labkit.reports import parse
from labkit.ui.diagnosis import Exercise
from labkit.ui.diagnosis_practice import Practice, next_scenario
from labkit.ui.diagnosis_verdict import label, shares_sentence
from labkit.ui.panel import Panel

TIMEOUT_S = 60
RIGHT = (
    "Decode is the problem: each token takes 500 ms, ten times the TTFT. It is limited by memory "
    "bandwidth, since every step reads all weights. Quantised weights would help."
)
WRONG = "The prefill is the problem, it needs more compute. Buy a GPU with more TFLOPS."
LLAMA = """\
prompt eval time =    1450.20 ms /  1320 tokens (    1.10 ms per token,   910.22 tokens per second)
       eval time =    9012.40 ms /   180 tokens (   50.07 ms per token,    19.97 tokens per second)
      total time =   10462.60 ms /  1500 tokens
"""


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Progress of this test alone, never the user's; and no page whose drawing is waited for."""
    monkeypatch.setattr(Panel, "_settle", lambda panel: None)
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "data"))


def answered(panel, text):
    panel.answer.value = text
    panel.check()
    return panel


# ---- the exercise -------------------------------------------------------------------------------


def test_the_first_exercise_shows_the_card_and_nothing_of_the_solution():
    panel = ui.exercise()
    for line in scenarios.scenario("seed").card:
        assert line in panel.card.value
    shown = panel.card.value + panel.feedback.value + panel.status.value
    assert "memory-bandwidth" not in shown
    assert panel.reveal_button.disabled


def test_a_right_answer_is_quoted_and_gets_all_points():
    panel = answered(ui.exercise(), RIGHT)
    assert panel.grade.verdict == "correct"
    assert "3 of 3 points" in panel.status.value
    assert "“Decode is the problem”" in panel.feedback.value or "“Decode" in panel.feedback.value
    assert "does not add up" in panel.feedback.value


def test_a_wrong_answer_is_told_why_and_not_given_the_solution():
    panel = answered(ui.exercise(), WRONG)
    assert panel.grade.verdict == "incorrect"
    assert "“" in panel.feedback.value
    assert scenarios.scenario("seed").truth.why not in panel.feedback.value
    assert scenarios.scenario("seed").caveat not in panel.feedback.value


def test_the_solution_waits_for_an_attempt_and_is_then_shown_with_what_helps():
    panel = ui.exercise()
    panel.reveal()
    assert "Try it once yourself" in panel.status.value
    answered(panel, WRONG)
    assert not panel.reveal_button.disabled
    panel.reveal_button.click()
    assert "memory-bandwidth" in panel.feedback.value
    assert "quantised weights" in panel.feedback.value


def test_an_empty_box_is_no_attempt():
    panel = answered(ui.exercise(), "  \n")
    assert panel.grade is None
    assert panel.reveal_button.disabled
    assert not panel.book.attempts


def test_try_again_clears_box_and_feedback_and_the_next_attempt_counts():
    panel = answered(ui.exercise(), WRONG)
    panel.again_button.click()
    assert not panel.answer.value
    assert not panel.feedback.value
    answered(panel, RIGHT)
    assert [(a.verdict, a.helped) for a in panel.book.attempts] == [
        ("incorrect", False),
        ("correct", False),
    ]


def test_an_answer_after_the_solution_does_not_count_not_even_on_a_later_visit():
    panel = answered(ui.exercise(), WRONG)
    panel.reveal()
    answered(panel, RIGHT)
    assert panel.book.attempts[-1].helped
    later = answered(ui.exercise(), RIGHT)
    assert later.book.attempts[-1].helped
    assert "does not count" in later.status.value


# ---- practice ---------------------------------------------------------------------------------


def test_practice_begins_at_level_1_and_does_not_ask_the_first_exercise_again():
    panel = ui.practice()
    assert panel.scenario.level == 1
    assert panel.scenario.name != "seed"
    assert panel.next_button.disabled
    assert not panel.skip_button.disabled


def test_next_brings_another_exercise_and_skip_too():
    panel = answered(ui.practice(), WRONG)
    first = panel.scenario.name
    panel.next_button.click()
    second = panel.scenario.name
    panel.skip_button.click()
    assert len({first, second, panel.scenario.name}) == 3
    assert panel.grade is None
    assert [a.verdict for a in panel.book.attempts] == ["incorrect", "skipped"]


def correct(level, n):
    return tuple(Attempt(f"x{level}-{i}", level, "correct", 3, "2026-01-01") for i in range(n))


def test_the_third_correct_answer_leads_to_the_next_level(tmp_path):
    book = Book(tmp_path)
    for attempt in correct(1, 2):
        book.add(attempt)
    panel = Practice(book)
    assert panel.level.value == 1
    said = {"decode": RIGHT, "prefill": "Prefill is the problem, compute-bound: shorten the prompt"}
    answered(panel, said[panel.scenario.truth.phase])
    assert panel.grade.passed
    panel.next_button.click()
    assert panel.level.value == panel.scenario.level == 2


def test_a_later_visit_begins_where_the_last_one_ended(tmp_path):
    book = Book(tmp_path)
    for attempt in (*correct(1, 3), *correct(2, 4)):
        book.add(attempt)
    assert Practice(Book(tmp_path)).level.value == 3
    assert "<table" in Practice(Book(tmp_path)).score.value


def test_practice_does_not_end():
    names, attempts = set(), ()
    for _ in range(30):
        scenario = next_scenario(5, attempts)
        attempts += (Attempt(scenario.name, 5, "skipped", 0, "2026-01-01"),)
        names.add(scenario.name)
    assert len(names) == 30


def test_a_level_can_be_chosen():
    panel = ui.practice()
    panel.level.value = 4
    assert panel.scenario.level == 4


def test_progress_that_can_not_be_read_is_said(tmp_path):
    (tmp_path / "progress.json").write_text("{")
    panel = Practice(Book(tmp_path))
    assert 'role="alert"' in panel.score.value
    assert "starts anew" in panel.score.value


# ---- the paste box ------------------------------------------------------------------------------


def bars(panel) -> dict[str, list[float]]:
    return {bar.meta: list(bar.x) for bar in panel.view.figure.data if bar.visible}


def test_a_paste_gets_a_card_with_bar_evidence_remedies_and_what_is_missing():
    """1450.2 of 10462.6 ms are prefill: 14 %."""
    panel = ui.paste_box(LLAMA)
    (verdict,) = panel.wait(TIMEOUT_S)
    assert verdict.label == "decode-bound"
    text = panel.view.text.value
    for part in ("Evidence:", "What would help", "this is missing", "What was read", "÷"):
        assert part in text
    assert bars(panel)["prefill"] == pytest.approx([13.86], abs=0.01)
    assert "prefill 14%, decode 86%" in text
    assert panel.view.layout.display == ""


def test_several_runs_get_a_card_and_a_bar_each():
    slow = LLAMA.replace("9012.40", "90124.0").replace("50.07", "500.7").replace("19.97", "1.997")
    panel = ui.paste_box(f"{LLAMA}\n\n{slow}")
    assert len(panel.wait(TIMEOUT_S)) == len(parse(f"{LLAMA}\n\n{slow}")) == 2
    assert panel.view.text.value.count("<section") == 2
    assert "2 runs were read. All in all: decode-bound" in panel.view.text.value
    assert [len(x) for x in bars(panel).values()] == [2, 2]


@pytest.mark.parametrize(
    ("text", "says"), [("", "the box is empty"), ("lorem ipsum dolor", "was recognised")]
)
def test_what_can_not_be_read_is_said_with_the_remedy(text, says):
    panel = ui.paste_box(text)
    with pytest.raises(ValueError, match=says):
        panel.wait(TIMEOUT_S)
    assert 'role="alert"' in panel.status.value
    assert panel.view.layout.display == "none"


def test_after_a_failure_the_next_paste_works():
    panel = ui.paste_box("lorem")
    with pytest.raises(ValueError, match="recognised"):
        panel.wait(TIMEOUT_S)
    panel.box.value = "TTFT 50 ms, 2 tokens/s, 100 output tokens"
    panel.run()
    assert panel.wait(TIMEOUT_S)[0].phase == "decode"


def test_machine_model_and_format_chosen_in_the_panel_settle_the_limiter():
    panel = ui.paste_box("TTFT 310 ms, prompt 900 tokens, 420 output tokens, TPOT 21 ms, batch 1")
    assert panel.wait(TIMEOUT_S)[0].limiter == "undetermined"
    panel.machine.value, panel.model.value, panel.bits.value = "RTX-4090", "Llama-3.1-8B", 16
    panel.run()
    assert panel.wait(TIMEOUT_S)[0].limiter == "memory-bandwidth"


def test_a_long_log_does_not_hold_the_page_up():
    runs = [LLAMA.replace("180 tokens", f"{100 + n} tokens") for n in range(4100)]
    panel = ui.paste_box("\n".join(runs))
    assert len(panel.box.value) > 1_000_000
    start_s = time.monotonic()
    panel.run()
    assert time.monotonic() - start_s < 0.5
    panel.wait(TIMEOUT_S)
    assert panel.view.text.value.count("<section") == 12


# ---- one's own run ------------------------------------------------------------------------------

ROOFS = Roofs("cpu", {"float32": 1e11}, 20e9)


def test_a_panels_traces_are_judged_and_the_last_one_is_chosen():
    """1 s, then 4 x 0.5 s: prefill has a third."""
    panel = ui.own_run([trace_of(9, 9, arm="naive"), trace_of(1000, 500, 500, 500, 500)], ROOFS)
    verdict = panel.wait(TIMEOUT_S)
    assert verdict == diagnose(panel.offered[1], ROOFS)
    assert verdict.shares["prefill"] == pytest.approx(1 / 3)
    assert panel.what_if.layout.display == ""
    assert panel.what_if.run.ttft_s == pytest.approx(1.0)
    assert panel.what_if.prompt_tokens.value == 8


def test_another_run_can_be_chosen():
    panel = ui.own_run([trace_of(9000, 9, 9, 9), trace_of(1000, 500, 500)], ROOFS)
    panel.run_choice.value = 0
    assert panel.wait(TIMEOUT_S).phase == "prefill"


def test_a_run_without_roofs_gets_a_verdict_and_no_what_if():
    panel = ui.own_run([trace_of(1000, 500, 500, 500)])
    panel.wait(TIMEOUT_S)
    assert "No what-if" in panel.note.value
    assert panel.what_if.layout.display == "none"


def load(panel, text):
    panel.upload.value = (
        {
            "name": "run.json",
            "type": "",
            "size": 1,
            "last_modified": datetime.now(UTC),
            "content": text.encode(),
        },
    )


def test_a_saved_run_is_loaded_and_judged():
    panel = ui.own_run()
    recorded = replace(trace_of(1000, 20, 20, 20), roofs=ROOFS)
    load(panel, records.to_json([recorded]))
    assert panel.wait(TIMEOUT_S).phase == "prefill"
    assert panel.offered[0].origin == "recorded"
    assert panel.what_if.layout.display == ""


def test_roofs_of_this_machine_do_not_judge_a_run_from_elsewhere():
    panel = ui.own_run((), ROOFS)
    load(panel, records.to_json([trace_of(1000, 20, 20, 20)]))
    panel.wait(TIMEOUT_S)
    assert panel.what_if.layout.display == "none"


@pytest.mark.parametrize(("text", "says"), [("{}", "no file of traces"), ("#", "row|columns|JSON")])
def test_a_file_that_is_no_run_is_refused_and_the_next_one_works(text, says):
    panel = ui.own_run()
    load(panel, text)
    with pytest.raises(ValueError, match=says):
        panel.wait(TIMEOUT_S)
    load(panel, records.to_json([trace_of(1000, 20, 20, 20)]))
    assert panel.wait(TIMEOUT_S).phase == "prefill"


def test_without_a_run_the_panel_says_what_it_wants():
    with pytest.raises(ValueError, match="load one"):
        ui.own_run().wait(TIMEOUT_S)


# ---- the bar ------------------------------------------------------------------------------------


def test_bars_add_up_to_all_of_the_wait_and_the_chart_grows_with_the_runs():
    rows = [("1 a", {"queue": 0.25, "decode": 0.75}), ("2 b", {"prefill": 1.0})]
    curves = figures.shares_curves(rows)
    assert [sum(curve.x[n] for curve in curves) for n in (0, 1)] == [100, 100]
    assert {c.name for c in curves if c.visible} == {"queue", "prefill", "decode"}
    assert figures.shares_layout(rows)["height"] > figures.shares_layout(rows[:1])["height"]


def test_labels_differ_and_are_short():
    verdict = Verdict("decode", "undetermined", "low", about="vLLM, " + "row " * 30)
    assert label(1, verdict) != label(2, verdict)
    assert len(label(1, verdict)) < 32


def test_a_verdict_without_shares_says_so():
    assert "don't tell" in shares_sentence(Verdict("insufficient-data", "undetermined", "low"))


# ---- the report ---------------------------------------------------------------------------------


def test_the_report_shows_and_exports_what_was_done(tmp_path):
    answered(ui.exercise(), RIGHT)
    cell = {
        "cell_type": "code",
        "source": "check.tpot(tpot)",
        "outputs": [{"data": {"text/plain": "passed: yes"}}],
    }
    (tmp_path / "00_x.ipynb").write_text(json.dumps({"cells": [cell]}))
    panel = ui.results_report(tmp_path)
    assert not panel.export.ready
    panel.learner.value = "Ada"
    panel.show_button.click()
    assert "1 of 1 exercises passed" in panel.status.value
    assert "3 of 3" in panel.text.value
    assert panel.export.ready
    assert json.loads(panel._write("json"))["name"] == "Ada"
    assert "# Results of Ada" in panel._write("md")
    assert [kind for kind, *_ in panel.export.kinds] == ["md", "json"]


# ---- all of them --------------------------------------------------------------------------------

PANELS = {
    "Exercise": ui.exercise,
    "Practice": ui.practice,
    "PasteBox": ui.paste_box,
    "OwnRun": ui.own_run,
    "ResultsReport": ui.results_report,
}


@pytest.mark.parametrize("name", PANELS)
def test_panels_have_a_constant_repr_and_a_status(name):
    panel = PANELS[name]()
    assert repr(panel) == f"{name}()"
    assert 'role="status"' in panel.status.value


def test_displaying_writes_nothing(tmp_path):
    for make in PANELS.values():
        make()
    assert not (tmp_path / "data").exists()


def test_an_exercise_of_any_scenario_can_be_made():
    assert isinstance(Exercise(scenarios.generate(5, 1)), Exercise)
