"""Engine logs: vLLM's line every 5 or 10 s (V0, V1), SGLang's line for each batch.

vLLM's figures are averages over all requests and over idle time; V1 books a whole prompt in the
window in which its first token comes. SGLang's `gen throughput` is the whole batch's too. So a line
says what the engine did and who waited, never how fast one request was; only where nothing but
decode went on does throughput ÷ running requests give one request's rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records.report import Report, Window
from .build import report
from .paste import Paste
from .units import NUMBER, number

MARKS_VLLM = ("avg prompt throughput",)
MARKS_SGLANG = ("prefill batch", "decode batch")

# SGLang prints a decode line after this many steps (its option decode_log_interval).
STEPS_PER_LINE = 40
DECODE_RATE = "gen throughput (token/s)"
WARM_PART = 0.2  # a first rate below this part of the second one holds the engine's start

MOST_CHARACTERS = 500  # of one record, which may be wrapped
_vllm = re.compile(r"(?:Engine (\d{1,5}): )?Avg prompt\s{1,40}throughput: ", re.IGNORECASE)
_field = re.compile(
    r"(?:(Avg generation throughput|Running|Waiting|Pending|(?:GPU )?KV cache usage):\s{1,40})"
    rf"({NUMBER})",
    re.IGNORECASE,
)
_preempted = re.compile(r"is preempted by PreemptionMode\.([A-Z]{4,10})|preempted", re.IGNORECASE)
_sglang = re.compile(r"(Prefill|Decode) batch[.,]")
_eager = re.compile(r"Decode batch[^\n]{0,300}cuda graph: False")
_pair = re.compile(rf"([#A-Za-z][#A-Za-z /()-]{{2,40}}):\s{{1,40}}({NUMBER})")


def _records(start: re.Pattern[str], text: str) -> Iterator[tuple[str | None, str]]:
    """What the start's group holds, and the text from there to the next start."""
    _, *pieces = start.split(text)
    for name, piece in zip(pieces[::2], pieces[1::2], strict=True):
        yield name, piece[:MOST_CHARACTERS]


# ---- vLLM ----------------------------------------------------------------------------------------


def read_vllm(paste: Paste) -> list[Report]:
    """One report for each engine in the log."""
    engines: dict[str, list[Window]] = {}
    for engine, record in _records(_vllm, paste.text):
        engines.setdefault(engine or "", []).append(_vllm_window(record))
    notes = ()
    if paste.has("preempt") and _preempted.search(paste.text):
        notes = ("requests were preempted: the KV cache is too small for those admitted",)
    several = len(engines) > 1
    return [
        _from_windows("vLLM log", windows, f"engine {name}" if several else None, notes)
        for name, windows in engines.items()
    ]


def _vllm_window(line: str) -> Window:
    found = {name.lower(): number(value) for name, value in reversed(_field.findall(line))}
    usage = found.get("gpu kv cache usage", found.get("kv cache usage"))
    return Window(
        prompt_tokens_per_s=number(line),
        output_tokens_per_s=found.get("avg generation throughput"),
        running=found.get("running"),
        waiting=found.get("waiting", found.get("pending")),
        kv_usage=None if usage is None else usage / 100,
    )


# ---- SGLang --------------------------------------------------------------------------------------


def read_sglang(paste: Paste) -> list[Report]:
    """One report for the log. The order of the fields changes between versions, so by name."""
    lines = [
        (batch, {name.strip(): number(value) for name, value in _pair.findall(record)})
        for batch, record in _records(_sglang, paste.text)
    ]
    _drop_start(lines)
    windows = [
        _prefill_window(fields) if batch == "Prefill" else _decode_window(fields)
        for batch, fields in lines
    ]
    notes = ()
    if _eager.search(paste.text):
        notes = ("decode ran without CUDA graphs: each step pays for its launches",)
    return [_from_windows("SGLang log", windows, None, notes)] if windows else []


def _drop_start(lines: list[tuple[str, dict[str, float | None]]]) -> None:
    """Takes the first decode rate out where it holds the engine's start: it is far below the next.

    The throughput of a line is that since the last one, and before the first there was none.
    """
    rated = [fields for batch, fields in lines if batch == "Decode" and fields.get(DECODE_RATE)]
    if len(rated) > 1 and rated[0][DECODE_RATE] < WARM_PART * rated[1][DECODE_RATE]:
        rated[0][DECODE_RATE] = None


def _prefill_window(fields: dict[str, float | None]) -> Window:
    """`#new-token` leaves cached tokens out."""
    tokens, rate = fields.get("#new-token"), fields.get("input throughput (token/s)")
    return Window(
        prompt_tokens_per_s=rate,
        output_tokens_per_s=0.0,
        running=fields.get("#running-req"),
        waiting=fields.get("#queue-req"),
        kv_usage=fields.get("token usage", fields.get("full token usage")),
        batch="prefill",
        weight_s=tokens / rate if tokens and rate else None,
    )


def _decode_window(fields: dict[str, float | None]) -> Window:
    rate, running = fields.get(DECODE_RATE), fields.get("#running-req")
    return Window(
        prompt_tokens_per_s=0.0,
        output_tokens_per_s=rate,
        running=running,
        waiting=fields.get("#queue-req"),
        kv_usage=fields.get("token usage", fields.get("full token usage")),
        batch="decode",
        weight_s=STEPS_PER_LINE * running / rate if running and rate else None,
    )


# ---- both ----------------------------------------------------------------------------------------


def _from_windows(
    tool: str, windows: Sequence[Window], label: str | None, notes: tuple[str, ...]
) -> Report:
    """The log with the last prefill rate seen, and one request's decode rate where it shows."""
    last = windows[-1]
    prefills = [w.prompt_tokens_per_s for w in windows if w.prompt_tokens_per_s]
    each = decode_rate(windows)
    return report(
        tool,
        "window",
        label=label,
        windows=tuple(windows),
        running=last.running,
        waiting=last.waiting,
        kv_usage=last.kv_usage,
        prefill_tokens_per_s=prefills[-1] if prefills else None,
        decode_tokens_per_s=each,
        tpot_s=1 / each if each else None,
        warnings=notes,
    )


def decode_rate(windows: Sequence[Window]) -> float | None:
    """Tokens/s of one request: output ÷ running, over the windows that did nothing but decode."""
    alone = [
        w for w in windows if w.running and w.output_tokens_per_s and not w.prompt_tokens_per_s
    ]
    slots = sum(w.running for w in alone)
    return sum(w.output_tokens_per_s for w in alone) / slots if slots else None
