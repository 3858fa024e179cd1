"""The panels of the lessons: controls, one figure, one status line. The only place with widgets.

Each function makes a panel; show it by ending a cell with it. Nothing runs until its button is
clicked, or `wait` is called in a later cell, which gives the run's traces.
"""

from collections.abc import Sequence
from pathlib import Path

from .. import catalog, experiments, models, roofline, scenarios
from ..batching import Traffic
from ..guesses import LOOKUP, TASKS
from ..ladder import DEFAULT as DEFAULT_RUNGS
from ..records import Trace
from ..records.machine import Roofs
from ..records.workload import Workload
from ..roofline.whatif import Observed, observed
from .batching import Batching
from .batching_load import Load
from .batching_sizes import BatchSizes
from .decode import Decode
from .device import DeviceCard
from .diagnosis import Exercise
from .diagnosis_paste import PasteBox
from .diagnosis_practice import Practice
from .diagnosis_results import ResultsReport
from .diagnosis_run import OwnRun
from .growth import CacheGrowth
from .ladder import LadderPanel
from .memory import CacheProof, KvCalculator
from .memory_plan import MemoryPlan
from .prefill import Prefill
from .quadratic import AttentionMatrix, AttentionSweep, NaiveSplit
from .race import FirstTokens, Race
from .recorded import recorded_race
from .speculative import Guessing
from .stepper import Stepper
from .token_cost import TokenCosts
from .whatif import WhatIf

__all__ = ["DeviceCard", "FirstTokens", "Race", "Stepper", "device_card", "first_tokens", "race"]
__all__ += ["race_recorded", "stepper"]
__all__ += ["Decode", "Prefill", "WhatIf", "decode", "prefill", "what_if", "what_if_metrics"]
__all__ += ["AttentionMatrix", "AttentionSweep", "NaiveSplit", "TokenCosts", "attention_matrix"]
__all__ += ["attention_sweep", "naive_split", "token_costs"]
__all__ += ["CacheGrowth", "CacheProof", "KvCalculator", "MemoryPlan", "cache_growth"]
__all__ += ["cache_proof", "kv_calculator", "memory_plan"]
__all__ += ["BatchSizes", "Batching", "Load", "batch_sizes", "batching", "load"]
__all__ += ["Guessing", "LadderPanel", "guessing", "ladder"]
__all__ += ["Exercise", "OwnRun", "PasteBox", "Practice", "ResultsReport", "exercise", "own_run"]
__all__ += ["paste_box", "practice", "results_report"]

QUESTION = "Why is the sky blue?"


def device_card(device: str | None = None) -> DeviceCard:
    """What this machine is: processor, memory, versions."""
    return DeviceCard(device)


def first_tokens(
    model: str | models.Loaded = models.DEFAULT, prompt: str = QUESTION, new_tokens: int = 48
) -> FirstTokens:
    """Loads a model, the first time from the network, and lets it write."""
    return FirstTokens(model, prompt, new_tokens)


def race(
    model: str | models.Loaded | None = None,
    prompt: str | int | None = None,
    new_tokens: int = 64,
    arms: Sequence[str] = ("naive", "cached"),
    order: str = "interleaved",
    roofs: Roofs | None = None,
) -> Race:
    """Naive against cached, live. `prompt` is a text, or a number of random tokens.

    By default what shows the difference on this machine: see `experiments.suited_race`.
    """
    suited_model, suited_prompt = experiments.suited_race(QUESTION)
    if model is None:
        model, prompt = suited_model, suited_prompt if prompt is None else prompt
    prompt = QUESTION if prompt is None else prompt
    return Race(model, prompt, new_tokens, arms, order, roofs)


def race_recorded(name: str | None = None) -> Race:
    """The race panel with a run that was recorded elsewhere: a folder of data/traces, or the first.

    Raises ValueError with the names that there are.
    """
    traces = recorded_race(name)
    chosen = traces[0].settings
    panel = race(chosen.model, chosen.prompt or chosen.prompt_tokens, chosen.new_tokens)
    panel.replay(traces)
    return panel


def stepper(
    model: str | models.Loaded = models.DEFAULT, prompt: str = "The capital of France is"
) -> Stepper:
    """Generation by hand, one token at each click."""
    return Stepper(model, prompt)


def prefill(
    model: str | models.Loaded = models.DEFAULT, longest: int = 2048, roofs: Roofs | None = None
) -> Prefill:
    """The first token over the prompt's length, from 1 to `longest` tokens."""
    return Prefill(model, longest, roofs)


def decode(
    model: str | models.Loaded = models.DEFAULT,
    together: int = 64,
    longest: int = 2048,
    roofs: Roofs | None = None,
) -> Decode:
    """One decode step: its bytes, and its time over tokens together, context and format."""
    return Decode(model, together, longest, roofs)


def what_if(run: Trace | Observed, roofs: Roofs | None = None) -> WhatIf:
    """The run on another machine. Raises ValueError where the run has too little to say."""
    return WhatIf(observed(run, roofs) if isinstance(run, Trace) else run)


def what_if_metrics(
    ttft_s: float, tpot_s: float, model: str, machine: str, work: Workload
) -> WhatIf:
    """The same from a server's metrics; `model` and `machine` are names of the catalogue."""
    roofs = roofline.datasheet_roofs(catalog.machine(machine))
    shape = catalog.model(model)
    return WhatIf(Observed(shape, roofs, work, ttft_s, tpot_s, machine, "as given"))


# ---- lesson 02 -----------------------------------------------------------------------------------


def attention_matrix(model: str = "SmolLM2-135M", length: int = 1024) -> AttentionMatrix:
    """The causal matrix growing with the text, and the FLOPs of one pass: computed."""
    return AttentionMatrix(model, length)


def attention_sweep(
    model: str = "SmolLM2-135M",
    kernels: Sequence[str] = ("causal",),
    longest: int = 2048,
    rounds: int = 5,
) -> AttentionSweep:
    """One layer's attention of that shape, timed over the length."""
    return AttentionSweep(model, kernels, longest, rounds)


def naive_split(
    model: str | models.Loaded = models.DEFAULT, longest: int = 1024, rounds: int = 3
) -> NaiveSplit:
    """Passes without a cache: attention's time and everything else's, over the length."""
    return NaiveSplit(model, longest, rounds)


def token_costs(model: str = "Llama-3.1-8B", machine: str = "RTX-4090") -> TokenCosts:
    """What token n costs naive and cached on a machine of the catalogue. Predicted."""
    return TokenCosts(model, machine)


# ---- lesson 06 -----------------------------------------------------------------------------------


def kv_calculator(model: str = "Llama-3.1-8B", context: int = 8192) -> KvCalculator:
    """How large the cache of any known model is, and what sharing and windows save: computed."""
    return KvCalculator(model, context)


def cache_proof() -> CacheProof:
    """The formula's bytes beside those of small real caches, one of each kind."""
    return CacheProof()


def cache_growth(
    model: str | models.Loaded = models.DEFAULT,
    longest: int = 4096,
    rounds: int = 7,
    roofs: Roofs | None = None,
) -> CacheGrowth:
    """Decode steps with a growing and a preallocated cache over the context."""
    return CacheGrowth(model, longest, rounds, roofs)


def memory_plan(
    model: str = "Llama-3.1-8B", machine: str = "A100-80GB", context: int = 8192
) -> MemoryPlan:
    """The largest batch and context that fit a machine of the catalogue: computed."""
    return MemoryPlan(model, machine, context)


# ---- lesson 08 -----------------------------------------------------------------------------------


def ladder(
    model: str | models.Loaded = models.DEFAULT,
    task: str = "copying",
    new_tokens: int = 24,
    rounds: int = 1,
    rungs: Sequence[str] = DEFAULT_RUNGS,
    roofs: Roofs | None = None,
) -> LadderPanel:
    """The same text in faster and faster ways, each beside the roof of the bytes it must move."""
    return LadderPanel(model, task, new_tokens, rounds, rungs, roofs)


def guessing(
    model: str | models.Loaded = models.DEFAULT,
    tasks: Sequence[str] = tuple(TASKS),
    new_tokens: int = 32,
    at_most: Sequence[int] = (2, 8),
    draft: str = LOOKUP,
    roofs: Roofs | None = None,
) -> Guessing:
    """Speculative decoding beside plain decoding, by text and number of guesses."""
    return Guessing(model, tasks, new_tokens, at_most, draft, roofs)


# ---- lesson 09 -----------------------------------------------------------------------------------


def exercise(name: str = "seed") -> Exercise:
    """A card of metrics to diagnose in one's own words. Raises ValueError for an unknown name."""
    return Exercise(scenarios.scenario(name))


def practice() -> Practice:
    """Exercises without end, on five levels; the score is kept between visits."""
    return Practice()


def own_run(traces: Sequence[Trace] = (), roofs: Roofs | None = None) -> OwnRun:
    """A verdict on a measured run, those given or a saved one, and what it would be elsewhere."""
    return OwnRun(traces, roofs)


def paste_box(text: str = "") -> PasteBox:
    """A verdict on metrics that are pasted, from some thirty tools or in plain words."""
    return PasteBox(text)


def results_report(folder: str | Path = ".") -> ResultsReport:
    """What was passed in the saved notebooks of `folder`, and the scores, to be exported."""
    return ResultsReport(Path(folder))


# ---- lesson 07 -----------------------------------------------------------------------------------


def batch_sizes(
    model: str | models.Loaded = models.DEFAULT,
    most: int = 16,
    context: int = 16,
    roofs: Roofs | None = None,
) -> BatchSizes:
    """Decode for 1 to `most` sequences: all users' tokens/s against one user's wait."""
    return BatchSizes(model, most, context, roofs)


def batching(
    model: str | models.Loaded = models.DEFAULT,
    slots: int = 4,
    requests: int = 10,
    lengths: str = "long tail",
    answers: tuple[int, int] = (2, 24),
    per_s: float | None = None,
    seed: int = 2,
) -> Batching:
    """Static against continuous batching of the same requests, live. `per_s` are arrivals a second;
    None: all at the start."""
    return Batching(model, Traffic(requests, lengths, (8, 16), answers, per_s, seed), slots)


def load(
    model: str | models.Loaded = "toy",
    slots: int = 4,
    requests: int = 32,
    answers: tuple[int, int] = (4, 32),
) -> Load:
    """The same requests arriving at several rates: how long each policy's first tokens take."""
    return Load(model, Traffic(requests, "long tail", (4, 16), answers), slots)
