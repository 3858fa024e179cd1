"""The models and machines that the lab knows by name, read from `data/` and checked as they load.

Each row names its source. Which of them fit this computer, and how fast they are, is unknown here.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeVar

from .records.files import build
from .records.machine import Machine
from .records.model_shape import ModelShape

# The repository's root: `pip install -e .` leaves the package in its checkout.
DATA = Path(__file__).resolve().parent.parent / "data"

Row = TypeVar("Row", ModelShape, Machine)


@cache
def models() -> dict[str, ModelShape]:
    """All known shapes by name. Raises ValueError that names the row and what is wrong."""
    return read_rows(DATA / "models.json", ModelShape)


@cache
def machines() -> dict[str, Machine]:
    """All known machines by name. Raises ValueError that names the row and what is wrong."""
    found = read_rows(DATA / "machines.json", Machine)
    for machine in found.values():
        if not machine.peak_flops_per_s or machine.bandwidth_bytes_per_s is None:
            raise ValueError(f"machines.json, {machine.name}: add a peak and a bandwidth")
    return found


def model(name: str) -> ModelShape:
    """The shape of that name. Raises ValueError with the nearest names."""
    return _named(models(), name, "model")


def machine(name: str) -> Machine:
    """The machine of that name. Raises ValueError with the nearest names."""
    return _named(machines(), name, "machine")


VARIANTS = frozenset(["d", "laptop", "max", "mobile", "nvl", "pro", "q", "super", "ti", "ultra"])
SAME = {"hbm3": "sxm"}  # an H100 on an SXM board calls itself "NVIDIA H100 80GB HBM3"


def known_as(system_name: str) -> Machine | None:
    """The row for a machine as its driver names it ("NVIDIA A100-SXM4-80GB"); None: not listed.

    All words of the row's name must be there, and no word that names another variant.
    """
    words = _words(system_name)
    fits = [
        machine
        for machine in machines().values()
        if _words(machine.name) <= words and not VARIANTS & words - _words(machine.name)
    ]
    return max(fits, key=lambda machine: len(_words(machine.name)), default=None)


def _words(name: str) -> frozenset[str]:
    return frozenset(SAME.get(word, word) for word in re.split(r"[\s(),@_-]+", name.lower()))


def read_rows(path: Path, kind: type[Row]) -> dict[str, Row]:
    """The rows of a JSON list by name. Raises ValueError for a file or row that isn't right."""
    if not path.is_file():
        raise ValueError(f"{path} is missing: install from a checkout with `pip install -e .`")
    found: dict[str, Row] = {}
    for number, row in enumerate(json.loads(path.read_text()), start=1):
        label = f"{path.name}, row {number}"
        record = build(kind, row, label)
        if not record.source:
            raise ValueError(f"{label}: add `source`, the document that states these figures")
        if record.name in found:
            raise ValueError(f"{label}: the name {record.name} is taken; rename one of the two")
        found[record.name] = record
    return found


def _named(rows: dict[str, Row], name: str, kind: str) -> Row:
    if name in rows:
        return rows[name]
    lower = {known.lower(): known for known in rows}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, n=3, cutoff=0.4)]
    raise ValueError(f"unknown {kind} {name!r}; choose from: {', '.join(near or rows)}")
