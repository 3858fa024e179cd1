"""Guessing against plain decoding: equal tokens over 20 prompts, and what a guess gains or loses.

Prompt lookup on a text that copies and on one that does not, plain and guessed runs in turns. What
the roofs allow for the guesses that were right stands in the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import probing
from ..generate import cached
from ..guesses import TASKS, GuessRequest, compare
from ..models import Loaded
from ..records import Roofs
from ..records.speculation import Guessed
from ..roofline.speculative import predicted_speed_up
from ..speculative import speculative
from .stats import Figure, differing

AT_LEAST = 1.3
AT_MOST_GUESSES = 8
BEGINNINGS = ("Why is", "List three reasons for", "Write one line about", "How do people use")
SUBJECTS = ("the sea", "bread", "old maps", "rain", "a bicycle")


def prompts() -> list[str]:
    """Twenty short requests."""
    return [f"{beginning} {subject}?" for beginning in BEGINNINGS for subject in SUBJECTS]


def measure(loaded: Loaded, pairs: int = 3, new_tokens: int = 48) -> tuple[Figure, ...]:
    """The promise on copying, the text without repeats beside it, and all differing tokens."""
    request = GuessRequest(loaded, new_tokens=new_tokens, at_most=(AT_MOST_GUESSES,), rounds=pairs)
    roofs = probing.known_roofs(loaded.device) or probing.probe(loaded.device)
    copying, plain = (list(compare(replace(request, task=task), loaded)) for task in TASKS)
    return (
        _speed_up("copying", copying, roofs, AT_LEAST),
        _speed_up("no repeats", plain, roofs, None),
        _milliseconds("copying", copying),
        _milliseconds("no repeats", plain),
        Figure("20 prompts: tokens unlike plain greedy's", unlike(loaded, new_tokens), at_most=0),
    )


def _speed_up(task: str, found: Sequence[Guessed], roofs: Roofs, at_least: float | None) -> Figure:
    counts, plain = found[0].counts, found[0].plain
    right = "none" if counts.acceptance is None else f"{counts.acceptance:.0%}"
    said = ""
    if plain.model and plain.settings.dtype in roofs.flops_per_s:
        times = predicted_speed_up(plain.model, counts, roofs, plain.settings.dtype)
        said = f", predicted {times:.2f}"
    name = f"{task}: times as fast ({right} accepted, {counts.tokens_per_pass:.1f} a pass{said})"
    return Figure(name, tuple(one.speed_up for one in found), at_least=at_least)


def _milliseconds(task: str, found: Sequence[Guessed]) -> Figure:
    return Figure(f"{task}, plain: ms a token", tuple(1e3 * one.plain.tpot_s for one in found))


def unlike(loaded: Loaded, new_tokens: int) -> tuple[float, ...]:
    """For each of the twenty prompts, as a chat turn: how many tokens differ."""
    found = []
    for prompt in prompts():
        ids = [loaded.tokenizer.encode(prompt, chat=True)]
        runs = (loop(loaded.model, ids, new_tokens) for loop in (cached, speculative))
        found.append(differing(*([f.token_ids.item() for f in run] for run in runs)))
    return tuple(found)
