"""One function from a name to a model in memory, whatever the name stands for.

Three kinds: "text" is the default model with real weights, downloaded once; "shape" is a known
model's shape with random weights, built on the device without a download; "hub" is anything else, a
Hugging Face id or a local folder. What the model is used for is unknown here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from .. import catalog
from ..records import ModelShape
from . import files, fit, hub
from .devices import dtype_name, resolve_device, resolve_dtype
from .errors import OutOfMemory, TooLarge
from .layout import cpu_layout, wants_cpu_layout
from .memory import free_bytes, is_out_of_memory, release_memory
from .store import Store, cache_folder
from .text import ByteText, Text
from .wheel import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

DEFAULT = "SmolLM2-135M-Instruct"
DEFAULT_SHAPE = "SmolLM2-135M"  # the catalogue's name for the same shape with random weights


@dataclass(frozen=True)
class Loaded:
    """A model ready to generate: in eval mode, on `device`, in `dtype`.

    `shape` is None for a family the lab can't count: it runs, but nothing can be predicted for it.
    `weights` is their kind where they have fewer bits than `dtype` (module `quantised`).
    """

    model: PreTrainedModel
    tokenizer: Text
    shape: ModelShape | None
    name: str
    kind: str  # "text", "shape" or "hub"
    device: torch.device
    dtype: torch.dtype
    weights: str | None = None


@dataclass(frozen=True)
class Choice:
    """How to build: what `load` was asked for, resolved."""

    name: str
    device: torch.device
    dtype: torch.dtype
    attention: str | None
    seed: int
    progress: Progress


def choices() -> dict[str, ModelShape]:
    """Every model that can be loaded without knowing a hub id: the default, then all shapes."""
    default = replace(catalog.model(DEFAULT_SHAPE), name=DEFAULT)
    return {DEFAULT: default, **catalog.models()}


def load(
    name: str = DEFAULT,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
    progress: Progress | None = None,
    *,
    attention: str | None = None,
    layout: str = "fast",
    seed: int = 0,
) -> Loaded:
    """Load or build the model called `name`; None means this machine's default device and dtype.

    `progress(stage, fraction)` is called meanwhile, with None where no fraction is known; whatever
    it raises ends the work cleanly. `attention` is transformers' `attn_implementation`; None means
    "sdpa", or "eager" for Gemma 2, which has no other. `layout` is "fast" or "plain" (module
    `layout`). `seed` decides random weights. Raises ModelError with a remedy.
    """
    where = resolve_device(device)
    what = resolve_dtype(dtype, where)
    report = progress or (lambda stage, fraction: None)
    choice = Choice(name, where, what, attention, seed, report)
    turn = wants_cpu_layout(layout, where, what)
    try:
        return _finished(choice, turn)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        reason = hub.first_line(error)
    # Only here, past the except block, are the traceback and the tensors it held gone.
    release_memory(where)
    raise OutOfMemory(
        f"Memory ran out on {where} while loading {name} in {dtype_name(what)}; what was there is "
        "freed. Load a smaller model or dtype, or end other programs that use the memory. "
        f"({reason})"
    )


def _finished(choice: Choice, turn: bool) -> Loaded:
    """The model, its weights turned for the CPU if asked for."""
    with _quiet():
        loaded = _build(choice)
    if turn:
        cpu_layout(loaded.model)
    choice.progress("ready", 1.0)
    return loaded


def _build(choice: Choice) -> Loaded:
    if choice.name == DEFAULT:
        folder = Store(cache_folder()).folder(DEFAULT, choice.progress)
        return _from_folder(choice, folder, "text")
    if choice.name in catalog.models():
        return _from_shape(choice, catalog.model(choice.name))
    folder = Path(choice.name).expanduser()
    return _from_folder(choice, folder if folder.is_dir() else _from_hub(choice), "hub")


def _from_shape(choice: Choice, shape: ModelShape) -> Loaded:
    """Random weights made on the device itself: an 8B never passes through the CPU's memory."""
    from transformers import AutoModelForCausalLM

    from .shapes import config_of

    _refuse_too_large(choice, fit.fits(shape, choice.dtype, choice.device, 1, 0))
    choice.progress("building", None)
    with _seeded(choice.seed, choice.device), torch.device(choice.device):
        model = AutoModelForCausalLM.from_config(
            config_of(shape), dtype=choice.dtype, attn_implementation=choice.attention
        )
    model.generation_config.eos_token_id = None  # no token of random weights ends a text
    return _loaded(choice, model, ByteText(shape.vocab), shape, "shape")


def _from_hub(choice: Choice) -> Path:
    """Fetch a repository, its config first: what can't be used is not downloaded."""
    choice.progress("looking it up", None)
    known = list(choices())
    config = files.read_config(hub.fetch_config(choice.name, known), choice.name)
    _refuse_too_large(choice, _weights_fit(choice, config))
    return hub.fetch_model(choice.name, known, choice.progress)


def _from_folder(choice: Choice, folder: Path, kind: str) -> Loaded:
    """Real weights, from a folder that is complete or refused."""
    config = files.read_config(folder, choice.name)
    _refuse_too_large(choice, _weights_fit(choice, config))
    choice.progress("loading", None)
    where = (choice.device, choice.dtype, choice.attention)
    model = files.read_model(folder, choice.name, *where)
    tokenizer = files.read_text(folder, choice.name, model)
    return _loaded(choice, model, tokenizer, _shape_or_none(config, choice.name), kind)


def _weights_fit(choice: Choice, config: PreTrainedConfig) -> fit.Fit:
    size = fit.parameters_of(config) * choice.dtype.itemsize
    remedy = "Load a smaller model, or this one in 16 bits or on another device."
    return fit.Fit(size, 0, 0, free_bytes(choice.device), remedy)


def _loaded(
    choice: Choice, model: PreTrainedModel, tokenizer: Text, shape: ModelShape | None, kind: str
) -> Loaded:
    return Loaded(model.eval(), tokenizer, shape, choice.name, kind, choice.device, choice.dtype)


def _shape_or_none(config: PreTrainedConfig, name: str) -> ModelShape | None:
    from .shapes import shape_of

    try:
        return shape_of(config, name)
    except ValueError:  # a family or a variant that the lab has no words for
        return None


def _refuse_too_large(choice: Choice, needed: fit.Fit) -> None:
    if not needed.ok:
        what = f"{choice.name} in {dtype_name(choice.dtype)}"
        raise TooLarge(f"{what} is too large for {choice.device}: {needed}")


# ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Random numbers from `seed`, and the caller's own sequence untouched afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep progress bars and advice off stderr; errors still come as exceptions."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    before = [(log, log.get_verbosity()) for log in (logging, hub_logging)]
    logging.disable_progress_bar()
    for log, _ in before:
        log.set_verbosity_error()
    try:
        yield
    finally:
        for log, verbosity in before:
            log.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
