"""Token generation, slow and fast, as iterators: `naive`, `cached` and `preallocated`.

Each yields one `Forward` for each new token: N tokens cost exactly N forward passes, and no pass is
wasted after the last token. There is no clock in here, no printing and no tokenizer: who consumes
the iterator measures, prints and stops (by asking for no further token).

Naive and cached differ in one thing only: what goes into the next forward pass. Same model, same
attention back end, same positions, logits of the last position only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, StaticCache

Prompts = Sequence[Sequence[int]]
Pick = Callable[[Tensor], Tensor]  # (B, vocab) logits -> (B,) token ids


class Forward(NamedTuple):
    """What one forward pass gave. `tokens_in` positions of each sequence went through the model."""

    token_ids: Tensor  # (B,)
    logits: Tensor  # (B, vocab): the row that the token was picked from
    tokens_in: int
    context_tokens: int  # positions the token could attend to, padding included
    cache: Cache | None


class BadRequest(ValueError):
    """Nothing can be generated from this; the message says what to change."""


# ---- picking a token ----------------------------------------------------------------------------


def greedy(logits: Tensor) -> Tensor:
    """The likeliest token of each row. No softmax: it would not change which one is largest."""
    return logits.argmax(-1)


def probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """The distribution (B, vocab) that sampling draws from.

    `top_k` keeps the k likeliest tokens; `top_p` the fewest whose probabilities reach p together.
    """
    logits = logits.float() / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if top_p is not None:
        ordered, place = logits.softmax(-1).sort(-1, descending=True)
        before = ordered.cumsum(-1) - ordered  # probability of everything likelier
        drop = torch.zeros_like(before, dtype=torch.bool).scatter(-1, place, before >= top_p)
        logits = logits.masked_fill(drop, -torch.inf)
    return logits.softmax(-1)


def sampler(
    temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None, seed: int = 0
) -> Pick:
    """A seeded `Pick`: the same seed draws the same tokens. Temperature 0 is greedy."""
    if not temperature >= 0:  # NaN too
        raise BadRequest("temperature must be 0 (greedy) or more")
    if (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise BadRequest("top_k must be 1 or more, and top_p above 0 and at most 1")
    if temperature == 0:
        return greedy
    generator = torch.Generator().manual_seed(seed)  # on the CPU: equal draws on every device

    def pick(logits: Tensor) -> Tensor:
        chances = probabilities(logits, temperature, top_k, top_p)
        return torch.multinomial(chances.cpu(), 1, generator=generator)[:, 0].to(logits.device)

    return pick


# ---- one forward pass ---------------------------------------------------------------------------


def last_logits(
    model, ids: Tensor, mask: Tensor | None = None, past: int = 0, cache: Cache | None = None
) -> Tensor:
    """Runs `ids` (B, q) after `past` cached positions; the last position's logits (B, vocab).

    `mask` (B, past + q) is 1 where a token is real, 0 where the left is padded; None without
    padding. Positions count real tokens only, so that a padded row computes what it would alone.
    """
    if mask is None:
        positions = torch.arange(past, past + ids.shape[1], device=ids.device).expand_as(ids)
    else:
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, past:]
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        cache=cache,
        use_cache=cache is not None,
        logits_to_keep=1,
    )
    return out.logits[:, -1]


def pad_left(prompts: Prompts, pad_id: int, device) -> tuple[Tensor, Tensor | None]:
    """Prompts of any lengths as one tensor (B, longest), padded on the left; and their mask.

    On the left, because the next token is always read off the last column.
    """
    longest = max(map(len, prompts))
    rows = [[pad_id] * (longest - len(p)) + list(p) for p in prompts]
    ids = torch.tensor(rows, device=device)
    if all(len(p) == longest for p in prompts):
        return ids, None
    real = [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]
    return ids, torch.tensor(real, device=device)


def _append(columns: Tensor, column: Tensor) -> Tensor:
    return torch.cat([columns, column[:, None]], dim=1)


def _grow(mask: Tensor | None) -> Tensor | None:
    """The mask with one more real column: the token that was just made."""
    return None if mask is None else _append(mask, torch.ones_like(mask[:, 0]))


# ---- the three loops ----------------------------------------------------------------------------


@torch.inference_mode()
def naive(
    model, prompts: Prompts, new_tokens: int, pick: Pick = greedy, eos_ids: Sequence[int] = ()
) -> Iterator[Forward]:
    """Every new token recomputes the whole sequence: pass i works through prompt + i positions.

    Stops early only where `eos_ids` is given and every sequence has produced one of them.
    Raises BadRequest for an empty prompt, no new tokens, or more than the model's context holds.
    """
    check(model, prompts, new_tokens)
    sequence, mask = pad_left(prompts, pad_id(model), model.device)
    ended = Ended(eos_ids)
    for _ in range(new_tokens):
        logits = last_logits(model, sequence, mask)
        token = ended.hold(pick(logits))
        yield Forward(token, logits, sequence.shape[1], sequence.shape[1], None)
        if ended.all():
            return
        sequence, mask = _append(sequence, token), _grow(mask)


@torch.inference_mode()
def cached(
    model,
    prompts: Prompts,
    new_tokens: int,
    pick: Pick = greedy,
    eos_ids: Sequence[int] = (),
    cache: Cache | None = None,
) -> Iterator[Forward]:
    """The first pass (prefill) works through the prompt, each later one (decode) through one token.

    Keys and values of earlier positions come from the cache, by default transformers' growing one.
    Stops and raises as `naive` does.
    """
    check(model, prompts, new_tokens)
    unread, mask = pad_left(prompts, pad_id(model), model.device)
    cache = cache if cache is not None else DynamicCache(config=model.config)
    past = 0
    ended = Ended(eos_ids)
    for _ in range(new_tokens):
        logits = last_logits(model, unread, mask, past, cache)
        token = ended.hold(pick(logits))
        past += unread.shape[1]
        yield Forward(token, logits, unread.shape[1], past, cache)
        if ended.all():
            return
        unread, mask = token[:, None], _grow(mask)


def preallocated(
    model, prompts: Prompts, new_tokens: int, pick: Pick = greedy, eos_ids: Sequence[int] = ()
) -> Iterator[Forward]:
    """`cached` with a cache of its final size from the start (transformers' StaticCache).

    Spares the copy that a growing cache makes at each step; but attention reads all the slots, the
    empty ones too.
    """
    check(model, prompts, new_tokens)
    slots = max(map(len, prompts)) + new_tokens - 1  # the last token is never read
    cache = StaticCache(config=model.config, max_cache_len=slots)
    return cached(model, prompts, new_tokens, pick, eos_ids, cache)


class Ended:
    """Which sequences have met an end-of-sequence token. Without `eos_ids` it costs nothing."""

    def __init__(self, eos_ids: Sequence[int]):
        self.eos_ids = tuple(eos_ids)
        self.rows: Tensor | None = None  # (B,) bool

    def hold(self, token: Tensor) -> Tensor:
        """Gives the picked tokens (B,) back, an EOS again for each sequence that had ended."""
        if not self.eos_ids:
            return token
        if self.rows is not None:
            token = torch.where(self.rows, self.eos_ids[0], token)
        self.rows = torch.isin(token, torch.tensor(self.eos_ids, device=token.device))
        return token

    def all(self) -> bool:
        return self.rows is not None and bool(self.rows.all())


# ---- what can't be generated --------------------------------------------------------------------


def pad_id(model) -> int:
    """What fills the left of shorter prompts; no position attends to it."""
    pad = getattr(model.config, "pad_token_id", None)
    return pad if isinstance(pad, int) and pad >= 0 else 0


def check(model, prompts: Prompts, new_tokens: int) -> None:
    """Raises BadRequest for an empty prompt, no new tokens, or more than the context holds."""
    if not prompts or not all(len(p) for p in prompts):
        raise BadRequest("the prompt is empty: give at least one token")
    if new_tokens < 1:
        raise BadRequest(f"new tokens must be at least 1, not {new_tokens}")
    context = getattr(model.config, "max_position_embeddings", None)
    needed = max(map(len, prompts)) + new_tokens - 1  # the last token is never fed back
    if context is not None and needed > context:
        raise BadRequest(
            f"{max(map(len, prompts))} prompt tokens + {new_tokens} new ones exceed the model's "
            f"context of {context}: shorten the prompt or ask for at most "
            f"{max(context - max(map(len, prompts)) + 1, 0)} new tokens"
        )
