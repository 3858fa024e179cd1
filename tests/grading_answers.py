"""Right and likely wrong answers to every exercise, and the small runs they are checked on."""

from __future__ import annotations

import grading_answers_batching as batching
import grading_answers_diagnosis as diagnosis
import grading_answers_memory as memory
import grading_answers_physics as physics
import grading_answers_quadratic as quadratic
import grading_answers_roof as roof
import torch

from labkit import catalog
from labkit import grading as check
from labkit.records import Machine, Settings, Step, Trace

LOGITS = torch.tensor([[0.5, 3.0, -1.0, 2.0, -4.0] + [-2.0] * 60])


def trace(arm: str, gaps_ms: list[float], prompt: int = 5) -> Trace:
    """A run whose first pass takes 1 s and whose later ones take `gaps_ms`; each token is " ab"."""
    naive = arm == "naive"
    steps = [
        Step(
            wall_ns=int(ms * 1e6),
            tokens_in=prompt + i if naive or i == 0 else 1,
            context_tokens=prompt + i,
            token_ids=(7,),
            texts=(" ab",),
            kv_bytes=None if naive else 46_080 * (prompt + i),
        )
        for i, ms in enumerate([1000, *gaps_ms])
    ]
    machine = Machine("made up", "cpu", 1)
    settings = Settings(prompt, len(steps))
    return Trace(arm, catalog.model("SmolLM2-135M"), settings, machine, tuple(steps))


# Gaps that grow to 160 ms against an even 40 ms: at the last 8 tokens about 3.9 times.
NAIVE = trace("naive", [40 + 2 * i for i in range(61)])
CACHED = trace("cached", [40] * 61)


def naive_count(p, n):
    return n * p + n * (n - 1) // 2


def softmax(x, t=1.0):
    return torch.softmax(x / t, -1)


def good_loop(model, ids, n):
    tokens = model.greedy(model(ids, "cache"))
    while len(tokens) < n:
        tokens += model.greedy(model(torch.tensor([tokens[-1:]]), "cache"))
    return tokens


class Counter:
    """A stand-in for a model: the next token is the number of positions seen, times 3.

    With a cache it adds what it is given to what it has seen; without one it starts again.
    """

    def __init__(self):
        self.seen = 0

    def greedy(self, out):
        return [int(out.logits[0, -1].argmax())]

    def __call__(self, input_ids, cache=None, use_cache=True, logits_to_keep=1):
        fresh = 0 if cache is None else self.seen
        total = fresh + input_ids.shape[1]
        self.seen = total if cache is not None else self.seen
        logits = torch.zeros(1, 1, 64)
        logits[0, -1, 3 * total % 64] = 1
        return type("Output", (), {"logits": logits})


def no_cache_loop(model, ids, n):
    tokens = model.greedy(model(ids))
    while len(tokens) < n:
        tokens += model.greedy(model(torch.tensor([tokens[-1:]])))
    return tokens


def rereading_loop(model, ids, n):
    row = ids[0].tolist()
    for _ in range(n):
        row += model.greedy(model(torch.tensor([row]), "cache"))
    return row[-n:]


def prompt_again_loop(model, ids, n):
    return [model.greedy(model(ids, "cache"))[0] for _ in range(n)]


def wasteful_loop(model, ids, n):
    return good_loop(model, ids, n + 1)[:n]


RIGHT = [
    ("weight_bytes", 134_515_008 * 4),
    ("weight_bytes", 134.5e6 * 4),
    ("bits_per_weight", 5.5),
    ("tpot", lambda s: sum(s[1:]) / (len(s) - 1)),
    ("tokens_per_s", 25.0),
    ("answer_s", lambda first, gap, n: first + gap * (n - 1)),
    ("characters_per_token", 3),
    ("pick_greedy", lambda x: x.argmax(-1)),
    ("pick_greedy", lambda x: x.softmax(-1).argmax(-1, keepdim=True)),
    ("probabilities", softmax),
    ("overlap", " No "),
    ("forward_passes", lambda p, n: n),
    ("tokens_processed_naive", naive_count),
    ("passes_until_eos", torch.tensor(3)),
    ("tokens_processed_cached", lambda p, n: p + n - 1),
    ("work_ratio", 4064 / 95),
    ("predicted_ratio", 3),
    ("cached_loop", good_loop),
    ("speed_up", lambda a, b: a.tpot_s / b.tpot_s),
    ("longer_prompt", "grows"),
    (
        "kv_bytes_per_token",
        lambda s, b: 2 * s.layers * s.kv_heads * s.head_dim * b,
    ),
]

WRONG = [
    ("weight_bytes", 134_515_008 * 32, "number of bits"),
    ("weight_bytes", 134_515_008 * 2, "16-bit"),
    ("weight_bytes", 538, "megabytes"),
    ("weight_bytes", 134.5e6 * 8, "too large, 2 times"),
    ("bits_per_weight", 0.69, "in bytes"),
    ("bits_per_weight", 1.448, "upside down"),
    ("tpot", lambda s: sum(s) / len(s), "prefill is in your mean"),
    ("tpot", lambda s: sum(s[1:]) / len(s), "n − 1"),
    ("tpot", lambda s: sorted(s[1:])[len(s[1:]) // 2], "median"),
    ("tpot", lambda s: s[0], "TTFT"),
    ("tokens_per_s", 62 / (1 + 61 * 0.04), "first token is in there"),
    ("tokens_per_s", 0.04, "Turn it round"),
    ("tokens_per_s", 0.025, "millisecond"),
    ("answer_s", lambda first, gap, n: first + gap * n, "n − 1 gaps"),
    ("answer_s", lambda first, gap, n: gap * n, "missing"),
    ("characters_per_token", 1 / 3, "upside down"),
    ("characters_per_token", 1, "words"),
    ("pick_greedy", lambda x: x.max(-1).values, "places are wanted"),
    ("pick_greedy", lambda x: x.argmax(), "one long row"),
    ("pick_greedy", lambda x: x.argmin(-1), "least likely"),
    ("probabilities", lambda x, t: softmax(x * t), "multiplied"),
    ("probabilities", lambda x, t: softmax(x) / t, "before the softmax"),
    ("probabilities", lambda x, t: softmax(x), "no effect"),
    ("overlap", "yes", "before that is known"),
    ("overlap", "perhaps", '"no", "yes"'),
    ("forward_passes", lambda p, n: p + n, "reads them together"),
    ("forward_passes", lambda p, n: n + 1, "One too many"),
    ("tokens_processed_naive", lambda p, n: n * (p + n), "Early passes are shorter"),
    ("tokens_processed_naive", lambda p, n: naive_count(p + 1, n), "last token is never read"),
    ("tokens_processed_naive", lambda p, n: p + n, "again"),
    ("passes_until_eos", 2, "had to pick it"),
    ("passes_until_eos", 4, "has stopped"),
    ("tokens_processed_cached", lambda p, n: p + n, "no pass reads it"),
    ("tokens_processed_cached", lambda p, n: n, "whole prompt"),
    ("work_ratio", 95, "last pass alone"),
    ("work_ratio", 64, "what each pass reads"),
    ("predicted_ratio", "three", "one number above 0"),
    ("predicted_ratio", -2, "one number above 0"),
    ("cached_loop", no_cache_loop, "same cache"),
    ("cached_loop", rereading_loop, "must not be fed again"),
    ("cached_loop", prompt_again_loop, "do not feed it again"),
    ("cached_loop", wasteful_loop, "none after the last"),
    ("speed_up", lambda a, b: a.total_s / b.total_s, "prefill"),
    ("speed_up", lambda a, b: b.tpot_s / a.tpot_s, "Upside down"),
    ("speed_up", lambda a, b: 1.0, "first token"),
    ("longer_prompt", "stays", "whole prompt"),
    ("longer_prompt", "shrinks", "once, in the prefill"),
    (
        "kv_bytes_per_token",
        lambda s, b: 2 * s.layers * s.heads * s.head_dim * b,
        "query heads",
    ),
    (
        "kv_bytes_per_token",
        lambda s, b: s.layers * s.kv_heads * s.head_dim * b,
        "twice as much",
    ),
]

RIGHT += physics.RIGHT + quadratic.RIGHT + memory.RIGHT + batching.RIGHT + diagnosis.RIGHT
WRONG += physics.WRONG + quadratic.WRONG + memory.WRONG + batching.WRONG + diagnosis.WRONG

RIGHT += roof.RIGHT
WRONG += roof.WRONG

LESSON = "labkit.grading.lesson_"

# Only the lessons' own exercises, whatever else `grading` offers.
EXERCISES = [name for name in check.__all__ if getattr(check, name).__module__.startswith(LESSON)]


def judge(name, answer):
    """Runs the check called `name` on `answer`, with whatever else its lesson hands to it."""
    others = {
        "tokens_per_s": [CACHED],
        "characters_per_token": [CACHED],
        "pick_greedy": [LOGITS],
        "probabilities": [LOGITS],
        "passes_until_eos": [[4, 5, 2]],
        "predicted_ratio": [NAIVE, CACHED],
        "cached_loop": [Counter(), torch.tensor([[1, 2, 3, 4, 5]])],
        "speed_up": [NAIVE, CACHED],
        **physics.OTHERS,
        **batching.OTHERS,
        **roof.OTHERS,
    }
    return getattr(check, name)(answer, *others.get(name, []))
