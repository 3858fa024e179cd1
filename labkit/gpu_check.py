"""One command's worth of figures from a GPU: probe, race, prefill, decode and ladder, to a folder.

    outcome = check(torch.device("cuda"), Path("traces"), GPU, budget_s=480)

For whoever has a GPU for a few minutes and wants to look at its runs elsewhere. Each part has a
share of the time and stops at its end; what was measured by then is kept. Every file says on which
machine and with which versions it was measured. What the figures mean, the lessons tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic

import torch

from . import experiments, ladder, measure, models, probing, roofline, sweeps_passes
from .records import Roofs, Trace, Workload, to_json
from .records.ladder import Ladder, ladder_to_json
from .records.passes import Pass, Passes, passes_to_json

Say = Callable[[str, float | None], None]
BUDGET_S = 480.0
# When a part must end, as part of the budget; a step that compiles can't be stopped, so that last.
UNTIL = {"race": 0.4, "prefill": 0.55, "decode": 0.7, "ladder": 0.85}
FILES = ("roofs.json", "race.json", "prefill.json", "decode.json", "ladder.json")
SHORT = 16  # context of the steps for many tokens together, as in lesson 05


@dataclass(frozen=True)
class Plan:
    """What is run. `models`: the first that fits; `new_tokens`: the most there is time for."""

    models: tuple[str, ...]
    prompt: str | int
    new_tokens: tuple[int, ...]
    prompts: tuple[int, ...]  # lengths of the prefills
    together: tuple[int, ...]  # sequences in one decode step
    contexts: tuple[int, ...]  # of a decode step
    rungs: tuple[str, ...]  # of the ladder


GPU = Plan(
    models=("Llama-3.1-8B", "Llama-3.2-3B", "Llama-3.2-1B"),
    prompt=experiments.GPU_PROMPT_TOKENS,
    new_tokens=(64, 32, 16, 8),
    prompts=(1, 16, 64, 128, 256, 512, 1024, 2048, 4096),
    together=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    contexts=(64, 512, 1024, 2048, 4096, 8192),
    rungs=("naive", "cached", "preallocated", "speculative", "quantised", "compiled"),
)
CPU = Plan(
    models=(models.DEFAULT,),
    prompt="Why is the sky blue?",
    new_tokens=(128, 64, 32, 16),
    prompts=(1, 4, 16, 64, 256, 512),
    together=(1, 2, 4, 8, 16),
    contexts=(64, 256, 512, 1024, 2048),
    rungs=ladder.DEFAULT,
)


@dataclass(frozen=True)
class Outcome:
    """What was measured. `cut_short` names the parts whose time was over before they were done."""

    roofs: Roofs
    traces: tuple[Trace, ...]
    prefill: Passes
    decode: Passes
    ladder: Ladder
    cut_short: tuple[str, ...] = ()

    @property
    def passes(self) -> tuple[Passes, Passes]:
        return self.prefill, self.decode


def plan_for(device: torch.device) -> Plan:
    """8B on a GPU; on a CPU the default model and fewer sizes, so that it ends there too."""
    return CPU if device.type == "cpu" else GPU


def check(
    device: torch.device,
    folder: Path,
    plan: Plan | None = None,
    budget_s: float = BUDGET_S,
    say: Say = lambda part, share: None,
) -> Outcome:
    """Measures everything, and writes each of `FILES` as soon as its part ends.

    Raises ModelError where no model of the plan fits.
    """
    plan, start_s = plan or plan_for(device), monotonic()
    ends_s = {part: start_s + share * budget_s for part, share in UNTIL.items()}
    name = fitting_model(plan, device)
    roofs = probing.probe(device, progress=lambda share: say("probe", share))
    _write(folder / "roofs.json", _roofs_json(device, roofs))
    loaded = models.load(name, device, progress=say)
    loading_s = monotonic() - start_s
    race = _Timed(ends_s["race"])
    traces = _race(loaded, plan, roofs, race, UNTIL["race"] * budget_s - loading_s, say)
    _write(folder / "race.json", to_json(list(traces)))
    cut, found = ["race"] * race.cut_short, []
    for part, curves in (("prefill", prefills(plan)), ("decode", decodes(plan))):
        timed = _Timed(ends_s[part])
        found.append(_passes(part, curves, loaded, roofs, timed, say))
        cut += [part] * timed.cut_short
        _write(folder / f"{part}.json", passes_to_json(found[-1]))
    timed = _Timed(ends_s["ladder"])
    climbed = _ladder(loaded, plan, roofs, timed, say)
    _write(folder / "ladder.json", ladder_to_json(climbed))
    cut += ["ladder"] * timed.cut_short
    return Outcome(roofs, traces, *found, climbed, tuple(cut))


def fitting_model(plan: Plan, device: torch.device) -> str:
    """The first of the plan's models that fits on `device`. Raises ModelError where none does."""
    dtype = models.resolve_dtype(None, device)
    longest = max(*plan.prompts, *plan.contexts)
    for name in plan.models:
        fit = models.fits(models.choices()[name], dtype, device, longest, plan.new_tokens[0])
        if fit.ok:
            return name
    raise models.ModelError(f"{name}, the smallest that is tried here, does not fit: {fit}")


class _Timed:
    """Goes through steps until a moment is past; `cut_short` tells whether some were left."""

    def __init__(self, end_s: float):
        self._end_s, self.cut_short = end_s, False

    def through(self, steps: Iterable) -> Iterator:
        for step in steps:
            yield step
            if monotonic() > self._end_s:
                self.cut_short = True
                return


# ---- the parts -----------------------------------------------------------------------------------


def _race(
    loaded: models.Loaded, plan: Plan, roofs: Roofs, timed: _Timed, seconds: float, say: Say
) -> tuple[Trace, ...]:
    """Naive against cached, with as many tokens as the roofs promise to be possible in time."""
    prompt = plan.prompt
    length = prompt if isinstance(prompt, int) else len(prompt)  # characters: more than its tokens
    new_tokens = affordable(plan.new_tokens, length, loaded, roofs, seconds)
    request = experiments.RaceRequest(loaded, prompt, new_tokens, chat=True)
    runs = experiments.prepare(request, loaded)
    total = new_tokens * len(runs)
    for made, _ in enumerate(timed.through(experiments.steps(request, runs)), start=1):
        say("race", made / total)
    return tuple(run.trace() for run in runs if run.steps)


def affordable(
    counts: tuple[int, ...], prompt: int, loaded: models.Loaded, roofs: Roofs, seconds: float
) -> int:
    """The largest of `counts` whose naive arm should take a third of the time, else the smallest.

    A third, since a GPU runs it once more to warm up, and no run reaches the roofs.
    """
    dtype = models.dtype_name(loaded.dtype)
    for count in counts:
        passes = roofline.predict_naive(loaded.shape, Workload(prompt, count, 1, dtype), roofs)
        if sum(one.seconds for one in passes) < seconds / 3:
            return count
    return counts[-1]


def prefills(plan: Plan) -> list[tuple[str, Pass]]:
    """Each pass with its curve's name, as lesson 04 has it; the format is the model's."""
    return [("prefill", Pass(length, length)) for length in plan.prompts]


def decodes(plan: Plan) -> list[tuple[str, Pass]]:
    """As lesson 05 has them, but for the formats: a second 8B model need not fit."""
    together = [("together", Pass(1, SHORT, batch)) for batch in plan.together]
    return together + [("context", Pass(1, context)) for context in plan.contexts]


def _passes(
    part: str,
    curves: list[tuple[str, Pass]],
    loaded: models.Loaded,
    roofs: Roofs,
    timed: _Timed,
    say: Say,
) -> Passes:
    dtype = models.dtype_name(loaded.dtype)
    runs = [
        sweeps_passes.PassRun(curve, Pass(what.new_tokens, what.context, what.batch, dtype), loaded)
        for curve, what in curves
    ]
    for share in timed.through(sweeps_passes.time_all(runs)):
        say(part, share)
    return sweeps_passes.passes_of(runs, loaded, roofs)


def _ladder(loaded: models.Loaded, plan: Plan, roofs: Roofs, timed: _Timed, say: Say) -> Ladder:
    """The rungs as far as there was time; one that lacks something here says so."""
    climb = ladder.Climb(ladder.LadderRequest(loaded, names=plan.rungs), loaded, roofs)
    for share in timed.through(climb.steps()):
        say("ladder", share)
    return climb.ladder()


# ---- files ---------------------------------------------------------------------------------------


def _roofs_json(device: torch.device, roofs: Roofs) -> str:
    machine, versions = asdict(measure.this_machine(device)), measure.versions()
    return json.dumps({"machine": machine, "versions": versions, "roofs": asdict(roofs)})


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
