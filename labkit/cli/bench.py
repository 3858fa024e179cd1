"""`bench`: the figures that the lab promises, measured here, each beside its promise."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from . import options
from .output import EXIT_BROKEN_PROMISE, EXIT_OK, Progress

if TYPE_CHECKING:
    from ..bench.stats import Figure
    from ..models import Loaded

Figures = Iterable["Figure"]
MODEL = "SmolLM2-135M-Instruct"


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("bench", help="check the lab's own promises", description=__doc__)
    benches = command.add_subparsers(title="benchmarks", required=True, metavar="benchmark")
    _add(benches, "race", race, "how much longer a naive step takes", pairs=9)
    _add(benches, "cached-vs-generate", generate, "the cached arm against transformers", pairs=5)
    _add(benches, "equal-tokens", equal, "all arms give the same tokens", new_tokens=256)
    tax = _add(benches, "chart-tax", tax_of_chart, "what the live chart costs", pairs=5)
    tax.set_defaults(model=None)
    stop = _add(benches, "start-stop", start_stop, "200 starts and stops leave nothing behind")
    stop.add_argument("--cycles", type=int, default=200, metavar="N")


def _add(
    benches: argparse._SubParsersAction,
    name: str,
    measure: Callable[[argparse.Namespace], Figures],
    title: str,
    **counts: int,
) -> argparse.ArgumentParser:
    """A benchmark with --json, --model, and an option for each of its `counts`."""
    command = benches.add_parser(name, help=title, description=measure.__doc__)
    command.add_argument("--model", default=MODEL)
    for count, default in counts.items():
        option = f"--{count.replace('_', '-')}"
        command.add_argument(option, type=options.count, default=default, metavar="N")
    command.add_argument("--json", action="store_true", help="everything, as JSON")
    command.set_defaults(run=run, benchmark=name, measure=measure)
    return command


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


def tax_of_chart(args: argparse.Namespace) -> Figures:
    """A step with the live panel against one without, in a Jupyter kernel."""
    from ..bench import chart_tax as bench

    for name in [args.model] if args.model else ["toy", MODEL]:
        new_tokens = 512 if name == "toy" else 64  # long enough for some updates of the chart
        yield from bench.measure(name, args.pairs, new_tokens)


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
