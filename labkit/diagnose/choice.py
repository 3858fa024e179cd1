"""Which of several runs in one paste the verdict is about. The others are never mixed into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..records.report import Report
from ..records.verdict import Evidence, Verdict
from .figures import tps
from .thresholds import COLD_RATIO

CONFIDENCE = {"low": 1, "medium": 2, "high": 3}


def choose(reports: Sequence[Report], verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on the run that tells most, with a word on how the others compare.

    After a cold start the warm rerun. Else of those that could be judged most surely the slowest,
    for that is what a reader asks about.
    """
    if len(reports) == 1:
        return verdicts[0]
    judged = [i for i, verdict in enumerate(verdicts) if verdict.phase != "insufficient-data"]
    if not judged:
        return _with(verdicts[0], f"{len(reports)} runs, none of which can be judged")
    warm = _warm_rerun(reports, judged)
    if warm is not None:
        return _after_cold_start(reports, verdicts, warm)
    sure = max(CONFIDENCE[verdicts[i].confidence] for i in judged)
    surest = [i for i in judged if CONFIDENCE[verdicts[i].confidence] == sure]
    slowest = max(surest, key=lambda i: (reports[i].total_s or 0.0, -_speed(reports[i])))
    same = sum(verdicts[i].phase == verdicts[slowest].phase for i in judged)
    note = f"{len(reports)} runs; this is the slowest that is told clearly; {same} agree"
    return _with(verdicts[slowest], note)


def _speed(r: Report) -> float:
    return r.decode_tokens_per_s or 0.0


def _warm_rerun(reports: Sequence[Report], judged: Sequence[int]) -> int | None:
    """The last run of the first run's tool, if it read a like prompt COLD_RATIO times faster."""
    first, last = reports[judged[0]], reports[judged[-1]]
    rates = (first.prefill_tokens_per_s, last.prefill_tokens_per_s)
    if first.tool != last.tool or not all(rates) or first.kind != "request":
        return None
    prompts = (first.prompt_tokens or 0.0, last.prompt_tokens or 0.0)
    alike = min(prompts) >= 0.5 * max(prompts)
    return judged[-1] if alike and rates[1] > COLD_RATIO * rates[0] else None


def _after_cold_start(reports: Sequence[Report], verdicts: Sequence[Verdict], warm: int) -> Verdict:
    first, last = reports[0], reports[warm]
    rates = (
        f"{tps(first.prefill_tokens_per_s)}, then {tps(last.prefill_tokens_per_s)}"
        if first.prefill_tokens_per_s
        else ""
    )
    seen = Evidence("the first run was a cold start; this is the warm one", rates)
    return replace(verdicts[warm], evidence=(*verdicts[warm].evidence, seen))


def _with(verdict: Verdict, note: str) -> Verdict:
    return replace(verdict, evidence=(*verdict.evidence, Evidence(note)))
