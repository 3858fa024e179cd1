"""Exercises in diagnosis: physically consistent figures, with what is true of them.

Standard library only. Reading order: `truth` and `scenario` (the records), `physics` (times on a
machine), `faults` (what goes wrong), `checks` (could it be real), `generate`, `curated`.
"""

from .checks import problems
from .curated import curated, scenario
from .generate import LEVELS, generate
from .scenario import QUESTION, Run, Scenario, Setup
from .truth import LIMITERS, PHASES, REMEDIES, Truth

__all__ = [
    "LEVELS",
    "LIMITERS",
    "PHASES",
    "QUESTION",
    "REMEDIES",
    "Run",
    "Scenario",
    "Setup",
    "Truth",
    "curated",
    "generate",
    "problems",
    "scenario",
]
