"""`models`: the models that the lab can load by name, their size, and whether they fit here now."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..summary import Table, gb, gib
from . import options
from .output import EXIT_OK

if TYPE_CHECKING:
    import torch

    from ..records import ModelShape

PROMPT_TOKENS, NEW_TOKENS = 512, 128


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("models", help="what can be loaded", description=__doc__)
    options.add_device(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """A line for each model, and what the columns mean."""
    from .. import models
    from ..models.devices import resolve_device, resolve_dtype
    from ..models.memory import free_bytes

    device = resolve_device(getattr(args, "device", None))
    dtype = resolve_dtype(getattr(args, "dtype", None), device)
    rows = tuple(_row(name, shape, dtype, device) for name, shape in models.choices().items())
    print(Table(("model", "parameters", "weights", "cache", "all of it", "here"), rows).text())
    print(
        f"\nIn {models.dtype_name(dtype)} on {device}, where {gib(free_bytes(device))} are free, "
        f"for {PROMPT_TOKENS} prompt tokens and {NEW_TOKENS} new ones. Only {models.DEFAULT} "
        "writes text; the others have random weights, which are as fast as real ones. A Hugging "
        "Face id or a folder can be named too."
    )
    return EXIT_OK


def _row(name: str, shape: ModelShape, dtype: torch.dtype, device: torch.device) -> tuple[str, ...]:
    from .. import models

    fit = models.fits(shape, dtype, device, PROMPT_TOKENS, NEW_TOKENS)
    verdict = "fits" if fit.ok else "too large"
    sizes = (fit.weight_bytes, fit.kv_bytes, fit.needed_bytes)
    return (name, f"{models.parameters(shape):,}", *map(gb, sizes), verdict)
