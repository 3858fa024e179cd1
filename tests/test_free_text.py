"""The grader of free text: labelled answers, what must not change a verdict, and what it claims.

`answers-dev.jsonl` is the given corpus of 90. `answers-more.jsonl` and `answers-fresh.jsonl` are
2,146 of our own of the same kinds, each labelled before the grader had seen it; the grader was then
improved with them, so the rates below are for what it has seen. `claims-in-words.jsonl` says each
claim in many words. What the grader says back, and its parts, are tested in
`test_free_text_parts.py`.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from labkit.grading import grade
from labkit.scenarios import Truth

CASES = Path(__file__).parent / "cases"
DECODE = ("decode", "memory-bandwidth")
FASTER = ("more-bandwidth", "fewer-bytes", "fewer-steps")
TRUTHS = {
    "S1": Truth(*DECODE, (*FASTER, "less-overhead")),
    "S2": Truth("prefill", "compute", ("more-compute", "less-prompt")),
    "S3": Truth("queue", "capacity-or-scheduling", ("more-replicas",)),
    "S4": Truth("overhead", "host-overhead", ("less-overhead",)),
    "S5": Truth(*DECODE, FASTER),
    "S6": Truth("insufficient-data", "undetermined", ("measure-more",)),
    "S7": Truth("load", "model-loading", ("keep-warm",)),
}
S1 = TRUTHS["S1"]
CORPORA = ["answers-dev.jsonl", "answers-more.jsonl", "answers-fresh.jsonl"]


def corpus(name: str) -> list[dict]:
    text = (CASES / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def verdict_of(case: dict, text: str | None = None) -> str:
    text = case["text"] if text is None else text
    return grade(text, TRUTHS[case["scenario"]]).verdict


# ---- labelled answers ----------------------------------------------------------------------------


def test_at_least_88_of_the_90_labelled_answers_get_their_verdict():
    cases = corpus("answers-dev.jsonl")
    wrong = [case["id"] for case in cases if verdict_of(case) != case["verdict"]]
    assert len(cases) == 90
    assert len(wrong) <= 2, wrong


def test_claims_of_the_labelled_answers_are_found():
    """80 of 90 leaves room for claims that don't touch the verdict."""
    same = 0
    for case in corpus("answers-dev.jsonl"):
        found, wanted = grade(case["text"], TRUTHS[case["scenario"]]), case["claims"]
        limiters = {"undetermined" if x == "unknown" else x for x in wanted["limiter"]}
        same += (set(found.phases), set(found.limiters), set(found.remedies)) == (
            set(wanted["phase"]),
            limiters,
            set(wanted["remedies"]),
        )
    assert same >= 80


@pytest.mark.parametrize("name", CORPORA[1:])
def test_98_of_100_of_our_own_answers_of_the_same_kinds_get_their_verdict(name):
    cases = corpus(name)
    wrong = [case["id"] for case in cases if verdict_of(case) != case["verdict"]]
    assert len(wrong) <= 0.02 * len(cases), wrong


def test_each_claim_is_found_in_97_of_100_ways_to_say_it():
    missed, total = [], 0
    for group in corpus("claims-in-words.jsonl"):
        kind, name = group["kind"], group["name"]
        total += len(group["texts"])
        missed += [text for text in group["texts"] if name not in said(text, kind)]
    assert len(missed) <= 0.03 * total, missed


def said(text: str, kind: str) -> tuple[str, ...]:
    found = grade(text, S1)
    return {"phase": found.phases, "limiter": found.limiters, "remedy": found.remedies}[kind]


@pytest.mark.parametrize("name", CORPORA)
def test_keyword_lists_and_orders_to_the_grader_never_pass(name):
    tricks = ("keyword-stuffing", "grader-instructions")
    cases = [case for case in corpus(name) if case["kind"] in tricks]
    assert [case["id"] for case in cases if verdict_of(case) == "correct"] == []


# ---- what must not change a verdict --------------------------------------------------------------


def mistype(text: str, seed: int) -> str:
    """One letter wrong in one word of six letters or more."""
    rng = random.Random(seed)
    parts = re.split(r"(\W+)", text)
    long = [i for i, part in enumerate(parts) if len(part) >= 6 and part.isascii()]
    if not long:
        return text
    place = rng.choice(long)
    word, at = parts[place], rng.randrange(1, len(parts[place]) - 1)
    slip = rng.randrange(3)
    left_out, doubled = word[:at] + word[at + 1 :], word[:at] + word[at:][:1] + word[at:]
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    parts[place] = (left_out, doubled, swapped)[slip]
    return "".join(parts)


SAME = {
    "capitals": str.upper,
    "small letters": str.lower,
    "more spaces": lambda text: "  " + text.replace(" ", "   ") + "  ",
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "typographic apostrophes": lambda text: text.replace("'", "’"),
    "no full stop": lambda text: text.rstrip("."),
    "a paragraph": lambda text: f"<p>{text}</p>",
    "bold words": lambda text: re.sub(r"\b(decode|prefill|queue)\b", r"**\1**", text),
    "a greeting": lambda text: f"Hi there! {text}",
    "thanks": lambda text: f"{text}. Thanks for the exercise!",
    "good wishes": lambda text: f"{text}. Hope this helps.",
    "an opinion": lambda text: f"{text}. That is what I think.",
    "quotation marks": lambda text: f'"{text}"',
    "a slip": lambda text: mistype(text, 1),
    "another slip": lambda text: mistype(text, 2),
}


@pytest.mark.parametrize("change", SAME)
def test_manner_of_writing_does_not_change_the_verdict(change):
    cases = corpus("answers-dev.jsonl") + corpus("answers-more.jsonl")[::4]
    right = [case for case in cases if verdict_of(case) == case["verdict"]]
    moved = [c["id"] for c in right if verdict_of(c, SAME[change](c["text"])) != c["verdict"]]
    assert len(moved) <= 0.015 * len(right), moved


def test_the_order_of_sentences_does_not_matter():
    sentences = ["The bottleneck is decode.", "It is memory bandwidth bound.", "Use int4 weights."]
    for first in range(3):
        text = " ".join(sentences[first:] + sentences[:first])
        assert grade(text, S1).verdict == "correct"


# ---- what is a claim -----------------------------------------------------------------------------

CLAIMED = [
    ("It's decode.", ("decode",)),
    ("It isn't prefill, it's decode.", ("decode",)),
    ("Not prefill or queueing but decode.", ("decode",)),
    ("Prefill is fine. Decode is not.", ("decode",)),
    ("Decode is slower than prefill.", ("decode",)),
    ("If TTFT were high it would be prefill.", ()),
    ("If TTFT were high it would be prefill, but it is decode.", ("decode",)),
    ("People say it's prefill.", ()),
    ("People say it's prefill, but it's decode.", ("decode",)),
    ("Prefill... no wait, decode.", ("decode",)),
    ("I first thought prefill. It is decode.", ("decode",)),
    ("Is it prefill or decode?", ()),
    ("I think it's probably decode?", ("decode",)),
    ("It could be prefill or decode.", ()),
    ("Reading the prompt takes too long.", ("prefill",)),
    ("The part where it writes the answer is slow.", ("decode",)),
    ("Everybody is stuck in line.", ("queue",)),
    ("The weights have to be loaded from disk first.", ("load",)),
    ("The GPU waits for Python to launch kernels.", ("overhead",)),
    ("Each decode step is dominated by launch overhead.", ("overhead",)),
    ("You can't tell from one number.", ("insufficient-data",)),
    ("Use speculative decoding.", ()),
    ("Enable chunked prefill.", ()),
    ("TTFT is 50 ms, throughput 2 tokens per second.", ()),
    ("Put a load balancer in front.", ()),
    ("Das Dekodieren ist der Engpass.", ("decode",)),
    ("Nicht der Prefill, sondern das Decode ist langsam.", ("decode",)),
    ("Le décodage est lent.", ("decode",)),
    ("El cuello de botella es el prefill.", ("prefill",)),
    ("O gargalo é a decodificação.", ("decode",)),
    ("瓶颈是解码，不是预填充。", ("decode",)),
]


@pytest.mark.parametrize(("text", "phases"), CLAIMED)
def test_a_phase_is_claimed_only_where_it_is_asserted(text, phases):
    assert grade(text, S1).phases == phases


LIMITED = [
    ("Decode is not compute bound but memory bandwidth bound.", ("memory-bandwidth",)),
    ("Neither bandwidth nor compute limits it.", ()),
    ("Compute sits idle.", ()),
    ("The GPU doesn't have enough compute.", ("compute",)),
    ("The VRAM is too small.", ("capacity-or-scheduling",)),
    ("The VRAM is too slow.", ("memory-bandwidth",)),
    ("All weights are read from memory for each token.", ("memory-bandwidth",)),
    ("There are too many users for the slots.", ("capacity-or-scheduling",)),
    ("An H200 for its faster HBM.", ()),
    ("Die Speicherbandbreite ist der Flaschenhals.", ("memory-bandwidth",)),
    ("显存带宽不足。", ("memory-bandwidth",)),
]


@pytest.mark.parametrize(("text", "limiters"), LIMITED)
def test_a_limiter_is_claimed_only_where_it_is_asserted(text, limiters):
    assert grade(text, S1).limiters == limiters


REMEDIED = [
    ("Quantise the weights.", ("fewer-bytes",)),
    ("Quantising won't help.", ()),
    ("Don't buy more TFLOPS, quantise.", ("fewer-bytes",)),
    ("Would more bandwidth help?", ()),
    ("It's already 8-bit.", ()),
    ("Drop to 8-bit weights.", ("fewer-bytes",)),
    ("Faster HBM would barely matter.", ()),
    ("More GPUs behind a load balancer.", ("more-replicas",)),
    ("Shorter answers.", ("fewer-steps",)),
    ("Shorter prompts.", ("less-prompt",)),
    ("More VRAM.", ()),
    ("A better GPU.", ()),
]


@pytest.mark.parametrize(("text", "remedies"), REMEDIED)
def test_a_remedy_is_claimed_only_where_it_is_proposed(text, remedies):
    assert grade(text, S1).remedies == remedies


def test_a_wrong_remedy_beside_a_right_one_does_no_harm():
    text = "Decode is memory bandwidth bound: int4 weights, and more TFLOPS too."
    assert grade(text, S1).verdict == "correct"


def test_hardware_is_not_the_only_remedy_accepted():
    text = "Decode is memory bandwidth bound. Ask for shorter answers."
    assert grade(text, S1).verdict == "correct"
