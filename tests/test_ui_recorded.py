"""Recorded runs in the race panel: found by folder, shown as recorded, predicted by their roofs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import trace_of

from labkit import catalog, ui
from labkit.records import Machine, to_json
from labkit.records.machine import Roofs
from labkit.ui.recorded import (
    FOLDER,
    RecordedRuns,
    label_of,
    recorded_race,
    recorded_races,
    told_where,
)

THERE = Machine("Far <b>GPU</b>", "cuda", 80_000_000_000)
ROOFS = Roofs("cuda", {"float32": 4e12}, 1e12, 1e12, overhead_s=0.001)

pytestmark = pytest.mark.usefixtures("no_earlier_probe")


def run(roofs: Roofs | None = ROOFS):
    """Both arms of a race on another machine."""
    naive, cached = trace_of(30, 20, 20, arm="naive"), trace_of(30, 10, 10, arm="cached")
    there = {"machine": THERE, "roofs": roofs, "model": catalog.model("toy")}
    return tuple(replace(trace, **there) for trace in (naive, cached))


@pytest.fixture
def folder(tmp_path):
    for name, text in (("far", to_json(list(run()))), ("broken", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "race.json").write_text(text)
    return tmp_path


def line(panel, name: str):
    return next(trace for trace in panel.figure.data if trace.meta == name)


def test_runs_are_found_by_their_folder_and_a_broken_one_is_left_out(folder):
    assert list(recorded_races(folder)) == ["far"]
    assert {trace.origin for trace in recorded_race("far", folder)} == {"recorded"}
    assert recorded_race(folder=folder) == recorded_race("far", folder)


def test_an_unknown_run_is_answered_with_those_that_there_are(folder, tmp_path):
    with pytest.raises(ValueError, match="there are: far"):
        recorded_race("near", folder)
    with pytest.raises(ValueError, match="gpu-check"):
        recorded_race("near", tmp_path / "empty")


def test_choosing_a_run_shows_it_with_its_machine(folder):
    race = ui.race("toy", prompt=10, new_tokens=4)
    runs = RecordedRuns(race.replay, folder)
    label, traces = runs.options[1]
    assert label == label_of(traces[0])
    runs.value = traces
    np.testing.assert_allclose(line(race, "cached-ms").y, [30, 10, 10])
    assert race.figure.layout.title.text.startswith("recorded on Far &lt;b&gt;GPU")
    assert "another machine is shown: Far &lt;b&gt;GPU" in race.status.value
    assert "recorded on Far &lt;b&gt;GPU" in race._sum.value


def test_a_recorded_run_is_predicted_by_the_roofs_it_brought(folder):
    race = ui.race("toy", prompt=10, new_tokens=4, roofs=Roofs("cpu", {"float32": 1e6}, 1e6))
    race.replay(recorded_race("far", folder))
    drawn = line(race, "cached-said-ms")
    assert len(drawn.y) == 3
    assert np.all(drawn.y < 10)  # the panel's own roofs, much lower ones, would say seconds
    assert "Predicted against measured" in race._said.text.value


def test_a_recorded_run_without_roofs_is_not_predicted():
    race = ui.race("toy", prompt=10, new_tokens=4)
    race.replay(run(roofs=None))
    assert "No prediction" in race._said.text.value
    assert line(race, "cached-said-ms").visible is False


def test_a_machine_of_the_same_name_is_not_called_another():
    assert "another machine" in told_where(run(), this="near")
    assert "another machine" not in told_where(run(), this=THERE.name)


def test_without_recorded_runs_there_is_nothing_to_choose(tmp_path):
    assert RecordedRuns(print, tmp_path).layout.display == "none"


def test_every_run_that_comes_with_the_lab_can_be_shown():
    for name in recorded_races(FOLDER):
        panel = ui.race_recorded(name)
        assert "a saved run" in panel.status.value
        assert panel.traces[0].origin == "recorded"
