"""The report for an instructor: exercises passed, scores of practice, dates. Markdown and JSON.

Exercises are read from the saved notebooks themselves: a check's cell holds its own result. So they
are as the learner last saved them, of all lessons in the folder. It is a record and no proof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .progress import Attempt, now

SCHEMA = "labkit-results-1"
NOT_RUN = "not run"
LESSONS = "[0-9][0-9]_*.ipynb"
LARGEST = 50_000_000  # bytes of a notebook that is read
FULL = 3  # points of a diagnosis
LEVEL_HEADER = ("level", "tried", "correct", "points", "skipped", "last, UTC")
_check = re.compile(r"\bcheck\.([a-z][a-z0-9_]{0,60})\(")
_status = re.compile(r"(passed|not yet|wrong): ")


@dataclass(frozen=True)
class Exercise:
    """One check of a saved lesson. `status` is a check's word, or "not run"."""

    lesson: str
    name: str
    status: str
    saved_at: str  # of the notebook, ISO 8601, UTC


@dataclass(frozen=True)
class LevelScore:
    """A level of practice. Each scenario counts once, by its best answer without help."""

    level: int
    tried: int
    correct: int
    points: int  # of 3 × tried
    skipped: int
    last_at: str


@dataclass(frozen=True)
class Results:
    """All that the report says. `name` may be empty: nobody has to give one."""

    name: str
    made_at: str
    version: str
    exercises: tuple[Exercise, ...]
    levels: tuple[LevelScore, ...]


def results(name: str, folder: Path, attempts: Sequence[Attempt]) -> Results:
    """The report on the notebooks of a folder and on the attempts at practice."""
    found = [exercise for path in sorted(folder.glob(LESSONS)) for exercise in exercises(path)]
    return Results(name.strip(), now(), _version(), tuple(found), level_scores(attempts))


def _version() -> str:
    try:
        return version("labkit")
    except PackageNotFoundError:
        return "unknown"


# ---- practice ------------------------------------------------------------------------------------


def level_scores(attempts: Iterable[Attempt]) -> tuple[LevelScore, ...]:
    """The levels that were tried, in order."""
    by_level: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        by_level.setdefault(attempt.level, []).append(attempt)
    return tuple(_score(level, by_level[level]) for level in sorted(by_level))


def _score(level: int, attempts: list[Attempt]) -> LevelScore:
    answered = [attempt for attempt in attempts if attempt.verdict != "skipped"]
    names = {attempt.scenario for attempt in answered}
    best: dict[str, int] = {}
    for attempt in answered:
        if not attempt.helped:
            best[attempt.scenario] = max(attempt.points, best.get(attempt.scenario, 0))
    return LevelScore(
        level=level,
        tried=len(names),
        correct=len(solved(answered, level)),
        points=sum(best.values()),
        skipped=len({a.scenario for a in attempts if a.verdict == "skipped"} - names),
        last_at=max(attempt.at for attempt in attempts),
    )


def solved(attempts: Iterable[Attempt], level: int) -> set[str]:
    """The scenarios of a level that were diagnosed correctly, without having seen the solution."""
    return {
        attempt.scenario
        for attempt in attempts
        if attempt.level == level and attempt.verdict == "correct" and not attempt.helped
    }


# ---- exercises of saved notebooks ----------------------------------------------------------------


def exercises(path: Path) -> list[Exercise]:
    """The checks of one saved notebook, in its order; none where the file is no notebook."""
    try:
        stat = path.stat()
        notebook = json.loads(path.read_bytes()) if stat.st_size <= LARGEST else {}
    except (OSError, ValueError, RecursionError):
        return []
    saved_at = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds")
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    found: dict[str, str] = {}
    for cell in cells if isinstance(cells, list) else []:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            called = _check.findall(_text(cell.get("source")))
            found |= dict.fromkeys(called[-1:], _result(cell))
    return [Exercise(path.stem, name, status, saved_at) for name, status in found.items()]


def passed(found: Iterable[Exercise]) -> int:
    return sum(exercise.status == "passed" for exercise in found)


def _result(cell: dict) -> str:
    """The status that the cell's output begins with."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        data = output.get("data") if isinstance(output, dict) else None
        shown = _text(data.get("text/plain")) if isinstance(data, dict) else ""
        if status := _status.match(shown):
            return status[1]
    return NOT_RUN


def _text(lines: object) -> str:
    """A notebook's text, which is a string or a list of them."""
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


# ---- written down --------------------------------------------------------------------------------


def to_json(report: Results) -> str:
    """Everything, for a program."""
    return json.dumps({"schema": SCHEMA, **asdict(report)}, ensure_ascii=False, indent=2)


def to_markdown(report: Results) -> str:
    """The same for a reader. Whatever a learner typed is made harmless."""
    lines = [
        f"# Results of {_plain(report.name) or 'a learner'}",
        "",
        f"Made {report.made_at} with labkit {report.version}. Exercises are as last saved.",
        "",
        f"## Exercises: {passed(report.exercises)} of {len(report.exercises)} passed",
        "",
        *_table(
            ("lesson", "exercise", "result", "saved, UTC"),
            [(e.lesson, e.name, e.status, minute(e.saved_at)) for e in report.exercises],
        ),
        "",
        "## Diagnoses",
        "",
        *_table(
            LEVEL_HEADER,
            [level_row(score) for score in report.levels],
        ),
    ]
    return "\n".join(lines) + "\n"


def level_row(score: LevelScore) -> tuple[str, ...]:
    """A level as a line of a table."""
    points = f"{score.points} of {FULL * score.tried}"
    counts = (score.level, score.tried, score.correct, points, score.skipped)
    return (*map(str, counts), minute(score.last_at))


def minute(at: str) -> str:
    """ "2026-01-02T10:00:00+00:00" as "2026-01-02 10:00"."""
    return at[:16].replace("T", " ")


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return ["Nothing yet."]
    lines = [header, ("---",) * len(header), *rows]
    return [f"| {' | '.join(map(_plain, line))} |" for line in lines]


def _plain(text: str) -> str:
    """One line without HTML, and without what Markdown would take for a cell, a link or code."""
    return re.sub(r"([|\\`\[\]*_#])", r"\\\1", escape(" ".join(text.split())))
