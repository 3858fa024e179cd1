"""Models by name: a local folder, or a repository of the Hugging Face hub.

Only safetensors are read and no code from a repository is run. transformers reports most troubles
as an OSError with a long text; here each becomes one sentence with its remedy.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from labkit.models.errors import DownloadFailed, ModelError, NotUsable, UnknownModel
from labkit.models.text import HubText

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

SAFE = {"trust_remote_code": False}


def read_config(name: str, known: list[str], local: bool = False) -> PreTrainedConfig:
    """The config of a causal LM. `known` names serve as suggestions; `local` forbids the network.

    Raises UnknownModel, DownloadFailed or NotUsable.
    """
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name, local_files_only=local, **SAFE)
    except OSError as error:
        raise _not_found(name, known, error) from error
    except ValueError as error:  # a config of no known type, or one that wants its own code run
        raise NotUsable(
            f"{name} is not a model that transformers can build without running its code: "
            f"{first_line(error)} Choose a standard causal LM."
        ) from error
    if not is_causal_lm(config):
        made_for = ", ".join(config.architectures or [type(config).__name__])
        raise NotUsable(
            f"{name} does not generate text token by token ({made_for}). Choose a causal LM: its "
            "config.json names a class such as LlamaForCausalLM."
        )
    return config


def is_causal_lm(config: PreTrainedConfig) -> bool:
    """Whether the weights are those of a causal LM, by the classes that the config names."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    built = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)
    return built is not None and built in (config.architectures or [built])


def read_model(
    name: str,
    config: PreTrainedConfig,
    device: torch.device,
    dtype: torch.dtype,
    attention: str,
    local: bool = False,
) -> PreTrainedModel:
    """The weights, in `dtype` on `device`. Raises NotUsable where there are no safetensors."""
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    options = {"dtype": dtype, "attn_implementation": attention, "local_files_only": local}
    if device.type != "cpu":
        options["device_map"] = device  # file to device, without a copy of the whole on the host
    try:
        return AutoModelForCausalLM.from_pretrained(
            name, config=config, use_safetensors=True, **options, **SAFE
        )
    except SafetensorError as error:
        raise NotUsable(
            f"The weight files of {name} are damaged ({first_line(error)}). Delete them and load "
            "the model again."
        ) from error
    except OSError as error:
        raise _no_weights(name, error) from error


def read_text(name: str, model: PreTrainedModel, local: bool = False) -> HubText:
    """The tokenizer that came with the weights, and the ids that end a text. Raises NotUsable."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=local, **SAFE)
    except (OSError, ValueError) as error:
        raise NotUsable(
            f"{name} has no tokenizer that can be read ({first_line(error)}). Save one beside the "
            "weights with `tokenizer.save_pretrained(folder)`."
        ) from error
    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = tokenizer.eos_token_id
    return HubText(
        tokenizer, () if ends is None else tuple([ends] if isinstance(ends, int) else ends)
    )


# ------------------------------------------------------------------------------------------------


def first_line(error: BaseException) -> str:
    """The first sentence or so of a library's error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _not_found(name: str, known: list[str], error: OSError) -> ModelError:
    """Why there is no config: no such name, or no way to the hub."""
    lower = {other.lower(): other for other in known}
    close = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    advice = f"Did you mean {' or '.join(close)}? " if close else ""
    others = "Otherwise give a Hugging Face id (owner/name) or a local folder."
    if Path(name).is_dir():
        return UnknownModel(f"{name} is a folder without a config.json: give a model's folder.")
    if "connect" in str(error).lower() and "specific connection error" not in str(error):
        return DownloadFailed(
            f"{name} is no model the lab knows, and the Hugging Face hub can't be reached to look "
            f"there. {advice}Check the network, or give a local folder."
        )
    if "gated" in str(error).lower():
        return DownloadFailed(
            f"{name} asks for consent first: accept its licence on its page at the hub, run "
            "`hf auth login`, and try again."
        )
    return UnknownModel(f"There is no model {name!r}: {first_line(error)}. {advice}{others}")


def _no_weights(name: str, error: OSError) -> ModelError:
    """Why a config came without weights."""
    if "connect" in str(error).lower():
        return DownloadFailed(
            f"The weights of {name} could not be downloaded: the hub can't be reached. Try again; "
            "what has arrived is kept."
        )
    return NotUsable(
        f"{name} has no safetensors weights ({first_line(error)}). Other formats can run code when "
        "they are read, so the lab refuses them: save the model with `save_pretrained`."
    )
