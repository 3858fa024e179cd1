"""The device card: facts at once, roofs when the button was clicked, here or on an earlier day."""

from __future__ import annotations

import importlib

import pytest
import torch

from labkit import probing, ui
from labkit.measure.probe_tasks import Sizes
from labkit.records import Machine, Roofs

TINY = Sizes(16, (1, 4), (1, 4), (4000, 40_000), layer_bytes=2048, heads=4, kv_heads=2, head_dim=8)
TIMEOUT_S = 120
ROOFS = Roofs("cpu", {"float32": 1.5e11}, 2e10, 1e10, overhead_s=0.003, layers=16)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(
        importlib.import_module("labkit.measure.probe"), "sizes_for", lambda device: TINY
    )


def test_the_card_measures_nothing_until_it_is_asked():
    card = ui.device_card("cpu")
    assert "not measured yet" in card.value
    assert card.run_button.description == "Measure the roofs"
    assert card.roofs is None


def test_the_button_measures_shows_and_keeps_the_roofs():
    card = ui.device_card("cpu")
    card.wait(TIMEOUT_S)
    assert "products in float32" in card.value
    assert "a pass of 16 layers" in card.value
    assert probing.known_roofs(torch.device("cpu")) == card.roofs
    assert ui.device_card("cpu").roofs == card.roofs


def test_a_stopped_probe_shows_what_it_has_and_keeps_nothing():
    card = ui.device_card("cpu")
    work = card.work(card.read())
    for _ in range(3):
        next(work)
    work.close()
    card.draw()
    assert "a pass of 16 layers" in card.value
    assert probing.known_roofs(torch.device("cpu")) is None


def test_the_datasheets_figure_stands_beside_the_measured_one(monkeypatch):
    probing.remember(torch.device("cpu"), ROOFS)
    named = Machine("AMD Ryzen 9 7950X 16-Core Processor", "cpu", 2**35)
    card = ui.device_card("cpu")
    card.machine = named
    card.draw()
    assert "Ryzen-7950X" in card.value
    assert "20.0 GB/s" in card.value
    assert "83.2 GB/s" in card.value
    assert "150 GFLOP/s" in card.value
