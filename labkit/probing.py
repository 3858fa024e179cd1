"""This machine's roofs: probed with a real model's code path, and remembered for a day.

    roofs = known_roofs(device) or probe(device)

The file with the results lies in the lab's cache directory. A result counts only for the machine,
the number of threads and the torch that it was measured with.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from . import generate, measure
from .models.shapes import config_of
from .models.store import cache_folder
from .records import ModelShape, Roofs
from .records.files import build

FILE = "roofs.json"
GOOD_FOR = timedelta(days=1)
SMALL = {"hidden": 32, "heads": 4, "kv_heads": 2, "head_dim": 8, "mlp": 64, "vocab": 64}


@dataclass(frozen=True)
class Probed:
    """Roofs, and what they hold for. `threads` is None on a GPU."""

    machine: str
    threads: int | None
    torch: str
    measured_at: str  # ISO 8601, UTC
    roofs: Roofs

    def __post_init__(self) -> None:
        if datetime.fromisoformat(self.measured_at).tzinfo is None:
            raise ValueError(f"{self.measured_at} has no time zone")

    def holds_for(self, other: Probed) -> bool:
        """Whether both were measured on the same machine in the same way."""
        return (self.machine, self.roofs.device, self.threads, self.torch) == (
            other.machine,
            other.roofs.device,
            other.threads,
            other.torch,
        )

    @property
    def age(self) -> timedelta:
        return datetime.now(UTC) - datetime.fromisoformat(self.measured_at)


def probe(
    device: torch.device, quick: bool = False, progress: Callable[[float], None] | None = None
) -> Roofs:
    """Measures the roofs of `device`, and remembers them unless it was `quick`.

    `progress` is told the share that is done; whatever it raises ends the probe.
    """
    work = measure.Probe(device, one_pass(device), quick)
    for share in work.steps():
        if progress:
            progress(share)
    if not quick:
        remember(device, work.roofs())
    return work.roofs()


def one_pass(device: torch.device) -> measure.OnePass:
    """For the probe: a decode step of a Llama of that many layers, too small to take time itself.

    The code is that of every other model here, from our loop down to torch's operators.
    """

    def of_layers(layers: int, between: Callable[[], object]) -> Callable[[], object]:
        def before_layer(*_: object) -> None:  # what a hook returns would replace the layer's input
            between()

        shape = ModelShape("small", "llama", layers, max_context=512, tied=True, **SMALL)
        with torch.random.fork_rng(devices=[]), device:
            model = AutoModelForCausalLM.from_config(config_of(shape)).eval()
        for layer in model.model.layers:
            layer.register_forward_pre_hook(before_layer)
        prompt = [list(range(8))]
        runs = (generate.cached(model, prompt, 64) for _ in repeat(None))
        steps = chain.from_iterable(_later(run) for run in runs)
        return lambda: next(steps)

    return of_layers


def _later(run: Iterator[generate.Forward]) -> Iterator[generate.Forward]:
    next(run)  # the prefill
    yield from run


# ---- remembering ---------------------------------------------------------------------------------


def known_roofs(device: torch.device, folder: Path | None = None) -> Roofs | None:
    """The roofs of `device` as probed within the last day; None: probe first."""
    here = _here(device, Roofs(device.type))
    for probed in _read(folder or cache_folder()):
        if probed.holds_for(here) and probed.age < GOOD_FOR:
            return probed.roofs
    return None


def remember(device: torch.device, roofs: Roofs, folder: Path | None = None) -> None:
    """Writes them down for later; a folder that can't be written to is none of the user's worries.

    The file is replaced in one step, so that a reader never sees half of it.
    """
    folder = folder or cache_folder()
    here = _here(device, roofs)
    kept = [probed for probed in _read(folder) if not probed.holds_for(here)]
    text = json.dumps([asdict(probed) for probed in (*kept, here)])
    scratch = folder / f"{FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(folder / FILE)


def _here(device: torch.device, roofs: Roofs) -> Probed:
    threads = torch.get_num_threads() if device.type == "cpu" else None
    now = datetime.now(UTC).isoformat(timespec="seconds")
    name = measure.this_machine(device).name
    return Probed(name, threads, measure.versions()["torch"], now, roofs)


def _read(folder: Path) -> list[Probed]:
    """What the file holds; nothing where it is missing or broken, since a probe makes a new one."""
    try:
        rows = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return [build(Probed, row) for row in rows]
    except (OSError, ValueError, TypeError):
        return []
