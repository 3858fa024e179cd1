"""`diagnose`: pasted metrics of some tool, or plain words, to a verdict with its arithmetic.

Needs neither torch nor a model. Facts that the paste lacks can be given beside it.
"""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from .. import catalog
from ..diagnose import diagnose
from ..records.report import Report
from ..records.verdict import Verdict
from ..reports import parse
from .output import EXIT_OK

Row = TypeVar("Row")


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "diagnose", help="what pasted metrics say of prefill and decode", description=__doc__
    )
    command.add_argument("text", type=_read, metavar="FILE", help="a file, or - for standard input")
    command.add_argument("--machine", type=_known(catalog.machine), metavar="NAME")
    command.add_argument("--model", type=_known(catalog.model), metavar="NAME")
    command.add_argument(
        "--context", default="", metavar="TEXT", help='in words: "8B in 4 bit on a 4090"'
    )
    command.add_argument("--json", action="store_true", help="everything, as JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the verdict; with --json also all that was read."""
    reports = parse(f"{args.context}\n\n{args.text}" if args.context else args.text)
    verdict = diagnose(reports, args.machine, args.model)
    print(as_json(reports, verdict) if args.json else as_text(verdict))
    return EXIT_OK


def as_json(reports: Sequence[Report], verdict: Verdict) -> str:
    """The verdict's fields, its label, and every report read."""
    fields = {"label": verdict.label, **asdict(verdict), "reports": [asdict(r) for r in reports]}
    return json.dumps(fields, indent=2, ensure_ascii=False)


def as_text(verdict: Verdict) -> str:
    """A line for each thing that the verdict says."""
    sure = f", limiter {verdict.limiter}, confidence {verdict.confidence}"
    lines = [
        verdict.label + (sure if verdict.phase != "insufficient-data" else ""),
        f"about: {verdict.about}" if verdict.about else "",
        _shares(verdict),
        *(f"- {evidence}" for evidence in verdict.evidence),
        verdict.hardware,
    ]
    if verdict.missing:
        lines += ["To say more:", *(f"- {what}" for what in verdict.missing)]
    if verdict.remedies:
        lines += ["What would help:", *(f"- {remedy}" for remedy in verdict.remedies)]
    return "\n".join(line for line in lines if line)


def _shares(verdict: Verdict) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in verdict.shares.items() if share)


def _read(name: str) -> str:
    """The text of a file: UTF-16 where its first bytes say so, as Windows' shell writes it.

    Else UTF-8; what isn't any is marked, not refused.
    """
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"can't read {name!r}: {error.strerror}") from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8", errors="replace")


def _known(find: Callable[[str], Row]) -> Callable[[str], Row]:
    """`find` with its message kept: argparse shows that of its own error only."""

    def row(name: str) -> Row:
        try:
            return find(name)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return row
