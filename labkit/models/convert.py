"""Turn a GGUF file into a folder transformers loads in a second: safetensors, config, tokenizer.

Run as a program, `python -m labkit.models.convert GGUF FOLDER`: a child process gives back all the
memory that unpacking takes, and can be stopped at any moment. The 4-bit weights in the file are
expanded to float32 once, here; nothing is rounded after that.
"""

from __future__ import annotations

import sys
from pathlib import Path


def convert(gguf: Path, folder: Path) -> None:
    """Write `gguf` as config.json, model.safetensors and tokenizer files into the new `folder`."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    with torch.device("meta"):  # only its names are needed: GGUF calls every tensor something else
        model = AutoModelForCausalLM.from_config(config)
    weights = load_gguf_checkpoint(gguf, return_tensors=True, model_to_load=model)["tensors"]

    folder.mkdir()  # its parent is missing if another process has swept an interrupted try away
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config.architectures, config.dtype = [type(model).__name__], torch.float32
    config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
