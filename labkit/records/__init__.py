"""The vocabulary: frozen dataclasses that cross layers, each metric defined once, JSON in and out.

Standard library only. Reading order: `trace` (what a run is), `machine`, `model_shape`,
`agreement` (are two runs equal), `check_result` (the answer to an exercise), `report` (a tool's
pasted output), `verdict` (a diagnosis), `files`.
"""

from .agreement import Agreement, agreement
from .check_result import CheckResult
from .files import BrokenFile, from_csv, from_json, parse, to_csv, to_json
from .machine import Machine
from .model_shape import ModelShape
from .report import Report, Window
from .trace import Settings, Step, Trace, percentile
from .verdict import Evidence, Remedy, Verdict

__all__ = [
    "Agreement",
    "BrokenFile",
    "CheckResult",
    "Evidence",
    "Machine",
    "ModelShape",
    "Remedy",
    "Report",
    "Settings",
    "Step",
    "Trace",
    "Verdict",
    "Window",
    "agreement",
    "from_csv",
    "from_json",
    "parse",
    "percentile",
    "to_csv",
    "to_json",
]
