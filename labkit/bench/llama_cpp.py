"""The lab's fastest float32 decode step beside llama.cpp's, on the same weights.

llama.cpp is the yardstick for one stream on a CPU: C++ throughout, its matrix products written by
hand. It reads the default model's own GGUF file, whose weights are expanded to float32 as the lab's
were. Both sides write a few dozen tokens in turn, greedily, with the same number of threads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import torch

from ..generate import BadRequest, Forward
from ..lean import fastest
from ..models import DEFAULT, Loaded
from ..models.store import Store, cache_folder
from .stats import Figure, differing, ratios
from .steps import PROMPT, Loop, side, take_turns, times

LAB, OTHER = "labkit, compiled", "llama.cpp"
AT_LEAST = 0.80
MISSING = (
    "llama.cpp is not installed: `pip install -e '.[llama-cpp]'` builds it, which needs a C++ "
    "compiler and some minutes."
)


def float32_gguf(folder: Path) -> Path:
    """The default model for llama.cpp, with float32 weights: made once, in the lab's cache."""
    target = folder / f"{DEFAULT}.f32.gguf"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            scratch = Path(name)
            gguf = Store(folder).unpack(scratch, lambda stage, share: None)
            expand(gguf, scratch / "float32.gguf")
            (scratch / "float32.gguf").replace(target)
    return target


def expand(source: Path, target: Path) -> None:
    """Copies a GGUF file with every tensor as float32."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, dequantize

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.get_field("general.architecture").contents())
    for field in reader.fields.values():
        kind, inner = field.types[0], field.types[-1]
        if field.name == "general.file_type":
            writer.add_file_type(LlamaFileType.ALL_F32)
        elif field.name != "general.architecture" and not field.name.startswith("GGUF."):
            of = inner if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), kind, sub_type=of)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def measure(loaded: Loaded, rounds: int = 5, new_tokens: int = 48) -> tuple[Figure, ...]:
    """Tokens/s of the lab's compiled step ÷ llama.cpp's, and the tokens that differ.

    `loaded` is in float32, its weights row by row. Raises BadRequest where llama.cpp is missing.
    """
    if find_spec("llama_cpp") is None:
        raise BadRequest(MISSING)
    ids = loaded.tokenizer.encode(PROMPT, chat=True)
    theirs = loop_of(float32_gguf(cache_folder()), len(ids) + new_tokens)
    sides = {
        LAB: side(fastest(loaded.model), ids, new_tokens, loaded.device),
        OTHER: side(theirs, ids, new_tokens, loaded.device),
    }
    take_turns(sides, rounds)
    ours_s, theirs_s = (one.medians_s for one in sides.values())
    unlike = differing(*(one.token_ids for one in sides.values()))
    return (
        Figure(f"{LAB}: tokens/s ÷ {OTHER}'s", ratios(theirs_s, ours_s), at_least=AT_LEAST),
        Figure("tokens that differ", (unlike,), at_most=0),
        *times(sides),
    )


def loop_of(gguf: Path, context: int) -> Loop:
    """llama.cpp as an arm, with torch's number of threads. It gives no logits."""
    from llama_cpp import Llama

    threads = torch.get_num_threads()
    how = {"n_threads": threads, "n_threads_batch": threads, "verbose": False}
    llama = Llama(str(gguf), n_ctx=context, **how)

    def loop(prompts: Sequence[Sequence[int]], new_tokens: int) -> Iterator[Forward]:
        llama.reset()
        tokens = llama.generate(list(prompts[0]), temp=0.0, repeat_penalty=1.0)
        for token in islice(tokens, new_tokens):
            yield Forward(torch.tensor([token]), torch.empty(1, 0), 1, 0, None)

    return loop
