"""Right and likely wrong answers to the exercises of lesson 09."""

from __future__ import annotations

from contextlib import suppress


def words(prefill):
    return "prefill-bound" if prefill else "decode-bound"


def good(m):
    return words(m.ttft_s > m.tpot_s * (m.output_tokens - 1))


def endless(m):
    while True:
        with suppress(Exception):
            m = m


RIGHT = [
    ("classify", good),
    ("classify", lambda m: good(m) + " "),
    ("even_tokens", lambda first, gap: 1 + first / gap),
    ("hidden_wait", " Queue"),
    ("whole_speed_up", lambda share, times: 1 / (1 - share + share / times)),
]

WRONG = [
    ("classify", lambda m: words(m.ttft_s > m.tpot_s), "single token"),
    ("classify", lambda m: words(m.ttft_s > m.tpot_s * m.output_tokens), "n − 1 gaps"),
    ("classify", lambda m: words(m.prompt_tokens > m.output_tokens), "Lengths alone"),
    ("classify", lambda m: words(m.ttft_s / m.prompt_tokens > m.tpot_s), "one token of the prompt"),
    ("classify", lambda m: words(m.ttft_s > 1), "can't do"),
    ("classify", lambda m: words(good(m) == "decode-bound"), "wrong way round"),
    ("classify", lambda m: "decode-bound", "12000"),
    ("classify", lambda m: "decode", 'Return "prefill-bound" or "decode-bound"'),
    ("classify", lambda m: m.ttft_s > 1, "gave False"),
    ("classify", lambda m: 1 / 0, "ZeroDivisionError"),
    ("classify", lambda m: m.tpot, "no attribute 'tpot'"),
    ("classify", lambda: "decode-bound", "TypeError"),
    ("classify", endless, "never ends"),
    ("classify", "decode-bound", "A function is wanted"),
    ("even_tokens", lambda first, gap: first / gap, "one more"),
    ("even_tokens", lambda first, gap: gap / first, "Upside down"),
    ("hidden_wait", "prefill", "0.4 s"),
    ("hidden_wait", "decode", "larger part"),
    ("whole_speed_up", lambda share, times: times, "part alone"),
    ("whole_speed_up", lambda share, times: 1 + share * (times - 1), "not speeds"),
    ("whole_speed_up", lambda share, times: share * times, "what is left"),
    ("whole_speed_up", lambda share, times: 1 / (1 - share), "vanished"),
]
