"""Each check with the right answer, the likeliest wrong ones, blanks and nonsense."""

from __future__ import annotations

import sys
from dataclasses import replace
from subprocess import run

import pytest
import torch
from grading_answers import CACHED, EXERCISES, LOGITS, NAIVE, RIGHT, WRONG, judge

from labkit import catalog, roofline
from labkit import grading as check
from labkit.grading import answers, lesson_00
from labkit.models.wheel import SMOLLM2


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_the_right_answer_passes(name, answer):
    result = judge(name, answer)
    assert result.passed, result


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_a_likely_wrong_answer_is_told_what_it_confuses(name, answer, hint):
    result = judge(name, answer)
    assert result.status == "wrong"
    assert hint in result.reason


@pytest.mark.parametrize("name", EXERCISES)
def test_each_check_is_tried_here_with_a_right_answer_and_two_wrong_ones(name):
    assert any(row[0] == name for row in RIGHT)
    assert sum(row[0] == name for row in WRONG) >= 2


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("blank", [..., None])
def test_a_blank_is_not_yet(name, blank):
    assert judge(name, blank).status == "not yet"


FUNCTION_CHECKS = [row[0] for row in RIGHT if callable(row[1])]


@pytest.mark.parametrize("name", FUNCTION_CHECKS)
def test_an_unfinished_function_is_not_yet(name):
    def untouched(*args):
        """Only a docstring."""
        ...

    def half_done(*args):
        rest = ...
        return rest + 1

    assert judge(name, untouched).status == "not yet"
    assert judge(name, half_done).status == "not yet"


STRANGE = [
    "",
    "<b>1</b>",
    True,
    float("nan"),
    10**400,
    -1,
    [],
    [1, [2]],
    {},
    object(),
    torch.Tensor,
]


@pytest.mark.parametrize("name", EXERCISES)
def test_no_answer_makes_a_check_raise(name):
    for strange in STRANGE:
        assert judge(name, strange).status == "wrong"
        assert judge(name, lambda *args, it=strange: it).status == "wrong"


@pytest.mark.parametrize("name", FUNCTION_CHECKS)
def test_an_error_in_a_learners_function_is_shown_not_raised(name):
    def broken(*args):
        raise KeyError("lost")

    result = judge(name, broken)
    assert result.status == "wrong"
    assert "KeyError: 'lost'" in result.reason


def test_a_function_that_changes_what_it_is_given_does_not_spoil_the_check():
    def pick(logits):
        logits *= -1
        return logits.argmin(-1)

    assert judge("pick_greedy", pick).passed
    assert LOGITS[0, 1] == 3


def test_a_run_that_was_stopped_at_once_is_not_yet():
    for steps in (0, 1):
        stopped = replace(CACHED, steps=CACHED.steps[:steps])
        assert check.tokens_per_s(25, stopped).status == "not yet"
        assert check.characters_per_token(3, stopped).status == "not yet"
        assert check.predicted_ratio(3, stopped, stopped).status == "not yet"
        assert check.speed_up(lambda a, b: 1, stopped, stopped).status == "not yet"


@pytest.mark.parametrize(
    ("guess", "says"), [(3, "within a factor of 2"), (66, "positions"), (0.1, "section 4")]
)
def test_a_prediction_is_set_beside_the_run_and_never_called_wrong(guess, says):
    """Naive's last 8 steps: 146 to 160 ms, median 153; 153 ÷ 40 = 3.8."""
    result = check.predicted_ratio(guess, NAIVE, CACHED)
    assert result.passed
    assert "the run says 3.8" in result.reason
    assert says in result.reason.lower()


def test_facts_of_the_default_model_agree_with_the_catalogue_and_the_download():
    assert roofline.parameters(catalog.model("SmolLM2-135M")) == lesson_00.PARAMETERS
    assert SMOLLM2.size_bytes == lesson_00.DOWNLOAD_BYTES


def test_shapes_and_types_of_numbers_do_not_matter():
    assert answers.same(torch.tensor([[1, 2]]), (1.0, 2), 1e-6)
    assert not answers.same([1, 2], [1, 2, 3], 1e-6)
    assert answers.show([1, 2.5, 3, 4, 5, 6]) == "[1, 2.5, 3, 4, 5, …]"


def test_grading_needs_no_torch():
    code = "import sys, labkit.grading; sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
