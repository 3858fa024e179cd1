"""Tables drawn with pipes: Markdown, box drawing, with or without outer pipes, several head rows.

A row of dashes ends the head. A cell that spans columns is written `Name ||`; it names them all.
What the columns mean is the readers' business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_COLUMNS = 64  # a wider table is a drawing

_rule = re.compile(r"[-=:+| ]+")


@dataclass(frozen=True)
class Table:
    """`head` holds one name for each column, of all head rows together; `rows` hold text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, pattern: str) -> int | None:
        """The first column whose name the pattern is found in, upper or lower case alike."""
        found = (i for i, name in enumerate(self.head) if re.search(pattern, name, re.IGNORECASE))
        return next(found, None)


def tables(text: str) -> list[Table]:
    """The tables of a text in order. A row without pipes, other than a rule, ends a table."""
    found: list[Table] = []
    head: list[str] = []
    rows: list[str] = []
    ruled = False
    for line in [*text.split("\n"), ""]:
        if line and _rule.fullmatch(line) and len(line) > 2:
            if line.startswith("+") and not ruled:  # a box: a title above it is no head row
                head = [row for row in head if row.startswith("|")]
            ruled = ruled or bool(head)
        elif "|" in line:
            (rows if ruled else head).append(line)
        else:
            fits = ruled and rows and head[-1].count("|") <= MOST_COLUMNS
            found += (
                [_table(*([_cells(row) for row in part] for part in (head, rows)))] if fits else []
            )
            head, rows, ruled = [], [], False
    return found


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.strip().split("|")]
    first = 1 if cells and not cells[0] else 0
    last = len(cells) - 1 if len(cells) > 1 and not cells[-1] else len(cells)
    return cells[first:last]


def _table(head: list[list[str]], rows: list[list[str]]) -> Table:
    width = max(len(row) for row in head)
    names = [""] * width
    for row in head:
        for i, name in enumerate(_filled(row)):
            names[i] = f"{names[i]} {name}".strip()
    return Table(tuple(names), tuple(map(tuple, rows)))


def _filled(row: list[str]) -> list[str]:
    """A spanning cell's name, repeated for the columns that it spans; the first cell spans none."""
    names: list[str] = []
    for i, name in enumerate(row):
        names.append(name or (names[-1] if i > 1 else ""))
    return names
