"""Panels without a browser: what they show, and what a failed or stopped run leaves behind."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import numpy as np
import pytest
import torch

from labkit import experiments, records, ui
from labkit.ui.live import LiveFigure, Pace
from labkit.ui.page import PATIENCE_S, Page
from labkit.ui.panel import Panel
from labkit.ui.race import texts
from labkit.ui.stepper import Glimpse, view
from labkit.ui.worker import Worker

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def toy():
    from labkit import models

    return models.load("toy")


@pytest.fixture
def race(toy):
    return ui.race(toy, prompt="abc", new_tokens=6)


class Counting(Panel):
    """A panel whose work is counting; each step waits until the test allows it."""

    def __init__(self, steps: int = 1000):
        super().__init__([], [])
        self.made, self.drawn, self.allowed = 0, 0, threading.Semaphore(0)
        self.total = steps

    def read(self):
        return self.total

    def work(self, request):
        for self.made in range(1, request + 1):
            self.allowed.acquire()
            yield self.made / request

    def draw(self):
        self.drawn += 1


def curve(panel, name: str) -> np.ndarray:
    return next(trace.y for trace in panel.figure.data if trace.meta == name)


# ---- a run and what it shows


def test_race_draws_each_step_of_both_arms(race):
    traces = race.wait(TIMEOUT_S)
    assert [trace.arm for trace in traces] == ["naive", "cached"]
    for trace in traces:
        np.testing.assert_allclose(curve(race, f"{trace.arm}-ms"), np.array(trace.step_s) * 1e3)
        np.testing.assert_allclose(curve(race, f"{trace.arm}-rate"), 1 / np.array(trace.step_s))


def test_race_says_that_the_arms_agree_and_sums_the_run_up(race):
    race.wait(TIMEOUT_S)
    assert "identical so far: 6 tokens" in race._text.value
    assert "<table" in race._sum.value
    assert "done" in race.status.value


def test_wait_starts_a_run_once_and_then_gives_the_same_traces(race):
    assert race.wait(TIMEOUT_S) is race.wait(TIMEOUT_S)


def test_run_returns_at_once_and_locks_the_controls_until_the_end():
    panel = Counting()
    panel.run()
    assert panel.running
    assert panel.run_button.disabled
    assert not panel.stop_button.disabled
    panel.stop()
    panel.allowed.release()
    panel.wait(TIMEOUT_S)
    assert not panel.run_button.disabled
    assert panel.stop_button.disabled


def test_stop_ends_the_run_within_one_step():
    panel = Counting()
    panel.run()
    panel.allowed.release(3)
    while panel.made < 4:  # three steps done, the fourth waits
        time.sleep(0.001)
    panel.stop()
    panel.allowed.release(100)
    panel.wait(TIMEOUT_S)
    assert panel.made == 4
    assert "stopped" in panel.status.value


def test_a_second_panel_waits_until_the_worker_is_free():
    first, second = Counting(), Counting(steps=1)
    first.run()
    second.run()
    assert "waiting" in second.status.value
    second.allowed.release()
    assert second.made == 0
    first.stop()
    first.allowed.release()
    second.wait(TIMEOUT_S)
    assert second.made == 1


def test_a_waiting_run_that_is_stopped_never_starts():
    first, second = Counting(), Counting()
    first.run()
    second.run()
    second.stop()
    second.wait(TIMEOUT_S)
    assert second.made == 0
    first.stop()
    first.allowed.release()
    first.wait(TIMEOUT_S)


def test_many_starts_and_stops_leave_no_thread_behind():
    panel = Counting()
    for _ in range(20):
        panel.run()
        panel.stop()
        panel.allowed.release()
        panel.wait(TIMEOUT_S)
    names = [thread.name for thread in threading.enumerate()]
    assert sum(name.startswith("labkit-worker") for name in names) == 1


# ---- pace, and no update lost


def test_pace_allows_the_first_update_at_once_and_then_eight_a_second():
    now_s = iter([0.0, 0.01, 0.124, 0.126, 0.2, 0.26])
    pace = Pace(per_s=8, clock=lambda: next(now_s))
    assert [pace.due() for _ in range(6)] == [True, False, False, True, False, True]


def test_slow_drawing_gets_half_of_the_time_at_most():
    now_s = iter([0.0, 0.4, 0.7, 0.81])
    pace = Pace(per_s=8, clock=lambda: next(now_s))
    assert pace.due()
    pace.drawn()  # it took 0.4 s, so the run has 0.4 s now
    assert [pace.due(), pace.due()] == [False, True]


def test_a_page_that_does_not_answer_is_waited_for_once():
    page = Page()
    start_s = time.monotonic()
    for _ in range(5):
        page.wait_until_idle()
    assert time.monotonic() - start_s < 2 * PATIENCE_S
    page._hear(page, "idle", [])
    assert page._patience_s == PATIENCE_S


def test_no_point_of_a_long_run_is_lost_though_few_updates_are_sent(toy):
    race = ui.race(toy, prompt="a", new_tokens=600, arms=("cached",))
    updates = []
    race.figure.observe(lambda change: change.new and updates.append(1), "_py2js_update")
    start_s = time.monotonic()
    race.wait(TIMEOUT_S)
    assert len(updates) <= 8 * (time.monotonic() - start_s) + 2  # the first and the last come extra
    assert len(curve(race, "cached-ms")) == 600


def test_a_page_that_opens_during_a_run_gets_the_points_drawn_so_far(race):
    race.wait(TIMEOUT_S)
    state = race.figure.get_state()
    sent = {trace["meta"]: trace for trace in state["_widget_data"]}
    assert sent["cached-ms"]["y"]["shape"] == (6,)


def test_curves_travel_as_float64_buffers_not_as_lists(race):
    race.wait(TIMEOUT_S)
    assert curve(race, "naive-ms").dtype == np.float64


# ---- what goes wrong


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (lambda r: setattr(r._prompt.text, "value", ""), "prompt is empty"),
        (lambda r: setattr(r._prompt.new_tokens, "value", 0), "at least 1"),
        (lambda r: setattr(r._prompt.new_tokens, "value", 1_000_000), "ask for at most"),
        (lambda r: [setattr(box, "value", False) for box in r._arms], "no arm"),
    ],
)
def test_bad_input_is_said_in_the_panel_raised_by_wait_and_then_forgotten(toy, change, remedy):
    race = ui.race(toy, prompt="abc", new_tokens=6)
    kept = race.wait(TIMEOUT_S)
    change(race)
    race.run()
    with pytest.raises(ValueError, match=remedy):
        race.wait(TIMEOUT_S)
    assert remedy in race.status.value
    assert race.traces == kept
    race._prompt.text.value, race._prompt.new_tokens.value, race._arms[1].value = "abc", 3, True
    race.run()
    assert len(race.wait(TIMEOUT_S)[-1].steps) == 3


def test_a_prompt_longer_than_the_context_is_refused(toy):
    race = ui.race(toy, prompt=1_000_000, new_tokens=1)
    with pytest.raises(ValueError, match="shorten it"):
        race.wait(TIMEOUT_S)


def test_memory_that_runs_out_in_the_middle_is_explained_and_the_next_run_works(race, monkeypatch):
    real = experiments.steps

    def breaking(request, runs):
        for number, step in enumerate(real(request, runs)):
            if number == 4:
                raise torch.OutOfMemoryError("CUDA out of memory")
            yield step

    monkeypatch.setattr(experiments, "steps", breaking)
    with pytest.raises(torch.OutOfMemoryError):
        race.wait(TIMEOUT_S)
    assert "memory ran out" in race.status.value
    assert [len(trace.steps) for trace in race.traces] == [3, 2]
    monkeypatch.setattr(experiments, "steps", real)
    race.run()
    assert len(race.wait(TIMEOUT_S)[0].steps) == 6


def test_a_model_that_does_not_exist_is_said_with_names_that_do():
    race = ui.race("toyy", prompt="abc", new_tokens=2)
    with pytest.raises(ValueError, match="toy"):
        race.wait(TIMEOUT_S)


def test_wait_that_takes_too_long_stops_the_run():
    panel = Counting()
    with pytest.raises(TimeoutError, match="stopped"):
        panel.wait(timeout_s=0.05)
    panel.allowed.release()
    assert panel._finished.wait(TIMEOUT_S)


# ---- files


def upload(panel, text: str) -> None:
    file = {"name": "t", "type": "", "size": len(text), "content": text.encode()}
    panel.upload.value = (file | {"last_modified": datetime.now(UTC)},)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_an_exported_run_can_be_loaded_again_and_is_marked_as_recorded(race, kind):
    measured = race.wait(TIMEOUT_S)
    other = ui.race("toy", prompt="x", new_tokens=2)
    upload(other, race._write(kind))
    assert [trace.steps for trace in other.traces] == [trace.steps for trace in measured]
    assert "recorded" in other.figure.layout.title.text
    assert other.export.ready


def test_a_broken_file_is_refused_and_what_was_shown_stays(race):
    kept = race.wait(TIMEOUT_S)
    upload(race, '{"schema": "something else"}')
    assert "That did not work" in race.status.value
    assert race.traces == kept


# ---- nothing typed or generated is taken for HTML

SCRIPT = "<script>alert(1)</script>"


def test_generated_text_is_escaped_in_the_texts_and_in_the_hover(race):
    trace = race.wait(TIMEOUT_S)[0]
    steps = tuple(records.Step(1, 1, 1, (1,), (SCRIPT,)) for _ in range(2))
    evil = records.Trace("naive", None, trace.settings, trace.machine, steps)
    assert "<script" not in texts([evil])
    race._show([evil])
    assert "<script" not in str(race.figure.data[0].text)


def test_stepper_escapes_what_it_read_and_what_it_picked():
    html = view([Glimpse((SCRIPT,), ((SCRIPT, 0.5),), SCRIPT, 0)])
    assert "<script" not in html


def test_errors_are_escaped():
    panel = Counting()
    panel._complain(SCRIPT)
    assert "<script" not in panel.status.value


# ---- the other panels


def test_stepper_counts_what_a_cache_would_have_spared(toy):
    stepper = ui.stepper(toy, prompt="abcd")  # the toy reads a token a byte
    for _ in range(3):
        stepper.next_token()
        stepper.wait(TIMEOUT_S)
    assert [len(g.read) for g in stepper.glimpses] == [4, 5, 6]
    assert [g.spared for g in stepper.glimpses] == [0, 4, 5]
    assert "3 passes have read 15 tokens" in stepper._view.value


def test_stepper_begins_anew_after_reset_and_after_another_prompt(toy):
    stepper = ui.stepper(toy, prompt="abcd")
    stepper.next_token()
    stepper.wait(TIMEOUT_S)
    stepper.reset()
    assert stepper.glimpses == []
    stepper._prompt.value = "ab"
    stepper.next_token()
    stepper.wait(TIMEOUT_S)
    assert [len(g.read) for g in stepper.glimpses] == [2]


def test_first_tokens_makes_one_cached_trace(toy):
    panel = ui.first_tokens(toy, prompt="abc", new_tokens=4)
    assert [trace.arm for trace in panel.wait(TIMEOUT_S)] == ["cached"]


def test_device_card_says_unknown_rather_than_none():
    assert "None" not in ui.device_card().value


def test_panels_have_a_constant_repr(race):
    assert (repr(race), repr(ui.device_card())) == ("Race()", "DeviceCard()")


def test_the_worker_keeps_one_model_and_lets_go_of_it_before_it_loads_another(monkeypatch):
    import labkit.ui.worker as module

    held = []
    worker = Worker()
    monkeypatch.setattr(
        module.models, "load", lambda name, *_: held.append(worker._loaded) or object()
    )
    first = worker.load("a", "cpu", "float32", None)
    assert worker.load("a", "cpu", "float32", None) is first
    assert worker.load("b", "cpu", "float32", None) is not first
    assert held == [None, None]


def test_a_figure_state_is_whole_even_before_any_run():
    assert "_widget_data" in LiveFigure().get_state()
