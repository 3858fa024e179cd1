"""Options that several commands share. Their defaults are `experiments.RaceRequest`'s own: an
option that was not given is left out of the request.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiments import RaceRequest

OMIT = argparse.SUPPRESS


def add_model(command: argparse.ArgumentParser) -> None:
    """--model, --device, --dtype."""
    command.add_argument(
        "--model", default=OMIT, help="a name that `models` lists, a Hugging Face id, or a folder"
    )
    add_device(command)


def add_device(command: argparse.ArgumentParser) -> None:
    """--device, --dtype."""
    command.add_argument("--device", default=OMIT, help="cpu, cuda, cuda:1, mps")
    command.add_argument("--dtype", default=OMIT, help="float32, bfloat16, float16")


def add_prompt(command: argparse.ArgumentParser) -> None:
    """--prompt or --prompt-length, --plain, --new-tokens, --seed."""
    prompt = command.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", default=OMIT, metavar="TEXT")
    prompt.add_argument(
        "--prompt-length",
        dest="prompt",
        type=int,
        default=OMIT,
        metavar="N",
        help="N tokens drawn at random instead of a text",
    )
    command.add_argument(
        "--plain",
        dest="chat",
        action="store_false",
        help="continue the text as it stands; else a chat model takes it as a question",
    )
    command.add_argument("--new-tokens", type=int, default=OMIT, metavar="N")
    command.add_argument("--seed", type=int, default=OMIT, metavar="N")


def add_files(command: argparse.ArgumentParser) -> None:
    """--json and --csv: where the traces go, without loss."""
    command.add_argument(
        "--json",
        type=new_file,
        nargs="?",
        const="-",
        metavar="FILE",
        help="the traces as JSON: in FILE, or without one alone on standard output",
    )
    command.add_argument(
        "--csv", type=new_file, metavar="FILE", help="the traces as CSV, a row for each step"
    )


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def new_file(name: str) -> Path:
    """A path that can be written to, found out now: not after minutes of measuring."""
    path = Path(name)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{name!r} is a folder, or stands in one that is missing")
    return path


def request(args: argparse.Namespace, **fixed: object) -> RaceRequest:
    """The request that the options and the command's own `fixed` choices make together."""
    from dataclasses import fields

    from ..experiments import RaceRequest

    names = {field.name for field in fields(RaceRequest)}
    given = {name: value for name, value in vars(args).items() if name in names}
    return RaceRequest(**given, **fixed)
