"""What counts as a judgement, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rightcall.judging.models import JudgeError, Question, QuestionBlock, Rubric, parse_reply

SCORED = Question(task="judge", blocks=(QuestionBlock("output", "x"),), calls=2)
RUBRICS = Question(task="judge", blocks=(), rubrics=(Rubric("polite", "is polite"), Rubric("brief", "is brief")))


def reply(**changed: Any) -> str:
    return json.dumps({"reason": "so", "call": None, "score": 80} | changed)


def rubric(name: Any = "polite", met: Any = True, **other: Any) -> dict[str, Any]:
    return {"id": name, "reason": "so", "met": met, **other}


def verdicts(*given: Any) -> str:
    return json.dumps({"reason": "so", "rubrics": list(given)})


@pytest.mark.parametrize(
    ("score", "meant"), [(0, 0.0), (100, 1.0), (80, 0.8), (87.5, 0.875), (0.0, 0.0), (1, 0.01)], ids=str
)
def test_a_score_on_the_scale_is_taken_as_it_is(score: float, meant: float) -> None:
    assert parse_reply(reply(score=score), SCORED).score == meant


GOOD = reply()
MALFORMED = {
    "empty": "",
    "blank": "  \n ",
    "no_json": "The score is 80.",
    "score_in_words": "score: 100",
    "number_alone": "100",
    "text_alone": '"100"',
    "null": "null",
    "list": f"[{GOOD}]",
    "empty_object": "{}",
    "empty_list": "[]",
    "true": "true",
    "fenced": f"```json\n{GOOD}\n```",
    "fenced_without_language": f"```\n{GOOD}\n```",
    "two_verdicts": f"{GOOD}\n{reply(score=0)}",
    "two_equal_verdicts": GOOD + GOOD,
    "quoted_verdict": json.dumps(GOOD),
    "verdict_after_words": f"Here you are: {GOOD}",
    "words_after_verdict": f"{GOOD} That is all.",
    "verdict_in_a_comment": f"/* {reply(score=0)} */ {GOOD}",
    "same_key_twice": '{"reason": "so", "call": null, "score": 0, "score": 100}',
    "same_key_twice_inside": '{"reason": {"a": 1, "a": 2}, "call": null, "score": 0}',
    "truncated": GOOD[:-5],
    "truncated_text": '{"reason": "so',
    "trailing_comma": '{"reason": "so", "call": null, "score": 80,}',
    "single_quotes": "{'reason': 'so', 'call': None, 'score': 80}",
    "byte_order_mark": "\ufeff" + GOOD,
    "zero_width_space": "\u200b" + GOOD,
    "nul": GOOD + "\0",
    "nan": '{"reason": "so", "call": null, "score": NaN}',
    "infinity": '{"reason": "so", "call": null, "score": Infinity}',
    "minus_infinity": '{"reason": "so", "call": null, "score": -Infinity}',
    "overflow": '{"reason": "so", "call": null, "score": 1e999}',
    "negative_overflow": '{"reason": "so", "call": null, "score": -1e999}',
    "score_as_text": reply(score="100"),
    "score_nan_as_text": reply(score="NaN"),
    "score_null": reply(score=None),
    "score_true": reply(score=True),
    "score_list": reply(score=[100]),
    "score_object": reply(score={"value": 100}),
    "score_with_percent": reply(score="100%"),
    "score_below": reply(score=-5),
    "score_just_below": reply(score=-0.0001),
    "score_above": reply(score=150),
    "score_just_above": reply(score=100.0001),
    "score_98989": reply(score=98989),
    "score_huge": reply(score=10**400),
    "score_missing": json.dumps({"reason": "so", "call": None}),
    "reason_missing": json.dumps({"call": None, "score": 80}),
    "call_missing": json.dumps({"reason": "so", "score": 80}),
    "another_key": reply(verdict="passed"),
    "other_spelling": json.dumps({"reason": "so", "call": None, "Score": 80}),
    "reason_no_text": reply(reason=5),
    "reason_null": reply(reason=None),
    "call_zero": reply(call=0),
    "call_beyond": reply(call=3),
    "call_negative": reply(call=-1),
    "call_text": reply(call="1"),
    "call_true": reply(call=True),
    "call_fraction": reply(call=1.5),
    "deep": "[" * 100_000,
    "huge": json.dumps({"reason": "x" * 300_000, "call": None, "score": 80}),
    "nested": json.dumps({"judgement": json.loads(GOOD)}),
    "rubrics_not_asked_for": reply(rubrics=[]),
}


@pytest.mark.parametrize("given", MALFORMED.values(), ids=list(MALFORMED))
def test_anything_but_one_judgement_is_an_error(given: str) -> None:
    with pytest.raises(JudgeError) as problem:
        parse_reply(given, SCORED)

    assert problem.value.code == "RC604"
    assert str(problem.value).startswith("the judge's answer is not a judgement: ")
    assert len(str(problem.value)) < 400


def test_there_are_sixty_of_them() -> None:
    assert len(MALFORMED) >= 60


def test_rubrics_give_the_share_that_is_met_in_the_order_they_were_asked() -> None:
    given = parse_reply(verdicts(rubric("brief", False), rubric("polite")), RUBRICS)

    assert [(one.id, one.met) for one in given.rubrics] == [("polite", True), ("brief", False)]
    assert given.score == 0.5


@pytest.mark.parametrize(
    "given",
    [
        verdicts(),
        verdicts(rubric()),
        verdicts(rubric(), rubric("brief"), rubric("kind")),
        verdicts(rubric(), rubric("polite", False), rubric("brief")),
        verdicts(rubric(), rubric("brief", "yes")),
        verdicts(rubric(), rubric("brief", 1)),
        verdicts(rubric(), rubric("brief", None)),
        verdicts(rubric(), rubric("brief", score=100)),
        verdicts(rubric(), "brief"),
        verdicts(rubric(), {"id": "brief", "met": True}),
        json.dumps({"reason": "so", "rubrics": {"polite": True, "brief": True}}),
        json.dumps({"reason": "so", "rubrics": None}),
        json.dumps({"reason": "so", "score": 100}),
    ],
)
def test_each_rubric_has_one_verdict_of_true_or_false(given: str) -> None:
    with pytest.raises(JudgeError, match="is not a judgement"):
        parse_reply(given, RUBRICS)


def test_a_call_is_known_by_its_number() -> None:
    assert parse_reply(reply(call=2), SCORED).call == 1


def test_a_long_reason_is_cut() -> None:
    assert len(parse_reply(reply(reason="x" * 100_000), SCORED).reason) == 2_000
