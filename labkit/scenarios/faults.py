"""One function for each thing that goes wrong: from a seeded draw to a complete exercise.

Each draws a model, a machine and a workload that fit, computes the times, and writes the card. The
levels go from figures that say it plainly to figures that suggest something else.
"""

from __future__ import annotations

from random import Random

from . import physics
from .cards import card
from .draw import (
    SLOW_PREFILL_S,
    SLOW_STEP_S,
    draw_launching,
    draw_loaded,
    draw_queued,
    draw_run,
    draw_setup,
    draw_tokens,
)
from .scenario import Run, Scenario, Setup
from .stories import STORIES
from .truths import WHY_LOG, because, why, why_one_number


def slow_decode(rng: Random) -> Scenario:
    """One user, a short prompt, a long answer: the weights are read for every token."""
    setup = draw_setup(rng, least_step_s=SLOW_STEP_S)
    prompt, output = draw_tokens(rng, 120, 700), draw_tokens(rng, 300, 1200)
    run = draw_run(setup, rng, prompt, output)
    shown = ("model", "users", "prompt", "output", "ttft", "speed")
    return _scenario(rng, "slow_decode", setup, run, shown, "decode")


def long_prompt(rng: Random) -> Scenario:
    """Whole documents in, a few sentences out."""
    prompt, output = draw_tokens(rng, 14_000, 30_000), draw_tokens(rng, 40, 140)
    setup = draw_setup(rng, prompt + output, least_prefill_s=SLOW_PREFILL_S)
    run = draw_run(setup, rng, prompt, output)
    shown = ("model", "users", "prompt", "output", "ttft", "speed")
    return _scenario(rng, "long_prompt", setup, run, shown, "prefill")


def queue_shown(rng: Random) -> Scenario:
    """Many at once, and the server reports its queue."""
    run, setup = draw_queued(rng)
    shown = ("model", "users", "prompt", "output", "ttft", "queue", "tpot")
    return _scenario(rng, "queue_shown", setup, run, shown, "queue")


def cold_start(rng: Random) -> Scenario:
    """The first request after a pause."""
    run, setup = draw_loaded(rng)
    shown = ("model", "first", "later", "speed")
    return _scenario(rng, "cold_start", setup, run, shown, "load")


def one_number(rng: Random) -> Scenario:
    """A throughput and nothing else."""
    speed = rng.choice((17, 31, 48, 64, 90, 140))
    story = rng.choice(STORIES["one_number"])
    lines = (f"“It does {speed} tokens per second.”",)
    truth = because("insufficient-data", why_one_number(speed))
    return Scenario("", 2, "one_number", story, lines, truth)


def launch_overhead(rng: Random) -> Scenario:
    """A small model on a fast GPU: the host can't launch kernels as fast as they run."""
    run, setup = draw_launching(rng)
    shown = ("model", "weights", "bandwidth", "users", "tpot", "busy")
    return _scenario(rng, "launch_overhead", setup, run, shown, "overhead")


def batched_decode(rng: Random) -> Scenario:
    """A good total throughput, and each user waits."""
    batch = rng.choice((16, 24, 32, 48))
    setup = draw_setup(rng, 3000, batch, least_step_s=SLOW_STEP_S)
    run = draw_run(setup, rng, draw_tokens(rng, 300, 900), draw_tokens(rng, 500, 1500), batch)
    shown = ("model", "users", "prompt", "output", "ttft", "tpot", "total", "noqueue")
    return _scenario(rng, "batched_decode", setup, run, shown, "decode")


def long_context(rng: Random) -> Scenario:
    """The cache of a long conversation is read for each token; its prompt was cached."""
    prompt = draw_tokens(rng, 20_000, 30_000)
    setup = draw_setup(rng, prompt + 2000, 8, names=("Llama-3.1-8B", "Qwen3-32B", "Qwen2.5-7B"))
    run = draw_run(setup, rng, prompt, draw_tokens(rng, 500, 1500), 8, cached=prompt - 200)
    shown = ("model", "users", "context", "output", "ttft", "tpot", "hits")
    return _scenario(rng, "long_context", setup, run, shown, "decode")


def queue_in_ttft(rng: Random) -> Scenario:
    """No queue is reported; the spread of TTFT gives it away."""
    run, setup = draw_queued(rng)
    shown = ("model", "users", "prompt", "output", "ttft", "fastest", "tpot")
    return _scenario(rng, "queue_in_ttft", setup, run, shown, "queue")


def load_in_prefill(rng: Random) -> Scenario:
    """The tool books loading as prompt evaluation: to read a token takes longer than to write."""
    run, setup = draw_loaded(rng, prompt=rng.randint(11, 30))
    shown = ("model", "users", "prompt_eval", "eval")
    return _scenario(rng, "load_in_prefill", setup, run, shown, "load")


def cache_hit(rng: Random) -> Scenario:
    """A huge prompt that costs nothing: its prefix was cached."""
    prompt = draw_tokens(rng, 15_000, 30_000)
    setup = draw_setup(rng, prompt + 1500)
    run = draw_run(setup, rng, prompt, draw_tokens(rng, 500, 1400), cached=prompt - 150)
    shown = ("model", "users", "prompt", "output", "ttft", "speed")
    return _scenario(rng, "cache_hit", setup, run, shown, "decode")


def offload(rng: Random) -> Scenario:
    """Weights that don't fit come over PCIe, in prefill and in each step."""
    setup = rng.choice(
        (
            Setup("Llama-2-13B", "RTX-4090"),
            Setup("Qwen3-32B", "RTX-4090", "int8"),
            Setup("Llama-3.1-70B", "L40S", "int8"),
            Setup("Llama-3.1-8B", "RTX-4080"),
        )
    )
    prompt, output = draw_tokens(rng, 80, 300), draw_tokens(rng, 200, 600)
    kept = 0.85 * physics.memory_bytes(setup) / physics.weights(setup)
    part = round(max(1 - kept, 0.05) + rng.uniform(0.0, 0.1), 2)
    step = physics.offloaded_step_s(setup, prompt + output // 2, part, rng.uniform(0.6, 0.8))
    first = step * rng.uniform(1.05, 1.3)  # prefill fetches the same weights once
    run = Run(prompt, output, first, step, step, offloaded=part)
    shown = ("model", "weights", "memory", "users", "prompt", "output", "ttft", "speed")
    return _scenario(rng, "offload", setup, run, shown, "decode")


def speculation(rng: Random) -> Scenario:
    """Tokens come in bursts: the median gap says nothing."""
    setup = draw_setup(rng, 3000, least_step_s=1.5 * SLOW_STEP_S)
    plain = draw_run(setup, rng, draw_tokens(rng, 200, 800), draw_tokens(rng, 500, 1200))
    step = plain.step_s * rng.uniform(1.1, 1.25)  # the draft model's passes
    accepted = round(rng.uniform(2.2, 3.4), 1)
    run = Run(plain.prompt_tokens, plain.output_tokens, step * 1.4, step, step, accepted=accepted)
    shown = ("model", "users", "prompt", "output", "ttft", "itl", "tpot")
    return _scenario(rng, "speculation", setup, run, shown, "decode")


def log_window(rng: Random) -> Scenario:
    """Ten seconds of a server's log: averages over whatever happened in them."""
    running = rng.randint(1, 40)
    speed = round(running * rng.uniform(8, 30), 1)
    usage = round(rng.uniform(2, 60), 1)
    line = (
        f"prompt throughput {rng.choice((0.0, 12.4, 87.1))} tokens/s, generation throughput "
        f"{speed} tokens/s, running {running}, waiting 0, cache usage {usage} %"
    )
    truth = because("insufficient-data", WHY_LOG)
    return Scenario("", 5, "log_window", rng.choice(STORIES["log_window"]), (line,), truth)


def utilisation(rng: Random) -> Scenario:
    """ "GPU-Util 97 %" counts time with any kernel at all; the profiler shows gaps."""
    run, setup = draw_launching(rng)
    shown = ("model", "weights", "bandwidth", "users", "tpot", "util", "busy")
    return _scenario(rng, "utilisation", setup, run, shown, "overhead")


def _scenario(
    rng: Random, fault: str, setup: Setup, run: Run, shown: tuple[str, ...], phase: str
) -> Scenario:
    truth = because(phase, why(phase, setup, run))
    story = rng.choice(STORIES[fault])
    return Scenario("", 0, fault, story, card(shown, setup, run), truth, setup, run)
