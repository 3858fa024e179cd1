"""A decode step with quantised weights, their scales counted too.

`work` counts the weights alone. Quantised ones carry scales, and on a CPU the activations and the
cache stay in float32. The numbers are those of module `labkit.quantised`: in int8 a row of a matrix
has a scale of 4 bytes, in int4 each 32 weights have a scale and a zero point of 2 bytes each.
"""

from __future__ import annotations

from dataclasses import replace

from ..records.estimate import Cost
from ..records.model_shape import ModelShape
from ..records.workload import dtype_bytes
from .weights import head_parameters, matrix_parameters, parameters_read
from .work import decode_step

GROUP = 32
SCALE_BYTES = 4


def quantised_step(
    shape: ModelShape, context: int, dtype: str, slots: int | None = None, numbers: str = "float32"
) -> Cost:
    """`decode_step` of one stream with matrices of `dtype`; all else, the cache too, in `numbers`.

    Raises ValueError for a mixture of experts and for MLA, and as `decode_step` does.
    """
    if shape.experts or shape.mla:
        raise ValueError(f"{shape.name}: quantised weights are counted for dense models only")
    cost = decode_step(shape, context, dtype=numbers, kv_dtype=numbers, slots=slots)
    number = dtype_bytes(numbers)
    matrices, head = matrix_parameters(shape), head_parameters(shape)
    vectors = parameters_read(shape, 1) - matrices  # norms and biases
    rows = shape.layers * _rows(shape)
    linear = matrix_bytes(matrices, rows, dtype) + (vectors + shape.hidden) * number
    return replace(
        cost,
        linear_bytes=int(linear),
        head_bytes=int(matrix_bytes(head, shape.vocab, dtype) + shape.vocab * number),
        matrix_bytes=int(cost.matrix_bytes / number * dtype_bytes(dtype)),
    )


def matrix_bytes(weights: int, rows: int, dtype: str) -> float:
    """Bytes of matrices with so many weights and rows together, scales included."""
    scales = {"int8": rows, "int4": weights // GROUP}.get(dtype, 0)
    return weights * dtype_bytes(dtype) + scales * SCALE_BYTES


def _rows(shape: ModelShape) -> int:
    """Rows (outputs) of all matrices of one layer."""
    attention = (shape.heads + 2 * shape.kv_heads) * shape.head_dim + shape.hidden
    return attention + (2 if shape.gated else 1) * shape.mlp + shape.hidden
