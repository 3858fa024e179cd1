"""The vocabulary: frozen dataclasses that cross layers, each metric defined once, JSON in and out.

Standard library only. Reading order: `trace` (what a run is), `machine`, `model_shape`, `workload`,
`kv_cache` (its size), `estimate` (what theory says of a pass), `agreement` (are two runs equal),
`check_result` (the answer to an exercise), `report` (a tool's pasted output), `verdict` (a
diagnosis), `files`.
"""

from .agreement import Agreement, agreement
from .check_result import CheckResult
from .estimate import Cost, Estimate
from .files import BrokenFile, from_csv, from_json, parse, to_csv, to_json
from .machine import Machine, Rate, Roofs
from .model_shape import Experts, Mla, ModelShape
from .report import Report, Window
from .trace import Settings, Step, Trace, percentile
from .verdict import Evidence, Remedy, Verdict
from .workload import Workload

__all__ = [
    "Agreement",
    "BrokenFile",
    "CheckResult",
    "Cost",
    "Estimate",
    "Evidence",
    "Experts",
    "Machine",
    "Mla",
    "ModelShape",
    "Rate",
    "Remedy",
    "Report",
    "Roofs",
    "Settings",
    "Step",
    "Trace",
    "Verdict",
    "Window",
    "Workload",
    "agreement",
    "from_csv",
    "from_json",
    "parse",
    "percentile",
    "to_csv",
    "to_json",
]
