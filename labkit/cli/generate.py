"""`generate`: stream a text with the cached arm, stop where the model ends it, say how fast."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import options
from .output import EXIT_OK, EXIT_STOPPED, Progress, json_only, report

if TYPE_CHECKING:
    from ..measure import Run
    from ..models import Text

INCOMPLETE = "\N{REPLACEMENT CHARACTER}"  # what half a character decodes to


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("generate", help="write a text", description=__doc__)
    options.add_model(command)
    options.add_prompt(command)
    command.add_argument(
        "--temperature", type=float, default=options.OMIT, metavar="T", help="0: no chance"
    )
    command.add_argument("--top-k", type=int, default=options.OMIT, metavar="K")
    command.add_argument("--top-p", type=float, default=options.OMIT, metavar="P")
    options.add_files(command)
    command.set_defaults(run=run, new_tokens=256)


def run(args: argparse.Namespace) -> int:
    """Streams, then reports. Ctrl-C ends the text, not the report."""
    from .. import experiments

    request = options.request(args, arms=("cached",), stop_at_eos=True)
    progress = Progress()
    loaded = experiments.load(request, progress.loading)
    (cached,) = experiments.prepare(request, loaded)
    progress.clear()
    try:
        for piece in pieces(cached, loaded.tokenizer):
            if not json_only(args):
                print(piece, end="", flush=True)
    except KeyboardInterrupt:
        return EXIT_STOPPED
    finally:
        if not json_only(args):
            print("\n")
        report([cached.trace()], args)
    return EXIT_OK


def pieces(run: Run, tokenizer: Text) -> Iterator[str]:
    """The text as it grows, without the token that ends it. A character comes when it is whole."""
    run.warm_up()
    ids: list[int] = []
    text, shown = "", 0
    while (step := run.step()) is not None:
        if step.token_ids[0] in tokenizer.eos_ids:
            break
        ids.append(step.token_ids[0])
        text = tokenizer.decode(ids)
        if not text.endswith(INCOMPLETE):
            yield text[shown:]
            shown = len(text)
    yield text[shown:]
