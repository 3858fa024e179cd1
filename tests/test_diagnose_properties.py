"""What holds for every verdict: scale, queues, evidence from the input alone, ordered remedies."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from diagnosis_cases import CASES, text
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_reports_formats import FORMATS

from labkit.diagnose import diagnose, thresholds
from labkit.records import Report
from labkit.reports import parse
from labkit.summary import digits

spent = st.one_of(st.none(), st.floats(0.001, 1000))
count = st.one_of(st.none(), st.integers(1, 100_000))
PHASES = ("queue_s", "load_s", "prefill_s", "ttft_s", "decode_s", "tpot_s", "total_s")
figures = st.fixed_dictionaries(
    dict.fromkeys(PHASES, spent)
    | {"prompt_tokens": count, "output_tokens": count, "concurrency": st.sampled_from([None, 1, 8])}
)
TIMES = [
    name for name in Report.__dataclass_fields__ if name.endswith("_s") and "per_s" not in name
]


@given(figures, st.sampled_from(["request", "aggregate"]), st.floats(0.01, 100))
@settings(max_examples=200, deadline=None)
def test_scaling_all_times_leaves_the_phase(given_figures, kind, k):
    one = Report("test", kind, **given_figures)
    scaled = {n: getattr(one, n) * k for n in TIMES if getattr(one, n) is not None}
    before, after = diagnose(one), diagnose(replace(one, **scaled))
    near = any(abs(share - thresholds.DOMINANT) < 1e-6 for share in before.shares.values())
    assert before.phase == after.phase or near


@given(figures, st.sampled_from(["request", "aggregate"]), st.floats(0.001, 1000))
@example({"load_s": 1.0, "ttft_s": 1.0, "tpot_s": 1.0, "total_s": 1.0}, "request", 1.0)
@settings(max_examples=200, deadline=None)
def test_more_queue_never_makes_a_verdict_more_decode_bound(given_figures, kind, more):
    one = Report("test", kind, **given_figures)
    longer = {n: getattr(one, n) + more for n in ("ttft_s", "total_s") if getattr(one, n)}
    waited = replace(one, queue_s=(one.queue_s or 0.0) + more, **longer)
    before, after = diagnose(one), diagnose(waited)
    if after.phase == "decode":
        assert before.phase in ("decode", "insufficient-data")
    if before.shares and after.shares and one.queue_s is not None:
        assert after.shares.get("decode", 0) <= before.shares.get("decode", 0) + 1e-9


def shown(value: float) -> set[str]:
    """How a figure may stand in evidence: three digits, in any unit that we print."""
    texts = {f"{value:g}", f"{value:,.0f}", f"{value * 100:.0f}", f"{value:.3g}"}
    for scale in (1, 1e3, 1e-3, 1e-6, 1e-9, 1e-12):
        texts |= {digits(value * scale), f"{value * scale:,.0f}", f"{value * scale:.4g}"}
    return texts


def read_in(r: Report) -> list[float]:
    windows = [value for window in r.windows for value in vars(window).values()]
    return [v for v in [*vars(r).values(), *windows] if isinstance(v, int | float)]


def computed_from(r: Report) -> list[float]:
    """What evidence may compute: sums and differences of phases, shares of tokens, bytes."""
    parts = [v for v in (r.prefill_s, r.ttft_s, r.decode_s, r.queue_s, r.load_s, r.total_s) if v]
    lines = len(r.windows) or 1
    found = [sum(parts), *(a + b for a in parts for b in parts), r.unaccounted_s or 0.0]
    found += [(r.prefill_s or 0) + (r.decode_s or 0) + (r.load_s or 0) + (r.unaccounted_s or 0)]
    found += [sum(w.waiting or 0 for w in r.windows) / lines, lines]
    found += [sum(w.running or 0 for w in r.windows) / lines]
    if r.duration_s and r.requests and r.ttft_s:
        found += [r.duration_s / r.requests, r.ttft_s - r.duration_s / r.requests]
    if r.ttft_min_s and r.ttft_s:
        found += [r.ttft_s - r.ttft_min_s]
    if r.prefill_s and r.prompt_tokens:
        found += [r.prefill_s / r.prompt_tokens]
    bits = r.weight_bits or thresholds.FEWEST_BITS
    return [*found, (r.prompt_tokens or 0) + (r.output_tokens or 0), (r.parameters or 0) * bits / 8]


@pytest.mark.parametrize("case", FORMATS + CASES, ids=lambda case: case.get("name") or case["id"])
def test_evidence_calculates_with_figures_of_the_input_only(case):
    reports = parse(case["raw"])
    values = [value for r in reports for value in (*read_in(r), *computed_from(r))]
    known = {text for value in values for text in shown(value)}
    for evidence in diagnose(reports).evidence:
        left, _, _ = evidence.arithmetic.partition("=")
        if "lines" in left:
            continue  # a share of lines, counted in test_diagnose
        used = [n.rstrip(",") for n in re.findall(r"\d[\d,]*\.?\d*", left)]
        assert set(used) <= known, (evidence, set(used) - known)


@pytest.mark.parametrize("case", FORMATS + CASES, ids=lambda case: case.get("name") or case["id"])
def test_faster_hardware_is_named_only_where_it_is_what_the_phase_waits_for(case):
    verdict = diagnose(parse(text(case) if "id" in case else case["raw"]))
    families = {remedy.family for remedy in verdict.remedies}
    assert "more-compute" not in families or verdict.limiter == "compute"
    assert "more-bandwidth" not in families or verdict.limiter == "memory-bandwidth"
    if verdict.phase in ("queue", "load", "overhead"):
        assert verdict.hardware.startswith("Neither")


def test_remedies_are_in_order_of_effect_and_save_no_more_than_their_part():
    for case in CASES:
        verdict = diagnose(parse(text(case)))
        effects = [r.at_most for r in verdict.remedies if r.at_most is not None]
        assert effects == sorted(effects, reverse=True)
        assert all(0 <= effect <= 1 for effect in effects)
        assert verdict.remedies
