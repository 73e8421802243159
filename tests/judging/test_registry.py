"""Evaluators by their type ids."""

from typing import Any

import pytest

from rightcall import ToolTrajectoryEvaluator, Trajectory, UnknownNameError, Usage, evaluator_type
from rightcall.judging import EVALUATORS
from rightcall.judging.models import Question


def approve(question: Question) -> dict[str, Any]:
    """A judge that is content with everything that something is expected of."""
    is_asked = any(block.name.startswith("expected_") for block in question.blocks)
    about = {"call": None} if question.calls else {}
    return {"reason": "fine", "score": 100 if is_asked else 0, **about}


@pytest.mark.parametrize("type_id", list(EVALUATORS))
def test_every_evaluator_is_found_with_and_without_the_prefix(type_id: str) -> None:
    assert evaluator_type(type_id) is EVALUATORS[type_id]
    assert evaluator_type(f"uipath-{type_id}") is EVALUATORS[type_id]


def test_adk_calls_the_trajectory_by_another_name() -> None:
    assert evaluator_type("tool_trajectory_avg_score") is ToolTrajectoryEvaluator


@pytest.mark.parametrize(
    ("name", "type_id"),
    [
        ("uipath-llm-judge-trajectory-similarity", "llm-judge-trajectory"),
        ("uipath-llm-judge-output-semantic-similarity", "llm-judge-output"),
        ("final_response_match_v2", "llm-judge-output"),
    ],
)
def test_judges_have_the_names_that_other_tools_give_them(name: str, type_id: str) -> None:
    assert evaluator_type(name) is EVALUATORS[type_id]


def test_an_unknown_type_id_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'tool-call-order'"):
        evaluator_type("tool-cal-order")


@pytest.mark.parametrize("type_id", list(EVALUATORS))
def test_every_evaluator_takes_default_criteria_and_checks_them(type_id: str) -> None:
    criteria = {
        "tool-call-order": {"tool_calls_order": ["a"]},
        "tool-call-count": {"tool_calls_count": {"a": 1}},
        "tool-call-args": {"tool_calls": ["a"]},
        "tool-call-output": {"tool_outputs": [{"name": "a", "output": {"$any": True}}]},
        "execution-order": {"expected_output": ["a"]},
        "forbidden-tools": {"never": ["b"]},
        "final-output": {"output": "done"},
        "exact-match": {"expected_output": "done"},
        "contains": {"search_text": "one"},
        "regex-match": {"pattern": "^d"},
        "json-similarity": {"expected_output": "done"},
        "response-match": {"expected": "Done!"},
        "llm-judge-trajectory": {"expected_agent_behavior": "call a"},
        "llm-judge-output": {"expected_output": "Done!"},
        "token-usage": {"total_tokens": 30},
        **{key: {"at_most": 1} for key in ("step-count", "redundant-calls", "loops", "retries")},
        **{key: {"at_most": 0.5} for key in ("tool-error-rate", "latency", "call-latency")},
    }.get(type_id, {"expected": ["a"]})
    call = {"name": "a", "args": {}, "output": 1, "start_ns": 5, "end_ns": 6}
    made = Trajectory.of([call], output="done", usage=Usage(duration_ns=9, input_tokens=10, output_tokens=20))

    config = {"default_evaluation_criteria": criteria, **({"judge": approve} if "judge" in type_id else {})}

    assert EVALUATORS[type_id](config=config).evaluate(made).passed


@pytest.mark.parametrize("type_id", list(EVALUATORS))
def test_every_evaluator_says_what_it_computes_and_answers_the_edge_cases(type_id: str) -> None:
    text = (EVALUATORS[type_id].__doc__ or "").lower()

    assert "1.0" in text or "divided" in text
    assert "nothing" in text or type_id == "single-tool-use"
