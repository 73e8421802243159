"""Results and their JSON form."""

import json
import pickle
from typing import Any

import pytest
from tests.builders import call, calls, expected, judge

from rightcall import EvaluationResult, InputError, ToolCall, Trajectory, explain
from rightcall.errors import UnknownNameError
from rightcall.values.results import CODES

RESULTS: dict[str, tuple[dict[str, Any], Any]] = {
    "tool-call-order": ({"tool_calls_order": ["a", "b", "c"]}, ["b", "a", "x"]),
    "tool-call-count": ({"tool_calls_count": {"a": 1, "b": 0}}, ["a", "b"]),
    "tool-call-args": ({"tool_calls": [expected("a", x=float("nan")), expected("b", y="\ud800")]}, [call("a", x=1)]),
    "tool-call-output": ({"tool_outputs": [{"name": "a", "output": 2**70}]}, [ToolCall("a", {}, float("inf"))]),
    "tool-trajectory": ({"expected_turns": [["a"], ["b"]]}, [ToolCall("a", {}, turn=0), ToolCall("c", {}, turn=1)]),
    "execution-order": ({"expected_output": ["a", "b"]}, ["b"]),
    "tool-precision": ({"expected": ["a"]}, ["a", "b"]),
    "tool-recall": ({"expected": ["a", "b"]}, ["a"]),
    "tool-f1": ({"expected": ["a"]}, ["b"]),
    "single-tool-use": ({"expected": "a"}, ["b"]),
    "forbidden-tools": ({"never": ["a"]}, ["a"]),
    "loops": ({"at_most": 1}, [call("a"), call("a")]),
    "latency": ({"at_most": 0.5}, ["a"]),
}


def result_of(type_id: str) -> EvaluationResult:
    criteria, made = RESULTS[type_id]
    return judge(type_id, made, criteria)


@pytest.mark.parametrize("type_id", list(RESULTS))
def test_a_result_with_all_its_details_survives_json_and_pickle(type_id: str) -> None:
    result = result_of(type_id)

    assert result.findings
    assert EvaluationResult.from_json(result.to_json()) == result
    assert EvaluationResult.from_json(result.to_json().encode()) == result
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize("type_id", list(RESULTS))
def test_the_json_of_a_result_is_valid_and_names_everything(type_id: str) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    document = json.loads(result_of(type_id).to_json(indent=2), parse_constant=refuse)

    assert document.keys() == {
        *("evaluator", "verdict", "passed", "score", "threshold", "error", "traceback", "warnings"),
        *("evaluation_time", "details", "findings"),
    }


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"evaluator": "a"}', '{"$float": "abc"}', '{"$literal": 5}', "null", '{"verdict": "green"}'],
)
def test_what_is_not_a_saved_result_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        EvaluationResult.from_json(text)


def test_an_unknown_key_in_a_saved_result_is_refused() -> None:
    document = json.loads(result_of("tool-f1").to_json()) | {"scroe": 1}

    with pytest.raises(InputError, match="scroe"):
        EvaluationResult.from_json(json.dumps(document))


class Stubborn:
    """An expected object that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("no")

    def __hash__(self) -> int:
        return 0


def test_a_fault_while_judging_is_an_error_and_never_a_score() -> None:
    result = judge("tool-call-args", calls(call("a", x=1)), {"tool_calls": [expected("a", x=Stubborn())]})

    assert (result.verdict, result.score, result.passed, result.details) == ("error", None, False, None)
    assert result.error == "RC402 ZeroDivisionError while judging: no"
    assert "Stubborn" not in result.error
    assert "ZeroDivisionError: no" in (result.traceback or "")
    assert [finding.code for finding in result.findings] == ["RC402"]
    assert EvaluationResult.from_json(result.to_json()) == result


class Fickle:
    """An expected object that can be compared until it is told to stop."""

    stopped = False

    def __eq__(self, other: object) -> bool:
        if self.stopped:
            raise ZeroDivisionError("not again")
        return False

    def __hash__(self) -> int:
        return 0


def test_a_score_stands_though_it_cannot_be_explained() -> None:
    fickle = Fickle()
    result = judge("tool-call-args", calls(call("a", x=1)), {"tool_calls": [expected("a", x=fickle)]})
    fickle.stopped = True

    assert (result.verdict, result.score, result.details) == ("failed", 0.0, None)
    assert result.findings[0].message == "not explained: ZeroDivisionError: not again"


def test_printing_a_result_is_short_and_explains_nothing() -> None:
    assert len(repr(result_of("tool-trajectory"))) < 300


def test_warnings_of_the_reader_are_in_every_result() -> None:
    made = Trajectory(calls=(), warnings=("2 spans were unreadable",))

    assert judge("tool-call-count", made, {"tool_calls_count": {"a": 0}}).warnings == ("2 spans were unreadable",)


def test_the_threshold_decides_and_is_kept() -> None:
    result = judge("tool-call-order", ["a"], {"tool_calls_order": ["a", "b"]}, threshold=0.5)

    assert (result.verdict, result.score, result.threshold) == ("passed", 0.5, 0.5)
    assert result.evaluation_time > 0


def test_every_code_is_explained_by_code_and_by_name() -> None:
    for code in CODES.values():
        assert explain(code.code) is code
        assert explain(code.name) is code
        assert explain(code.code.lower()).explanation.endswith(".")


def test_an_unknown_code_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'RC101'"):
        explain("RC101X")
    with pytest.raises(UnknownNameError):
        explain(5)  # type: ignore[arg-type]
