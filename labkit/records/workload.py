"""What one run asks of a model: how many tokens in, how many out, for how many at a time.

Nothing here knows the model or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

DTYPE_BYTES = {
    "float32": 4.0,
    "bfloat16": 2.0,
    "float16": 2.0,
    "float8": 1.0,
    "int8": 1.0,
    "int4": 0.5,
}


def dtype_bytes(dtype: str) -> float:
    """Bytes of one number; half a byte for int4. Raises ValueError for a name it does not know.

    The scales that come with quantised weights are not counted: 2 to 12 % more, by group size.
    """
    if dtype not in DTYPE_BYTES:
        raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPE_BYTES)}")
    return DTYPE_BYTES[dtype]


def compute_dtype(weight_dtype: str) -> str:
    """What weights of that dtype are multiplied in: quantised ones are expanded to bfloat16 first.

    That is weight-only quantisation, the usual kind for decode: it saves bytes, not FLOPs.
    """
    return weight_dtype if dtype_bytes(weight_dtype) >= 2 else "bfloat16"


@dataclass(frozen=True)
class Workload:
    """`batch` sequences, each with `prompt_tokens` in and `new_tokens` out.

    `dtype` is that of the weights. The cache has the dtype that they are multiplied in, unless
    `kv_dtype` says otherwise.
    """

    prompt_tokens: int
    new_tokens: int
    batch: int = 1
    dtype: str = "bfloat16"
    kv_dtype: str | None = None

    def __post_init__(self) -> None:
        for count in ("prompt_tokens", "new_tokens", "batch"):
            if getattr(self, count) < 1:
                raise ValueError(f"{count} is {getattr(self, count)}; give 1 or more")
        dtype_bytes(self.dtype)
        dtype_bytes(self.kv_dtype or self.dtype)

    @property
    def context(self) -> int:
        """Positions of one sequence in the last step; the last new token is never fed back."""
        return self.prompt_tokens + self.new_tokens - 1
