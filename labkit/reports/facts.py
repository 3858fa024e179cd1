"""What a paste says about model and machine, beside the metrics: "8B Q4_K_M on a 4090, 1008 GB/s".

A fact that is told in two ways is dropped: a wrong machine would make a wrong verdict.
"""

from __future__ import annotations

import re

from .paste import Paste
from .units import BYTES, NUMBER, number

MOST_CHARACTERS = 20_000

# Bits for each weight, scales included, of llama.cpp's common files: file size ÷ parameters.
GGUF_BITS = {"2": 3.35, "3": 3.9, "4": 4.85, "5": 5.7, "6": 6.6, "8": 8.5}
OTHER_BITS = {"fp16": 16, "bf16": 16, "f16": 16, "bfloat16": 16, "float16": 16, "fp8": 8}
OTHER_BITS |= {"int8": 8, "int4": 4, "awq": 4.25, "gptq": 4.25, "fp32": 32, "mxfp4": 4.25}

_parameters = re.compile(r"(?<![\w./])(\d{1,4}(?:\.\d{1,2})?)b\b(?![/\w])")
_active = re.compile(r"\ba(\d{1,3}(?:\.\d)?)b\b")
_gguf = re.compile(r"\bi?q(\d)_\w")
_words = re.compile(rf"\b({'|'.join(OTHER_BITS)})\b")
_bits = re.compile(r"\b(\d{1,2})[- ]?bits?\b")
_bandwidth = re.compile(rf"({NUMBER}) ?([gt]b)/s")
_weights = re.compile(rf"\bweights? ?(?:are|is|of|:|=)? ?({NUMBER}) ?([gmk]i?b)\b")
_busy = re.compile(rf"gpu (?:is )?(?:busy|utili[sz]ation|util)[: ]{{0,3}}({NUMBER}) ?%")
_gpus = re.compile(
    r"(?<![\d.,])([2-9]|1[0-6]) ?(?:(?:x |× ?)?gpus?\b"
    r"|[x×] ?(?:nvidia )?(?:rtx[ -]?)?(?:[2-5]0[6-9]0|[abhv]\d{2,3}|l40?s?|t4|mi3\d\dx)\b)"
)
_machine = re.compile(
    r"\b(?:rtx[ -]?)?((?:30|40|50)[6-9]0(?: ?ti)?|a6000|6000 ada)\b"
    r"|\b(a100(?:[ -][48]0gb)?|h100|h200|b200|l4|l40s|t4|v100|a10g?|mi300x|mi325x)\b"
    r"|\b(?:apple|on an?|mac\w*) (m[1-4](?: (?:pro|max|ultra))?)\b"
    r"|\b(jetson[ -](?:agx[ -])?orin(?:[ -]nano)?|raspberry[ -]pi[ -]5)\b"
)


def facts(paste: Paste) -> dict[str, object]:
    """The fields of a Report that describe model and machine, as far as the text tells them."""
    text = paste.lower[:MOST_CHARACTERS]
    found = {
        "parameters": _scaled(_only(_parameters, text), 1e9),
        "active_parameters": _scaled(_only(_active, text), 1e9),
        "weight_bits": _weight_bits(text),
        "weight_bytes": _size(_weights, text),
        "machine": _only(_machine, text),
        "gpus": number(_only(_gpus, text)),
        "bandwidth_bytes_per_s": _size(_bandwidth, text),
        "gpu_busy": _scaled(_only(_busy, text), 0.01),
    }
    return {name: value for name, value in found.items() if value}


def _only(pattern: re.Pattern[str], text: str) -> str | None:
    """What the pattern's groups hold, if it is the same wherever the pattern matches."""
    found = {"".join(filter(None, match.groups())) for match in pattern.finditer(text)}
    return found.pop() if len(found) == 1 else None


def _scaled(text: str | None, scale: float) -> float | None:
    value = number(text)
    return None if value is None else value * scale


def _weight_bits(text: str) -> float | None:
    told = {GGUF_BITS.get(m[1]) for m in _gguf.finditer(text)}
    told |= {OTHER_BITS[m[1]] for m in _words.finditer(text)}
    told |= {float(m[1]) for m in _bits.finditer(text)}
    told.discard(None)
    return float(told.pop()) if len(told) == 1 else None


def _size(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    value = number(match[1]) if match else None
    return None if value is None else value * BYTES[match[2]]
