"""Turn a GGUF file into a folder transformers loads in a second: safetensors, config, tokenizer.

Run as a program, `python -m labkit.models.convert GGUF FOLDER`, because unpacking takes twice the
model's size in memory, which a child process gives back, and can be stopped at any moment. The
4-bit weights of the file are expanded to float32 once, here; no digit is lost after that.
"""

from __future__ import annotations

import sys
from pathlib import Path

VERSION = 1  # a folder written by another version is made anew


def convert(gguf: Path, folder: Path) -> None:
    """Write `gguf` as config.json, model.safetensors and tokenizer files into `folder`."""
    import torch
    from safetensors.torch import save_model
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    config = AutoConfig.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(**source, config=config, dtype=torch.float32)
    # The loaded model's own config says that it is quantised, which from here on is untrue.
    config.architectures, config.dtype = [type(model).__name__], torch.float32
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
    save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
