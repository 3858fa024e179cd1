"""The clock against a clock of our own: what is timed, what is not, and what a trace keeps."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import transformers
from toys import MACHINE, SHAPE

from labkit.measure import (
    Arm,
    Run,
    Setup,
    clock,
    interleaved,
    one_after_the_other,
)
from labkit.records import Settings, from_json, to_json

CPU = torch.device("cpu")


def spell(ids) -> str:
    return "".join(map("<{}>".format, ids))


SETUP = Setup(SHAPE, Settings(prompt_tokens=4, new_tokens=6), MACHINE, CPU, decode=spell)


class FakeClock:
    """Stands still until somebody takes time."""

    def __init__(self):
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def take(self, ns: int) -> None:
        self.now_ns += ns


@pytest.fixture
def fake(monkeypatch) -> FakeClock:
    time = FakeClock()
    monkeypatch.setattr(clock, "perf_counter_ns", time)
    return time


def forward(token_ids=(7,), logits=((1.0, 3.5, 3.0),)):
    """What a pass gives, without a model."""
    return SimpleNamespace(
        token_ids=torch.tensor(token_ids),
        logits=torch.tensor(logits),
        tokens_in=1,
        context_tokens=4,
        cache=None,
    )


def arm(time: FakeClock, *passes_ns: int, name: str = "fake") -> Arm:
    """An arm whose passes take these times, each time that it is started."""

    def start():
        for ns in passes_ns:
            time.take(ns)
            yield forward()

    return Arm(name, start)


def to_the_end(run: Run):
    while run.step() is not None:
        pass
    return run.trace()


def walls(trace) -> list[int]:
    return [step.wall_ns for step in trace.steps]


# ---- what is timed ------------------------------------------------------------------------------


def test_each_step_has_the_time_of_its_own_pass(fake):
    trace = to_the_end(Run(arm(fake, 900, 30, 20, 40), SETUP))
    assert walls(trace) == [900, 30, 20, 40]
    assert trace.ttft_s == pytest.approx(900e-9)
    assert trace.tpot_s == pytest.approx(30e-9)


def test_drawing_between_two_steps_is_nobodys_time(fake):
    run = Run(arm(fake, 900, 30, 20), SETUP)
    while run.step() is not None:
        fake.take(10**9)
    assert walls(run.trace()) == [900, 30, 20]


def test_turning_a_token_into_text_is_not_timed(fake):
    def slow_decode(ids) -> str:
        fake.take(10**9)
        return spell(ids)

    trace = to_the_end(Run(arm(fake, 900, 30), replace(SETUP, decode=slow_decode)))
    assert walls(trace) == [900, 30]
    assert trace.text() == "<7><7>"


def test_a_step_ends_when_the_device_has_done_its_work(fake, monkeypatch):
    monkeypatch.setattr(clock, "synchronise", lambda device: fake.take(500))
    assert walls(to_the_end(Run(arm(fake, 900, 30), SETUP))) == [1400, 530]


def test_a_turn_of_the_other_arm_is_not_timed(fake):
    runs = [Run(arm(fake, 900, 800), SETUP), Run(arm(fake, 30, 20), SETUP)]
    for _ in interleaved(runs):
        fake.take(10**6)
    assert [walls(run.trace()) for run in runs] == [[900, 800], [30, 20]]


# ---- the warm-up --------------------------------------------------------------------------------


def test_the_warm_up_is_no_step_and_its_first_pass_is_kept_apart(fake):
    durations = iter([5000, 600, 900, 30])  # two passes of warm-up, then the run

    def start():
        for ns in durations:
            fake.take(ns)
            yield forward()

    run = Run(Arm("fake", start), SETUP)
    run.warm_up()
    assert run.trace().steps == ()
    trace = to_the_end(run)
    assert trace.first_call_ns == 5000
    assert walls(trace) == [900, 30]


@pytest.mark.parametrize(("device", "passes"), [("cpu", 2), ("cuda", 6), ("mps", 6)])
def test_a_gpu_is_warmed_up_with_the_whole_request(fake, monkeypatch, device, passes):
    monkeypatch.setattr(clock, "synchronise", lambda device: None)
    run = Run(arm(fake, *[10] * 6), replace(SETUP, device=torch.device(device)))
    run.warm_up()
    assert fake.now_ns == 10 * passes


def test_a_run_without_warm_up_has_no_first_call_cost(fake):
    assert to_the_end(Run(arm(fake, 900), SETUP)).first_call_ns is None


def test_the_warm_up_of_one_token_is_one_pass(fake):
    run = Run(arm(fake, 900), SETUP)
    run.warm_up()
    assert run.first_call_ns == 900
    assert walls(to_the_end(run)) == [900]


# ---- several arms -------------------------------------------------------------------------------


def order(turns) -> list[tuple[str, int]]:
    return [(run.arm.name, step.wall_ns) for run, step in turns]


def test_interleaved_arms_take_turns_and_the_longer_one_goes_on_alone(fake):
    runs = [Run(arm(fake, 1, 2, name="a"), SETUP), Run(arm(fake, 5, 6, 7, 8, name="b"), SETUP)]
    assert order(interleaved(runs)) == [
        ("a", 1), ("b", 5), ("a", 2), ("b", 6), ("b", 7), ("b", 8),
    ]  # fmt: skip


def test_one_after_the_other_finishes_an_arm_first(fake):
    runs = [Run(arm(fake, 1, 2, name="a"), SETUP), Run(arm(fake, 5, 6, name="b"), SETUP)]
    assert order(one_after_the_other(runs)) == [("a", 1), ("a", 2), ("b", 5), ("b", 6)]


def test_nothing_runs_ahead_of_who_asks(fake):
    turns = interleaved([Run(arm(fake, 1, 2), SETUP), Run(arm(fake, 5, 6), SETUP)])
    next(turns)
    assert fake.now_ns == 1


# ---- what a trace keeps -------------------------------------------------------------------------


def test_a_run_stopped_half_way_is_a_valid_trace(fake):
    run = Run(arm(fake, 900, 30, 20, 40), SETUP)
    for _ in range(2):
        run.step()
    trace = run.trace()
    assert walls(trace) == [900, 30]
    assert trace.tpot_s == pytest.approx(30e-9)
    assert from_json(to_json([trace])) == [trace]
    run.step()
    assert (len(trace.steps), len(run.trace().steps)) == (2, 3)  # a trace once taken stays


def test_a_run_that_has_ended_stays_ended(fake):
    run = Run(arm(fake, 900), SETUP)
    assert [run.step() is None for _ in range(3)] == [False, True, True]
    assert walls(run.trace()) == [900]


def test_an_error_in_a_pass_comes_through_and_the_steps_before_it_are_kept(fake):
    def start():
        yield from arm(fake, 900, 30).start()
        raise torch.OutOfMemoryError("no memory for step 3")

    run = Run(Arm("fake", start), SETUP)
    with pytest.raises(torch.OutOfMemoryError, match="step 3"):
        to_the_end(run)
    assert walls(run.trace()) == [900, 30]


def test_a_trace_says_what_ran_where_and_with_which_versions(fake):
    trace = to_the_end(Run(arm(fake, 900, name="naive"), SETUP))
    assert (trace.arm, trace.model, trace.machine) == ("naive", SHAPE, MACHINE)
    assert (trace.settings, trace.origin) == (SETUP.settings, "measured")
    assert trace.versions["transformers"] == transformers.__version__
    assert set(trace.versions) == {"python", "system", "torch", "transformers", "labkit"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", trace.started_at)
    assert trace.peak_memory_bytes > 10 * 2**20  # this process holds more than 10 MiB


def test_the_gap_is_the_smallest_of_the_batch_and_unknown_where_16_bits_overflowed(fake):
    logits = [[(0.0, 4.0, 1.0), (2.0, 2.25, 0.0)], [(0.0, 4.0, 1.0), (float("nan"),) * 3]]
    passes = [forward((1, 1), rows) for rows in logits]
    trace = to_the_end(Run(Arm("fake", lambda: iter(passes)), SETUP))
    assert [step.top2_gap for step in trace.steps] == [0.25, None]
    assert trace.steps[0].texts == ("<1>", "<1>")
