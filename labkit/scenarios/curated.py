"""The exercises that the lesson shows in order, read from `data/scenarios.json`."""

from __future__ import annotations

import json
from functools import cache

from ..catalog import DATA
from ..records.files import build
from .scenario import Scenario


@cache
def curated() -> tuple[Scenario, ...]:
    """All of them, easier levels first. Raises ValueError where a row isn't right."""
    rows = json.loads((DATA / "scenarios.json").read_text(encoding="utf-8"))
    found = [build(Scenario, row, f"scenarios.json, row {n}") for n, row in enumerate(rows, 1)]
    return tuple(sorted(found, key=lambda scenario: scenario.level))


def scenario(name: str) -> Scenario:
    """The curated exercise of that name. Raises ValueError with the names there are."""
    for one in curated():
        if one.name == name:
            return one
    raise ValueError(f"no scenario {name!r}; there are {', '.join(s.name for s in curated())}")
