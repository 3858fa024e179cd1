"""The benchmarks compute what they say; whether the lab keeps its promises is theirs to tell."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from labkit import experiments, generate, models, roofline
from labkit.bench import cached_vs_generate, chart_tax, equal_tokens, prediction, race, start_stop
from labkit.bench.kernel import in_kernel
from labkit.bench.stats import Figure, Report, differing, ratios
from labkit.cli import main
from labkit.records import Machine, Rate, Roofs


@pytest.fixture(scope="module")
def toy() -> models.Loaded:
    return models.load("toy", device="cpu")


def test_a_ratio_is_taken_pair_by_pair():
    """A machine that got ten times slower for the second pair changes nothing."""
    assert ratios([1, 10, 3], [2, 20, 2]) == (0.5, 0.5, 1.5)
    with pytest.raises(ValueError, match="shorter"):
        ratios([1, 2], [1])


@pytest.mark.parametrize(
    ("limits", "kept", "promise"),
    [
        ({}, True, ""),
        ({"at_most": 2}, True, "at most 2"),
        ({"at_most": 1.9}, False, "at most 1.9"),
        ({"at_least": 2}, True, "at least 2"),
        ({"at_least": 2.1}, False, "at least 2.1"),
    ],
)
def test_a_promise_holds_for_the_median(limits, kept, promise):
    figure = Figure("f", (1.0, 2.0, 99.0), **limits)
    assert (figure.kept, figure.promise) == (kept, promise)


def test_a_report_shows_the_spread_and_every_repeat():
    figures = (Figure("good", (1.0, 2.0, 4.0), at_most=3), Figure("bad", (5.0,), at_least=6))
    report = Report("b", Machine("a laptop", "cpu", 1), {"torch": "2"}, figures)
    assert report.table().rows[0] == ("good", "2.00", "1.00", "4.00", "3", "at most 3", "yes")
    assert report.table().rows[1][-1] == "NO"
    assert "a laptop" in report.text()
    saved = json.loads(report.json())
    assert saved["figures"][0]["repeats"] == [1.0, 2.0, 4.0]
    assert (saved["figures"][1]["kept"], saved["kept"]) == (False, False)


def test_tokens_that_one_side_lacks_differ():
    assert differing([1, 2, 3], [1, 2, 3]) == 0
    assert differing([1, 2, 3], [1, 9]) == 2


@pytest.fixture
def prepared(monkeypatch) -> list:
    """Collects the runs that a benchmark prepares."""
    runs, prepare = [], experiments.prepare
    monkeypatch.setattr(experiments, "prepare", lambda *a: runs.extend(prepare(*a)) or runs[-2:])
    return runs


def test_the_race_is_timed_around_the_context_asked_for(toy, prepared):
    ratio, naive, cached = race.measure(toy, pairs=5, context=16)
    for run in prepared:
        assert [step.context_tokens for step in run.steps[1:]] == [14, 15, 16, 17, 18]
    assert ratio.repeats == pytest.approx(ratios(naive.repeats, cached.repeats))
    assert len(ratio.repeats) == 5


def test_equal_tokens_finds_an_arm_that_differs(toy, monkeypatch):
    assert [f.repeats for f in equal_tokens.measure(toy, new_tokens=5)] == [(0,), (0,)]

    def unlikeliest(model, prompts, new_tokens, pick, eos_ids):
        return generate.cached(model, prompts, new_tokens, lambda logits: logits.argmin(-1))

    monkeypatch.setitem(experiments.ARMS, "cached", unlikeliest)
    cached, preallocated = equal_tokens.measure(toy, new_tokens=5)
    assert not cached.kept
    assert preallocated.kept


def test_generate_makes_the_same_tokens_in_as_many_repeats_as_pairs(toy):
    first, *_, tokens = cached_vs_generate.measure(toy, toy, pairs=2, new_tokens=6)
    assert len(first.repeats) == 2
    assert tokens.repeats == (0,)


def test_the_gap_before_the_first_token_does_not_count():
    watch = cached_vs_generate.Stopwatch()
    watch.at_ns = [0, 100, 110, 120, 150]  # prompt, then four tokens
    assert watch.median_gap_s() == pytest.approx(10e-9)


def test_the_stopwatch_notes_every_token_of_generate(toy):
    watch = cached_vs_generate.Stopwatch()
    prompt = torch.tensor([[1, 2, 3]])
    toy.model.generate(prompt, max_new_tokens=4, do_sample=False, streamer=watch)
    assert len(watch.at_ns) == 1 + 4


def test_a_call_in_a_kernel_comes_back():
    assert in_kernel("os.path", "commonprefix", m=["labkit", "label"]) == "lab"


def test_a_call_that_fails_in_a_kernel_fails_here():
    with pytest.raises(RuntimeError, match="TypeError"):
        in_kernel("os.path", "commonprefix")


def test_the_chart_is_weighed_on_both_sides_for_each_arm():
    medians = chart_tax.medians("toy", pairs=2, new_tokens=4)
    assert set(medians) == {"naive", "cached"}
    assert [len(side) for side in medians["naive"]] == [2, 2]
    assert medians["naive"][0] != medians["naive"][1]


def test_starting_and_stopping_is_counted_before_and_after(monkeypatch):
    monkeypatch.setattr(start_stop, "FIRST_CYCLES", 1)
    (threads, rss), (threads_after, rss_after) = start_stop.threads_and_bytes(cycles=2)
    assert threads == threads_after
    assert min(rss, rss_after) > 1e6


def test_a_broken_promise_shows_in_the_exit_code(monkeypatch, capsys):
    command = ["bench", "race", "--model", "toy", "--pairs", "1", "--json"]
    monkeypatch.setattr(race, "AT_LEAST", 0)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == "race"
    monkeypatch.setattr(race, "AT_LEAST", 1e9)
    assert main(command) == 1


def test_a_benchmark_of_no_pairs_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "race", "--pairs", "0"])
    assert stop.value.code == 2
    assert "1 or more" in capsys.readouterr().err


# ---- prediction ----------------------------------------------------------------------------------

PROBED = Roofs(
    "cpu",
    {"float32": 1e11},
    1e10,
    1e10,
    overhead_s=0.001,
    flops_by_rows={"float32": (Rate(1, 1e10), Rate(64, 1e11))},
    attention_by_rows={"float32": (Rate(1, 1e10),)},
    read_by_bytes={"float32": (Rate(1e6, 1e10),)},
    layers=2,
)


def test_each_pass_stands_beside_its_prediction_and_the_median_error_beside_its_promise(toy):
    figures = prediction.measure(toy, 1, contexts=(8, 16), prompts=(4,), probe=lambda _: PROBED)
    decode, ttft, *passes = figures
    assert (decode.at_most, ttft.at_most) == (15, 20)
    assert (len(decode.repeats), len(ttft.repeats), len(passes)) == (2, 1, 3)
    assert passes[0].name.startswith("decode step at 8 tokens, ms (predicted ")
    said = roofline.predict(roofline.prefill(toy.shape, 4, dtype="float32"), PROBED).seconds
    assert ttft.repeats[0] == pytest.approx(abs(said * 1e3 / passes[2].median - 1) * 100, rel=1e-6)


def test_each_round_probes_and_is_judged_by_its_own_probe(toy, monkeypatch):
    """A machine that got ten times slower between two rounds is predicted to have done so."""
    speeds = iter([1.0, 1.0, 0.1])
    speed = 1.0
    monkeypatch.setattr(prediction, "_median_s", lambda run: predicted_s / speed)

    def probe(device):
        nonlocal speed
        speed = next(speeds)
        slower = {"float32": (Rate(1, 1e10 * speed),)}
        return replace(
            PROBED,
            read_bytes_per_s=1e10 * speed,
            copy_bytes_per_s=1e10 * speed,
            overhead_s=0.001 / speed,
            flops_by_rows=slower,
            attention_by_rows=slower,
            read_by_bytes=slower,
        )

    step = roofline.decode_step(toy.shape, 8, dtype="float32")
    predicted_s = roofline.predict(step, probe(toy.device)).seconds
    decode, *_ = prediction.measure(toy, 2, contexts=(8,), prompts=(4,), probe=probe)
    assert decode.repeats == (pytest.approx(0, abs=1e-6),)
