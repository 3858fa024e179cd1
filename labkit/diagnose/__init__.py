"""A `Report` or a `Trace` to a `Verdict`: where the time goes, what limits it, what would help.

Two questions, answered apart. Where the time goes follows from times alone: `split` and
`first_token`, `windows`, `traces`. What limits it needs facts of model and machine: `hardware`
(decode), `reading` (prefill), `traces`. `thresholds` holds every number that a rule compares with.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..records.machine import Machine, Roofs
from ..records.model_shape import ModelShape
from ..records.report import Report
from ..records.trace import Trace
from ..records.verdict import Evidence, Verdict
from .choice import choose
from .figures import percent
from .hardware import Facts, Limit, decode_limit, machine_facts
from .parts import LOW, MEDIUM, Split, insufficient
from .reading import prefill_limit
from .remedies import hardware, remedies
from .split import split
from .thresholds import CLEAR, DOMINANT, KV_FULL
from .traces import limit_of_trace, split_trace
from .windows import split_windows

__all__ = ["diagnose"]

NO_METRICS = (
    "the lines with times and tokens as a tool prints them, "
    'or in words: "TTFT 0.4 s, then 12 tokens/s, 8B on a 4090"'
)
NEEDS_NO_HARDWARE = {
    "queue": "capacity-or-scheduling",
    "load": "model-loading",
    "overhead": "host-overhead",
}


def diagnose(
    subject: Report | Trace | Sequence[Report],
    machine: Machine | Roofs | None = None,
    shape: ModelShape | None = None,
) -> Verdict:
    """The verdict on a run; of several in one paste, on the one that tells most, and why that one.

    `machine` and `shape` override what the report says of them. Unknown facts make the limiter
    "undetermined", never the verdict wrong.
    """
    if isinstance(subject, Trace):
        return _of_trace(subject, machine, shape)
    if isinstance(subject, Report):
        return _of_report(subject, machine, shape)
    verdicts = [_of_report(report, machine, shape) for report in subject]
    if not verdicts:
        nothing = insufficient("no metrics were recognised", NO_METRICS)
        return _verdict(nothing, Limit())
    return choose(list(subject), verdicts)


def _of_trace(trace: Trace, machine: Machine | Roofs | None, shape: ModelShape | None) -> Verdict:
    found = split_trace(trace)
    phase = _phase(found)
    limit = Limit()
    if phase in ("prefill", "decode"):
        limit = limit_of_trace(trace, phase, machine, shape)
    return _verdict(found, limit, trace.arm)


def _of_report(r: Report, machine: Machine | Roofs | None, shape: ModelShape | None) -> Verdict:
    found = split_windows(r) if r.windows else split(r)
    facts = machine_facts(r, machine)
    phase, limit = _phase(found), Limit()
    if phase == "decode":
        limit = decode_limit(r, facts, shape)
    elif phase == "prefill":
        limit = prefill_limit(
            r, facts, shape, found.parts.get("prefill") or r.prefill_s or r.ttft_s or 0.0
        )
    elif phase == "insufficient-data":
        found, limit = _step_alone(r, facts, shape, found)
    notes = tuple(Evidence(note) for note in r.warnings)
    if phase == "queue" and not r.windows and (r.kv_usage or 0.0) >= KV_FULL:
        full = Evidence("the KV cache is full, so nobody is admitted", percent(r.kv_usage))
        notes = (full, *notes)
    about = f"{r.tool}, {r.label}" if r.label else r.tool
    return _verdict(found, limit, about, notes)


def _step_alone(
    r: Report, facts: Facts, shape: ModelShape | None, found: Split
) -> tuple[Split, Limit]:
    """Nothing but a TPOT, but far from what the memory allows: overhead, whatever the prefill."""
    if r.kind != "request" or not r.tpot_s or r.ttft_s or r.prefill_s:
        return found, Limit()
    limit = decode_limit(r, facts, shape)
    if limit.limiter != "host-overhead":
        return found, Limit()
    return Split(missing=found.missing, phase="decode", sure=MEDIUM), limit


def _phase(found: Split) -> str:
    """The part that takes DOMINANT of the time, or "balanced"."""
    if found.phase:
        return found.phase
    if not found.shares:
        return "insufficient-data"
    name = max(found.shares, key=found.shares.__getitem__)
    return name if found.shares[name] >= DOMINANT else "balanced"


def _verdict(
    found: Split, limit: Limit, about: str = "", notes: tuple[Evidence, ...] = ()
) -> Verdict:
    phase, shares = _phase(found), found.shares
    in_model = phase in ("prefill", "decode")
    if limit.limiter == "host-overhead" and in_model:
        phase = "overhead"  # paid inside each step, and still overhead
    limiter = NEEDS_NO_HARDWARE.get(phase, limit.limiter)
    return Verdict(
        phase=phase,
        limiter=limiter,
        confidence=_confidence(found, phase),
        about=about,
        shares=shares,
        evidence=(*found.evidence, *limit.evidence, *notes),
        missing=tuple(dict.fromkeys((*found.missing, *limit.missing))),
        remedies=remedies(phase, limiter, shares, in_model),
        hardware=hardware(phase, limiter, shares),
    )


def _confidence(found: Split, phase: str) -> str:
    """What the rule is sure of, less where the shares are close to a boundary."""
    sure = found.sure
    top = max(found.shares.values(), default=1.0)
    if phase != "balanced" and DOMINANT <= top < CLEAR:
        sure = min(sure, MEDIUM)
    return {LOW: "low", MEDIUM: "medium"}.get(sure, "high")
