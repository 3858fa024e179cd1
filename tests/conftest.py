"""Fixtures that several test files use; `toys` makes what they give."""

from __future__ import annotations

import pytest
from toys import FAMILIES, tiny_model


@pytest.fixture(params=FAMILIES)
def any_model(request):
    """Each family in turn."""
    return tiny_model(request.param)


@pytest.fixture
def llama():
    return tiny_model("llama")
