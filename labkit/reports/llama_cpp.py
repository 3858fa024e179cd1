"""llama.cpp: `print_timings`, `perf_context_print`, `common_perf_print`; the server, JSON.

Decode "runs" are one fewer than the generated tokens: the first comes from the prompt's pass. The
server counts tokens instead. Load time stands beside the total, not in it; the total of the command
line may hold a user's pauses; the server's is prompt + eval and knows no queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report
from .objects import group
from .paste import Paste
from .units import NUMBER, number, seconds

TOOL = "llama.cpp"
MARKS = (
    "eval time",
    "total time",
    "load time",
    "prompt processing, n_tokens",
    "n_decoded",
    "n_gen =",
    "predicted_ms",
    "t_token_generation",
)
LOGGED = ("t_prompt_processing", "t_token_generation")  # fields of the server's log of 2024

_value = rf"({NUMBER}|-?inf|-?nan)"
_timing = re.compile(
    r"\b(load|sample|sampling|prompt eval|generation eval|eval|total|unaccounted) time ?"
    rf"\s{{0,24}}=\s{{0,16}}{_value} ms"
    rf"(?:\s{{0,8}}/\s{{0,12}}{_value} (tokens?|runs?))?"
    rf"(?:\s{{0,8}}\(\s{{0,12}}{_value} ms per token"
    rf"(?:,\s{{0,12}}{_value} tokens per second)?)?"
    rf"|draft acceptance[^(\n]{{0,30}}\(\s{{0,8}}({NUMBER}) accepted"
)
_progress = re.compile(
    rf"task[ ]{{1,4}}(-?\d{{1,9}}) \| prompt processing, n_tokens ?=[ ]{{0,12}}({NUMBER}), "
    rf"progress ?=[ ]{{0,8}}({NUMBER}), t ?=[ ]{{0,8}}({NUMBER}) s / ({NUMBER}) tok"
)
_writing = re.compile(
    rf"task[ ]{{1,4}}(-?\d{{1,9}}) \| n_(?:decoded|gen) ?=[ ]{{0,12}}({NUMBER}), "
    rf"tg ?=[ ]{{0,8}}({NUMBER}) t"
)


def read(paste: Paste) -> Iterator[Report]:
    text = paste.text
    if paste.has(*LOGGED):
        yield from _from_json_log(paste.objects)
        text = "\n".join(li for li in text.split("\n") if not any(name in li for name in LOGGED))
    records = [r for r in group(_timings(text)) if r.keys() & {"prompt eval", "eval", "total"}]
    yield from map(_from_text, records)
    if not records and paste.has("| prompt processing, n_tokens", "| n_decoded", "| n_gen"):
        yield from _unfinished(paste.text)
    if paste.has("predicted_ms"):
        yield from (_from_json(o) for o in paste.objects if "predicted_ms" in o)


def _timings(text: str) -> Iterator[tuple[str, tuple]]:
    """(which time, its figures) for each line; a total ends a run, so what follows starts one."""
    for m in _timing.finditer(text):
        if m[1]:
            yield m[1].replace("generation ", "").replace("sampling", "sample"), m.groups()[1:6]
        else:
            yield "draft", (m[7],)


def _from_text(record: dict[str, tuple]) -> Report:
    prompt = record.get("prompt eval", (None,) * 5)
    decode = record.get("eval", (None,) * 5)
    server = (decode[2] or "token").startswith("token") and "load" not in record
    decoded, output = _decoded(decode)
    prefill_s, total_s = _ms(prompt[0]), _ms(record.get("total", (None,))[0])
    if "eval" in record and not decoded and prefill_s and total_s and prefill_s > 0.9 * total_s:
        output = 1.0  # the prompt's pass gave the only token
    return report(
        TOOL,
        "request",
        prompt_tokens=number(prompt[1]),
        output_tokens=output,
        load_s=_ms(record.get("load", (None,))[0]),
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=decoded,
        tpot_s=_ms(decode[3]) if decoded else None,
        tokens_per_step=_per_step(output, *record.get("draft", (None,))),
        prefill_tokens_per_s=number(prompt[4]) if prefill_s else None,
        decode_tokens_per_s=number(decode[4]) if decoded else None,
        total_s=total_s,
        total_counts_idle=not server,
    )


def _decoded(decode: tuple) -> tuple[float | None, float | None]:
    """Seconds of decode and tokens written; "0.00 ms / 1 runs" stands for no decode at all."""
    spent_s, count = _ms(decode[0]), number(decode[1])
    if not spent_s or not count:
        return None, None
    return spent_s, count + 1 if (decode[2] or "").startswith("run") else count


def _per_step(output: float | None, accepted: object) -> float | None:
    """Every drafted token that was accepted saved a step of the large model."""
    saved = number(accepted)
    return output / (output - saved) if output and saved and saved < output else None


def _ms(text: str | None) -> float | None:
    return seconds(text, "ms") if text and text[-1].isdigit() else None


def _from_json(record: dict) -> Report:
    """`timings` of a response, in milliseconds; `prompt_n` leaves cached tokens out."""
    processed, cached = number(record.get("prompt_n")), number(record.get("cache_n"))
    prefill_s = seconds(record.get("prompt_ms"), "ms")
    return report(
        TOOL,
        "request",
        prompt_tokens=None if processed is None else processed + (cached or 0),
        cached_tokens=cached,
        output_tokens=number(record.get("predicted_n")),
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=seconds(record.get("predicted_ms"), "ms"),
        tpot_s=seconds(record.get("predicted_per_token_ms"), "ms"),
        tokens_per_step=_per_step(
            number(record.get("predicted_n")), record.get("draft_n_accepted")
        ),
    )


def _from_json_log(objects: list[dict]) -> Iterator[Report]:
    """The 2024 log: three JSON lines for each request, the last of them with the total."""
    seen: dict[str, object] = {}
    for record in objects:
        seen |= {name: value for name, value in record.items() if name[:2] in ("t_", "n_")}
        if "t_total" in record:
            yield _logged(seen)
            seen = {}
    if seen.keys() & set(LOGGED):
        yield _logged(seen)


def _logged(record: dict) -> Report:
    prefill_s, decode_s = (seconds(record.get(name), "ms") for name in LOGGED)
    tokens = number(record.get("n_decoded"))
    return report(
        TOOL,
        "request",
        prompt_tokens=number(record.get("n_prompt_tokens_processed")),
        output_tokens=tokens,
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=decode_s,
        tpot_s=decode_s / tokens if decode_s and tokens else None,
        total_s=seconds(record.get("t_total"), "ms"),
    )


def _unfinished(text: str) -> list[Report]:
    """Progress lines of tasks that had not ended; the last line of each task counts."""
    prompts = {m[1]: m.groups() for m in _progress.finditer(text)}
    written = {m[1]: m.groups() for m in _writing.finditer(text)}
    tasks = dict.fromkeys([*prompts, *written])
    return [_task(prompts.get(task), written.get(task)) for task in tasks]


def _task(prompt: tuple | None, writing: tuple | None) -> Report:
    _, processed, progress, spent, rate = prompt or (None,) * 5
    _, tokens, speed = writing or (None,) * 3
    share = number(progress)
    whole = number(processed) / share if prompt and share else None
    tokens, speed = number(tokens), number(speed)
    return report(
        TOOL,
        "request",
        prompt_tokens=whole,
        prompt_progress=share if not writing else None if prompt else 1.0,
        prefill_s=number(spent),
        ttft_s=number(spent) if writing else None,
        prefill_tokens_per_s=number(rate),
        output_tokens=tokens,
        decode_s=tokens / speed if tokens and speed else None,
        tpot_s=1 / speed if speed else None,
        decode_tokens_per_s=speed,
    )


def render(one: Report) -> str:
    """The report as the command line's `print_timings` would print it."""

    def line(name: str, spent_s: float, count: float, unit: str) -> str:
        each = spent_s * 1e3 / count
        return (
            f"llama_print_timings: {name:>11} time = {spent_s * 1e3:10.2f} ms / {count:5.0f} {unit}"
            f"   ({each:8.2f} ms per token, {count / spent_s:8.2f} tokens per second)\n"
        )

    return (
        f"llama_print_timings:        load time = {one.load_s * 1e3:10.2f} ms\n"
        + line("prompt eval", one.prefill_s, one.prompt_tokens, "tokens")
        + line("eval", one.decode_s, one.output_tokens - 1, "runs")
        + f"llama_print_timings:       total time = {one.total_s * 1e3:10.2f} ms\n"
    )
