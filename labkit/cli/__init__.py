"""The command line: the lab's measurements without a notebook, as text or as JSON.

One module for each command. What they measure is what the panels measure: both go through
`experiments`. Neither plotly nor ipywidgets is needed, and torch is not imported before a command
needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import bench, generate, models, race
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
    except ValueError as error:  # the lab's own say what to change
        return _complain(str(error))
    except (RuntimeError, MemoryError) as error:
        from ..models.memory import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        return _complain(OUT_OF_MEMORY)


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="python -m labkit", description="Measure why LLM inference is slow, on this machine."
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="command")
    for command in (race, generate, models, bench):
        command.add_to(commands)
    return top


def _complain(message: str) -> int:
    print(f"labkit: {message}", file=sys.stderr)
    return EXIT_BAD_REQUEST
