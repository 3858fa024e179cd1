"""A model from a local folder: config, safetensors weights, tokenizer. No network, no foreign code.

Others wrote what is in the folder, so it is checked: that it is a causal LM, that every weight it
needs is there with the right shape, that there is a tokenizer. Formats that can run code while they
are read are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from .errors import NotUsable, UnknownModel
from .hub import first_line
from .text import HubText

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

LOCAL = {"local_files_only": True, "trust_remote_code": False}


def read_config(folder: Path, name: str) -> PreTrainedConfig:
    """The config of a causal LM. Raises UnknownModel or NotUsable."""
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise UnknownModel(f"{name} has no config.json: give the folder of a transformers model.")
    try:
        config = AutoConfig.from_pretrained(folder, **LOCAL)
    except (OSError, ValueError) as error:  # broken JSON; an unknown family; one with its own code
        raise NotUsable(
            f"transformers can't build {name} by itself: {first_line(error)} Choose a model of a "
            "family that it knows."
        ) from error
    if not _is_causal_lm(config):
        classes = ", ".join(config.architectures or [type(config).__name__])
        raise NotUsable(
            f"{name} does not generate text token by token ({classes}). Choose a causal LM: its "
            "config.json names a class such as LlamaForCausalLM."
        )
    return config


def _is_causal_lm(config: PreTrainedConfig) -> bool:
    """Whether the weights are those of a causal LM, by the classes that the config names."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    built = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)
    return built is not None and built in (config.architectures or [built])


def read_model(
    folder: Path, name: str, device: torch.device, dtype: torch.dtype, attention: str | None
) -> PreTrainedModel:
    """The model with its weights, in `dtype` on `device`. Raises NotUsable."""
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    if not any(folder.glob("*.safetensors")):
        raise NotUsable(
            f"{name} has no safetensors weights. Other formats can run code when they are read, so "
            "the lab refuses them: load it elsewhere and save it with `save_pretrained`."
        )
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation=attention,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # they are in the report, and refused below
            output_loading_info=True,
            **LOCAL,
        )
    except (SafetensorError, OSError) as error:
        raise NotUsable(
            f"The weights of {name} can't be read: {first_line(error)} Fetch them again."
        ) from error
    unusable = [*report["missing_keys"], *report["mismatched_keys"]]
    if unusable:
        raise NotUsable(
            f"The weights of {name} don't match its config: {len(unusable)} are missing or have "
            f"another shape, such as {unusable[0]}. Fetch the model again."
        )
    return model.to(device)


def read_text(folder: Path, name: str, model: PreTrainedModel) -> HubText:
    """The tokenizer that came with the weights, and the ids that end a text. Raises NotUsable."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL)
    except (OSError, ValueError) as error:
        raise NotUsable(
            f"{name} has no tokenizer that can be read: {first_line(error)} Save one beside the "
            "weights with `tokenizer.save_pretrained(folder)`."
        ) from error
    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = tokenizer.eos_token_id
    ends = [ends] if isinstance(ends, int) else ends or []
    return HubText(tokenizer, tuple(ends))
