"""What the probe times: the operations that a forward pass is made of, at several sizes.

The numbers are random, since zeros make chips draw less power and run faster. Whatever is read
from memory comes from a pool at least twice as large as the last-level cache, since what lies in
the cache is not read from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from ..pages import in_large_pages

MB = 1_000_000
BLOCK = 2**22  # random numbers made; a pool repeats them, which no memory can tell from new ones
UNKNOWN_CACHE_BYTES = 128 * MB
WEIGHTS_BYTES = 8 * 2**20
LAYERS_READ = 16
CONTEXT = 1024  # positions that a single query attends to


@dataclass(frozen=True)
class Task:
    """`call` does `work` (FLOPs or bytes), a point at `size` on the curve of that name."""

    curve: str  # "products", "attention", "reads" or "copies"
    dtype: str
    size: int
    work: int
    call: Callable[[], object]


@dataclass(frozen=True)
class Sizes:
    """What a machine of some kind is probed with; the largest must keep it busy for a while.

    `width` is that of the square weights whose product is timed. `matrices_bytes` are those that
    one row is multiplied with, `layer_bytes` that of the keys which a cache copies at a time;
    `heads` query heads share `kv_heads` of `head_dim` numbers.
    """

    width: int
    rows: tuple[int, ...]
    attention_rows: tuple[int, ...]
    matrices_bytes: tuple[int, ...]
    layer_bytes: int
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 64


CPU = Sizes(
    width=1024,
    rows=(1, 4, 16, 64, 256, 1024),
    attention_rows=(1, 4, 16, 64, 256, 1024),
    matrices_bytes=(MB // 2, 3 * MB, 12 * MB, 100 * MB),
    layer_bytes=MB,
)
GPU = Sizes(
    width=8192,
    rows=(1, 16, 64, 256, 1024, 8192),
    attention_rows=(1, 16, 64, 256, 1024),  # a kernel that writes its scores out needs memory
    matrices_bytes=(32 * MB, 128 * MB, 256 * MB),  # smaller ones would time their launches
    layer_bytes=64 * MB,
    heads=32,
    kv_heads=8,
    head_dim=128,
)


def sizes_for(device: torch.device) -> Sizes:
    return CPU if device.type == "cpu" else GPU


def count(sizes: Sizes, dtypes: int) -> int:
    """How many tasks `tasks` gives."""
    curves = (sizes.rows, sizes.attention_rows, sizes.matrices_bytes)
    return dtypes * sum(map(len, curves)) + 1


def tasks(
    sizes: Sizes, dtypes: tuple[torch.dtype, ...], device: torch.device, cache_bytes: int | None
) -> Iterator[Task]:
    """All of them, each made when it is asked for: the pool is the only large thing in memory."""
    for number, dtype in enumerate(dtypes):
        block = random_numbers(BLOCK, dtype, device)
        pool_bytes = max(2 * (cache_bytes or UNKNOWN_CACHE_BYTES), 2 * sizes.matrices_bytes[-1])
        pool = block.repeat(-(-pool_bytes // (block.numel() * block.element_size())))
        if not number:
            yield copies(sizes, pool)
        if dtype == torch.float32:
            pool = in_large_pages(pool)  # as `models` stores such weights
        yield from reads(sizes, pool)
        del pool
        yield from products(sizes, block)
        yield from attention(sizes, block)


def random_numbers(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Normally distributed, always the same."""
    source = torch.Generator(device).manual_seed(0)
    return torch.randn(count, generator=source, device=device).to(dtype)


def read_a_layer(device: torch.device) -> Callable[[], object]:
    """Reads a further `WEIGHTS_BYTES` at each call, on a CPU; elsewhere it does nothing.

    A GPU's caches are not the host's, so what a pass reads there disturbs nobody here.
    """
    if device.type != "cpu":
        return lambda: None
    width = 1024
    weights = in_large_pages(
        random_numbers(LAYERS_READ * WEIGHTS_BYTES // 4, torch.float32, device)
    )
    row = weights[:width].view(1, width)
    turn = cycle(weights.view(LAYERS_READ, -1, width))
    return lambda: F.linear(row, next(turn))


def copies(sizes: Sizes, pool: Tensor) -> Task:
    """The pool as the keys of many layers, each with one position appended: what a growing cache
    does, into memory that is new. Each byte is read once and written once.
    """
    positions = sizes.layer_bytes // (sizes.kv_heads * sizes.head_dim * pool.element_size())
    one = (sizes.kv_heads, positions, sizes.head_dim)
    layers = list(pool[: pool.numel() // prod(one) * prod(one)].view(-1, *one))
    kept = list(layers)

    def grow() -> list[Tensor]:
        for number, keys in enumerate(layers):
            kept[number] = torch.cat([keys, keys[:, :1]], dim=1)
        return kept

    moved = 2 * len(layers) * prod(one) * pool.element_size()
    return Task("copies", name_of(pool.dtype), sizes.layer_bytes, moved, grow)


def reads(sizes: Sizes, pool: Tensor) -> Iterator[Task]:
    """One row times each matrix of the pool in turn: how a decode step reads its weights.

    The matrices have an MLP's proportions, up and down in turn, and lie in memory as the lab stores
    them: a tall one column by column.
    """
    for n_bytes in sizes.matrices_bytes:
        matrices = matrices_of(pool, n_bytes)
        rows = {m.shape[1]: pool[: m.shape[1]].view(1, -1) for m in matrices}
        read = sum(m.numel() for m in matrices) * pool.element_size()
        call = partial(_multiply_each, matrices, rows)
        yield Task("reads", name_of(pool.dtype), read // len(matrices), read, call)


def matrices_of(pool: Tensor, n_bytes: int) -> list[Tensor]:
    """The pool as matrices of about `n_bytes` each, 8:3 (out, in) and 3:8 in turn."""
    unit = max(1, round((n_bytes / pool.element_size() / 24) ** 0.5))
    short, long = 3 * unit, 8 * unit
    pieces = pool[: pool.numel() // (short * long) * (short * long)].view(-1, short, long)
    return [piece if odd % 2 else piece.t() for odd, piece in enumerate(pieces)]


def _multiply_each(matrices: list[Tensor], rows: dict[int, Tensor]) -> None:
    for matrix in matrices:
        F.linear(rows[matrix.shape[1]], matrix)


def products(sizes: Sizes, block: Tensor) -> Iterator[Task]:
    """Rows times one square matrix, over and over: on a CPU it stays in the cache."""
    width = sizes.width
    numbers = block.repeat(-(-width * width // block.numel()))
    weight = numbers[: width * width].view(width, width)
    for rows in sizes.rows:
        batch = numbers[: rows * width].view(rows, width)
        flops = 2 * rows * width * width
        yield Task("products", name_of(block.dtype), rows, flops, partial(F.linear, batch, weight))


def attention(sizes: Sizes, block: Tensor) -> Iterator[Task]:
    """Causal attention of a prompt with itself; for one row, of one query with `CONTEXT` keys."""
    for rows in sizes.attention_rows:
        keys = CONTEXT if rows == 1 else rows
        pairs = keys if rows == 1 else rows * (rows + 1) // 2
        query, key, value = _query_key_value(sizes, block, rows, keys)
        call = partial(
            F.scaled_dot_product_attention,
            *(query, key, value),
            is_causal=rows > 1,
            enable_gqa=True,
        )
        flops = 4 * sizes.heads * sizes.head_dim * pairs
        yield Task("attention", name_of(block.dtype), rows, flops, call)


def _query_key_value(sizes: Sizes, block: Tensor, rows: int, keys: int) -> list[Tensor]:
    shapes = ((sizes.heads, rows), (sizes.kv_heads, keys), (sizes.kv_heads, keys))
    made = []
    for heads, length in shapes:
        needed = heads * length * sizes.head_dim
        numbers = block.roll(len(made)).repeat(-(-needed // block.numel()))[:needed]
        made.append(numbers.view(1, heads, length, sizes.head_dim))
    return made


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
