"""Speculative decoding under the clock, beside plain decoding of the same text.

    request = GuessRequest(model=loaded, task="copying")
    for guessed in compare(request, loaded):
        ...                                # one more number of guesses is measured

Plain and guessed runs take turns. The guesser's own time is inside the steps that wait for it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from . import experiments, generate, models
from .experiments import RaceRequest
from .generate import BadRequest
from .measure import Arm, Run, Setup
from .models.text import HubText
from .records.speculation import Guessed
from .speculative import Draft, DraftModel, check_same_tokens, prompt_lookup, speculative

LOOKUP, OWN_LAYERS = "prompt lookup", "its own first layers"
ENTRIES = (
    "12:01 server alpha started, 3 workers, port 8080\n"
    "12:04 server beta started, 5 workers, port 8081\n"
    "12:09 server gamma stopped by user, no errors\n"
)
TASKS = {
    "copying": f"The log of today:\n{ENTRIES}\nThe same log again, word for word:\n{ENTRIES[:49]}",
    "no repeats": "Seven unusual words and what each of them means:\n1. Serendipity:",
}


@dataclass(frozen=True)
class GuessRequest:
    """What somebody chose. `task` is a key of `TASKS` or a text of one's own.

    `draft` is `LOOKUP`, `OWN_LAYERS`, or the name of a model with the same tokenizer.
    """

    model: str | models.Loaded = models.DEFAULT
    task: str = "copying"
    new_tokens: int = 32
    at_most: tuple[int, ...] = (2, 4, 8)
    rounds: int = 1
    draft: str = LOOKUP


def compare(request: GuessRequest, loaded: models.Loaded) -> Iterator[Guessed]:
    """Plain decoding, then each number of guesses, round by round; a result for each number.

    Raises BadRequest, or ModelError for a draft model that can't be loaded.
    """
    if not request.at_most or min(request.at_most) < 1 or request.rounds < 1:
        raise BadRequest("ask for 1 guess or more, and 1 round or more")
    race = RaceRequest(loaded, TASKS.get(request.task, request.task), request.new_tokens)
    setup = experiments.prepare(replace(race, arms=("cached",)), loaded)[0].setup
    new_guesser = guesser(request.draft, loaded)
    plain, guessing = arms(race, loaded, request.at_most, new_guesser)
    return _compare(request, setup, plain, guessing)


def _compare(
    request: GuessRequest, setup: Setup, plain: Arm, guessing: dict[int, Arm]
) -> Iterator[Guessed]:
    for arm in (plain, *guessing.values()):
        Run(arm, setup).warm_up()
    for _ in range(request.rounds):
        beside = finished(plain, setup)
        for at_most, arm in guessing.items():
            yield Guessed(request.task, at_most, beside.trace(), finished(arm, setup).trace())


def finished(arm: Arm, setup: Setup) -> Run:
    """The arm's whole run, timed."""
    run = Run(arm, setup)
    while run.step() is not None:
        pass
    return run


def arms(
    race: RaceRequest,
    loaded: models.Loaded,
    at_most: tuple[int, ...],
    new_guesser: Callable[[], Draft],
) -> tuple[Arm, dict[int, Arm]]:
    """Plain decoding, and guessing with each of `at_most`; a new guesser for each start."""
    ids = [loaded.tokenizer.encode(race.prompt, race.chat)]
    asked = (loaded.model, ids, race.new_tokens)
    plain = Arm("cached", partial(generate.cached, *asked))
    guessing = {
        k: Arm(f"up to {k} guesses", partial(_start, asked, new_guesser, k)) for k in at_most
    }
    return plain, guessing


def _start(asked: tuple, new_guesser: Callable[[], Draft], at_most: int):
    return speculative(*asked, draft=new_guesser(), at_most=at_most)


# ---- who guesses --------------------------------------------------------------------------------


def guesser(name: str, loaded: models.Loaded) -> Callable[[], Draft]:
    """Something that makes a fresh guesser of that name.

    Raises BadRequest for a draft model that counts tokens in another way, ModelError for one that
    can't be loaded.
    """
    if name == LOOKUP:
        return lambda: prompt_lookup
    if name == OWN_LAYERS:
        small = first_layers(loaded.model)
        return lambda: DraftModel(small)
    other = models.load(name, loaded.device, loaded.dtype)
    both = (vocabulary(one.tokenizer) for one in (loaded, other))
    check_same_tokens(*both, loaded.name, other.name)
    return lambda: DraftModel(other.model)


def vocabulary(text: models.Text) -> object:
    """What must be equal for two tokenizers to be the same."""
    return text.tokenizer.get_vocab() if isinstance(text, HubText) else vars(text)


def first_layers(model: nn.Module, share: float = 0.5) -> nn.Module:
    """The same weights with the later layers left out: a draft model that takes no memory.

    Nobody trained it to stop half-way, so it guesses poorly. Raises BadRequest for a family whose
    layers lie elsewhere.
    """
    inner = getattr(model, "model", None)
    if not hasattr(inner, "layers"):
        raise BadRequest("this model's layers can't be left out: take another draft model")
    small, inner = _twin(model), _twin(inner)
    inner.layers = inner.layers[: max(1, round(share * len(inner.layers)))]
    small.model = inner
    return small


def _twin(module: nn.Module) -> nn.Module:
    """The same module and parts; replacing a part of one leaves the other as it was."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
