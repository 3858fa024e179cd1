"""What holds for any text: no error, linear time, and figures that dirt can't change."""

from __future__ import annotations

import time

import pytest
from diagnosis_cases import CASES
from hypothesis import given, settings
from hypothesis import strategies as st
from test_reports_formats import FORMATS

from labkit.diagnose import diagnose
from labkit.records import Report
from labkit.reports import llama_cpp, ollama, parse, serving, words
from labkit.reports.build import report
from labkit.reports.tools import TOOLS

SAMPLES = [case["raw"] for case in CASES + FORMATS]
MARKS = [mark for marks, _ in TOOLS for mark in marks]
MEGABYTE = 1_000_000

pieces = st.one_of(
    st.sampled_from(SAMPLES), st.sampled_from(MARKS), st.text(max_size=30), st.floats().map(str)
)


@given(st.lists(pieces, max_size=6).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_parse_or_diagnose_raise(text):
    diagnose(parse(text))


@given(st.sampled_from(SAMPLES), st.integers(0, 2000), st.integers(0, 2000), st.text(max_size=9))
@settings(max_examples=150, deadline=None)
def test_no_damage_to_a_real_paste_makes_them_raise(text, start, length, instead):
    diagnose(parse(text[:start] + instead + text[start + length :]))


NASTY = {
    "digits": "1",
    "thousands": "1,",
    "braces": "{",
    "empty objects": "{}",
    "objects": '{"a":',
    "brackets": "[",
    "quotes": '"',
    "escaped quotes": '\\"',
    "spaces": " ",
    "lines": "\n",
    "quote marks": "> ",
    "letters": "a",
    "words": "ab ",
    "cells": "|a",
    "rules": "|--|\n",
    "half a colour": "\x1b[",
    "half a label": "prompt eval ",
    "half a line": "Avg prompt throughput: ",
    "half a sample": "vllm:num_requests_running{",
    "log lines": "llama_print_timings: eval time = 1.00 ms / 3 runs\n",
    "records": '{"predicted_ms": 30.0, "predicted_n": 3, "prompt_ms": 4.0, "prompt_n": 2}\n',
    "dates": "2026-01-05 09:00:00,123 INFO ",
    "wide": "速度：│",
    "one line": "word ",
}
DENSE = {  # many short runs, no two alike
    "llama.cpp": "total time = {}.00 ms\n",
    "JSON": '{{"predicted_ms": {}.0, "prompt_ms": 4}}\n',
    "Ollama": "eval rate: {} tokens/s\n",
    "TGI": 'queue_time="{}ms"\n',
    "tables": "|ttft (ms)|tpot (ms)|\n|--|--|\n|{}|2|\n\n",
    "llama-bench": "|test|t/s|size|\n|--|--|--|\n|pp512|5|{} GiB|\n\n",
    "LM Studio": "5 tok/s, 5 tokens, {} s to first token\n",
}


@pytest.mark.parametrize("unit", NASTY.values(), ids=NASTY.keys())
def test_a_megabyte_takes_a_second_at_most(unit):
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    assert timed(text)[0] < 1.0 or timed(text)[0] < 1.0  # other work may disturb one


@pytest.mark.parametrize("line", DENSE.values(), ids=DENSE.keys())
def test_a_megabyte_of_short_runs_takes_a_second_at_most_and_says_where_it_stopped(line):
    text = "".join(line.format(i) for i in range(MEGABYTE // len(line)))[:MEGABYTE]
    taken, reports = timed(text)
    assert taken < 1.0 or timed(text)[0] < 1.0
    assert "5,000" in reports[-1].warnings[-1]


@pytest.mark.parametrize("unit", ["1", "{", '"', "|a|\n|--|\n", "ab 1, ", "a: 1 ms, "])
def test_time_grows_linearly_even_with_every_readers_mark_in_the_text(unit):
    small, large = (" ".join(MARKS) + unit * (size // len(unit)) for size in (25_000, 100_000))
    assert min(timed(large)[0] for _ in range(2)) < 12 * min(timed(small)[0] for _ in range(3))


def timed(text: str) -> tuple[float, list[Report]]:
    """Seconds of reading and judging, and what was read."""
    before = time.process_time()
    reports = parse(text)
    diagnose(reports)
    return time.process_time() - before, reports


# ---- dirt ----------------------------------------------------------------------------------------

DIRT = {
    "crlf": lambda line: line + "\r",
    "quoted": lambda line: "> " + line,
    "colour": lambda line: f"\x1b[1;32m{line}\x1b[0m",
    "journal": lambda line: "Jan 05 09:00:00 host app[7]: " + line,
    "llama.cpp": lambda line: "0.12.345.678 I " + line,
    "api server": lambda line: "(APIServer pid=1) " + line,
    "kubernetes": lambda line: "2026-01-05T09:00:00.123456789Z stdout F " + line,
    "python": lambda line: "2026-01-05 09:00:00,123 - INFO - " + line,
    "level": lambda line: "INFO: " + line,
    "compose": lambda line: "engine-1  | " + line,
    "all of them": lambda line: f"> \x1b[2m2026-01-05 09:00:00,123 [53409] {line}\x1b[0m\r",
}


@pytest.mark.parametrize("case", FORMATS + CASES, ids=lambda case: case.get("name") or case["id"])
def test_prefixes_quotes_colours_and_crlf_change_no_figure(case):
    text = case["raw"].strip()
    clean = parse(text)
    for name, dirt in DIRT.items():
        assert parse("\n".join(dirt(line) for line in text.split("\n"))) == clean, name


# ---- back and forth ------------------------------------------------------------------------------

counts = st.integers(10, 30_000)
milliseconds = st.integers(100_000, 90_000_000).map(lambda hundredths: hundredths / 100)


@st.composite
def requests(draw) -> Report:
    """A plausible request, in figures that survive being printed with two decimals."""
    prompt, output = draw(counts), draw(counts)
    prefill_ms = round(prompt * draw(st.floats(0.05, 50)), 2)
    each_ms = round(draw(st.floats(1, 900)), 2)
    return report(
        "words",
        "request",
        prompt_tokens=float(prompt),
        output_tokens=float(output),
        concurrency=float(draw(st.integers(2, 500))),
        queue_s=0.5,
        ttft_s=prefill_ms / 1e3 + 0.5,
        tpot_s=each_ms / 1e3,
        load_s=draw(milliseconds) / 1e3,
    )


@given(requests())
@settings(max_examples=60, deadline=None)
def test_words_read_back_what_was_rendered(one):
    (first,) = parse(words.render(one))
    assert parse(words.render(first)) == [first]
    assert (first.prompt_tokens, first.output_tokens) == (one.prompt_tokens, one.output_tokens)
    assert first.tpot_s == pytest.approx(one.tpot_s)


@given(counts, counts, milliseconds, milliseconds, milliseconds)
@settings(max_examples=60, deadline=None)
def test_llama_cpp_reads_back_what_was_rendered(prompt, runs, load_ms, prefill_ms, decode_ms):
    printed = Report(
        "llama.cpp",
        "request",
        prompt_tokens=prompt,
        output_tokens=runs + 1,
        load_s=load_ms / 1e3,
        prefill_s=prefill_ms / 1e3,
        decode_s=decode_ms / 1e3,
        total_s=(prefill_ms + decode_ms) / 1e3,
    )
    assert_stable(llama_cpp.render, printed, "prompt_tokens output_tokens load_s prefill_s total_s")


@given(counts, counts, milliseconds, milliseconds, milliseconds)
@settings(max_examples=60, deadline=None)
def test_ollama_reads_back_what_was_rendered(prompt, output, load_ms, prefill_ms, decode_ms):
    printed = Report(
        "Ollama",
        "request",
        prompt_tokens=prompt,
        output_tokens=output,
        load_s=load_ms / 1e3,
        prefill_s=prefill_ms / 1e3,
        decode_s=decode_ms / 1e3,
        total_s=(load_ms + prefill_ms + decode_ms) / 1e3,
        prefill_tokens_per_s=prompt / prefill_ms * 1e3,
        decode_tokens_per_s=output / decode_ms * 1e3,
    )
    assert_stable(ollama.render, printed, "prompt_tokens output_tokens load_s prefill_s total_s")


@given(counts, counts, st.integers(2, 999), milliseconds, st.floats(1, 900))
@settings(max_examples=60, deadline=None)
def test_serving_benchmarks_read_back_what_was_rendered(prompt, output, many, ttft_ms, tpot_ms):
    printed = Report(
        "vLLM benchmark",
        "aggregate",
        requests=many,
        concurrency=many,
        prompt_tokens=prompt,
        output_tokens=output,
        duration_s=1e6,
        served_per_s=many / 1e2,
        ttft_s=ttft_ms / 1e3,
        ttft_median_s=ttft_ms / 1e3,
        ttft_tail_s=ttft_ms / 1e3,
        tpot_s=tpot_ms / 1e3,
        tpot_median_s=tpot_ms / 1e3,
    )
    assert_stable(serving.render, printed, "prompt_tokens output_tokens requests duration_s ttft_s")


def assert_stable(render, printed: Report, fields: str) -> None:
    """What is read back has the printed figures, and renders and reads back as itself."""
    (first,) = parse(render(printed))
    for name in fields.split():
        assert getattr(first, name) == pytest.approx(getattr(printed, name), abs=1e-5), name
    if all(getattr(first, n) is not None for n in ("decode_tokens_per_s", "prefill_tokens_per_s")):
        assert parse(render(first)) == [first]
