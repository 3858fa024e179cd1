"""What a learner types or a file contains is shown as text in every panel, never as HTML.

Each panel is made with hostile names, texts and traces, hostile text is typed into all its boxes,
its run is tried, and then every widget that renders HTML, and every text of a chart, is parsed: no
element and no attribute of the hostile text may have come alive.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from inspect import signature

import ipywidgets as w
import plotly.graph_objects as go
import pytest
from toys import MACHINE, SHAPE, trace_of

from labkit import records, scenarios, ui
from labkit.grading import answers
from labkit.grading.free_text import Grade, Quote, grade
from labkit.progress import Attempt, Book
from labkit.records import CheckResult, Evidence, Remedy, Report, Verdict
from labkit.records.machine import Roofs
from labkit.results import LevelScore
from labkit.roofline.whatif import observed
from labkit.ui import diagnosis_text as text
from labkit.ui.diagnosis import Exercise
from labkit.ui.diagnosis_paste import together
from labkit.ui.diagnosis_verdict import Finding, card
from labkit.ui.panel import Panel

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"
BAD_TAGS = {"script", "img", "svg", "iframe", "object", "embed", "link", "style", "a", "form"}
TIMEOUT_S = 60
ROOFS = Roofs("cpu", {"float32": 1e11}, 20e9)

SCENARIO = replace(
    scenarios.scenario("seed"), name=EVIL, story=EVIL, card=(EVIL, EVIL), caveat=EVIL
)
TRACE = replace(
    trace_of(1000, 500, 500, 500, arm=EVIL, model=EVIL, prompt=EVIL, attention=EVIL),
    machine=replace(MACHINE, name=EVIL),
    model=replace(SHAPE, name=EVIL),
    versions={EVIL: EVIL},
    roofs=ROOFS,
)
TRACE = replace(TRACE, steps=tuple(replace(step, texts=(EVIL,)) for step in TRACE.steps))
PASTE = f'TTFT 50 ms, 2 tokens/s, 100 output tokens, "model": "{EVIL}", on a {EVIL} RTX 4090'


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Progress of this test alone, never the user's; and no page whose drawing is waited for."""
    monkeypatch.setattr(Panel, "_settle", lambda panel: None)
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))


# ---- panels with hostile content ----------------------------------------------------------------


def raced():
    """A race that a file was loaded into."""
    panel = ui.race("toy", prompt="abc", new_tokens=4)
    load(panel, records.to_json([replace(TRACE, arm="naive"), replace(TRACE, arm="cached")]))
    return panel


def own_run():
    panel = ui.own_run([TRACE], ROOFS)
    load(panel, records.to_json([TRACE]))
    return panel


def load(panel, text: str) -> None:
    file = {
        "type": "",
        "size": len(text),
        "last_modified": datetime.now(UTC),
        "content": text.encode(),
    }
    panel.upload.value = ({"name": EVIL, **file},)


def exercise(tmp_path):
    book = Book(tmp_path)
    book.add(Attempt(EVIL, 1, EVIL, 0, EVIL))
    panel = Exercise(SCENARIO, book)
    panel.answer.value = f"Decode {EVIL} is slow because of memory bandwidth {EVIL}. {EVIL}"
    panel.check()
    panel.reveal()
    return panel


def practice(tmp_path):
    book = Book(tmp_path)
    book.add(Attempt(EVIL, 1, EVIL, 0, EVIL))
    book.note = EVIL
    panel = ui.Practice(book)
    panel.answer.value = f"Decode is slow {EVIL}"
    panel.check()
    return panel


def report(tmp_path):
    source, shown = f"check.{EVIL}\ncheck.tpot(1)", "passed: " + EVIL
    cell = {"cell_type": "code", "source": source}
    notebook = {"cells": [cell | {"outputs": [{"data": {"text/plain": shown}}]}]}
    (tmp_path / "00_&lt;b&gt;.ipynb").write_text(str(notebook).replace("'", '"'))
    panel = ui.results_report(tmp_path)
    panel.learner.value = EVIL
    panel.show()
    return panel


SPECIAL = {
    "race": lambda _: raced(),
    "race_recorded": lambda _: raced(),
    "own_run": lambda _: own_run(),
    "exercise": exercise,
    "practice": practice,
    "results_report": report,
    "paste_box": lambda _: ui.paste_box(PASTE),
    "what_if": lambda _: ui.what_if(observed(replace(TRACE, arm="cached"))),
    "what_if_metrics": lambda _: ui.what_if(observed(replace(TRACE, arm="cached"))),
}
MAKERS = [name for name in ui.__all__ if name[0].islower()]


def make(name: str, tmp_path):
    """The panel of that name with hostile content, and whether it may run.

    One that refuses a hostile model is made as it is by default, and that run would take long.
    """
    if name in SPECIAL:
        return SPECIAL[name](tmp_path), True
    factory = getattr(ui, name)
    with suppress(ValueError):
        if signature(factory).parameters:
            return factory(EVIL), True
    return factory(), False


# ---- what came alive ----------------------------------------------------------------------------


class Alive(HTMLParser):
    """Collects elements and attributes that the lab itself never writes."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        self.found += [tag] * (tag in BAD_TAGS)
        self.found += [name for name in names if name.startswith("on") or name == "src"]


def alive(html: str) -> list[str]:
    parser = Alive()
    parser.feed(html)
    parser.close()
    return parser.found


def tree(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from tree(child)


def shown(panel) -> list[str]:
    """Every text of the panel that a browser takes for HTML, or Plotly for its own markup."""
    texts = []
    for widget in tree(panel):
        if isinstance(widget, w.HTML | w.HTMLMath | w.Label):
            texts.append(widget.value)
        if getattr(widget, "description_allow_html", False):
            texts.append(widget.description)
        if isinstance(widget, go.FigureWidget):
            texts += strings(widget.to_dict())
    return texts


def strings(value) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple) or getattr(value, "dtype", "") == "O":
        return [text for item in value for text in strings(item)]
    return []


@pytest.mark.parametrize("name", MAKERS)
def test_hostile_text_stays_text(name, tmp_path):
    panel, may_run = make(name, tmp_path)
    for widget in tree(panel):
        if isinstance(widget, w.Text | w.Textarea) and name != "paste_box":
            widget.value = EVIL
    assert not [found for text in shown(panel) for found in alive(text)]
    if isinstance(panel, Panel) and may_run:
        with suppress(ValueError):  # a model of that name is refused, and the refusal shown
            panel.wait(TIMEOUT_S)
    assert not [found for text in shown(panel) for found in alive(text)]


@pytest.mark.parametrize("name", ["race", "own_run", "exercise", "practice"])
def test_the_hostile_text_was_there_to_be_shown(name, tmp_path):
    panel, _ = make(name, tmp_path)
    if name == "own_run":
        panel.wait(TIMEOUT_S)
    assert "&lt;script&gt;" in "".join(shown(panel))


QUOTE = Quote(EVIL, EVIL, EVIL, EVIL, 0, 1)
GRADE = Grade("wrong", EVIL, verdict=EVIL, claims=(QUOTE,), feedback=(EVIL,))
VERDICT = Verdict(
    "decode",
    "undetermined",
    EVIL,
    about=EVIL,
    evidence=(Evidence(EVIL, EVIL),),
    missing=(EVIL,),
    remedies=(Remedy(EVIL, EVIL, 0.5),),
    hardware=EVIL,
)
REPORT = Report(EVIL, "request", label=EVIL, statistic=EVIL, machine=EVIL, warnings=(EVIL,))


@pytest.mark.parametrize(
    "html",
    [
        text.feedback_html(GRADE),
        text.solution_html(replace(SCENARIO, truth=replace(SCENARIO.truth, why=EVIL))),
        text.score_html((LevelScore(1, 1, 1, 1, 1, EVIL),), EVIL),
        card(EVIL, Finding(VERDICT, REPORT)),
        together(VERDICT, 2),
    ],
    ids=["feedback", "solution", "score", "card", "together"],
)
def test_whatever_a_record_holds_is_shown_as_text(html):
    assert "&lt;" in html
    assert not alive(html)


def test_results_of_checks_and_grades_are_shown_as_text():
    graded = grade(f"Decode is slow {EVIL}; the memory {EVIL} is", SCENARIO.truth)
    results = [CheckResult("wrong", EVIL), graded, answers.wrong(answers.show(EVIL))]
    assert not [found for result in results for found in alive(result._repr_html_())]


def test_the_parser_would_see_it():
    assert {"script", "img", "svg", "onerror", "onload"} <= set(alive(f"<p>{EVIL}</p>"))
