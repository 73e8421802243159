"""Figures over all cases: confusion matrix, accuracy, precision, recall, F1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import ConfigurationError
from rightcall.judging import ClassificationEvaluator, Row

PAIRS = [("a", "a"), ("a", "b"), ("a", "a"), ("b", "b"), ("b", "x"), ("c", "a")]


def row(expected: Any, output: Any, **known: Any) -> Row:
    metadata = {} if expected is None else {"class": expected}
    return Row(case_id="x", verdict="passed", output=output, metadata=metadata, **known)


def concluded(rows: Sequence[Row], **config: Any) -> Any:
    evaluator = ClassificationEvaluator("intent", config)
    tally = evaluator.tally()
    for each in rows:
        tally.add(evaluator.see(each))
    return tally.conclude()


def of_pairs(pairs: Sequence[tuple[str, str]], **config: Any) -> Any:
    return concluded([row(expected, found) for expected, found in pairs], **config)


def test_the_matrix_has_a_row_for_each_class_and_a_last_column_for_what_is_none() -> None:
    found = of_pairs(PAIRS).classification

    assert found.classes == ("a", "b", "c")
    assert found.matrix == ((2, 1, 0, 0), (0, 1, 0, 1), (1, 0, 0, 0))
    assert (found.cases, found.left_out) == (6, 0)


@pytest.mark.parametrize(
    ("config", "score"),
    [
        ({}, 3 / 6),
        ({"metric": "precision", "positive_class": "a"}, 2 / 3),
        ({"metric": "recall", "positive_class": "a"}, 2 / 3),
        ({"metric": "precision", "positive_class": "c"}, 0.0),
        ({"metric": "recall", "positive_class": "b"}, 1 / 2),
        ({"metric": "f1", "positive_class": "b"}, 2 / 4),
        ({"metric": "f1", "positive_class": "a", "beta": 2}, 5 * 2 / (3 + 4 * 3)),
        ({"metric": "f1", "positive_class": "c", "beta": 0.5}, 0.0),
        ({"metric": "f1", "averaging": "micro", "beta": 2}, 5 * 3 / (5 + 4 * 6)),
        ({"metric": "recall", "positive_class": "b", "beta": 2}, 1 / 2),
        ({"metric": "precision"}, (2 / 3 + 1 / 2 + 0) / 3),
        ({"metric": "recall"}, (2 / 3 + 1 / 2 + 0) / 3),
        ({"metric": "precision", "averaging": "micro"}, 3 / 5),
        ({"metric": "recall", "averaging": "micro"}, 3 / 6),
    ],
)
def test_the_figure_that_is_asked_for_is_the_score(config: dict[str, Any], score: float) -> None:
    assert of_pairs(PAIRS, **config).score == pytest.approx(score)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcx")), min_size=1), st.sampled_from("abc"))
def test_figures_are_those_that_counting_case_by_case_gives(pairs: list[tuple[str, str]], positive: str) -> None:
    right = sum(pair == (positive, positive) for pair in pairs)
    expected = sum(pair[0] == positive for pair in pairs)
    found = sum(pair[1] == positive for pair in pairs)
    config = {"classes": ["a", "b", "c"], "positive_class": positive}

    scores = {metric: of_pairs(pairs, metric=metric, **config).score for metric in ("precision", "recall", "f1")}

    if not expected + found:
        assert set(scores.values()) == {None}
        return
    assert scores["precision"] == (right / found if found else 0.0)
    assert scores["recall"] == (right / expected if expected else 0.0)
    assert scores["f1"] == pytest.approx(2 * right / (expected + found))
    assert of_pairs(pairs, classes=["a", "b", "c"]).score == sum(a == b for a, b in pairs) / len(pairs)


def test_classes_are_found_by_json_pointers() -> None:
    rows = [
        Row(case_id="x", verdict="passed", output={"a/b": [{"kind": kind}]}, metadata={"is": {"kind": "spam"}})
        for kind in ("spam", "ham")
    ]

    assert concluded(rows, output="/a~1b/0/kind", expected="/is/kind").score == 0.5


@pytest.mark.parametrize("output", [{}, {"kind": None}, "text", ["x"], {"kind": {"deep": 1}}])
def test_an_answer_without_a_class_is_a_miss(output: Any) -> None:
    assert concluded([row("spam", output)], output="/kind").score == 0.0


def test_numbers_and_truth_are_classes_too_and_case_counts_unless_told_otherwise() -> None:
    assert concluded([row(True, True), row(3, 3), row("true", True)]).score == 1.0
    assert concluded([row("Spam", "spam")]).score == 0.0
    assert concluded([row("Spam", "spam ")], ignore_case=True, classes=["SPAM"]).score == 1.0


def test_cases_that_expect_no_class_are_left_out_and_counted() -> None:
    found = concluded([row("a", "a"), row(None, "b")])

    assert (found.score, found.classification.left_out) == (1.0, 1)


def test_without_an_answer_or_without_anything_expected_there_is_no_score() -> None:
    broken = concluded([row("a", "a"), row("a", None, is_measured=False)])
    nothing = concluded([row(None, "a")])

    assert (broken.score, broken.is_error, broken.reason) == (None, False, "1 of 2 cases gave no answer")
    assert (nothing.score, nothing.is_error) == (None, False)


def test_an_expected_class_that_is_none_of_the_classes_is_an_error() -> None:
    found = of_pairs(PAIRS, classes=["a", "b"])

    assert (found.score, found.is_error, found.reason) == (
        None,
        True,
        "a case expects 'c', which is not one of the classes",
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"metrik": "f1"}, "unknown key 'metrik'; did you mean 'metric'"),
        ({"metric": "f2"}, "metric"),
        ({"output": "kind"}, "a JSON Pointer such as /category is expected"),
        ({"positive_class": "a"}, "accuracy covers all classes"),
        ({"positive_class": "z", "metric": "f1", "classes": ["a"]}, "which is not one of the classes"),
        ({"threshold": 2.0}, "threshold"),
    ],
)
def test_mistakes_in_the_configuration_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ClassificationEvaluator("intent", config)


def test_the_figure_is_told_by_its_beta() -> None:
    assert of_pairs(PAIRS, metric="f1", beta=2).reason.startswith("macro f2 ")
    assert of_pairs(PAIRS, metric="f1", beta=0.5, positive_class="a").reason.startswith("f0.5 of 'a' ")


@pytest.mark.parametrize("beta", [0, -1, float("nan"), float("inf"), "2", True])
def test_a_beta_is_a_number_above_zero(beta: Any) -> None:
    with pytest.raises(ConfigurationError, match="beta"):
        ClassificationEvaluator("intent", {"metric": "f1", "beta": beta})


def test_a_part_is_looked_for_in_an_answer_that_is_json_in_a_text() -> None:
    rows = [row("a", '{"kind": "a"}'), row("b", "no JSON"), row("b", '"kind"')]

    assert concluded(rows, output="/kind", metric="recall", positive_class="a").score == 1.0
    assert concluded(rows, output="/kind").score == pytest.approx(1 / 3)
    assert concluded([row("1", "1")], classes=["1"]).score == 1.0
