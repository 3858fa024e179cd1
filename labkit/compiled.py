"""Generation with a compiled decode step: `preallocated`, with Python out of the way.

An eager decode step is many hundred operators, each called from Python, each writing its result to
memory before the next one reads it. `torch.compile` runs the Python once, while it records the
operators, and makes a few kernels of them: C++ on a CPU; on a GPU CUDA graphs besides, which one
call replays. The prefill stays eager, since each length of prompt would be compiled anew.

Compiling takes from seconds to a minute or two, once for each size of batch and cache: a first-call
cost, paid before a run's first token, and `compile_s` tells it apart. A recompilation later on
would hide inside a step: `recompiles` counts them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter

import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from torch._dynamo.utils import counters
from transformers import StaticCache

from .generate import (
    BadRequest,
    Ended,
    Forward,
    Pick,
    Prompts,
    check,
    greedy,
    last_logits,
    pad_id,
    pad_left,
)

# One token of each sequence (B, 1), its positions (B, 1), a mask (B, slots) or None, and the cache
Step = Callable[[Tensor, Tensor, Tensor | None, StaticCache], Tensor]  # -> logits (B, vocab)

SLOTS = 128  # a cache has a multiple of so many: most requests then share one compilation
WARM_UP_STEPS = 3  # CUDA graphs are warmed up, recorded, replayed
SHAPES = 64  # so many sizes may be compiled before torch.compile gives up
REMEDY = "or use 'preallocated', which is the same step without a compiler"


def compiled(
    model, prompts: Prompts, new_tokens: int, pick: Pick = greedy, eos_ids: Sequence[int] = ()
) -> Iterator[Forward]:
    """`Compiled(model)` for one run. Keep a `Compiled` instead to see what compiling took."""
    return Compiled(model)(prompts, new_tokens, pick, eos_ids)


class Compiled:
    """A model with a compiled decode step; called like an arm, for one run at a time.

    `step` replaces the model's own decode step (module `lean`). Raises BadRequest where there is no
    compiler, and for a model with sliding windows.
    """

    def __init__(self, model, step: Step | None = None):
        check_compiler(model.device)
        _check_windows(model)
        self.model = model
        self.compile_s = 0.0  # of all sizes so far
        self.recompiles = 0  # that happened inside steps: 0, if all is well
        self._step = step or _whole_step(model)
        self._caches: dict[tuple[int, int], StaticCache] = {}
        self._ready: set[tuple[int, int, bool]] = set()

    @torch.inference_mode()
    def __call__(
        self, prompts: Prompts, new_tokens: int, pick: Pick = greedy, eos_ids: Sequence[int] = ()
    ) -> Iterator[Forward]:
        """Compiles if it must, then generates. Stops and raises as `naive` does.

        The cache is used again by the next run: its addresses are part of a CUDA graph.
        """
        check(self.model, prompts, new_tokens)
        ids, mask = pad_left(prompts, pad_id(self.model), self.model.device)
        slots = rounded_up(ids.shape[1] + new_tokens - 1)
        self._get_ready(len(prompts), slots, mask is not None)
        cache = self._caches[len(prompts), slots]
        cache.reset()
        logits = last_logits(self.model, ids, mask, 0, cache)
        past, ended, graphs = ids.shape[1], Ended(eos_ids), _graphs()
        real = torch.full((len(prompts), 1), past) if mask is None else mask.sum(-1, keepdim=True)
        positions = real.to(ids.device)
        ahead = None if mask is None else _with_room(mask, slots)
        tokens_in = past
        for number in range(new_tokens):
            token = ended.hold(pick(logits))
            yield Forward(token, logits, tokens_in, past, cache)
            if ended.all() or number == new_tokens - 1:
                return
            logits, tokens_in = self._run(token[:, None], positions + number, ahead, cache), 1
            past += 1
            self.recompiles += _graphs() - graphs
            graphs = _graphs()

    def _get_ready(self, batch: int, slots: int, padded: bool) -> None:
        """Compiles for these sizes, unless that is done. Raises BadRequest when it fails."""
        if (batch, slots, padded) in self._ready:
            return
        ids = torch.zeros(batch, 1, dtype=torch.long, device=self.model.device)
        mask = torch.ones(batch, slots, dtype=torch.long, device=ids.device) if padded else None
        if (batch, slots) not in self._caches:
            cache = StaticCache(config=self.model.config, max_cache_len=slots)
            last_logits(self.model, ids, cache=cache)  # a first pass gives the cache its tensors
            self._caches[batch, slots] = cache
        start_s = perf_counter()
        try:
            for position in range(1, 1 + WARM_UP_STEPS):
                self._run(ids, torch.full_like(ids, position), mask, self._caches[batch, slots])
        except BackendCompilerFailed as error:
            reason = f"the step could not be compiled ({_reason(error)}): {_remedy()}"
            raise BadRequest(reason) from error
        self.compile_s += perf_counter() - start_s
        self._ready.add((batch, slots, padded))

    def _run(self, ids: Tensor, positions: Tensor, mask: Tensor | None, cache) -> Tensor:
        torch.compiler.cudagraph_mark_step_begin()
        return self._step(ids, positions, mask, cache).clone()  # a graph's output is overwritten


def rounded_up(slots: int) -> int:
    """The slots of the smallest cache that is compiled for and has so many."""
    return -(-slots // SLOTS) * SLOTS


def _whole_step(model) -> Step:
    """The model's own forward pass for one token, compiled as a whole."""
    how = {"mode": "reduce-overhead"} if model.device.type == "cuda" else {}
    return torch.compile(partial(_one_token, model), dynamic=False, recompile_limit=SHAPES, **how)


def _one_token(model, ids: Tensor, positions: Tensor, mask: Tensor | None, cache) -> Tensor:
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        cache=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return out.logits[:, -1]


def _with_room(mask: Tensor, slots: int) -> Tensor:
    """The mask (B, q) with a 1 for every slot still to be filled: one shape for all steps."""
    room = torch.ones(len(mask), slots - mask.shape[1], dtype=mask.dtype, device=mask.device)
    return torch.cat([mask, room], dim=1)


def _graphs() -> int:
    """How many graphs torch.compile has compiled in this process."""
    return counters["stats"]["unique_graphs"]


# ---- no compiler --------------------------------------------------------------------------------


def check_compiler(device: torch.device) -> None:
    """Raises BadRequest where torch.compile can't work, with what to install."""
    if device.type == "cpu" and shutil.which(_cpu_compiler()) is None:
        raise BadRequest(f"there is no C++ compiler ({_cpu_compiler()}) here: {_remedy()}")
    if device.type == "mps":
        raise BadRequest(f"compiled steps are for CPUs and CUDA, not for MPS: use 'cpu', {REMEDY}")


def _check_windows(model) -> None:
    """A window's cache counts its positions in Python: each step would be compiled anew."""
    if any(StaticCache(config=model.config, max_cache_len=SLOTS).is_sliding):
        raise BadRequest(
            f"{model.config.model_type} has sliding windows, whose fixed cache would have every "
            "step compiled anew: use 'cached' or 'preallocated', or a model without windows"
        )


def _cpu_compiler() -> str:
    """The one that torch.compile calls."""
    return os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")


def _remedy() -> str:
    name = {"darwin": "xcode-select --install", "win32": "the Visual Studio build tools"}
    return f"install it ({name.get(sys.platform, 'apt install g++ python3-dev')}), {REMEDY}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("\n")[:2])
