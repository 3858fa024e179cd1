"""A table of slots: one cache whose rows belong to different requests, each at its own position.

Prompts are read by `prefill`, several at once if they are to start together; they are then padded
on the left to the longest. `decode` makes one token for every slot that is held, however far each
has come: a mask of its own hides from a row what is not its text. What a slot is for, and when it
is free, is unknown here; so is the time.

The cache has its final size from the start, and attention reads it up to the longest row only. Held
rows are kept next to each other, so that no pass computes a free one: where a hole is left, the
last row moves into it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin

from ..generate import Prompts, greedy, last_logits, pad_left


class Slots:
    """`count` slots for texts of up to `positions` tokens each, known by numbers from 0."""

    def __init__(self, model, count: int, positions: int):
        self._model, self.count, self.positions = model, count, positions
        self._place = _Place()
        self._cache: Cache | None = None
        self._rows: list[int] = []  # the slot that each row belongs to, rows in order
        self._width: list[int] = []  # columns that each row has filled, for the host
        self._holes: list[int] = []  # slots that were freed since the last pass
        self._first = torch.zeros(count, dtype=torch.long, device=model.device)  # column of a text
        self._next = torch.zeros_like(self._first)  # column of the token to be read next
        self._token = torch.zeros_like(self._first)

    @torch.inference_mode()
    def prefill(self, slots: Sequence[int], prompts: Prompts) -> list[int]:
        """Reads prompts into these slots, which must be free; the first token of each."""
        self._close_holes()
        ids, mask = pad_left(prompts, 0, self._model.device)
        fresh = DynamicCache(config=self._model.config)
        token = greedy(last_logits(self._model, ids, mask, cache=fresh))
        rows = slice(len(self._rows), len(self._rows) + len(slots))
        self._take_over(rows, fresh)
        starts = [ids.shape[1] - len(prompt) for prompt in prompts]
        self._first[rows] = torch.tensor(starts, device=ids.device)
        self._next[rows], self._token[rows] = ids.shape[1], token
        self._rows += slots
        self._width += [ids.shape[1]] * len(slots)
        return token.tolist()

    @torch.inference_mode()
    def decode(self) -> dict[int, int]:
        """Makes one more token for each slot that is held; slot -> token."""
        self._close_holes()
        rows = len(self._rows)
        first, column = self._first[:rows], self._next[:rows]
        width = max(self._width) + 1
        columns = torch.arange(width, device=first.device)
        seen = (columns >= first[:, None]) & (columns <= column[:, None])  # (rows, width)
        self._place.column, self._place.width = column, width
        out = self._model(
            input_ids=self._token[:rows, None],
            attention_mask=_additive(seen, self._model.dtype)[:, None, None],
            position_ids=(column - first)[:, None],
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._token[:rows] = greedy(out.logits[:, -1])
        self._next[:rows] += 1
        self._width = [filled + 1 for filled in self._width]
        return dict(zip(self._rows, self._token[:rows].tolist(), strict=True))

    def free(self, slot: int) -> None:
        """Lets go of a slot's text. The next pass closes the hole, on its own time."""
        self._holes.append(slot)

    def _close_holes(self) -> None:
        """Moves the last row into each row that is free, the highest first."""
        for row in sorted(map(self._rows.index, self._holes), reverse=True):
            last = len(self._rows) - 1
            if row != last:
                filled = self._width[last]
                for layer in self._cache.layers:
                    layer.keys[row, :, :filled] = layer.keys[last, :, :filled]
                    layer.values[row, :, :filled] = layer.values[last, :, :filled]
                for one in (self._first, self._next, self._token):
                    one[row] = one[last]
            for one in (self._rows, self._width):
                one[row] = one[last]
                one.pop()
        self._holes.clear()

    @property
    def kv_bytes(self) -> int:
        """What the cache's tensors take; 0 before the first prompt."""
        layers = self._cache.layers if self._cache else ()
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)

    def _take_over(self, rows: slice, fresh: DynamicCache) -> None:
        """Copies what a prefill cached into the table, which is made when its sizes are known."""
        if self._cache is None:
            size = (self.count, self.positions)
            self._cache = Cache(layers=[_Layer(one, size, self._place) for one in fresh.layers])
        for layer, new in zip(self._cache.layers, fresh.layers, strict=True):
            layer.keys[rows, :, : new.keys.shape[-2]] = new.keys
            layer.values[rows, :, : new.values.shape[-2]] = new.values


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask to be added to the scores: every attention back end takes that kind."""
    return torch.zeros_like(seen, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)


class _Place:
    """Where the pass at hand writes; all layers share it."""

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
        rows, width = len(key_states), self._place.width
        row = torch.arange(rows, device=self.keys.device)
        self.keys[row, :, self._place.column] = key_states[:, :, 0]
        self.values[row, :, self._place.column] = value_states[:, :, 0]
        return self.keys[:rows, :, :width], self.values[:rows, :, :width]

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: the tensors are there from the start."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._place.width, 0

    def get_seq_length(self) -> int:
        return self._place.width - 1

    def get_max_length(self) -> int:
        return self.keys.shape[-2]
