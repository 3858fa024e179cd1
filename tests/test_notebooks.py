"""The lessons as files: their form, their blanks, their links. nbval runs them, this reads them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from statistics import median

import pytest
import torch
from grading_answers import EXERCISES, judge
from transformers import DynamicCache

FOLDER = Path(__file__).parent.parent / "notebooks"
LESSONS = sorted(FOLDER.glob("*.ipynb"))
ALL = sorted(FOLDER.rglob("[!.]*.ipynb"))

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
each_notebook = pytest.mark.parametrize(
    "path", ALL, ids=lambda path: str(path.relative_to(FOLDER).with_suffix(""))
)


def sources(path: Path, kind: str) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def prose_lines(path: Path) -> list[str]:
    return "\n".join(sources(path, "markdown")).splitlines()


def checks(path: Path) -> dict[str, ast.expr]:
    """The checks that a notebook calls, by name, with the first argument of each."""
    nodes = ast.walk(ast.parse("\n".join(sources(path, "code"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return {
        call.func.attr: call.args[0]
        for call in calls
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "check"
    }


def stubs(path: Path) -> dict[str, object]:
    """What a lesson's unanswered cells define: functions with a blank, and names that are `...`."""
    names: dict[str, object] = {"DynamicCache": DynamicCache, "torch": torch}
    for source in sources(path, "code"):
        if re.search(r"^ *(\w+ = )?\.\.\.$", source, re.MULTILINE):
            exec(source, names)
    return names


# ---- form ---------------------------------------------------------------------------------------


@each_notebook
def test_a_notebook_is_saved_without_outputs_or_state(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert path.stat().st_size < 40_000


@each_notebook
def test_cells_have_stable_ids(path):
    ids = [cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z0-9-]{1,24}", cell_id) for cell_id in ids), "given by hand"


@each_notebook
def test_a_notebook_has_one_title_and_no_heading_below_the_third_level(path):
    headings = [line for line in prose_lines(path) if line.startswith("#")]
    assert sum(line.startswith("# ") for line in headings) == 1
    assert not [line for line in headings if line.startswith("####")]


@each_notebook
def test_code_cells_are_short(path):
    assert max(len(source.splitlines()) for source in sources(path, "code")) <= 12


@each_lesson
def test_a_lesson_has_the_size_of_one_sitting(path):
    prose, code = sources(path, "markdown"), sources(path, "code")
    assert 26 <= len(prose) + len(code) <= 36
    assert 900 <= sum(len(text.split()) for text in prose) <= 1400
    assert median(len(source.splitlines()) for source in code) <= 4


@each_lesson
def test_a_lesson_says_what_it_is_for_and_lets_predict_before_it_shows(path):
    prose = sources(path, "markdown")
    assert "You will be able to" in prose[0]
    assert "minutes" in prose[0]
    assert sum(line.startswith("- ") for line in prose[0].splitlines()) == 3
    assert "\n".join(prose).count("**Predict") >= 4
    assert "\n".join(prose).count("ou should see") >= 4


@each_notebook
def test_links_lead_to_files_that_exist(path):
    links = re.findall(r"\]\(([^)#]+)", "\n".join(prose_lines(path)))
    assert links
    for link in links:
        assert link.startswith("https://") or (path.parent / link).exists(), link


# ---- exercises ----------------------------------------------------------------------------------


@each_lesson
def test_every_blank_of_a_lesson_is_not_yet(path):
    names = stubs(path)
    asked = checks(path)
    assert asked
    for name, argument in asked.items():
        blank = ast.unparse(argument)
        answer = ... if blank == "..." else names[blank]
        assert judge(name, answer).status == "not yet", name


@each_lesson
def test_every_exercise_has_a_solution_that_must_pass(path):
    solution = FOLDER / "solutions" / path.name
    code = "\n".join(sources(solution, "code"))
    for name in checks(path):
        assert re.search(rf"^assert check\.{name}\(.*\.passed$", code, re.MULTILINE), name


def test_every_check_belongs_to_a_lesson():
    used = {name for path in LESSONS for name in checks(path)}
    assert used == set(EXERCISES)
