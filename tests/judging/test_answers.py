"""Is the agent's answer the expected one, in the words of UiPath's and ADK's evaluators?"""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import ConfigurationError, CriteriaError, EvaluationResult, ToolCall, Trajectory
from rightcall.judging import JsonSimilarityEvaluator, ResponseMatch

CRITERIA_KEYS = {
    "final-output": "output",
    "exact-match": "expected_output",
    "contains": "search_text",
    "regex-match": "pattern",
    "json-similarity": "expected_output",
    "response-match": "expected",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def judged(type_id: str, expected: Any, actual: Any, **config: Any) -> EvaluationResult:
    return judge(type_id, Trajectory.of([], output=actual), {CRITERIA_KEYS[type_id]: expected}, **config)


@pytest.mark.parametrize(
    ("expected", "actual", "config", "score"),
    [
        ("Done", "done", {}, 1.0),
        ("Done", "done", {"case_sensitive": True}, 0.0),
        ("Done", "done", {"ignoreCase": False}, 0.0),
        ("done", "done", {"negated": True}, 0.0),
        ("8.0", 8, {}, 1.0),
        ("8", 8, {}, 0.0),
        ({"result": "5.0"}, {"result": 5}, {"targetOutputKey": "result"}, 1.0),
        ({"a": "X"}, {"a": "x"}, {}, 0.0),
        ({"a": 1}, {"a": 1.0}, {}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": {"$gt": 1}}, {"a": 2}, {}, 1.0),
        ("{'a': 1.0}", {"a": 1}, {}, 1.0),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [0, {"c": 2}]}}, {"target_output_key": "a.b[1].c"}, 1.0),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1, "c": 0}', {"target_output_key": ["a", "b"]}, 1.0),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [0, {"c": 2}]}}, {"target_output_key": "/a/b/1/c"}, 1.0),
        ({"a.b": {"c/d": 1}}, {"a.b": {"c/d": 1, "e": 2}}, {"target_output_key": "/a.b/c~1d"}, 1.0),
        ({"": {"~": 1}}, {"": {"~": 2}}, {"target_output_key": "//~0"}, 0.0),
        ({"1": "x"}, {"1": "x"}, {"target_output_key": "/1"}, 1.0),
        ({"a": 1}, {"b": 1}, {"target_output_key": "a"}, 0.0),
        ({"a": 1}, {"b": 1}, {"target_output_key": "a", "negated": True}, 0.0),
        ("a\nb\n\nc", "A\nx\nc", {"line_by_line_evaluator": True}, 2 / 3),
        ("a\nb", "a", {"line_by_line_evaluator": True}, 0.5),
        ("a;b", "a;b", {"line_by_line_evaluator": True, "line_delimiter": ";"}, 1.0),
        ("", "", {"line_by_line_evaluator": True}, 1.0),
    ],
    ids=str,
)
def test_exact_match_compares_values_and_texts(expected: Any, actual: Any, config: Any, score: float) -> None:
    assert judged("exact-match", expected, actual, **config).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("wanted", "actual", "config", "score"),
    [
        ("LAP", "a laptop", {}, 1.0),
        ("LAP", "a laptop", {"caseSensitive": True}, 0.0),
        ("phone", "a laptop", {"negated": True}, 1.0),
        ("8.0", {"result": 8}, {}, 1.0),
        ("8", 8, {"target_output_key": "*"}, 1.0),
        ("'result': 8.0", {"result": 8}, {}, 1.0),
        ("x", {"a": "x", "b": "y"}, {"target_output_key": "b"}, 0.0),
        ("x", {"a": "x"}, {"target_output_key": "b", "negated": True}, 0.0),
        ("x", "x1\ny\nX2\n\n", {"line_by_line_evaluator": True}, 2 / 3),
        ("", "anything", {}, 1.0),
        ("x", "", {"line_by_line_evaluator": True}, 0.0),
    ],
    ids=str,
)
def test_contains_looks_for_a_text(wanted: str, actual: Any, config: Any, score: float) -> None:
    assert judged("contains", wanted, actual, **config).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("pattern", "actual", "config", "score"),
    [
        (r"P\d+", "see P001", {}, 1.0),
        (r"^P\d+$", "see P001", {}, 0.0),
        ("p001", "see P001", {}, 0.0),
        ("p001", "see P001", {"ignore_case": True}, 1.0),
        ("p001", "see P001", {"case_sensitive": False}, 1.0),
        ("error", "all is well", {"negated": True}, 1.0),
        (r"\d", {"n": 5}, {"target_output_key": "n"}, 1.0),
    ],
    ids=str,
)
def test_a_pattern_is_found_anywhere(pattern: str, actual: Any, config: Any, score: float) -> None:
    assert judged("regex-match", pattern, actual, **config).score == score


@pytest.mark.parametrize(
    ("expected", "actual", "score"),
    [
        ({"a": 10}, {"a": 9}, 0.9),
        ({"a": 10}, {"a": 30}, 0.0),
        ({"a": 0}, {"a": 0.5}, 0.0),
        ({"a": "kitten"}, {"a": "sitting"}, 1 - 3 / 7),
        ({"a": 1, "b": 2}, {"a": 1, "c": 9}, 0.5),
        ([1, 2], [1, 2, 3], 1.0),
        ([1, 2, 3, 4], [1, 2], 0.5),
        ({"a": True}, {"a": 1}, 0.0),
        ({"a": None}, {"a": None}, 1.0),
        ({"a": None}, {}, 0.0),
        ({"a": {"b": 1, "c": 1}}, {"a": 5}, 0.0),
        ({}, {"a": 1}, 1.0),
        (10**400, 10**400, 1.0),
        (10**400, 0.5, 0.0),
        ("", "", 1.0),
    ],
    ids=lambda value: str(value)[:40],
)
def test_similarity_is_the_mean_over_the_expected_values(expected: Any, actual: Any, score: float) -> None:
    assert judged("json-similarity", expected, actual).score == pytest.approx(score)


def test_similarity_can_look_at_a_part_and_at_lines() -> None:
    result = judged("json-similarity", {"r": "ab\ncd"}, {"r": "ab\ncx"}, targetOutputKey="r", lineByLineEvaluator=True)

    assert result.score == 0.75
    assert judged("json-similarity", {"r": 1}, {}, targetOutputKey="r").findings[0].message == (
        "the final output has no 'r' in {}"
    )


@pytest.mark.parametrize(
    ("expected", "actual", "score"),
    [
        ([1, 2, 3], [3, 1, 2], 1.0),
        (["kitten", "dog"], ["dog", "sitting"], (1 + 4 / 7) / 2),
        ([10, 20], [20], 0.5),
        ([1], [5, 1, 7], 1.0),
        ([1, 2], [], 0.0),
        ([{"a": 1, "b": [1, 2]}, {"a": 2}], [{"a": 2}, {"a": 1, "b": [2, 1]}], 1.0),
        ([True, 1], [1, True], 1.0),
    ],
    ids=str,
)
def test_items_can_be_compared_in_any_order(expected: Any, actual: Any, score: float) -> None:
    assert judged("json-similarity", expected, actual, lists="any_order").score == pytest.approx(score)


@given(JSON, JSON)
def test_items_in_any_order_are_never_less_alike_than_in_order(expected: Any, actual: Any) -> None:
    in_order = judged("json-similarity", expected, actual).score
    any_order = judged("json-similarity", expected, actual, lists="any_order").score

    assert any_order is None if in_order is None else any_order is not None and any_order >= in_order - 1e-12


@given(st.lists(st.text(max_size=3) | st.integers(), max_size=5).flatmap(lambda items: st.permutations(items)))
def test_a_list_in_any_order_is_like_itself_turned_round(items: list[Any]) -> None:
    assert judged("json-similarity", items, items[::-1], lists="any_order").score == 1.0


def test_lists_that_are_too_long_to_be_paired_are_an_error_and_no_score() -> None:
    long = list(range(1_000))

    result = judged("json-similarity", long, long[::-1], lists="any_order")

    assert (result.verdict, result.score) == ("error", None)
    assert "RC401" in (result.error or "")


@pytest.mark.parametrize(
    ("expected", "actual", "score"),
    [
        ("I found the Pro Laptop for $1299. It is in stock.", "Yes, the Pro Laptop is in stock.", 0.6667),
        ("The cats are running", "the cat runs", 0.8571),
        ("", "", 1.0),
        ("", "something", 0.0),
        ("something", "", 0.0),
        ("!!!", "!!!", 1.0),
        ("!!!", "???", 0.0),
        ("one two two", "two two two", 0.6667),
        ("東京の天気", "東京は雨", 0.4444),
        ("naïve café", "Café naïve!", 1.0),
        ("สวัสดี", "สวัสดีครับ", 0.7273),
        ("ﬁne ＡＢＣ", "fine abc", 1.0),
        ("skies dying news relational", "sky die news relate", 1.0),
        ("3 items", {"items": 3}, 1.0),
    ],
    ids=str,
)
def test_response_match_is_rouge_1(expected: str, actual: Any, score: float) -> None:
    assert judged("response-match", expected, actual, threshold=0.5).score == pytest.approx(score, abs=5e-5)


@given(st.text(max_size=60), st.text(max_size=60))
def test_response_match_is_symmetric_and_stays_in_bounds(one: str, other: str) -> None:
    there, back = judged("response-match", one, other).score, judged("response-match", other, one).score

    assert there == back
    assert there is not None
    assert 0.0 <= there <= 1.0
    assert judged("response-match", one, one).score == 1.0


@given(JSON, JSON)
def test_similarity_stays_in_bounds_and_is_full_for_the_same_value(expected: Any, actual: Any) -> None:
    if expected is not None:
        assert judged("json-similarity", expected, expected).score == 1.0
    score = judged("json-similarity", expected, actual).score

    assert score is None if actual is None else score is not None and 0.0 <= score <= 1.0


@given(JSON.filter(lambda value: value is not None))
def test_every_answer_matches_itself_exactly(value: Any) -> None:
    made = Trajectory.of([], output=value)

    assert judge("exact-match", made, {"expected_output": {"$literal": value}}).score == 1.0


@pytest.mark.parametrize("type_id", CRITERIA_KEYS)
def test_an_answer_that_was_not_recorded_is_not_measured(type_id: str) -> None:
    result = judged(type_id, "x", None)

    assert result.verdict == "not_measured"
    assert [(each.code, each.message) for each in result.findings] == [("RC301", "the final output was not recorded")]


@pytest.mark.parametrize("type_id", CRITERIA_KEYS)
def test_turns_are_judged_one_by_one(type_id: str) -> None:
    made = Trajectory.of([], output="x", turn_outputs=["x", "ignored", "y"])

    result = judge(type_id, made, {"expected_turns": ["x", None, "x"]}, threshold=0.5)

    assert (result.score, result.verdict) == (0.5, "passed")
    assert [answer.turn for answer in result.details.answers] == [0, 2]
    [finding] = judge(type_id, made, {"expected_turns": ["x", None, "x"]}).findings
    assert (finding.code, finding.path) == ("RC108", "expected_turns[2]")
    assert finding.message.startswith("turn 3: the output ")


def test_without_the_answers_of_the_turns_only_the_last_one_is_known() -> None:
    made = Trajectory.of([], output="b")

    assert judge("final-output", made, {"expected_turns": [None, "b"]}).passed
    assert judge("final-output", made, {"expected_turns": ["a", "b"]}).verdict == "not_measured"
    assert judge("final-output", made, {"expected_turns": ["a", "c"]}, threshold=0.6).verdict == "failed"


def test_the_answer_of_the_run_is_of_its_last_turn_where_others_are_not_known() -> None:
    three = Trajectory(output="Bye", turn_inputs=("a", "b", "c"))
    later = Trajectory(calls=(ToolCall("a", turn=1),), output="Bye")

    def verdicts(run: Trajectory) -> list[str]:
        return [judge("exact-match", run, {"expected_turns": turns}).verdict for turns in (["Hi"], [None, None, "Bye"])]

    assert verdicts(three) == ["not_measured", "passed"]
    assert verdicts(later) == ["not_measured", "passed"]
    assert verdicts(Trajectory(output="Bye")) == ["failed", "passed"]


@pytest.mark.parametrize("type_id", CRITERIA_KEYS)
def test_an_answer_is_expected_of_the_run_or_of_its_turns(type_id: str) -> None:
    made = Trajectory.of([], output="x")

    with pytest.raises(CriteriaError, match="give either"):
        judge(type_id, made, {CRITERIA_KEYS[type_id]: "x", "expected_turns": ["x"]})
    with pytest.raises(CriteriaError, match="give either"):
        judge(type_id, made, {})
    with pytest.raises(CriteriaError, match="expects nothing of any turn"):
        judge(type_id, made, {"expected_turns": [None]})


@pytest.mark.parametrize(
    ("type_id", "expected", "actual", "config", "message"),
    [
        ("exact-match", "done", "open", {}, 'the final output is "open", expected "done"'),
        ("exact-match", "done", "done", {"negated": True}, "the final output is what it must not be"),
        ("contains", "lap", "phone", {}, 'the final output should contain "lap": "phone"'),
        ("contains", "lap", "laptop", {"negated": True}, 'the final output must not contain "lap": "laptop"'),
        ("regex-match", "^P", "x", {}, 'the final output should match "^P": "x"'),
        ("json-similarity", [1, 2], [1, 3], {}, "the final output is similar to 0.75: [1] 3, expected 2"),
        (
            "response-match",
            "two words",
            "three other words",
            {},
            "the final output has 1 of 2 expected words, among 3 (ROUGE-1 0.4)",
        ),
        ("contains", "x", {}, {"target_output_key": "a.b"}, "the final output has no 'a.b' in {}"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_finding_says_what_is_wrong(type_id: str, expected: Any, actual: Any, config: Any, message: str) -> None:
    result = judged(type_id, expected, actual, **config)

    assert [(finding.code, finding.message) for finding in result.findings] == [("RC108", message)]
    assert EvaluationResult.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    ("type_id", "config", "message"),
    [
        ("exact-match", {"caseSensitive": True, "ignoreCase": True}, "say the opposite of each other"),
        ("exact-match", {"target_output_key": "[]"}, "is not a key"),
        ("exact-match", {"target_output_key": "/a~2"}, "is not a key"),
        ("json-similarity", {"lists": "sorted"}, "lists"),
        ("contains", {"target_outptu_key": "a"}, "did you mean 'target_output_key'"),
        ("contains", {"line_delimiter": ""}, "line_delimiter"),
    ],
)
def test_wrong_configuration_is_refused(type_id: str, config: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        judged(type_id, "x", "x", **config)


@pytest.mark.parametrize(
    ("type_id", "expected", "config", "message"),
    [
        ("contains", 5, {}, "search_text: a string is expected, not 5"),
        ("regex-match", "(", {}, "pattern"),
        ("response-match", ["x"], {}, "expected: a string is expected"),
        ("exact-match", {"b": 1}, {"target_output_key": "a"}, "expected_output: no 'a' in {'b': 1}"),
        ("exact-match", [1], {"target_output_key": "/01"}, "expected_output: no '/01' in \\[1\\]"),
        ("exact-match", {"$rgex": 1}, {}, "did you mean '\\$regex'"),
    ],
)
def test_wrong_criteria_are_refused(type_id: str, expected: Any, config: Any, message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        judged(type_id, expected, "x", **config)


def test_texts_that_are_too_long_to_be_compared_are_an_error_and_no_score() -> None:
    long = Trajectory.of([], output="a" * 60_000)

    result = JsonSimilarityEvaluator().evaluate(long, {"expected_output": "b" * 60_000})

    assert (result.verdict, result.score) == ("error", None)
    assert "RC401" in (result.error or "")


def test_an_answer_is_compared_whole_however_long_it_is() -> None:
    words = [f"w{number}" for number in range(5_000)]
    made = Trajectory.of([], output={"text": " ".join(words)})

    result = ResponseMatch().evaluate(made, {"expected": f"text {' '.join(words)}"})

    assert result.score == 1.0
