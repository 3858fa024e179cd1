"""Pasted output of some thirty tools, or plain words, to `Report`s in our words and units.

Standard library only. Reading order: `paste` (cleaning), `units`, `objects` and `tables` (numbers,
JSON, pipes), `build` (what is absent, impossible, or follows), one module for each family of tools,
`tools` (the table that finds them).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ..records.report import Report
from . import words
from .facts import facts
from .paste import Paste
from .tools import TOOLS

MOST_RUNS = 5_000  # nobody compares more by hand, and each takes its time
NOT_ALL = f"the paste may hold more runs; the first {MOST_RUNS:,} were read"


def parse(text: str) -> list[Report]:
    """What the text reports: one entry for each run, in each tool's order; empty for nothing known.

    No text makes it raise, and its time grows linearly with the text. After MOST_RUNS runs it
    stops; the last report's warnings say so.
    """
    paste = Paste(text)
    runs = (one for marks, read in TOOLS if paste.has(*marks) for one in read(paste))
    found = list(islice(runs, MOST_RUNS)) or words.read(paste)
    if len(found) == MOST_RUNS:
        found[-1] = replace(found[-1], warnings=(*found[-1].warnings, NOT_ALL))
    about = facts(paste) if found else {}
    return [_with_facts(one, about) for one in found]


def _with_facts(one: Report, about: dict[str, object]) -> Report:
    """The report with what the paste says of model and machine, where it has not said it itself."""
    new = {name: value for name, value in about.items() if getattr(one, name) is None}
    return replace(one, **new) if new else one
