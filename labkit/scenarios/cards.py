"""The lines of a metrics card: what is shown of a run, rounded as tools round."""

from __future__ import annotations

from ..catalog import machine
from . import physics
from .scenario import Run, Setup

BITS = {"bfloat16": "16-bit", "float16": "16-bit", "int8": "8-bit", "int4": "4-bit"}


def card(lines: tuple[str, ...], setup: Setup, run: Run) -> tuple[str, ...]:
    """The named lines, in that order. Raises KeyError for a name that `LINES` lacks."""
    return tuple(LINES[name](setup, run) for name in lines)


def ms(seconds: float) -> str:
    """A duration with two significant digits or three: "0.35 ms", "50 ms", "1.4 s", "38 s"."""
    value, unit = (seconds * 1e3, "ms") if seconds < 1 else (seconds, "s")
    if value >= 100:
        return f"{value:.0f} {unit}"
    return f"{float(f'{value:.2g}'):g} {unit}" if value < 10 else f"{value:.0f} {unit}"


def rate(per_s: float) -> str:
    return f"{float(f'{per_s:.2g}'):g} tokens/s"


def gb(size: float) -> str:
    return f"{float(f'{size / 1e9:.2g}'):g} GB" if size < 1e11 else f"{size / 1e9:.0f} GB"


def share(run: Run, phase: str) -> str:
    return f"{run.share(phase):.0%}"


def _model(setup: Setup, run: Run) -> str:
    count = f"{setup.gpus} × " if setup.gpus > 1 else ""
    return f"{setup.model}, {BITS[setup.dtype]} weights, on {count}{setup.machine}"


def _users(setup: Setup, run: Run) -> str:
    if run.queue_s:
        # those waiting besides those being served, by how long they wait
        served_s = run.prefill_s + run.decode_s
        return f"{round(run.batch * (1 + 2 * run.queue_s / served_s), -1):.0f} requests at once"
    return "1 request at a time" if run.batch == 1 else f"{run.batch} requests at once"


def _bandwidth(setup: Setup, run: Run) -> str:
    return f"memory bandwidth {machine(setup.machine).bandwidth_bytes_per_s / 1e12:.3g} TB/s"


def _itl(setup: Setup, run: Run) -> str:
    return f"gap between tokens: median 0.1 ms, p99 {ms(run.step_s)}"


def _prompt_eval(setup: Setup, run: Run) -> str:
    return f"prompt eval: {run.prompt_tokens} tokens in {ms(run.ttft_s)}"


def _eval(setup: Setup, run: Run) -> str:
    return f"eval: {run.output_tokens} tokens in {ms(run.decode_s)}"


def _total(setup: Setup, run: Run) -> str:
    return f"{rate(run.batch / run.tpot_s)} over all users"


LINES = {
    "model": _model,
    "users": _users,
    "bandwidth": _bandwidth,
    "itl": _itl,
    "prompt_eval": _prompt_eval,
    "eval": _eval,
    "total": _total,
    "weights": lambda setup, run: f"weights {gb(physics.weights(setup))}",
    "memory": lambda setup, run: f"GPU memory {gb(physics.memory_bytes(setup))}",
    "prompt": lambda setup, run: f"prompts of {run.prompt_tokens} tokens",
    "context": lambda setup, run: f"context of {run.prompt_tokens} tokens",
    "output": lambda setup, run: f"answers of {run.output_tokens} tokens",
    "ttft": lambda setup, run: f"TTFT {ms(run.ttft_s)}",
    "tpot": lambda setup, run: f"TPOT {ms(run.tpot_s)}",
    "speed": lambda setup, run: f"then {rate(1 / run.tpot_s)}",
    "queue": lambda setup, run: f"of which queue time {ms(run.queue_s)}",
    "noqueue": lambda setup, run: "no request waits in the queue",
    "fastest": lambda setup, run: f"shortest TTFT of all requests {ms(run.prefill_s)}",
    "first": lambda setup, run: f"first request: TTFT {ms(run.ttft_s)}",
    "later": lambda setup, run: f"later requests: TTFT {ms(run.prefill_s)}",
    "hits": lambda setup, run: f"prefix cache hits {run.cached_tokens / run.prompt_tokens:.1%}",
    "busy": lambda setup, run: f"profiler: kernels run {run.device_s / run.step_s:.0%} of the time",
    "util": lambda setup, run: "GPU-Util 97 %",
}
