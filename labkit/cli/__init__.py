"""The command line: the lab's measurements without a notebook, as text or as JSON.

One module for each command. What they measure is what the panels measure: both go through
`experiments`. Neither plotly nor ipywidgets is needed, and torch is not imported before a command
needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import bench, diagnose, generate, gpu_check, models, probe, race
from .output import EXIT_BAD_REQUEST, EXIT_STOPPED

OUT_OF_MEMORY = (
    "the memory ran out in the middle of the run; ask for a shorter prompt, fewer new tokens, a "
    "16-bit dtype or a smaller model"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code, as `output` lists them."""
    args = parser().parse_args(argv)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("labkit: stopped", file=sys.stderr)
        return EXIT_STOPPED
    except (ValueError, RuntimeError, MemoryError) as error:
        message = _remedy(error)
        if message is None:  # a mistake of ours: the traceback says where
            raise
        print(f"labkit: {message}", file=sys.stderr)
        return EXIT_BAD_REQUEST


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="python -m labkit", description="Measure why LLM inference is slow, on this machine."
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="command")
    for command in (race, generate, models, probe, gpu_check, diagnose, bench):
        command.add_to(commands)
    return top


def _remedy(error: Exception) -> str | None:
    """What the user can do about `error`; None if it is nothing of theirs."""
    from ..generate import BadRequest
    from ..models import ModelError
    from ..models.memory import is_out_of_memory

    if isinstance(error, BadRequest | ModelError):
        return str(error)
    return OUT_OF_MEMORY if is_out_of_memory(error) else None
