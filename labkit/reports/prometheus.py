"""Prometheus metrics: vLLM, SGLang, TGI, llama.cpp's server; TensorRT-LLM, without a prefix.

A histogram's mean is its sum ÷ its count. Counters run since the server's start, so where a paste
holds two scrapes, their difference is what happened in between. vLLM's four phases add up: the best
source there is. A gauge is one moment's value.
"""

from __future__ import annotations

import re

from ..records.report import Report
from .build import report
from .paste import Paste
from .units import NUMBER, number

MARKS = ("vllm:", "sglang:", "tgi_", "llamacpp:", "token_seconds_sum", "latency_seconds_sum")

_sample = re.compile(
    r"\b(vllm:|sglang:|llamacpp:|tgi_|trtllm_|dynamo_frontend_"
    r"|(?=time_|inter_token|request_queue|e2e_))([a-z_0-9]{3,80})(\{[^}\n]{0,400}\})?[ \t]{1,4}"
    rf"({NUMBER})(?![\w.])"
)
_method = re.compile(r'method="(\w{3,20})"')
_gauges = ("running", "waiting", "usage", "size", "processing", "deferred")

# Our name, and what the engines call it, in order of preference.
MEANS = {
    "ttft_s": ("time_to_first_token_seconds",),
    "queue_s": ("request_queue_time_seconds", "queue_time_seconds", "request_queue_duration"),
    "prefill_s": ("request_prefill_time_seconds", "batch_forward_duration.prefill"),
    "decode_s": ("request_decode_time_seconds",),
    "inference_s": ("request_inference_time_seconds", "request_inference_duration"),
    "total_s": ("e2e_request_latency_seconds", "request_duration"),
    "tpot_s": (
        "request_time_per_output_token_seconds",
        "time_per_output_token_seconds",
        "inter_token_latency_seconds",
    ),
    "prompt_tokens": ("request_prompt_tokens", "request_input_length"),
    "output_tokens": ("request_generation_tokens", "request_generated_tokens"),
}
GAUGES = {
    "running": ("num_requests_running", "num_running_reqs", "batch_current_size"),
    "waiting": ("num_requests_waiting", "num_queue_reqs", "queue_size", "requests_deferred"),
    "kv_usage": ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"),
}
TOOLS = {"vllm:": "vLLM", "sglang:": "SGLang", "tgi_": "TGI", "llamacpp:": "llama.cpp"}
TOOLS |= {"trtllm_": "TensorRT-LLM", "dynamo_frontend_": "Dynamo", "": "unnamed"}


def read(paste: Paste) -> list[Report]:
    """One report for each engine whose metrics are there."""
    scrapes: dict[str, list[dict[tuple[str, str], float]]] = {}
    for prefix, name, labels, value in _sample.findall(paste.text):
        if name.endswith("_bucket"):
            continue
        seen = scrapes.setdefault(prefix, [{}])
        if (name, labels) in seen[-1]:
            seen.append({})
        seen[-1][name, labels] = number(value) or 0.0
    return [one for prefix, seen in scrapes.items() if (one := _report(prefix, seen))]


def _report(prefix: str, scrapes: list[dict[tuple[str, str], float]]) -> Report | None:
    values = _merged(scrapes[-1], scrapes[-2] if len(scrapes) > 1 else {})
    figures = {ours: _first_mean(values, theirs) for ours, theirs in MEANS.items()}
    gauges = {ours: _first(values, theirs) for ours, theirs in GAUGES.items()}
    if prefix == "llamacpp:":
        figures |= _llama_totals(values)
    if not any(v is not None for v in (figures | gauges).values()):
        return None
    timed = any(figures[name] for name in ("ttft_s", "queue_s", "prefill_s", "total_s"))
    tool = f"{TOOLS[prefix]} Prometheus"
    requests = values.get("time_to_first_token_seconds_count")
    return report(tool, "aggregate" if timed else "window", requests=requests, **figures, **gauges)


def _merged(
    last: dict[tuple[str, str], float], before: dict[tuple[str, str], float]
) -> dict[str, float]:
    """Values by name, all label sets together; counters as what was added since `before`."""
    found: dict[str, float] = {}
    for (name, labels), value in last.items():
        if not any(word in name for word in _gauges):
            value = max(0.0, value - before.get((name, labels), 0.0))
        found[name] = found.get(name, 0.0) + value
        method = _method.search(labels)
        if method:
            base, _, end = name.rpartition("_")
            split = f"{base}.{method[1]}_{end}"
            found[split] = found.get(split, 0.0) + value
    return found


def _first_mean(values: dict[str, float], names: tuple[str, ...]) -> float | None:
    for name in names:
        count = values.get(f"{name}_count")
        if count and f"{name}_sum" in values:
            return values[f"{name}_sum"] / count
    return None


def _first(values: dict[str, float], names: tuple[str, ...]) -> float | None:
    return next((values[name] for name in names if name in values), None)


def _llama_totals(values: dict[str, float]) -> dict[str, float | None]:
    """llama.cpp counts no requests: the seconds and tokens of all of them together."""
    tokens, spent = (
        values.get("tokens_predicted_total"),
        values.get("tokens_predicted_seconds_total"),
    )
    return {
        "prefill_s": values.get("prompt_seconds_total"),
        "decode_s": spent,
        "prompt_tokens": values.get("prompt_tokens_total"),
        "output_tokens": tokens,
        "tpot_s": spent / tokens if spent and tokens else None,
    }
