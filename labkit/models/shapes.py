"""From a shape to a transformers config and back, through one table of names for each family.

Every family calls the same numbers something else. `FAMILIES` is the only place that knows; both
directions read it, so they can't drift apart. A config that does something the shape has no word
for is refused, since bytes counted for another model would be a lie.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from operator import attrgetter

from transformers import AutoConfig, PreTrainedConfig

from ..records.model_shape import Experts, Mla, ModelShape


@dataclass(frozen=True)
class Family:
    """`names` maps a ModelShape field to the config's field, for what a config may vary.

    `traits` are the facts of the shape that all models of the family share, `settings` the config
    fields that must have this value, `fill` those that cost nothing and are only needed to build.
    """

    names: dict[str, str]
    traits: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    fill: dict[str, object] = field(default_factory=dict)


LLAMA = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "mlp": "intermediate_size",
    "vocab": "vocab_size",
    "max_context": "max_position_embeddings",
    "tied": "tie_word_embeddings",
}
WINDOW = {"window": "sliding_window"}
EXPERTS = {
    "experts.count": "n_routed_experts",
    "experts.active": "num_experts_per_tok",
    "experts.mlp": "moe_intermediate_size",
    "experts.shared": "n_shared_experts",
    "experts.dense_layers": "first_k_dense_replace",
}
MLA = {
    "head_dim": "qk_head_dim",
    "mla.kv_rank": "kv_lora_rank",
    "mla.q_rank": "q_lora_rank",
    "mla.nope_dim": "qk_nope_head_dim",
    "mla.rope_dim": "qk_rope_head_dim",
    "mla.v_dim": "v_head_dim",
}
GPT2 = {
    "layers": "n_layer",
    "hidden": "n_embd",
    "heads": "n_head",
    "mlp": "n_inner",
    "vocab": "vocab_size",
    "max_context": "n_positions",
    "tied": "tie_word_embeddings",
}
LAYER_NORM = {"gated": False, "norm_bias": True}
NO_BIAS = {"attention_bias": False}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}

FAMILIES = {
    "llama": Family(LLAMA, settings={**NO_BIAS, "mlp_bias": False}, fill=ROPE),
    "mistral": Family(LLAMA | WINDOW, fill=ROPE),
    "qwen2": Family(
        {k: v for k, v in LLAMA.items() if k != "head_dim"}, traits={"qkv_bias": True}, fill=ROPE
    ),
    "qwen3": Family(LLAMA, traits={"qk_norm": True}, settings=NO_BIAS, fill=ROPE),
    "gemma2": Family(LLAMA | WINDOW, traits={"norms": 4}, settings=NO_BIAS, fill=ROPE),
    "gpt2": Family(
        GPT2,
        traits={**LAYER_NORM, "qkv_bias": True, "dense_bias": True, "learned_positions": True},
        settings={"add_cross_attention": False},
    ),
    "falcon": Family(
        {k: v for k, v in LLAMA.items() if k not in ("head_dim", "kv_heads")}
        | {"mlp": "ffn_hidden_size"},
        traits={**LAYER_NORM, "kv_heads": 1, "norms": 1},
        settings={
            "multi_query": True,
            "parallel_attn": True,
            "new_decoder_architecture": False,
            "alibi": False,
            "bias": False,
        },
        fill=ROPE,
    ),
    "mixtral": Family(
        LLAMA
        | {
            "experts.count": "num_local_experts",
            "experts.active": "num_experts_per_tok",
            "experts.mlp": "intermediate_size",
        },
        settings={"sliding_window": None},
        fill=ROPE,
    ),
    "deepseek_v2": Family(
        LLAMA | EXPERTS | MLA, settings={**NO_BIAS, "mlp_bias": False}, fill=ROPE
    ),
    "deepseek_v3": Family(
        LLAMA | EXPERTS | MLA,
        settings=NO_BIAS,
        fill={**ROPE, "n_group": 1, "topk_group": 1, "num_mtp_layers": 0},
    ),
}


def family_of(model_type: str) -> Family:
    """The row for transformers' `model_type`; raises ValueError for one the lab can't count."""
    if model_type not in FAMILIES:
        raise ValueError(
            f"unknown family {model_type!r}: the lab counts {', '.join(sorted(FAMILIES))}; "
            "choose a model of one of these"
        )
    return FAMILIES[model_type]


def config_of(shape: ModelShape) -> PreTrainedConfig:
    """A transformers config that builds a model of this shape.

    Raises ValueError for an unknown family and for a shape that its family can't have.
    """
    family = family_of(shape.family)
    named = {theirs: attrgetter(ours)(shape) for ours, theirs in family.names.items()}
    settings = {**family.fill, **family.settings, **named}
    config = AutoConfig.for_model(shape.family, **settings)
    built = asdict(shape_of(config, shape.name))
    lost = [key for key, value in asdict(shape).items() if key != "source" and value != built[key]]
    if lost:
        raise ValueError(
            f"{shape.name}: a {shape.family} can't have {', '.join(lost)} of this shape; "
            f"change that, or choose another family of {', '.join(sorted(FAMILIES))}"
        )
    return config


def shape_of(config: PreTrainedConfig, name: str) -> ModelShape:
    """The shape that a transformers config describes.

    Raises ValueError for an unknown family and for a variant of a known one that the shape has no
    words for, such as a Llama with attention biases.
    """
    family = family_of(config.model_type)
    for setting, value in family.settings.items():
        if getattr(config, setting, value) != value:
            raise ValueError(
                f"{name}: the lab counts {config.model_type} only with {setting}={value}, "
                f"not {getattr(config, setting)}; choose another model"
            )
    facts = {ours: getattr(config, theirs) for ours, theirs in family.names.items()}
    facts |= family.traits | _windows(config)
    return ModelShape(name=name, family=config.model_type, **_nested(_with_defaults(facts)))


def _with_defaults(facts: dict) -> dict:
    """Fill in what a config may leave out, by the rule that transformers itself applies."""
    defaults = {
        "kv_heads": facts["heads"],
        "head_dim": facts["hidden"] // facts["heads"],
        "mlp": 4 * facts["hidden"],
    }
    return facts | {key: value for key, value in defaults.items() if facts.get(key) is None}


def _windows(config: PreTrainedConfig) -> dict:
    """The window and how many layers have it; `layer_types` decides where a config has that."""
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * config.num_hidden_layers
    windowed = kinds.count("sliding_attention") if window else 0
    return {"window": window if windowed else None, "window_layers": windowed}


def _nested(facts: dict) -> dict:
    """Turn the dotted names `experts.…` and `mla.…` into the records that they belong to."""
    flat = {key: value for key, value in facts.items() if "." not in key}
    for name, record in (("experts", Experts), ("mla", Mla)):
        own = {k.split(".")[1]: v for k, v in facts.items() if k.startswith(name + ".")}
        flat[name] = record(**own) if own else None
    return flat
