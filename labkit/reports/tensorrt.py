"""TensorRT-LLM: `trtllm-bench`, and the `[BENCHMARK]` lines of its older programs.

trtllm-bench sends all requests at once unless told otherwise: its TTFT may be a queue. Lengths
stand in the request details, or follow from the throughputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from ..records.report import Report
from .build import report, whole
from .objects import group
from .paste import Paste
from .units import NUMBER, number, seconds

MARKS = ("performance overview", "request throughput (req/sec)", "[benchmark]")

_label = re.compile(
    r"(Request Throughput \(req/sec\)|Total Output Throughput \(tokens/sec\)|"
    r"Total Token Throughput \(tokens/sec\)|Total Latency \(ms\)|"
    r"Average request latency \(ms\)|Average time-to-first-token \[TTFT\] \(ms\)|"
    r"Average time-per-output-token \[TPOT\] \(ms\)|\[TTFT\] (?:MINIMUM|MAXIMUM|P50)|"
    r"\[TPOT\] P50|Average Input Length \(tokens\)|Average Output Length \(tokens\)|"
    rf"Number of requests|Concurrency)[ ]{{0,4}}:[ ]{{0,60}}({NUMBER})",
    re.IGNORECASE,
)
_title = re.compile(r"= PERFORMANCE OVERVIEW", re.IGNORECASE)
_old = re.compile(r"\[BENCHMARK\] ([^\n]{5,900})", re.IGNORECASE)
_pair = re.compile(rf"(?<!\S)([A-Za-z][\w()/]{{2,50}}) ({NUMBER})(?!\S)")


def read(paste: Paste) -> Iterator[Report]:
    return chain(read_overviews(paste.text), read_benchmark_lines(paste.text))


def read_overviews(text: str) -> Iterator[Report]:
    """One for each run. The request details stand above the overview, so a label seen before ends
    the run that it belongs to."""
    runs: list[dict[str, float | None]] = [{}]
    for match in _label.finditer(text):
        name = match[1].lower()
        if name in runs[-1]:
            runs.append({})
        runs[-1][name] = number(match[2])
    return (_overview(run) for run in runs if "request throughput (req/sec)" in run)


def _overview(run: dict[str, float | None]) -> Report:
    served = run.get("request throughput (req/sec)")
    written = run.get("total output throughput (tokens/sec)")
    everything = run.get("total token throughput (tokens/sec)")
    output = run.get("average output length (tokens)")
    prompt = run.get("average input length (tokens)")
    if served and written:
        output = output or written / served
        prompt = prompt or ((everything - written) / served if everything else None)
    total_s = seconds(run.get("average request latency (ms)"), "ms")
    return report(
        "trtllm-bench",
        "aggregate",
        requests=run.get("number of requests"),
        concurrency=served * total_s if served and total_s else run.get("concurrency"),
        served_per_s=served,
        duration_s=seconds(run.get("total latency (ms)"), "ms"),
        prompt_tokens=prompt,
        output_tokens=output,
        ttft_s=seconds(run.get("average time-to-first-token [ttft] (ms)"), "ms"),
        ttft_min_s=seconds(run.get("[ttft] minimum"), "ms"),
        ttft_median_s=seconds(run.get("[ttft] p50"), "ms"),
        ttft_tail_s=seconds(run.get("[ttft] maximum"), "ms"),
        tpot_s=seconds(run.get("average time-per-output-token [tpot] (ms)"), "ms"),
        tpot_median_s=seconds(run.get("[tpot] p50"), "ms"),
        total_s=total_s,
    )


def read_benchmark_lines(text: str) -> Iterator[Report]:
    """benchmark.py and gptSessionBenchmark print a run on one line, gptManagerBenchmark on many."""
    pairs = (pair for line in _old.findall(text) for pair in _pair.findall(line))
    runs = group((name.lower(), number(value)) for name, value in pairs)
    return (
        _benchmark(run) if "latency(ms)" in run else _manager(run)
        for run in runs
        if run.keys() & {"latency(ms)", "avg_sequence_latency(ms)"}
    )


def _manager(run: dict[str, float | None]) -> Report:
    """The mean of many requests, sent as they would be to a server."""
    served, written = run.get("seq_throughput(seq/sec)"), run.get("token_throughput(token/sec)")
    return report(
        "gptManagerBenchmark",
        "aggregate",
        requests=run.get("num_samples"),
        served_per_s=served,
        duration_s=seconds(run.get("total_latency(ms)"), "ms"),
        output_tokens=whole(written / served) if served and written else None,
        ttft_s=seconds(run.get("avg_time_to_first_token(ms)"), "ms"),
        tpot_s=seconds(run.get("avg_inter_token_latency(ms)"), "ms"),
        total_s=seconds(run["avg_sequence_latency(ms)"], "ms"),
    )


def _benchmark(pairs: dict[str, float | None]) -> Report:
    """`generation_time` is decode alone; what latency has beyond it is the prefill."""
    total_s, decode_s = seconds(pairs["latency(ms)"], "ms"), None
    for name in ("generation_time(ms)", "generationtime(ms)"):
        decode_s = decode_s or seconds(pairs.get(name), "ms")
    known = total_s and decode_s and total_s > decode_s
    return report(
        "TensorRT-LLM benchmark",
        "request",
        concurrency=pairs.get("batch_size"),
        prompt_tokens=pairs.get("input_length"),
        output_tokens=pairs.get("output_length"),
        total_s=total_s,
        decode_s=decode_s,
        prefill_s=total_s - decode_s if known else None,
        ttft_s=total_s - decode_s if known else None,
    )
