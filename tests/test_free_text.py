"""The grader of free text: labelled answers, what must not change a verdict, and what it says.

`answers-dev.jsonl` is the given corpus of 90. `answers-more.jsonl` are 609 of our own of the same
kinds, each labelled before the grader had seen it; the grader was then improved with them.
"""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.grading.free_text import grade
from labkit.grading.free_text.arithmetic import sums
from labkit.grading.free_text.vocabulary import slips, vocabulary
from labkit.grading.free_text.words import visible, words
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


def test_our_own_answers_of_the_same_kinds_get_their_verdict():
    cases = corpus("answers-more.jsonl")
    wrong = [case["id"] for case in cases if verdict_of(case) != case["verdict"]]
    assert len(wrong) <= 0.02 * len(cases), wrong


@pytest.mark.parametrize("name", ["answers-dev.jsonl", "answers-more.jsonl"])
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
    cases = corpus("answers-dev.jsonl") + corpus("answers-more.jsonl")
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


# ---- what comes back -----------------------------------------------------------------------------


def test_points_are_phase_limiter_and_remedy():
    texts = [
        "Decode.",
        "Decode, bandwidth bound.",
        "Decode, bandwidth bound. Use int4.",
        "Prefill.",
    ]
    assert [grade(text, S1).points for text in texts] == [1, 2, 3, 0]


def test_quotes_are_the_learners_own_words():
    text = "<b>Decode</b> is slow (500&nbsp;ms): it waits for memory reads. Use a q4 model."
    found = grade(text, S1)
    shown = visible(text)
    assert found.verdict == "correct"
    assert {claim.kind for claim in found.claims} >= {"phase", "limiter", "remedy", "evidence"}
    assert all(shown[claim.start : claim.end] == claim.words for claim in found.claims)


def test_capacity_taken_for_bandwidth_is_explained():
    said = grade("Decode is slow because the card has too little VRAM.", S1).reason
    assert "Capacity is not bandwidth" in said


def test_throughput_taken_for_latency_is_explained():
    said = grade("Decode is bandwidth bound. Add replicas.", S1).reason
    assert "raise throughput" in said


def test_feedback_on_a_partial_answer_does_not_give_the_rest_away():
    truth = Truth(*DECODE, FASTER, why="the arithmetic")
    assert "memory-bandwidth" not in grade("It's decode.", truth).reason
    assert "the arithmetic" not in grade("It's decode.", truth).reason
    assert "the arithmetic" in grade("Decode is bandwidth bound, use int4.", truth).reason


def test_a_wrong_sum_is_named_with_its_result():
    said = grade("900 x 95 ms = 20 s, so it's decode.", S1).reason
    assert "900 x 95 ms = 20 s" in said
    assert "85.5" in said


def test_statuses_are_those_of_every_check():
    texts = ["", "Prefill.", "Decode is bandwidth bound, use int4."]
    assert [grade(text, S1).status for text in texts] == ["not yet", "wrong", "passed"]
    assert grade(texts[2], S1).passed


def test_an_answer_that_is_no_text_counts_as_empty():
    assert grade(..., S1).verdict == grade(None, S1).verdict == "unclear"


def test_what_a_learner_typed_is_shown_escaped():
    text = 'It\'s decode & "bandwidth" limits <decode>. 2 x 2 = 5 <script>alert(1)</script>'
    page = grade(text, S1)._repr_html_()
    assert "<script" not in page
    assert "alert" not in page


def test_only_the_beginning_of_a_very_long_answer_is_read():
    found = grade("x " * 6000 + "It's decode.", S1)
    assert found.phases == ()
    assert "beginning" in found.reason


def test_every_verdict_explains_itself():
    for case in corpus("answers-dev.jsonl"):
        assert grade(case["text"], TRUTHS[case["scenario"]]).feedback


# ---- parts ---------------------------------------------------------------------------------------


def test_sums_are_done_again_with_their_units():
    found = sums("16 GB / 0.5 s = 32 GB/s, 900 x 95 ms = 85 s, 14 s / 24k = 9 ms")
    assert [one.right for one in found] == [True, True, False]


def test_a_sum_with_a_forgotten_unit_is_left_alone():
    assert sums("16 / 900 = 18 s") == []


def test_what_a_page_would_not_show_is_not_read():
    text = "a<script>decode</script><!-- decode --><img alt='decode'>b"
    assert [word.text for word in words(visible(text))] == ["a", "b"]


def test_contractions_and_accents_are_folded():
    found = [word.text for word in words("It isn't Génération, can't it?")]
    assert found == ["it", "is", "not", "generation", ",", "can", "not", "it", "?"]


def test_typos_are_counted_by_letters():
    assert slips("bandwith", "bandwidth") == slips("wieghts", "weights") == 1
    assert slips("prefill", "decode") > 3


def test_ordinary_words_are_not_taken_for_typos():
    table = vocabulary()
    pairs = [("found", "bound"), ("later", "layer"), ("master", "faster"), ("score", "cores")]
    assert all(not table.elements_of(a) & table.elements_of(b) for a, b in pairs)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text):
    assert grade(text, S1) == grade(text, S1)


LINES = [case["text"] for case in corpus("answers-dev.jsonl")]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=6), st.sampled_from(sorted(TRUTHS)))
def test_no_mixture_of_answers_makes_it_raise(lines, scenario):
    assert grade(" ".join(lines), TRUTHS[scenario]).verdict


@pytest.mark.parametrize(
    "piece", ["decode. ", "not ", "if decode, ", "<", "no, ", "1 x 1 = ", "解"]
)
def test_time_grows_no_faster_than_the_text(piece):
    """Twice the text takes about twice the time: a square would take four times."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        took = []
        for _ in range(3):
            start = time.process_time()
            grade(text, S1)
            took.append(time.process_time() - start)
        return min(took)

    seconds(100)  # reads the table
    assert seconds(8000) < 3.5 * seconds(4000) + 0.01
