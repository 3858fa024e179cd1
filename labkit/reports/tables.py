"""Tables drawn with pipes: Markdown, box drawing, with or without outer pipes; CSV.

A row of dashes ends the head. A cell that spans columns is written `Name ||`; it names them all.
What the columns mean is the readers' business.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

MOST_COLUMNS = 64  # a wider table is a drawing
MOST_LINE = 2000  # characters of a CSV line
MOST_ROWS = 20_000

_rule = re.compile(r"[-=:+| ]+")


@dataclass(frozen=True)
class Table:
    """`head` holds one name for each column, of all head rows together; `rows` hold text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, pattern: str) -> int | None:
        """The first column whose name in lower case the pattern is found in."""
        return next((i for i, name in enumerate(self.names) if re.search(pattern, name)), None)

    @cached_property
    def names(self) -> list[str]:
        return [name.lower() for name in self.head]


def tables(text: str) -> Iterator[Table]:
    """The tables of a text in order. A row without pipes, other than a rule, ends a table."""
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
            if ruled and rows and head[-1].count("|") <= MOST_COLUMNS:
                yield _table(list(map(_cells, head)), list(map(_cells, rows)))
            head, rows, ruled = [], [], False


def csv_table(text: str, mark: str) -> list[Table]:
    """The table that the first line with `mark` and a comma is the head of; none without one.

    `mark` is in lower case. Lines that no metric fills are left out.
    """
    lines = text.split("\n")
    head = next((i for i, line in enumerate(lines) if "," in line and mark in line.lower()), None)
    if head is None:
        return []
    rows_of = csv.reader(line for line in lines[head:] if 0 < len(line) < MOST_LINE)
    try:
        rows = [tuple(row) for row in islice(rows_of, MOST_ROWS)]
    except csv.Error:
        return []
    return [Table(rows[0], tuple(rows[1:]))] if rows else []


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
