"""A sample of each format that people paste, with the figures that a reader would find in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.diagnose import diagnose
from labkit.reports import parse

FORMATS = json.loads((Path(__file__).parent / "cases" / "formats.json").read_text("utf-8"))


def sample(name: str) -> str:
    return next(case["raw"] for case in FORMATS if case["name"] == name)


@pytest.mark.parametrize("case", FORMATS, ids=lambda case: case["name"])
def test_a_format_gives_one_report_with_its_figures_in_si_units(case):
    reports = parse(case["raw"])
    assert [report.tool for report in reports] == [case["tool"]]
    found = {name: getattr(reports[0], name) for name in case["values"]}
    assert found == pytest.approx(case["values"])


@pytest.mark.parametrize("case", FORMATS, ids=lambda case: case["name"])
def test_a_format_gets_the_verdict_that_its_figures_carry(case):
    assert diagnose(parse(case["raw"])).label == case["label"]
