"""The answer to an exercise: passed, not yet, or not passed, with the reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

COLORS = {"passed": "#009E73", "not yet": "#777777", "wrong": "#D55E00"}


@dataclass(frozen=True)
class CheckResult:
    """`status` is "passed", "not yet" (nothing answered so far) or "wrong"; `reason` teaches."""

    status: str
    reason: str

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    def __repr__(self) -> str:
        return f"{self.status}: {self.reason}"

    def _repr_html_(self) -> str:
        style = f"border-left:4px solid {COLORS[self.status]};padding:4px 10px"
        return (
            f'<div role="status" style="{style}"><b>{self.status}</b> {escape(self.reason)}</div>'
        )
