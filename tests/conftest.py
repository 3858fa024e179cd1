"""Fixtures that several test files use; `toys` makes what they give."""

from __future__ import annotations

import pytest
from toys import FAMILIES, tiny_model

from labkit import models, probing


@pytest.fixture(params=FAMILIES)
def any_model(request):
    """Each family in turn."""
    return tiny_model(request.param)


@pytest.fixture
def llama():
    return tiny_model("llama")


@pytest.fixture(scope="module")
def toy():
    """The lab's toy model, where panels would load it."""
    return models.load("toy")


@pytest.fixture
def no_earlier_probe(monkeypatch):
    """What this machine's user has probed must not decide a test."""
    monkeypatch.setattr(probing, "known_roofs", lambda device: None)
