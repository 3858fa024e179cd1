"""What the commands print: the traces on standard output or in files, the progress beside it.

Standard output holds results only, so that `--json` can be piped. The progress line goes to
standard error, and only where somebody watches: into a log it would write thousands of lines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from ..records import Trace, to_csv, to_json
from ..summary import heading, sentence, table

EXIT_OK = 0
EXIT_BROKEN_PROMISE = 1  # a benchmark's figure is not what the lab promises
EXIT_BAD_REQUEST = 2  # the message says what to change; argparse uses the same code
EXIT_STOPPED = 130  # Ctrl-C, as shells count


def json_only(args: argparse.Namespace) -> bool:
    """Whether standard output is for JSON alone: `--json` without a file."""
    return args.json == Path("-")


def report(traces: Sequence[Trace], args: argparse.Namespace) -> None:
    """Prints the traces that have steps, and writes the files that were asked for."""
    measured = [trace for trace in traces if trace.steps]
    print(to_json(measured) if json_only(args) else as_text(measured))
    if args.json and not json_only(args):
        args.json.write_text(to_json(measured), encoding="utf-8")
    if args.csv:
        args.csv.write_text(to_csv(measured), encoding="utf-8")


def as_text(traces: Sequence[Trace]) -> str:
    """What ran and where, every metric, and the sentence that sums it up."""
    if not traces:
        return sentence(traces)
    return f"{heading(traces[0])}\n\n{table(traces).text()}\n\n{sentence(traces)}"


class Progress:
    """One line on a terminal, rewritten ten times a second at most; silent elsewhere."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._next_s = 0.0

    def show(self, text: str) -> None:
        if self._on and monotonic() >= self._next_s:
            self._next_s = monotonic() + 0.1
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def loading(self, stage: str, share: float | None) -> None:
        """For `models.load`."""
        self.show(stage if share is None else f"{stage} {share:.0%}")

    def clear(self) -> None:
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
