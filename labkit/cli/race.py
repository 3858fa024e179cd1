"""`race`: generate the same text with several arms, step by step in turn, and compare them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from . import options
from .output import EXIT_OK, EXIT_STOPPED, Progress, report

if TYPE_CHECKING:
    from ..experiments import RaceRequest
    from ..measure import Run


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "race", help="naive against cached generation", description=__doc__
    )
    options.add_model(command)
    options.add_prompt(command)
    command.add_argument(
        "--arms", nargs="+", default=options.OMIT, help="naive, cached, preallocated"
    )
    command.add_argument(
        "--order", type=_order, default=options.OMIT, help="interleaved, or one-after-the-other"
    )
    options.add_files(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Races; whatever ends the race early, what was measured so far is reported."""
    from .. import experiments

    request, progress = options.request(args), Progress()
    loaded = experiments.load(request, progress.loading)
    runs = experiments.prepare(request, loaded)
    try:
        _follow(request, runs, progress)
    except KeyboardInterrupt:
        progress.clear()
        print("stopped: this is what was measured so far", file=sys.stderr)
        return EXIT_STOPPED
    finally:
        progress.clear()
        report([run.trace() for run in runs], args)
    return EXIT_OK


def _follow(request: RaceRequest, runs: list[Run], progress: Progress) -> None:
    from ..experiments import steps

    for run, _ in steps(request, runs):
        progress.show(f"{run.arm.name}: token {len(run.steps)} of {request.new_tokens}")


def _order(word: str) -> str:
    return word.replace("-", " ")
