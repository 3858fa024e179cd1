"""What the grader of free text says back, its parts, and how long it takes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.grading import grade
from labkit.grading.free_text.arithmetic import sums
from labkit.grading.free_text.vocabulary import slips, vocabulary
from labkit.grading.free_text.words import visible, words
from labkit.scenarios import Truth

CASES = Path(__file__).parent / "cases" / "answers-dev.jsonl"
ANSWERS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
LINES = [case["text"] for case in ANSWERS]
DECODE = ("decode", "memory-bandwidth")
FASTER = ("more-bandwidth", "fewer-bytes", "fewer-steps")
S1 = Truth(*DECODE, (*FASTER, "less-overhead"))
PREFILL = Truth("prefill", "compute", ("more-compute", "less-prompt"))
UNKNOWN = Truth("insufficient-data", "undetermined", ("measure-more",))

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
    assert all(grade(text, S1).feedback for text in LINES)


def test_feedback_has_no_names_of_the_vocabulary():
    said = " ".join(grade(text, truth).reason for text in LINES for truth in (S1, UNKNOWN))
    names = ("capacity-or", "host-overhead", "insufficient-data", "fewer-bytes", "model-loading")
    assert not any(name in said for name in names)


def test_words_read_in_two_ways_are_judged_by_the_way_that_helps():
    said = grade("Prefill is compute bound. Use a shorter context.", PREFILL).reason
    assert "would help" in said
    assert "would not help" not in said


def test_an_unknown_bottleneck_is_told_in_its_own_words():
    said = grade("One can't tell which phase it is.", UNKNOWN).reason
    assert "can't tell" in said
    assert "measure" in said


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


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=6), st.sampled_from([S1, PREFILL, UNKNOWN]))
def test_no_mixture_of_answers_makes_it_raise(lines, truth):
    assert grade(" ".join(lines), truth).verdict


def test_10_kb_take_at_most_50_ms():
    text = " ".join(LINES * 2)[:10_000]
    assert min(seconds(text) for _ in range(5)) < 0.05


@pytest.mark.parametrize(
    "piece", ["decode. ", "not ", "if decode, ", "<", "no, ", "1 x 1 = ", "解"]
)
def test_time_grows_no_faster_than_the_text(piece):
    """Twice the text takes about twice the time: a square would take four times."""

    def least(length: int) -> float:
        return min(seconds(piece * (length // len(piece))) for _ in range(3))

    seconds(piece)  # reads the table
    assert least(8000) < 3.5 * least(4000) + 0.01


def seconds(text: str) -> float:
    """CPU time of one grading."""
    start = time.process_time()
    grade(text, S1)
    return time.process_time() - start
