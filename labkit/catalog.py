"""The models and machines that the lab knows by name, read from `data/` and checked as they load.

Each row names its source. Which of them fit this computer, and how fast they are, is unknown here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeVar

from .records.machine import Machine
from .records.model_shape import Experts, Mla, ModelShape

# The repository's root: `pip install -e .` leaves the package in its checkout.
DATA = Path(__file__).resolve().parent.parent / "data"

Row = TypeVar("Row", ModelShape, Machine)


@cache
def models() -> dict[str, ModelShape]:
    """All known shapes by name. Raises ValueError that names the row and what is wrong."""
    return read_rows(DATA / "models.json", shape_from)


@cache
def machines() -> dict[str, Machine]:
    """All known machines by name. Raises ValueError that names the row and what is wrong."""
    return read_rows(DATA / "machines.json", machine_from)


def model(name: str) -> ModelShape:
    """The shape of that name. Raises ValueError with the nearest names."""
    return _named(models(), name, "model")


def machine(name: str) -> Machine:
    """The machine of that name. Raises ValueError with the nearest names."""
    return _named(machines(), name, "machine")


def shape_from(row: dict) -> ModelShape:
    """A shape from a JSON object, whose `experts` and `mla` are objects too."""
    experts, mla = row.get("experts"), row.get("mla")
    nested = {"experts": experts and Experts(**experts), "mla": mla and Mla(**mla)}
    return ModelShape(**(row | nested))


def machine_from(row: dict) -> Machine:
    """A machine from a JSON object. Raises ValueError for one without a peak or a bandwidth."""
    machine = Machine(**row)
    if not machine.peak_flops_per_s or machine.bandwidth_bytes_per_s is None:
        raise ValueError("add peak_flops_per_s for one dtype at least, and bandwidth_bytes_per_s")
    return machine


def read_rows(path: Path, build: Callable[[dict], Row]) -> dict[str, Row]:
    """The rows of a JSON list by name. Raises ValueError for a file or row that isn't right."""
    if not path.is_file():
        raise ValueError(f"{path} is missing: install from a checkout with `pip install -e .`")
    found: dict[str, Row] = {}
    for number, row in enumerate(json.loads(path.read_text()), start=1):
        label = f"{path.name}, row {number} ({row.get('name', 'no name')})"
        if not row.get("source"):
            raise ValueError(f"{label}: add `source`, the document that states these figures")
        try:
            record = build(row)
        except (TypeError, ValueError) as error:  # TypeError: a field missing or unknown
            raise ValueError(f"{label}: {error}") from error
        if record.name in found:
            raise ValueError(f"{label}: that name is taken; rename one of the two")
        found[record.name] = record
    return found


def _named(rows: dict[str, Row], name: str, kind: str) -> Row:
    if name in rows:
        return rows[name]
    lower = {known.lower(): known for known in rows}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, n=3, cutoff=0.4)]
    raise ValueError(f"unknown {kind} {name!r}; choose from: {', '.join(near or rows)}")
