"""The 32 real pastes with their labels, and how their values are named in a Report."""

from __future__ import annotations

import json
from pathlib import Path

from labkit.records import Report

FOLDER = Path(__file__).parent / "cases" / "diagnosis"
CASES = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))]
NAMES = {"prefill_tok_s": "prefill_tokens_per_s", "decode_tok_s": "decode_tokens_per_s"}


def text(case: dict) -> str:
    """The paste, with what a grader may say beside it."""
    return f"{case['context']}\n\n{case['raw']}" if "context" in case else case["raw"]


def is_found(reports: list[Report], name: str, value: float) -> bool:
    """Whether a report has that value: 2 % on times and rates, 1 on token counts."""
    field = NAMES.get(name, name.replace("_ms", "_s"))
    scale = 1e3 if name.endswith("_ms") else 1.0
    allowed = 1.0 + 1e-9 if name.endswith("tokens") else 0.02 * value
    found = (getattr(report, field) for report in reports)
    return any(one is not None and abs(one * scale - value) <= allowed for one in found)
