"""Fewer bits for each weight: a decode step waits for bytes, so fewer of them take less time.

Two formats. int8 gives each row of a matrix one scale: its largest weight becomes ±127. int4 gives
each group of 32 weights a scale and a zero point, and packs two weights into a byte. Both round the
weights once; activations and cache keep their format. What the rounding does to the text is for
`perplexity` to say.

The arithmetic is a few lines here, the kernels are torch's own: its compiler writes the int8
product (module `lean`), and its int4 product is `_weight_int4pack_mm_for_cpu`. torchao 0.18 was
tried first, on two cores. In eager torch its int8 product expands the matrix at each step, and took
three times as long as the compiled loop; its int4 format for CPUs is a prototype around the same
kernel; and where it is installed, every import of transformers loads it, with warnings.

The cache in 8 bits is transformers' own (`kv8`). It saves memory, not time: each step expands it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import QuantizedCache

from .models import Loaded, ModelError

KINDS = ("bfloat16", "int8", "int4")
GROUP = 32  # weights that share a scale and a zero point in int4


class Rows(NamedTuple):
    """A matrix in float32 or bfloat16, or in int8 with its rows' scales."""

    values: Tensor  # (out, in)
    scale: Tensor | None = None  # (out,)


class Packed(NamedTuple):
    """A matrix in int4, in the order that torch's kernel reads."""

    nibbles: Tensor  # (out, in / 2) bytes
    scale_and_zero: Tensor  # (in / GROUP, out, 2) bfloat16


Matrix = Rows | Packed


def int8(weight: Tensor) -> Rows:
    """Each row as whole numbers from −127 to 127 and what one of them is worth."""
    scale = weight.float().abs().amax(1).clamp(min=1e-12) / 127
    return Rows((weight / scale[:, None]).round().to(torch.int8), scale)


def int4(weight: Tensor) -> Packed:
    """Each group of a row as whole numbers from 0 to 15: 0 is its least weight, 15 its largest."""
    groups = weight.float().unflatten(1, (-1, GROUP))  # (out, in / GROUP, GROUP)
    least, largest = groups.amin(-1), groups.amax(-1)
    step = ((largest - least) / 15).clamp(min=1e-12)
    numbers = ((groups - least[..., None]) / step[..., None]).round().to(torch.int32)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(numbers.flatten(1), 1)
    middle = least + 8 * step  # torch's kernel computes (number − 8) · scale + zero
    return Packed(packed, torch.stack([step, middle], -1).transpose(0, 1).contiguous().bfloat16())


def times(matrix: Matrix, x: Tensor) -> Tensor:
    """Matrix × vector (in,) -> (out,) in float32, as a loop for a compiler to write (`lean`)."""
    if isinstance(matrix, Packed):
        return product(matrix, x[None])[0]
    y = (matrix.values * x).sum(-1)
    return y if matrix.scale is None else y * matrix.scale


def product(matrix: Matrix, x: Tensor) -> Tensor:
    """Matrix × many vectors (rows, in) -> (rows, out), for a prompt: int8 is expanded first."""
    if isinstance(matrix, Packed):
        rounded = x.bfloat16()
        out = torch.ops.aten._weight_int4pack_mm_for_cpu(
            rounded, matrix.nibbles, GROUP, matrix.scale_and_zero
        )
        return out.to(x.dtype)
    y = F.linear(x, matrix.values.to(x.dtype))
    return y if matrix.scale is None else y * matrix.scale.to(x.dtype)


# ---- models and caches --------------------------------------------------------------------------


class QuantisedLinear(nn.Module):
    """Stands where an `nn.Linear` stood."""

    def __init__(self, linear: nn.Linear, kind: str):
        super().__init__()
        self.matrix = {"int8": int8, "int4": int4}[kind](linear.weight.data)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        y = product(self.matrix, x.flatten(0, -2)).unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


def quantised(loaded: Loaded, kind: str) -> Loaded:
    """The model with weights of that kind; what needs no rounding is shared with the original.

    The embedding keeps its format: of it a step reads one row. Raises ModelError for a kind that is
    unknown, or can't be had for this model or here.
    """
    if kind not in KINDS:
        raise ModelError(f"unknown kind of weights {kind!r}: choose from {', '.join(KINDS)}")
    if kind == "bfloat16":
        return _rounded(loaded)
    linears = {n: m for n, m in loaded.model.named_modules() if isinstance(m, nn.Linear)}
    if kind == "int4":
        _check_int4(loaded, linears)
    shared = {id(tensor): tensor for tensor in loaded.model.parameters()}
    model = copy.deepcopy(loaded.model, shared)  # modules are copied, tensors are not
    for name, linear in linears.items():
        model.set_submodule(name, QuantisedLinear(linear, kind))
    return replace(loaded, model=model, weights=kind)


def _rounded(loaded: Loaded) -> Loaded:
    model = copy.deepcopy(loaded.model).to(torch.bfloat16)
    for weight in model.parameters():
        weight.data = weight.data.contiguous()
    return replace(loaded, model=model, dtype=torch.bfloat16)


def stored_bytes(model: nn.Module) -> int:
    """Bytes of the tensors that a decode step reads: all weights, with their scales.

    A tied head is the embedding, and counts once; an embedding beside a head of its own is left
    out, since a step reads one row of it.
    """
    matrices = [m.matrix for m in model.modules() if isinstance(m, QuantisedLinear)]
    tensors = [tensor for matrix in matrices for tensor in matrix if tensor is not None]
    tensors += model.parameters()
    embedding = model.get_input_embeddings().weight
    tied = getattr(model.get_output_embeddings(), "weight", None) is embedding
    return sum(t.nbytes for t in tensors if tied or t is not embedding)


def kv8(model: nn.Module) -> QuantizedCache:
    """A growing cache whose keys and values are kept in 8 bits, for `generate.cached`."""
    return QuantizedCache("fp8", config=model.config)


def _check_int4(loaded: Loaded, linears: dict[str, nn.Linear]) -> None:
    if loaded.device.type != "cpu":
        raise ModelError("int4 is for CPUs here: choose int8, which works on every device")
    for name, linear in linears.items():
        if linear.in_features % GROUP or linear.out_features % 16:
            raise ModelError(
                f"{name} is {linear.out_features} × {linear.in_features}, and int4 needs multiples "
                f"of 16 × {GROUP}: choose int8"
            )
