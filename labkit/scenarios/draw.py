"""Seeded draws of models, machines and workloads that go together, and the times they take."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..catalog import model
from . import physics
from .scenario import Run, Setup

MODELS = ("Llama-3.1-8B", "Qwen2.5-7B", "Qwen3-8B", "Mistral-7B", "Qwen3-32B", "Llama-3.1-70B")
MACHINES = ("RTX-3090", "RTX-4090", "L4", "A10", "L40S", "A100-80GB", "H100-SXM", "H200")
DTYPES = ("bfloat16", "int8", "int4")
SMALL = ("Qwen3-0.6B", "Qwen2.5-0.5B", "Llama-3.2-1B")
FAST = ("H100-SXM", "H200", "B200")
SLOW_STEP_S = 0.03  # at the full bandwidth; slower than this, a reader waits for the text
SLOW_PREFILL_S = 2.0  # at the peak FLOP/s; longer than this, somebody complains


def draw_setup(
    rng: Random,
    context: int = 2000,
    batch: int = 1,
    names: tuple[str, ...] = MODELS,
    least_step_s: float = 0.0,
    least_prefill_s: float = 0.0,
) -> Setup:
    """A model on one, two or four machines where weights and cache fit, as slow as asked.

    Raises ValueError where nothing fits: fewer tokens or a smaller batch would.
    """
    options = [
        setup
        for name in names
        for machine in MACHINES
        for dtype in DTYPES
        for gpus in (1, 2, 4)
        if physics.fits(setup := Setup(name, machine, dtype, gpus), context, batch)
        and physics.step_s(setup, context, batch) >= least_step_s
        and physics.prefill_s(setup, context) >= least_prefill_s
        and _sensible(setup)
    ]
    if not options:
        raise ValueError(f"no setup holds {batch} x {context} tokens: draw fewer")
    return rng.choice(options)


def _sensible(setup: Setup) -> bool:
    """No more GPUs than the weights call for: half of them would be too tight."""
    return setup.gpus == 1 or physics.weights(setup) > 0.5 * physics.memory_bytes(setup) / 2


def draw_tokens(rng: Random, low: int, high: int) -> int:
    """A round number of tokens between the two."""
    step = 10 if high < 2000 else 500
    return rng.randrange(low, high + 1, step)


def draw_run(
    setup: Setup, rng: Random, prompt: int, output: int, batch: int = 1, cached: int = 0
) -> Run:
    """One request where nothing is wrong but the size of the work. `cached` of the prompt is free.

    The first token also takes some launches and sampling: a tenth more than a step, at least.
    """
    mfu, mbu = rng.uniform(0.35, 0.6), rng.uniform(0.55, 0.85)
    step = physics.step_s(setup, prompt + output // 2, batch, mbu)
    first = max(physics.prefill_s(setup, prompt - cached, mfu, mbu), 1.1 * step)
    return Run(prompt, output, first, step, step, batch=batch, cached_tokens=cached)


def draw_queued(rng: Random) -> tuple[Run, Setup]:
    """Short requests of which several rounds wait before this one."""
    batch = rng.choice((16, 32))
    setup = draw_setup(rng, 1200, batch, least_step_s=SLOW_STEP_S / 3)
    output = draw_tokens(rng, 60, 200)
    run = draw_run(setup, rng, draw_tokens(rng, 150, 500), output, batch)
    waited = (run.prefill_s + run.decode_s) * rng.uniform(2.5, 5)
    return replace(run, queue_s=waited), setup


def draw_loaded(rng: Random, prompt: int | None = None) -> tuple[Run, Setup]:
    """A request that finds the model on disk, and lets it be loaded."""
    setup = draw_setup(rng)
    run = draw_run(setup, rng, prompt or draw_tokens(rng, 60, 400), draw_tokens(rng, 60, 200))
    read_s = physics.weights(setup) / physics.DISK_BYTES_PER_S
    load = max(read_s * rng.uniform(1.0, 1.6) + 3, 2.5 * (run.prefill_s + run.decode_s))
    return replace(run, load_s=load), setup


def draw_launching(rng: Random) -> tuple[Run, Setup]:
    """A small model on a fast GPU, eager: half a millisecond or more of host time a layer."""
    setup = Setup(rng.choice(SMALL), rng.choice(FAST))
    prompt, output = draw_tokens(rng, 100, 500), draw_tokens(rng, 200, 800)
    device = physics.step_s(setup, prompt + output // 2, 1, rng.uniform(0.3, 0.5))
    layers = model(setup.model).layers
    step = max(layers * rng.uniform(0.5, 0.9) * 1e-3, device / 0.3)
    return Run(prompt, output, step * rng.uniform(1.05, 1.4), step, device), setup
