"""`bench`: the figures that the lab promises, measured here, each beside its promise."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from .options import count
from .output import EXIT_BROKEN_PROMISE, EXIT_OK, Progress

if TYPE_CHECKING:
    from ..bench.stats import Figure
    from ..models import Loaded

Figures = Iterable["Figure"]
MODEL, SHAPE = "SmolLM2-135M-Instruct", "SmolLM2-135M"
SERVED = {"rounds": 2, "requests": 24, "slots": 8, "lengths": "long tail"}


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("bench", help="check the lab's own promises", description=__doc__)
    benches = command.add_subparsers(title="benchmarks", required=True, metavar="benchmark")
    add = partial(_add, benches)
    add("race", race, "how much longer a naive step takes", model=MODEL, pairs=9)
    add("cached-vs-generate", generate, "cached against transformers", model=MODEL, pairs=5)
    add("equal-tokens", equal, "all arms give the same tokens", model=MODEL, new_tokens=256)
    add("chart-tax", chart, "what the live chart costs", pairs=7)
    add("first-point", first_point, "how long a click waits for its curve", model=MODEL, clicks=7)
    add("prediction", prediction, "theory against the clock", model=MODEL, rounds=3)
    guessing = {"model": MODEL, "pairs": 3, "new_tokens": 48}
    add("speculative", speculative, "what guessing gains and loses", **guessing)
    add("attention", attention, "what attention back ends save", model=SHAPE, rounds=5)
    add("ladder", ladder, "each rung against its roof", model=MODEL, rounds=3, new_tokens=48)
    paired = {"model": MODEL, "rounds": 5, "new_tokens": 48}
    add("compiled", compiled, "the compiled step against its roof", **paired)
    add("quantised", quantised, "what fewer bits gain and cost", **paired)
    add("llama-cpp", llama_cpp, "the compiled step against llama.cpp", rounds=5, new_tokens=48)
    add("batching", batching, "refilled slots against full batches", model=MODEL, **SERVED)
    add("start-stop", start_stop, "a stopped run leaves nothing behind", cycles=200)


def _add(
    benches: argparse._SubParsersAction,
    name: str,
    measure: Callable[[argparse.Namespace], Figures],
    title: str,
    **options: str | int | None,
) -> None:
    """A benchmark with --json, and with its own `options`: a number is a count, else a name."""
    command = benches.add_parser(name, help=title, description=measure.__doc__)
    for option, default in options.items():
        kind = count if isinstance(default, int) else str
        flag, shown = f"--{option.replace('_', '-')}", "N" if kind is count else "NAME"
        command.add_argument(flag, type=kind, default=default, metavar=shown)
    command.add_argument("--json", action="store_true", help="everything, as JSON")
    command.set_defaults(run=run, benchmark=name, measure=measure)


def run(args: argparse.Namespace) -> int:
    """Measures, prints a table or JSON, and says by the exit code whether all promises hold."""
    from ..bench.stats import Report
    from ..measure import this_machine, versions
    from ..models import default_device

    figures = tuple(args.measure(args))
    report = Report(args.benchmark, this_machine(default_device()), versions(), figures)
    print(report.json() if args.json else report.text())
    return EXIT_OK if report.kept else EXIT_BROKEN_PROMISE


def race(args: argparse.Namespace) -> Figures:
    """Naive against cached steps, taken in turn, at 256 tokens of context, in float32."""
    from ..bench import race as bench

    return bench.measure(_load(args), args.pairs)


def generate(args: argparse.Namespace) -> Figures:
    """A step of the cached arm against one of transformers' generate(), in float32."""
    from ..bench import cached_vs_generate as bench

    return bench.measure(_load(args), _load(args, layout="plain"), args.pairs)


def equal(args: argparse.Namespace) -> Figures:
    """Tokens of the cached arms that are not the naive arm's, in float32."""
    from ..bench import equal_tokens as bench

    return bench.measure(_load(args), args.new_tokens)


def chart(args: argparse.Namespace) -> Figures:
    """A step with the live panel against one without: the toy, where a step is fastest, and
    SmolLM2."""
    from ..bench import chart_tax as bench

    # Each run lasts for some updates of the chart and no longer: noise moves a pair of runs by a
    # fifth, so it takes many short pairs for their median to tell a hundredth.
    yield from bench.measure("toy", 10 * args.pairs, new_tokens=160)
    yield from bench.measure(MODEL, 3 * args.pairs, new_tokens=12)


def first_point(args: argparse.Namespace) -> Figures:
    """Seconds from a click on Run Simulation to the first point, in Chromium, the model loaded."""
    from ..bench import first_point as bench

    return bench.measure(args.model, args.clicks)


def prediction(args: argparse.Namespace) -> Figures:
    """Decode steps and first tokens as predicted from probed roofs, against measured ones, in
    float32."""
    from ..bench import prediction as bench

    return bench.measure(_load(args), args.rounds)


def speculative(args: argparse.Namespace) -> Figures:
    """Guessing against plain greedy decoding in float32: equal tokens on 20 prompts, the gain on a
    text that copies, the loss on one that does not."""
    from ..bench import speculative as bench

    return bench.measure(_load(args), args.pairs, args.new_tokens)


def attention(args: argparse.Namespace) -> Figures:
    """Time and peak memory of one layer's attention at 1,024 tokens, by back end."""
    from ..bench import attention as bench

    return bench.measure(args.model, args.rounds)


def ladder(args: argparse.Namespace) -> Figures:
    """Every rung of the ladder in turn in float32, against the roof of the bytes it must move."""
    from ..bench import ladder as bench

    return bench.measure(_load(args), args.rounds, args.new_tokens)


def compiled(args: argparse.Namespace) -> Figures:
    """The compiled step in float32: bytes/s against what a probe can read, and against the eager
    step; what compiling takes; the host's share of both."""
    from ..bench import compiled as bench

    return bench.measure(_load(args), _load(args, layout="plain"), args.rounds, args.new_tokens)


def quantised(args: argparse.Namespace) -> Figures:
    """Weights in bfloat16, int8 and int4 against float32, all compiled: tokens/s, bytes, prefill,
    perplexity."""
    from ..bench import quantised as bench

    return bench.measure(_load(args, layout="plain"), args.rounds, args.new_tokens)


def llama_cpp(args: argparse.Namespace) -> Figures:
    """The compiled step against llama.cpp's, on the default model's weights in float32."""
    from ..bench import llama_cpp as bench

    args.model = MODEL
    return bench.measure(_load(args, layout="plain"), args.rounds, args.new_tokens)


def batching(args: argparse.Namespace) -> Figures:
    """Continuous against static batching, answers of 8 to 256 tokens, in float32; also whether each
    request gets the tokens that it gets alone."""
    from ..bench import batching as bench

    return bench.measure(_load(args), args.rounds, args.requests, args.slots, args.lengths)


def start_stop(args: argparse.Namespace) -> Figures:
    """Threads and memory of a kernel before and after many starts and stops of the toy's race."""
    from ..bench import start_stop as bench

    return bench.measure(args.cycles)


def _load(args: argparse.Namespace, layout: str = "fast") -> Loaded:
    from .. import models

    progress = Progress()
    loaded = models.load(args.model, dtype="float32", layout=layout, progress=progress.loading)
    progress.clear()
    return loaded
