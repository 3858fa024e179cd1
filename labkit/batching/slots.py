"""A table of slots: one cache whose rows belong to different requests, each at its own position.

Prompts are read by `prefill`, several at once if they are to start together; they are then padded
on the left to the longest. `decode` makes one token for every row, however far each has come: a
mask of its own hides from a row what is not its text. What a row is for, and when it is free,
is unknown here; so is the time.

The cache has its final size from the start, and attention reads it up to the longest row only.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin

from ..generate import Prompts, greedy, last_logits, pad_left


class Slots:
    """`count` rows of `positions` columns. Rows are numbered from 0."""

    def __init__(self, model, count: int, positions: int):
        self._model, self.count, self.positions = model, count, positions
        self._place = _Place()
        self._cache: Cache | None = None
        device = model.device
        self._first = torch.zeros(count, dtype=torch.long, device=device)  # column of its text
        self._next = torch.zeros_like(self._first)  # column of the token to be read next
        self._token = torch.zeros_like(self._first)
        self._held = torch.zeros_like(self._first)  # 1 where the row has a text, 0 where it is free
        self._width = [0] * count  # `_next` for the host, which must not wait for the device

    @torch.inference_mode()
    def prefill(self, rows: Sequence[int], prompts: Prompts) -> list[int]:
        """Reads prompts into these rows, whatever stood there; the first token of each."""
        ids, mask = pad_left(prompts, 0, self._model.device)
        fresh = DynamicCache(config=self._model.config)
        token = greedy(last_logits(self._model, ids, mask, cache=fresh))
        self._take_over(rows, fresh)
        where = torch.tensor(rows, device=ids.device)
        starts = [ids.shape[1] - len(prompt) for prompt in prompts]
        self._first[where] = torch.tensor(starts, device=ids.device)
        self._next[where] = ids.shape[1]
        self._token[where], self._held[where] = token, 1
        for row in rows:
            self._width[row] = ids.shape[1]
        return token.tolist()

    @torch.inference_mode()
    def decode(self, rows: int) -> list[int]:
        """Makes a token in each of the first `rows` rows; a free one's means nothing."""
        first, column = self._first[:rows], self._next[:rows]
        width = max(self._width[:rows]) + 1
        columns = torch.arange(width, device=first.device)
        seen = (columns >= first[:, None]) & (columns <= column[:, None])  # (rows, width)
        self._place.rows, self._place.column, self._place.width = rows, column, width
        out = self._model(
            input_ids=self._token[:rows, None],
            attention_mask=_additive(seen, self._model.dtype)[:, None, None],
            position_ids=(column - first)[:, None],
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._token[:rows] = greedy(out.logits[:, -1])
        self._next[:rows] += self._held[:rows]
        self._width[:rows] = [width and width + 1 for width in self._width[:rows]]
        return self._token[:rows].tolist()

    def free(self, row: int) -> None:
        """Forgets the row's text, so that nobody has to read past it."""
        self._first[row] = self._next[row] = self._held[row] = self._width[row] = 0

    @property
    def kv_bytes(self) -> int:
        """What the cache's tensors take; 0 before the first prompt."""
        layers = self._cache.layers if self._cache else ()
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)

    def _take_over(self, rows: Sequence[int], fresh: DynamicCache) -> None:
        """Copies what a prefill cached into the table, which is made when its sizes are known."""
        if self._cache is None:
            size = (self.count, self.positions)
            self._cache = Cache(layers=[_Layer(one, size, self._place) for one in fresh.layers])
        for layer, new in zip(self._cache.layers, fresh.layers, strict=True):
            for row, keys, values in zip(rows, new.keys, new.values, strict=True):
                layer.keys[row, :, : keys.shape[-2]] = keys
                layer.values[row, :, : values.shape[-2]] = values


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask to be added to the scores: every attention back end takes that kind."""
    return torch.zeros_like(seen, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)


class _Place:
    """Where the pass at hand writes; all layers share it."""

    rows: int
    column: Tensor  # (rows,)
    width: int


class _Layer(CacheLayerMixin):
    """One layer's keys and values, each (slots, heads, positions, size)."""

    is_sliding = False

    def __init__(self, like: CacheLayerMixin, size: tuple[int, int], place: _Place):
        super().__init__()
        slots, positions = size
        self.keys, self.values = (
            one.new_zeros(slots, one.shape[1], positions, one.shape[3])  # masked: must be finite
            for one in (like.keys, like.values)
        )
        self.is_initialized, self._place = True, place

    def update(self, key_states: Tensor, value_states: Tensor, *_, **__) -> tuple[Tensor, Tensor]:
        """Writes one position of each row, each at its own column; gives all up to the width."""
        place = self._place
        row = torch.arange(place.rows, device=self.keys.device)
        self.keys[row, :, place.column] = key_states[:, :, 0]
        self.values[row, :, place.column] = value_states[:, :, 0]
        return tuple(one[: place.rows, :, : place.width] for one in (self.keys, self.values))

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: the tensors are there from the start."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._place.width, 0

    def get_seq_length(self) -> int:
        return self._place.width - 1

    def get_max_length(self) -> int:
        return self.keys.shape[-2]
