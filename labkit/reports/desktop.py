"""Programs for one user: LM Studio, mlx_lm, exllama, TabbyAPI, text-generation-webui, koboldcpp.

None of them queues, so what they say of a request is the request. Where a line ends in tokens/s,
that is tokens ÷ total time, prompt included: no rate of decode.
"""

from __future__ import annotations

import re

from ..records.report import Report
from .build import report, whole
from .paste import Paste
from .units import NUMBER, number, seconds

N = rf"({NUMBER})"


# ---- LM Studio -----------------------------------------------------------------------------------

MARKS_LM_STUDIO = ("timetofirsttokensec", "time_to_first_token", "tokens_per_second")


def read_lm_studio(paste: Paste) -> list[Report]:
    """`stats` of the SDK or of the REST API, in seconds."""
    return [one for o in paste.objects if (one := _lm_studio(o))]


def _lm_studio(record: dict) -> Report | None:
    sdk = "timeToFirstTokenSec" in record
    if not sdk and not {"time_to_first_token", "tokens_per_second"} <= record.keys():
        return None
    first_s = number(record.get("timeToFirstTokenSec" if sdk else "time_to_first_token"))
    rate = number(record.get("tokensPerSecond" if sdk else "tokens_per_second"))
    writing_s = number(record.get("generation_time"))
    output = number(record.get("predictedTokensCount"))
    if output is None and rate and writing_s:
        output = whole(rate * writing_s)
    return report(
        "LM Studio",
        "request",
        prompt_tokens=number(record.get("promptTokensCount")),
        output_tokens=output,
        ttft_s=first_s,
        decode_s=writing_s,
        total_s=number(record.get("totalTimeSec")),
        output_tokens_per_s=rate,
    )


# ---- mlx_lm --------------------------------------------------------------------------------------

MARKS_MLX = ("tokens-per-sec",)
_mlx = re.compile(
    rf"Prompt: {N} tokens, {N} tokens-per-sec\s{{1,40}}(?:[^\n]{{0,60}} )?"
    rf"Generation: {N} tokens, {N} tokens-per-sec"
)


def read_mlx(paste: Paste) -> list[Report]:
    """Rates only; generation counts the first token, but its clock starts after it."""
    return [_mlx_report(*map(number, m.groups())) for m in _mlx.finditer(paste.text)]


def _mlx_report(prompt: float, prefill: float, output: float, decode: float) -> Report:
    prefill_s = prompt / prefill if prefill else None
    return report(
        "mlx_lm",
        "request",
        prompt_tokens=prompt,
        output_tokens=output,
        prefill_s=prefill_s,
        ttft_s=prefill_s,
        decode_s=output / decode if decode else None,
        tpot_s=1 / decode if decode else None,
        prefill_tokens_per_s=prefill,
        decode_tokens_per_s=decode,
    )


# ---- exllama, TabbyAPI ---------------------------------------------------------------------------

MARKS_EXLLAMA = ("response generated in", "tokens generated in")
_exllama = re.compile(rf"Response generated in {N} seconds, {N} tokens, {N} tokens/second")
_tabby = re.compile(
    rf"(?<![\d.,]){N} tokens generated in {N} seconds\s{{1,40}}\(Queue: {N} s, ([^)]{{5,300}})\)"
)
_process = re.compile(rf"Process: (?:{N} cached tokens and {N} new tokens at )?{N} T/s")
_generate = re.compile(rf"Generate: {N} T/s")
_context = re.compile(rf"Context: {N} tokens")


def read_exllama(paste: Paste) -> list[Report]:
    found = [_whole("exllama", m[1], m[2], None) for m in _exllama.finditer(paste.text)]
    return found + [_tabby_report(m) for m in _tabby.finditer(paste.text)]


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


def read_webui(paste: Paste) -> list[Report]:
    """One total; the record wraps at the terminal's width."""
    return [_whole("text-generation-webui", m[1], m[3], m[4]) for m in _webui.finditer(paste.text)]


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


def read_kobold(paste: Paste) -> list[Report]:
    """Tokens are seconds ÷ (ms/T): what "Generating (a / b tokens)" counts is the budget."""
    prompts = [number(m[2]) for m in _budget.finditer(paste.text)]
    found = []
    for place, match in enumerate(_kobold.finditer(paste.text)):
        prompt = prompts[place] if place < len(prompts) else None
        found.append(_kobold_report(*map(number, match.groups()), prompt))
    for match in _kobold_new.finditer(paste.text):
        first_s, prefill, later_s, decode = map(number, match.groups())
        each = [1e3 / rate if rate else None for rate in (prefill, decode)]
        found.append(_kobold_report(first_s, each[0], later_s, each[1], first_s + later_s, None))
    return found


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
