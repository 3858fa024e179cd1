"""Programs for one user: LM Studio, mlx_lm, exllama, TabbyAPI, text-generation-webui, koboldcpp.

None of them queues, so what they say of a request is the request. Where a line ends in tokens/s,
that is tokens ÷ total time, prompt included: no rate of decode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records.report import Report
from .build import report, whole
from .paste import Paste
from .units import N, number, seconds

# ---- LM Studio -----------------------------------------------------------------------------------

MARKS_LM_STUDIO = ("timetofirsttokensec", "time_to_first_token", "to first token")

# Our name, and what the SDK, the REST API and its next version call it; all times in seconds.
LM_STUDIO = {
    "prompt_tokens": ("promptTokensCount", "prompt_tokens", "input_tokens"),
    "output_tokens": ("predictedTokensCount", "completion_tokens", "total_output_tokens"),
    "load_s": ("model_load_time_seconds",),
    "ttft_s": ("timeToFirstTokenSec", "time_to_first_token", "time_to_first_token_seconds"),
    "decode_s": ("generation_time",),
    "total_s": ("totalTimeSec",),
    "output_tokens_per_s": ("tokensPerSecond", "tokens_per_second"),
}
_ui = re.compile(
    rf"(?<![\d.,]){N} tok/s\w{{0,4}}\D{{1,40}}{N} tokens\D{{1,40}}{N} ?s to first token"
)


def read_lm_studio(paste: Paste) -> Iterator[Report]:
    """`stats` of the SDK or the REST API, with the token counts beside it, or the window's line."""
    stats: dict[int, dict] = {}
    for o in paste.objects:
        if isinstance(inner := o.get("stats"), dict):
            usage = o.get("usage")
            stats[id(inner)] = (usage if isinstance(usage, dict) else {}) | inner
        stats.setdefault(id(o), o)
    yield from (one for record in stats.values() if (one := _lm_studio(record)))
    yield from (_lm_studio_line(*map(number, m.groups())) for m in _ui.finditer(paste.text))


def _lm_studio(record: dict) -> Report | None:
    figures = {
        ours: next((number(record[name]) for name in theirs if name in record), None)
        for ours, theirs in LM_STUDIO.items()
    }
    rate, writing_s = figures["output_tokens_per_s"], figures["decode_s"]
    if figures["ttft_s"] is None or rate is None:
        return None
    if figures["output_tokens"] is None and writing_s:
        figures["output_tokens"] = whole(rate * writing_s)
    if not writing_s and not figures["total_s"] and figures["output_tokens"] and rate:
        figures["decode_s"] = figures["output_tokens"] / rate
    return report("LM Studio", "request", **figures)


def _lm_studio_line(rate: float, output: float, first_s: float) -> Report:
    """The window's rate is that of the tokens alone: a slow first token doesn't lower it."""
    return report(
        "LM Studio",
        "request",
        output_tokens=output,
        ttft_s=first_s,
        decode_s=output / rate if rate else None,
        decode_tokens_per_s=rate,
    )


# ---- mlx_lm --------------------------------------------------------------------------------------

MARKS_MLX = ("tokens-per-sec", "prompt_tps=")
_mlx = re.compile(
    rf"Prompt: (?:{N} tokens, )?{N} tokens-per-sec\s{{1,40}}(?:[^\n]{{0,60}} )?"
    rf"Generation: (?:{N} tokens, )?{N} tokens-per-sec"
)
_mlx_benchmark = re.compile(rf"prompt_tps={N}, generation_tps={N}")


def read_mlx(paste: Paste) -> Iterator[Report]:
    """Rates only; generation counts the first token, but its clock starts after it."""
    yield from (_mlx_report(*map(number, m.groups())) for m in _mlx.finditer(paste.text))
    trials = _mlx_benchmark.findall(paste.text)
    if trials:  # the last line is their average
        prefill, decode = map(number, trials[-1])
        yield _mlx_report(None, prefill, None, decode)


def _mlx_report(
    prompt: float | None, prefill: float, output: float | None, decode: float
) -> Report:
    prefill_s = prompt / prefill if prompt and prefill else None
    return report(
        "mlx_lm",
        "request" if prompt and output else "rates",
        prompt_tokens=prompt,
        output_tokens=output,
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=output / decode if output and decode else None,
        tpot_s=1 / decode if decode else None,
        prefill_tokens_per_s=prefill,
        decode_tokens_per_s=decode,
    )


# ---- exllama, TabbyAPI ---------------------------------------------------------------------------

MARKS_EXLLAMA = ("response generated in", "tokens generated in")
_exllama = re.compile(
    rf"(?:Prompt processed in {N} seconds, {N} tokens,[^\n]{{0,80}}\n[^\n]{{0,80}}?)?"
    rf"Response generated in {N} seconds, {N} tokens, {N} tokens/second"
)
_tabby = re.compile(
    rf"(?<![\d.,]){N} tokens generated in {N} seconds\s{{1,40}}\(Queue: {N} s, ([^)]{{5,300}})\)"
)
_process = re.compile(rf"Process: (?:{N} cached tokens and {N} new tokens at )?{N} T/s")
_generate = re.compile(rf"Generate: {N} T/s")
_context = re.compile(rf"Context: {N} tokens")


def read_exllama(paste: Paste) -> Iterator[Report]:
    yield from (_exllama_report(*m.groups()) for m in _exllama.finditer(paste.text))
    yield from (_tabby_report(m) for m in _tabby.finditer(paste.text))


def _exllama_report(prefill: str, prompt: str, spent: str, tokens: str, _: str) -> Report:
    """The response's time holds the prompt's, unless that stands on a line of its own."""
    if prefill is None:
        return _whole("exllama", spent, tokens, None)
    first_s, later_s = number(prefill), number(spent)
    return report(
        "exllama",
        "request",
        prompt_tokens=number(prompt),
        output_tokens=number(tokens),
        prefill_s=first_s,
        ttft_s=first_s,
        decode_s=later_s,
    )


def _tabby_report(match: re.Match[str]) -> Report:
    process, writing = _process.search(match[4]), _generate.search(match[4])
    context = _context.search(match[4])
    cached = number(process[1]) if process and process[1] else None
    return report(
        "TabbyAPI",
        "request",
        output_tokens=number(match[1]),
        total_s=number(match[2]),
        queue_s=number(match[3]),
        prompt_tokens=number(context[1]) if context else None,
        cached_tokens=cached,
        prefill_tokens_per_s=number(process[3]) if process else None,
        decode_tokens_per_s=number(writing[1]) if writing else None,
    )


# ---- text-generation-webui -----------------------------------------------------------------------

MARKS_WEBUI = ("output generated in",)
_webui = re.compile(
    rf"Output generated in {N} seconds\s{{1,60}}\({N} tokens/s,\s{{1,60}}{N}\s{{1,60}}tokens,"
    rf"\s{{1,60}}context {N}"
)


def read_webui(paste: Paste) -> Iterator[Report]:
    """One total; the record wraps at the terminal's width."""
    return (_whole("text-generation-webui", m[1], m[3], m[4]) for m in _webui.finditer(paste.text))


def _whole(tool: str, total: str, output: str, prompt: str | None) -> Report:
    total_s, tokens = number(total), number(output)
    return report(
        tool,
        "request",
        total_s=total_s,
        output_tokens=tokens,
        prompt_tokens=number(prompt),
        output_tokens_per_s=tokens / total_s if total_s and tokens else None,
    )


# ---- koboldcpp -----------------------------------------------------------------------------------

MARKS_KOBOLD = ("ctxlimit", "contextlimit", "time taken - processing")
_kobold = re.compile(
    rf"Process(?:ing)?: ?{N}s(?: \({N}ms/T[^)]{{0,40}}\))?,\s{{0,40}}"
    rf"Generat(?:e|ion): ?{N}s(?: \({N}ms/T[^)]{{0,40}}\))?,?\s{{0,40}}Total: ?{N}s"
)
_kobold_new = re.compile(rf"Process: ?{N}s \({N}T/s\),\s{{0,40}}Generate: ?{N}s \({N}T/s\)")
_budget = re.compile(r"Processing Prompt[^(\n]{0,30}\((\d{1,8}) / (\d{1,8}) tokens\)")


def read_kobold(paste: Paste) -> Iterator[Report]:
    """Tokens are seconds ÷ (ms/T): what "Generating (a / b tokens)" counts is the budget."""
    prompts = [number(m[2]) for m in _budget.finditer(paste.text)]
    for place, match in enumerate(_kobold.finditer(paste.text)):
        prompt = prompts[place] if place < len(prompts) else None
        yield _kobold_report(*map(number, match.groups()), prompt)
    for match in _kobold_new.finditer(paste.text):
        first_s, prefill, later_s, decode = map(number, match.groups())
        each = [1e3 / rate if rate else None for rate in (prefill, decode)]
        yield _kobold_report(first_s, each[0], later_s, each[1], first_s + later_s, None)


def _kobold_report(
    prefill_s: float,
    prompt_ms: float | None,
    decode_s: float,
    token_ms: float | None,
    total_s: float | None,
    prompt: float | None,
) -> Report:
    if prompt is None and prompt_ms:
        prompt = whole(prefill_s * 1e3 / prompt_ms)
    return report(
        "koboldcpp",
        "request",
        prompt_tokens=prompt,
        output_tokens=max(1, whole(decode_s * 1e3 / token_ms) or 1) if token_ms else None,
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=decode_s,
        tpot_s=seconds(token_ms, "ms"),
        total_s=total_s,
    )
