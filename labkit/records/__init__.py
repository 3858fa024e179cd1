"""The vocabulary: frozen dataclasses that cross layers, each metric defined once, JSON in and out.

Standard library only. Reading order: `trace` (what a run is), `machine`, `model_shape`,
`agreement` (are two runs equal), `check_result` (the answer to an exercise), `files`.
"""

from .agreement import Agreement, agreement
from .check_result import CheckResult
from .files import BrokenFile, from_csv, from_json, parse, to_csv, to_json
from .machine import Machine
from .model_shape import ModelShape
from .trace import Settings, Step, Trace, percentile

__all__ = [
    "Agreement",
    "BrokenFile",
    "CheckResult",
    "Machine",
    "ModelShape",
    "Settings",
    "Step",
    "Trace",
    "agreement",
    "from_csv",
    "from_json",
    "parse",
    "percentile",
    "to_csv",
    "to_json",
]
