"""The probe: what this machine can reach, measured before any model is run.

    roofs = probe(torch.device("cpu"), one_pass)

Each task is warmed up and repeated, and the *median* repeat counts, as for every other time in the
lab. The fastest would be the rate of a machine that does nothing else; on a shared one, every run
then looks worse than it is. A roof is the best point of a curve of such medians. `spread` says how
far the repeats lay apart. The clock and the waiting for the device are those of `repeat`.

The probe knows no model. `one_pass(layers, between)` gives it a function that makes one forward
pass of a model so small that its computing takes no time: what such a pass takes is the host's.
`between` is to be called before each layer. On a CPU it reads as much as a layer's weights, because
they push the host's own data out of the caches; what the reading takes alone is subtracted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import median

import torch

from ..records import Rate, Roofs
from .machine import this_machine, versions
from .probe_tasks import Sizes, count, random_numbers, read_a_layer, sizes_for, tasks
from .repeat import SHORT_NS, in_rounds, timed

OnePass = Callable[[int, Callable[[], object]], Callable[[], object]]

LAYERS = (4, 16)  # two depths give what one layer costs
PASSES = 25  # of each depth
LEAST, MOST = 5, 25  # repeats of all else
ENOUGH_S = 0.12  # a task repeated for so long needs no further repeat
QUICK_S = 0.03
SPIN_UP_S = 1.0
TOO_LONG_S = 0.5  # after a task that takes so long, larger ones of its kind are left out


def probe(device: torch.device, one_pass: OnePass | None = None, quick: bool = False) -> Roofs:
    """Measures everything: some seconds on a CPU. `quick`: one dtype and fewer repeats."""
    work = Probe(device, one_pass, quick)
    for _ in work.steps():
        pass
    return work.roofs()


class Probe:
    """The probe step by step: `steps` measures, `roofs` gives what was measured so far."""

    def __init__(
        self,
        device: torch.device,
        one_pass: OnePass | None = None,
        quick: bool = False,
        sizes: Sizes | None = None,
    ):
        self._device, self._one_pass = device, one_pass
        self._sizes = sizes or sizes_for(device)
        self._dtypes = dtypes_of(device)[: 1 if quick else None]
        self._enough_s = QUICK_S if quick else ENOUGH_S
        self._curves: dict[tuple[str, str], list[Rate]] = defaultdict(list)
        self._pass_s: dict[int, float] = {}
        self._spreads: list[float] = []

    @torch.inference_mode()
    def steps(self) -> Iterator[float]:
        """Measures one thing after the other; after each gives the share that is done."""
        depths = len(LAYERS) if self._one_pass else 0
        total = count(self._sizes, len(self._dtypes)) + depths
        if self._one_pass:
            self._pass_s = self._host_s(self._one_pass)
            yield depths / total
        self._spin_up()
        cache_bytes = this_machine(self._device).cache_bytes
        too_long = set()
        every = tasks(self._sizes, self._dtypes, self._device, cache_bytes)
        for done, task in enumerate(every, start=1 + depths):
            key = (task.curve, task.dtype)
            if key not in too_long:
                call_s = median(self._repeats_s(task.call))
                self._curves[key].append(Rate(task.size, task.work / call_s))
                if call_s > TOO_LONG_S:
                    too_long.add(key)
            yield done / total

    def _host_s(self, one_pass: OnePass) -> dict[int, float]:
        """Seconds of the host for a pass of each depth. Its passes and reads take turns."""
        between = read_a_layer(self._device)
        calls = {("pass", layers): one_pass(layers, between) for layers in LAYERS}
        for layers in LAYERS:
            calls["reads", layers] = lambda times=layers: [between() for _ in range(times)]
        found = defaultdict(list)
        for key, ns in in_rounds(calls, PASSES, self._device):
            found[key].append(ns * 1e-9)
        middle = {key: median(seconds) for key, seconds in found.items()}
        return {n: max(0.0, middle["pass", n] - middle["reads", n]) for n in LAYERS}

    def _spin_up(self) -> None:
        """Products for a while, since a GPU's clock rises under load."""
        if self._device.type == "cpu":
            return
        numbers = random_numbers(1024 * 1024, self._dtypes[0], self._device).view(1024, 1024)
        spent_s = 0.0
        while spent_s < SPIN_UP_S:
            spent_s += 1e-9 * 100 * timed(lambda: numbers @ numbers, self._device, times=100)

    def _repeats_s(self, call: Callable[[], object]) -> list[float]:
        """Seconds of each repeat, short calls timed several at a time."""
        call()  # warm-up
        times = 1 + SHORT_NS // max(1, timed(call, self._device))
        found: list[float] = []
        while len(found) < LEAST or (len(found) < MOST and sum(found) * times < self._enough_s):
            found.append(timed(call, self._device, times) * 1e-9)
            if len(found) == 1 and found[0] > TOO_LONG_S:
                break
        self._spreads.append((max(found) - min(found)) / 2 / median(found))
        return found

    def roofs(self) -> Roofs:
        """What was measured so far; None and empty where nothing was."""
        products, reads = self._of("products"), self._of("reads")
        copies = [rate.per_s for curve in self._of("copies").values() for rate in curve]
        best_reads = [rate.per_s for curve in reads.values() for rate in curve]
        few, many = LAYERS
        known = len(self._pass_s) == len(LAYERS)
        return Roofs(
            device=self._device.type,
            flops_per_s={dtype: max(r.per_s for r in curve) for dtype, curve in products.items()},
            read_bytes_per_s=max(best_reads, default=None),
            copy_bytes_per_s=max(copies, default=None),
            overhead_s=self._pass_s.get(many),
            spread=median(self._spreads) if self._spreads else None,
            source=f"measured here with torch {versions()['torch']}",
            flops_by_rows=products,
            attention_by_rows=self._of("attention"),
            read_by_bytes=reads,
            layers=many if known else None,
            layer_overhead_s=(
                max(0.0, self._pass_s[many] - self._pass_s[few]) / (many - few) if known else None
            ),
        )

    def _of(self, name: str) -> dict[str, tuple[Rate, ...]]:
        """The curves of that name, by dtype."""
        return {
            dtype: tuple(curve) for (kind, dtype), curve in self._curves.items() if kind == name
        }


def dtypes_of(device: torch.device) -> tuple[torch.dtype, ...]:
    """What is probed, the usual one first."""
    if device.type == "cpu":
        return torch.float32, torch.bfloat16
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16, torch.float32
    return torch.bfloat16, torch.float16, torch.float32
