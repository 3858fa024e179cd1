"""What the physics needs to know of a model: its shape, not its weights.

Speed, bytes and FLOPs follow from these few integers alone. The defaults are Llama's; the other
families say what they do differently. The weights' values and the tokenizer are unknown here; so is
whether anybody could load the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Experts:
    """The MLPs of a mixture of experts: `active` of `count` routed ones work on each token.

    `shared` more work on every token. The first `dense_layers` layers have an ordinary MLP instead.
    """

    count: int
    active: int
    mlp: int  # width of one expert
    shared: int = 0
    dense_layers: int = 0


@dataclass(frozen=True)
class Mla:
    """Multi-head latent attention: keys and values are one vector of `kv_rank`, expanded on use.

    A head's query and key have `nope_dim` entries without position and `rope_dim` with it; the
    rotated key is shared by all heads. Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
    """

    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    q_rank: int | None = None  # None: queries come from one matrix


@dataclass(frozen=True)
class ModelShape:
    """The shape of one decoder-only transformer.

    `family` is transformers' `model_type`. `window` is the sliding window in tokens and
    `window_layers` says how many of the layers have it; the others attend to everything. With
    `mla`, `head_dim` is a query's length (`nope_dim + rope_dim`) and `kv_heads` equals `heads`.
    Raises ValueError for a shape that no model can have.
    """

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocab: int
    max_context: int
    tied: bool  # one matrix serves as embedding and as output head
    window: int | None = None
    window_layers: int = 0
    experts: Experts | None = None
    mla: Mla | None = None
    gated: bool = True  # three MLP matrices (gate, up, down) instead of two
    qkv_bias: bool = False
    dense_bias: bool = False  # attention's output and the MLP have biases
    qk_norm: bool = False  # one norm over head_dim for queries, one for keys
    norms: int = 2  # in each layer
    norm_bias: bool = False  # LayerNorm; RMSNorm has none
    learned_positions: bool = False
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "mlp", "vocab", "max_context")
        for size in sizes:
            if getattr(self, size) < 1:
                raise ValueError(f"{self.name}: {size} is {getattr(self, size)}; give 1 or more")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.name}: {self.heads} heads can't share {self.kv_heads} KV heads evenly; "
                "give kv_heads that divides heads"
            )
        self._check_window()
        self._check_experts()
        self._check_mla()

    def _check_window(self) -> None:
        if not 0 <= self.window_layers <= self.layers:
            raise ValueError(
                f"{self.name}: window_layers is {self.window_layers}; "
                f"give 0 to {self.layers}, the number of layers"
            )
        if (self.window is None) != (self.window_layers == 0):
            raise ValueError(f"{self.name}: give both window and window_layers, or neither")
        if self.window is not None and self.window < 2:
            raise ValueError(f"{self.name}: window is {self.window}; give 2 tokens or more")

    def _check_experts(self) -> None:
        if self.experts and not 1 <= self.experts.active <= self.experts.count:
            raise ValueError(
                f"{self.name}: {self.experts.active} active experts of {self.experts.count}; "
                "give at least 1 and at most all"
            )
        if self.experts and not 0 <= self.experts.dense_layers < self.layers:
            raise ValueError(f"{self.name}: dense_layers must leave a layer for the experts")

    def _check_mla(self) -> None:
        if not self.mla:
            return
        if self.kv_heads != self.heads or self.head_dim != self.mla.nope_dim + self.mla.rope_dim:
            raise ValueError(
                f"{self.name}: with mla give kv_heads = heads and head_dim = nope_dim + rope_dim"
            )
