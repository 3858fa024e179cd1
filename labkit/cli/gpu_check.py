"""`gpu-check`: probe, race, prefill, decode and ladder at 8B on a GPU, in minutes, to files.

Lesson 03 shows `race.json` by “Load a saved run”, labelled with this machine. Without a GPU,
`--device cpu` does the same in a short form with the default model.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..summary import Table, heading, ms, rate, roofs_table, sentence
from .options import count
from .output import EXIT_OK, Progress

if TYPE_CHECKING:
    import torch

    from ..gpu_check import Outcome
    from ..records.ladder import Ladder
    from ..records.passes import Pass, Passes


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "gpu-check", help="a GPU's figures, to files", description=__doc__
    )
    command.add_argument("--device", default="cuda", help="cuda, cuda:1, mps, cpu")
    command.add_argument("--minutes", type=count, default=8, metavar="N", help="at most; default 8")
    command.add_argument(
        "--out", type=Path, default=Path("gpu-check"), metavar="FOLDER", help="default: gpu-check"
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measures, writes the files, and prints what they say."""
    from .. import gpu_check

    device, progress = _device(args.device), Progress()
    outcome = gpu_check.check(device, args.out, budget_s=60.0 * args.minutes, say=progress.loading)
    progress.clear()
    print(as_text(outcome))
    print(f"\nwritten to {args.out}: {', '.join(gpu_check.FILES)}")
    return EXIT_OK


def _device(name: str) -> torch.device:
    import torch

    from ..generate import BadRequest
    from ..models import resolve_device

    if name.startswith("cuda") and not torch.cuda.is_available():
        raise BadRequest(
            "no CUDA GPU here: run this where one is, with a CUDA build of PyTorch; or add "
            "--device cpu for a short form with the default model"
        )
    return resolve_device(name)


def as_text(outcome: Outcome) -> str:
    """The roofs, the race in a sentence, every pass beside its prediction, and what was cut."""
    from .. import catalog

    trace = outcome.traces[0]
    datasheet = catalog.known_as(trace.machine.name)
    parts = [
        heading(trace),
        roofs_table(outcome.roofs, datasheet).text(),
        sentence(outcome.traces),
        *(passes_table(passes).text() for passes in outcome.passes),
        ladder_table(outcome.ladder).text(),
    ]
    if outcome.cut_short:
        parts.append(f"cut short by the time limit: {', '.join(outcome.cut_short)}")
    return "\n\n".join(parts)


def ladder_table(ladder: Ladder) -> Table:
    """Each rung's speed, how near that is to its roof, and whether the text stayed the same."""
    rows = []
    for rung in ladder.rungs:
        if rung.token_s is None:
            rows.append((rung.name, rung.skipped or "no time was left", "", "", ""))
            continue
        share = rung.share_of_roof(ladder.roofs)
        near = "unknown" if share is None else f"{share:.0%}"
        off = "unknown" if rung.off_by is None else f"{rung.off_by:+.0%}"
        rows.append((rung.name, rate(rung.tokens_per_s), near, off, str(ladder.output(rung))))
    return Table(("rung", "speed", "of its roof", "prediction off by", "text"), tuple(rows))


def passes_table(passes: Passes) -> Table:
    """Measured and predicted, a row for each pass."""
    from ..roofline import expected

    rows = []
    for timing in passes.timings:
        what, took_s = timing.what, timing.median_s
        said_s = expected(passes.model, what, passes.roofs).seconds
        rows.append((_named(what), ms(took_s), ms(said_s), f"{said_s / took_s - 1:+.0%}"))
    return Table(("pass", "measured", "predicted", "off by"), tuple(rows))


def _named(what: Pass) -> str:
    if what.new_tokens == what.context:
        return f"prefill of {what.context:,}"
    return f"decode at {what.context:,}, {what.batch} together"
