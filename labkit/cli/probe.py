"""`probe`: what this machine can reach: FLOP/s, bandwidth, and the host's time for one pass.

The result is kept for a day: races and panels then predict with it.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from ..summary import roofs_table
from .output import EXIT_OK, Progress

if TYPE_CHECKING:
    from ..records import Roofs


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("probe", help="what this machine reaches", description=__doc__)
    command.add_argument("--device", default=None, help="cpu, cuda, cuda:1, mps")
    command.add_argument("--quick", action="store_true", help="rougher, and not kept")
    command.add_argument("--json", action="store_true", help="every point of every curve, as JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Probes, and prints the roofs beside the datasheet's figures where the machine is known."""
    from .. import catalog, measure, probing
    from ..models import resolve_device

    device, progress = resolve_device(args.device), Progress()
    machine = measure.this_machine(device)
    roofs = probing.probe(device, args.quick, progress=lambda share: progress.show(f"{share:.0%}"))
    progress.clear()
    if args.json:
        print(as_json(roofs))
    else:
        print(f"{machine.name} ({machine.device})\n")
        print(roofs_table(roofs, catalog.known_as(machine.name)).text())
    return EXIT_OK


def as_json(roofs: Roofs) -> str:
    from dataclasses import asdict

    return json.dumps(asdict(roofs), indent=2)
