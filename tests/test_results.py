"""Progress on disk, and the report for an instructor."""

from __future__ import annotations

import json
import threading

import pytest

from labkit import results
from labkit.progress import FILE, MOST, Attempt, Book
from labkit.results import level_scores, solved, to_json, to_markdown

DAY = "2026-01-02T10:00:00+00:00"


def attempt(scenario="a", level=1, verdict="correct", points=3, at=DAY, helped=False):
    return Attempt(scenario, level, verdict, points, at, helped)


def notebook(path, *cells):
    """A saved notebook of (source, output's text) pairs; None for a cell that was not run."""
    made = [
        {
            "cell_type": "code",
            "source": [source],
            "outputs": [{"data": {"text/plain": [text]}}] if text else [],
        }
        for source, text in cells
    ]
    path.write_text(json.dumps({"cells": made}), encoding="utf-8")


# ---- progress -----------------------------------------------------------------------------------


def test_a_second_visit_finds_what_the_first_one_did(tmp_path):
    Book(tmp_path).add(attempt("a"))
    Book(tmp_path).add(attempt("b", verdict="skipped", points=0))
    assert Book(tmp_path).attempts == (attempt("a"), attempt("b", verdict="skipped", points=0))
    assert not Book(tmp_path).note


def test_two_notebooks_at_once_lose_nothing(tmp_path):
    books = [Book(tmp_path) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda b=b, n=n: [b.add(attempt(f"{n}-{i}")) for i in range(5)])
        for n, b in enumerate(books)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {a.scenario for a in Book(tmp_path).attempts} == {
        f"{n}-{i}" for n in range(4) for i in range(5)
    }


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"schema": "labkit-progress-1"}',
        b'{"schema": "labkit-progress-9", "attempts": []}',
        b'{"schema": "labkit-progress-1", "attempts": [{"scenario": 3}]}',
    ],
)
def test_a_broken_file_is_set_aside_and_progress_starts_anew_with_a_message(tmp_path, broken):
    (tmp_path / FILE).write_bytes(broken)
    book = Book(tmp_path)
    assert book.attempts == ()
    assert "starts anew" in book.note
    assert next(tmp_path.glob("*.broken.json")).read_bytes() == broken
    book.add(attempt())
    assert Book(tmp_path).attempts == (attempt(),)


def test_where_nothing_can_be_written_progress_lasts_in_memory(tmp_path):
    (tmp_path / "file").write_text("in the way")
    book = Book(tmp_path / "file" / "folder")
    book.add(attempt())
    assert book.attempts == (attempt(),)
    assert "until the kernel ends" in book.note


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path, monkeypatch):
    Book(tmp_path).add(attempt("old"))

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("labkit.progress.os.replace", full)
        book = Book(tmp_path)
        book.add(attempt("new"))
        assert "No space left" in book.note
    assert [a.scenario for a in Book(tmp_path).attempts] == ["old"]
    assert not [path for path in tmp_path.iterdir() if path.suffix not in (".json", ".lock")]


def test_the_file_does_not_grow_for_ever(tmp_path):
    (tmp_path / "file").write_text("in the way")  # so it stays in memory, and the test is quick
    book = Book(tmp_path / "file" / "folder")
    book.attempts = tuple(attempt(str(n)) for n in range(MOST))
    book.add(attempt("last"))
    assert len(book.attempts) == MOST
    assert book.attempts[-1].scenario == "last"


def test_the_environment_says_where_progress_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))
    assert Book().path == tmp_path / FILE


# ---- scores -------------------------------------------------------------------------------------


def test_each_scenario_counts_once_by_its_best_attempt_without_help():
    """a: 1, then 3 points; b: 3 points after the solution; c: skipped; so 3 of 6 and 1 correct."""
    (score,) = level_scores(
        [
            attempt("a", verdict="partial", points=1),
            attempt("a"),
            attempt("b", verdict="incorrect", points=0),
            attempt("b", helped=True),
            attempt("c", verdict="skipped", points=0),
        ]
    )
    assert (score.tried, score.correct, score.points, score.skipped) == (2, 1, 3, 1)


def test_levels_come_in_order_with_their_last_date():
    later = "2026-03-01T10:00:00+00:00"
    found = level_scores([attempt(level=3), attempt(level=1, at=later), attempt(level=1)])
    assert [(score.level, score.last_at) for score in found] == [(1, later), (3, DAY)]


def test_help_solves_nothing():
    assert solved([attempt(helped=True), attempt("b")], 1) == {"b"}


# ---- the report ---------------------------------------------------------------------------------


def test_exercises_are_read_from_the_saved_notebooks_of_a_folder(tmp_path):
    notebook(
        tmp_path / "03_race.ipynb",
        ("from labkit import grading as check", None),
        ("ids = 3\ncheck.loop(loop, ids)", "passed: well"),
        ("check.ratio(...)", "not yet: fill in"),
        ("check.kv(kv)", None),
    )
    notebook(tmp_path / "notes.ipynb", ("check.other(1)", "passed: no lesson"))
    report = results.results(" Ada ", tmp_path, [attempt()])
    assert [(e.lesson, e.name, e.status) for e in report.exercises] == [
        ("03_race", "loop", "passed"),
        ("03_race", "ratio", "not yet"),
        ("03_race", "kv", "not run"),
    ]
    assert report.name == "Ada"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', '{"cells": [1, {"cell_type": "code", "outputs": 7}]}']
)
def test_a_file_that_is_no_notebook_has_no_exercises(tmp_path, text):
    (tmp_path / "01_x.ipynb").write_text(text)
    assert results.exercises(tmp_path / "01_x.ipynb") == []


def test_json_holds_everything_and_markdown_reads_well(tmp_path):
    notebook(tmp_path / "01_x.ipynb", ("check.tpot(f)", "passed: yes"))
    report = results.results("Ada", tmp_path, [attempt()])
    data = json.loads(to_json(report))
    assert data["schema"] == "labkit-results-1"
    assert data["exercises"][0]["status"] == "passed"
    assert data["levels"][0]["points"] == 3
    text = to_markdown(report)
    assert "# Results of Ada" in text
    assert "1 of 1 passed" in text
    assert "| 1 | 1 | 1 | 3 of 3 | 0 | 2026-01-02 10:00 |" in text


def test_nobody_has_to_give_a_name_and_nothing_done_is_said(tmp_path):
    text = to_markdown(results.results("", tmp_path, []))
    assert "# Results of a learner" in text
    assert text.count("Nothing yet.") == 2


def test_a_name_can_not_smuggle_html_or_markdown_into_the_report(tmp_path):
    report = results.results("<img src=x onerror=a()>\n# [x](javascript:y)|", tmp_path, [])
    head = to_markdown(report).splitlines()[0]
    assert "<" not in head
    assert r"\[x\]" in head
    assert r"\|" in head
