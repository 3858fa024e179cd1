"""Speculative decoding: guess some tokens cheaply, then check all guesses in one forward pass.

A decode step for one token waits for the weights; for a few tokens it waits little longer. So
somebody else guesses what comes next, and the model reads all guesses at once. Its own choice after
each of them says how many were right. Every token that comes out is the model's own choice, so the
text is that of plain greedy decoding, whoever guessed: a bad guesser costs time, never a word.

Two guessers: `prompt_lookup` copies what followed the same words earlier in the text, `DraftModel`
asks a smaller model. Greedy and one sequence only: with sampling another rule decides (Leviathan
et al. 2023, arXiv:2211.17192), and the sequences of a batch would come apart.

A pass that gives three tokens yields three `Forward`s; the second and third read nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import torch
from torch import Tensor
from transformers import DynamicCache

from .generate import BadRequest, Forward, Pick, Prompts, check, greedy, last_logits

Draft = Callable[[Sequence[int], int], list[int]]  # text so far, at most so many -> guesses
AT_MOST = 8
LONGEST_MATCH = 3


# ---- guessing -----------------------------------------------------------------------------------


def prompt_lookup(text: Sequence[int], at_most: int, longest: int = LONGEST_MATCH) -> list[int]:
    """What followed the last few tokens when they last occurred in the text; no model is asked.

    Looks for the last `longest` tokens, then for fewer, down to one. Empty where nothing recurs.

    >>> prompt_lookup([1, 2, 3, 9, 1, 2], at_most=3)
    [3, 9, 1]
    """
    text = list(text)
    for length in range(min(longest, len(text) - 1), 0, -1):
        tail = text[-length:]
        for start in range(len(text) - length - 1, -1, -1):
            if text[start : start + length] == tail:
                return text[start + length :][:at_most]
    return []


class DraftModel:
    """Guesses greedily with a smaller model, which keeps a cache of its own.

    The model must count tokens as the large one does: see `check_same_tokens`.
    """

    def __init__(self, model):
        self._model = model
        self._read: list[int] = []  # what the cache holds
        self._sure = 0  # positions that it was last cropped to: no way back behind them
        self._cache: DynamicCache | None = None

    def __call__(self, text: Sequence[int], at_most: int) -> list[int]:
        self._go_back_to(list(text))
        unread, guesses = list(text[len(self._read) :]), []
        for _ in range(at_most):
            ids = torch.tensor([unread], device=self._model.device)
            logits = last_logits(self._model, ids, past=len(self._read), cache=self._cache)
            self._read += unread
            unread = [greedy(logits).item()]
            guesses += unread
        return guesses

    def _go_back_to(self, text: list[int]) -> None:
        """Forgets what it read beyond `text`: guesses that were wrong, or all of another text."""
        same = min(common(self._read, text), len(text) - 1)
        if self._cache is None or same < self._sure:
            same, self._cache = 0, new_cache(self._model)
        else:
            self._cache.crop(same - len(self._read))
        self._read, self._sure = text[:same], same


def check_same_tokens(vocabulary: object, other: object, name: str, other_name: str) -> None:
    """Raises BadRequest unless both tokenizers have the same tokens under the same ids.

    Else the ids that one model guesses would be other words to the other model.
    """
    if vocabulary != other:
        raise BadRequest(
            f"{other_name} can't guess for {name}: their tokenizers differ, so that its token ids "
            "are other words; choose a draft model of the same family"
        )


# ---- checking -----------------------------------------------------------------------------------


def accepted(guesses: Sequence[int], chosen: Sequence[int]) -> int:
    """How many guesses stand: all before the first that is not the model's own choice.

    `chosen` has one token more: what the model chose after the text, after the first guess, after
    the second, …. A choice behind a wrong guess follows from a text that is not there.
    """
    return common(guesses, chosen)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens at their beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@torch.inference_mode()
def speculative(
    model,
    prompts: Prompts,
    new_tokens: int,
    pick: Pick = greedy,
    eos_ids: Sequence[int] = (),
    draft: Draft = prompt_lookup,
    at_most: int = AT_MOST,
) -> Iterator[Forward]:
    """The tokens of `generate.cached`, several of them from one pass where guesses were right.

    The first pass reads the prompt, each later one a token and up to `at_most` guesses. Raises
    BadRequest as `generate.cached` does, and for a batch or a sampler.
    """
    _check(model, prompts, new_tokens, pick, at_most)
    text, cache, past, made = list(prompts[0]), new_cache(model), 0, 0
    while made < new_tokens:
        room = min(at_most, new_tokens - made - 1)  # no guess that nobody would see
        guesses = draft(text, room)[:room] if past and room else []
        read = text[past:] + guesses
        logits = every_choice(model, read, past, cache, len(guesses) + 1)
        chosen = greedy(logits).tolist()
        right = accepted(guesses, chosen)
        cache.crop(right - len(guesses))  # wrong guesses leave no trace
        for place in range(right + 1):
            context = len(text) + place
            row = logits[place : place + 1]  # (1, vocab)
            tokens_in = 0 if place else len(read)
            yield Forward(greedy(row), row, tokens_in, context, cache)
            if chosen[place] in eos_ids:
                return
        past = len(text) + right
        text, made = text + chosen[: right + 1], made + right + 1


def every_choice(model, ids: list[int], past: int, cache: DynamicCache, keep: int) -> Tensor:
    """Runs `ids` after `past` cached positions; logits (keep, vocab) of the last `keep` of them."""
    where = torch.arange(past, past + len(ids), device=model.device)
    out = model(
        input_ids=torch.tensor([ids], device=model.device),
        position_ids=where[None],
        cache=cache,
        use_cache=True,
        logits_to_keep=keep,
    )
    return out.logits[0]


def new_cache(model) -> DynamicCache:
    """An empty cache that can go back, in layers with a sliding window too."""
    cache = DynamicCache(config=model.config)
    cache.activate_past_recording()
    return cache


def _check(model, prompts: Prompts, new_tokens: int, pick: Pick, at_most: int) -> None:
    check(model, prompts, new_tokens)
    if len(prompts) != 1:
        raise BadRequest("speculative decoding takes one sequence: its passes differ in length")
    if pick is not greedy:
        raise BadRequest("speculative decoding is greedy here: set the temperature to 0")
    if at_most < 1:
        raise BadRequest(f"at most {at_most} guesses are none: allow 1 or more")
