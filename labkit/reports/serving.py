"""`vllm bench serve` and its children, text and JSON: SGLang's, TensorRT-LLM's, forks.

TPOT is (latency − TTFT) ÷ (tokens − 1) for each request, then the mean. ITL is no substitute where
a step gives several tokens, as in speculative decoding; SGLang's is, for it is weighted by tokens.
TTFT is the client's: it holds the server's queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .paste import Paste
from .units import NUMBER, number, seconds

TEXT_MARKS = ("serving benchmark result", "successful requests:", "ttft (ms)")
MARKS = (*TEXT_MARKS, "mean_ttft_ms")

# The printed label in lower case, up to its unit, and our name for it.
LABELS = {
    "successful requests": "requests",
    "maximum request concurrency": "limit",
    "max request concurrency": "limit",
    "max reqeuest concurrency": "limit",
    "concurrency": "concurrency",
    "request rate configured": "offered",
    "traffic request rate": "offered",
    "benchmark duration": "duration",
    "total input tokens": "input",
    "total generated tokens": "output",
    "request throughput": "served",
    "acceptance length": "accepted",
    "accept length": "accepted",
}
STATISTIC = r"(mean|median|p99|max|min) (ttft|tpot|itl|e2el|e2e latency)"
_statistic = re.compile(STATISTIC)
_title = re.compile(r"=[ ]?serving benchmark result[ ]?=", re.IGNORECASE)
_top = re.compile(r"\bsuccessful requests:", re.IGNORECASE)  # where a fork prints no title
_line = re.compile(
    rf"\b({'|'.join(LABELS)}|{STATISTIC})(?: \([^)\n]{{1,40}}\))?:[ \t]{{0,50}}"
    rf"(?P<value>{NUMBER}|inf|nan)",
    re.IGNORECASE,
)


def read(paste: Paste) -> Iterator[Report]:
    if paste.has(*TEXT_MARKS):
        yield from (one for block in _blocks(paste.text) if (one := _from_text(block)))
    if paste.has("mean_ttft_ms"):
        yield from (_from_json(o) for o in paste.objects if "mean_ttft_ms" in o)


def _blocks(text: str) -> list[str]:
    """One text for each run: from its title to the next, with the settings echoed above it."""
    starts = [m.start() for m in _title.finditer(text)] or [m.start() for m in _top.finditer(text)]
    if not starts:
        return [text]
    pieces = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    above = text[: starts[0]]
    blocks = []
    for piece in pieces:
        body, rule, after = piece.rpartition("\n" + "=" * 20)
        blocks.append(above + (body or piece))
        above = after if rule else ""
    return blocks


def _from_text(block: str) -> Report | None:
    found: dict[str, str] = {}
    for match in _line.finditer(block):
        label = match[1].lower()
        statistic = _statistic.fullmatch(label)
        name = "_".join(statistic.groups()) if statistic else LABELS.get(label)
        if name:
            found.setdefault(name.replace("e2e latency", "e2el"), match["value"])
    if not any(key.startswith(("mean_", "median_")) for key in found):
        return None
    sglang = "backend:" in block.lower() or "concurrency" in found
    return _report("SGLang benchmark" if sglang else "vLLM benchmark", found)


def _from_json(record: dict) -> Report:
    """`--save-result`: summaries in ms, arrays in seconds. Run arguments stand beside them."""
    found = {key.removesuffix("_ms"): value for key, value in record.items() if key[:1] in "mp"}
    found["mean_e2el"] = record.get("mean_e2el_ms", record.get("mean_e2e_latency_ms"))
    found |= {
        "requests": record.get("completed"),
        "input": record.get("total_input_tokens"),
        "output": record.get("total_output_tokens"),
        "duration": record.get("duration"),
        "served": record.get("request_throughput"),
        "offered": record.get("request_rate"),
        "limit": record.get("max_concurrency"),
        "concurrency": record.get("concurrency"),
        "accepted": record.get("accept_length", record.get("spec_decode_acceptance_length")),
    }
    ttfts = record.get("ttfts")
    firsts = [t for t in ttfts if isinstance(t, float) and t > 0] if isinstance(ttfts, list) else []
    found["min_ttft"] = min(firsts) * 1e3 if firsts else None
    sglang = "backend" in record and "sglang" in str(record["backend"])
    return _report("SGLang benchmark" if sglang else "vLLM benchmark", found)


def _report(tool: str, found: dict) -> Report:
    figure = {name: number(value) for name, value in found.items()}
    requests = figure.get("requests")

    def each(name: str) -> float | None:
        return figure[name] / requests if requests and figure.get(name) is not None else None

    def spent(name: str) -> float | None:
        return seconds(figure.get(name), "ms")

    mean_tpot, itl = figure.get("mean_tpot"), figure.get("mean_itl")
    per_step = itl / mean_tpot if itl and mean_tpot and itl > 1.2 * mean_tpot else None
    return report(
        tool,
        "aggregate",
        requests=requests,
        concurrency=_in_flight(figure),
        offered_per_s=figure.get("offered"),
        served_per_s=figure.get("served"),
        duration_s=figure.get("duration"),
        prompt_tokens=each("input"),
        output_tokens=each("output"),
        ttft_s=spent("mean_ttft") or spent("median_ttft"),
        ttft_median_s=spent("median_ttft"),
        ttft_min_s=spent("min_ttft"),
        ttft_tail_s=spent("p99_ttft") or spent("max_ttft"),
        tpot_s=spent("mean_tpot") or spent("median_tpot") or spent("mean_itl"),
        tpot_median_s=spent("median_tpot"),
        total_s=spent("mean_e2el"),
        tokens_per_step=figure.get("accepted") or per_step,
        statistic="mean" if figure.get("mean_ttft") is not None else "median",
    )


def _in_flight(figure: dict[str, float | None]) -> float | None:
    """Measured requests in flight where the tool prints them, else the configured limit."""
    return figure.get("concurrency") or figure.get("limit")


def render(one: Report) -> str:
    """The report as `vllm bench serve` would print it."""
    total_in, total_out = one.prompt_tokens * one.requests, one.output_tokens * one.requests
    lines = {
        "Successful requests": f"{one.requests:.0f}",
        "Maximum request concurrency": f"{one.concurrency:.0f}",
        "Benchmark duration (s)": f"{one.duration_s:.2f}",
        "Total input tokens": f"{total_in:.0f}",
        "Total generated tokens": f"{total_out:.0f}",
        "Request throughput (req/s)": f"{one.served_per_s:.2f}",
        "Mean TTFT (ms)": f"{one.ttft_s * 1e3:.2f}",
        "Median TTFT (ms)": f"{one.ttft_median_s * 1e3:.2f}",
        "P99 TTFT (ms)": f"{one.ttft_tail_s * 1e3:.2f}",
        "Mean TPOT (ms)": f"{one.tpot_s * 1e3:.2f}",
        "Median TPOT (ms)": f"{one.tpot_median_s * 1e3:.2f}",
    }
    body = "".join(f"{name + ':':<41}{value}\n" for name, value in lines.items())
    return f"{' Serving Benchmark Result ':=^50}\n{body}{'=' * 50}\n"
