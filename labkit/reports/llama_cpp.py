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

_value = rf"({NUMBER}|-?inf|-?nan)"
_timing = re.compile(
    r"\b(load|sample|sampling|prompt eval|generation eval|eval|total|unaccounted) time ?"
    rf"[ ]{{0,24}}=[ ]{{0,16}}{_value} ms"
    rf"(?:[ ]{{0,8}}/[ ]{{0,12}}{_value} (tokens?|runs?))?"
    rf"(?:[ ]{{0,8}}\([ ]{{0,12}}{_value} ms per token"
    rf"(?:,[ ]{{0,12}}{_value} tokens per second)?)?"
)
_draft = re.compile(rf"mean len ?=[ ]{{0,8}}({NUMBER})")
_progress = re.compile(
    rf"task[ ]{{1,4}}(-?\d{{1,9}}) \| prompt processing, n_tokens ?=[ ]{{0,12}}({NUMBER}), "
    rf"progress ?=[ ]{{0,8}}({NUMBER}), t ?=[ ]{{0,8}}({NUMBER}) s / ({NUMBER}) tok"
)
_writing = re.compile(
    rf"task[ ]{{1,4}}(-?\d{{1,9}}) \| n_(?:decoded|gen) ?=[ ]{{0,12}}({NUMBER}), "
    rf"tg ?=[ ]{{0,8}}({NUMBER}) t"
)


def read(paste: Paste) -> list[Report]:
    found = [_from_text(record) for record in group(_timings(paste.text))]
    found = [one for one in found if one is not None]
    if not found and paste.has("| prompt processing, n_tokens", "| n_decoded", "| n_gen"):
        found = _unfinished(paste.text)
    if paste.has("predicted_ms"):
        found += [_from_json(o) for o in paste.objects if "predicted_ms" in o]
    if paste.has("t_token_generation") and not found:
        found = _from_json_log(paste.objects)
    return found


def _timings(text: str) -> Iterator[tuple[str, tuple]]:
    """(which time, its figures) for each line; a total ends a run, so what follows starts one."""
    for m in _timing.finditer(text):
        yield m[1].replace("generation ", "").replace("sampling", "sample"), m.groups()[1:]


def _from_text(record: dict[str, tuple]) -> Report | None:
    if not record.keys() & {"prompt eval", "eval", "total"}:
        return None
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
    )


def _from_json_log(objects: list[dict]) -> list[Report]:
    """The 2024 log: three JSON lines for each request, the last of them with the total."""
    found, seen = [], {}
    for record in objects:
        seen |= {name: value for name, value in record.items() if name[:2] in ("t_", "n_")}
        if "t_total" in record:
            found.append(_logged(seen))
            seen = {}
    return found + ([_logged(seen)] if "t_token_generation" in seen else [])


def _logged(record: dict) -> Report:
    prefill_s = seconds(record.get("t_prompt_processing"), "ms")
    return report(
        TOOL,
        "request",
        prompt_tokens=number(record.get("n_prompt_tokens_processed")),
        output_tokens=number(record.get("n_decoded")),
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=seconds(record.get("t_token_generation"), "ms"),
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
