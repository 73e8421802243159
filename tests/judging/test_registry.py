"""Evaluators by their type ids."""

import subprocess
import sys
from typing import Any

import pytest
from tests.waiting import PATIENCE

from rightcall import ToolF1, ToolTrajectoryEvaluator, Trajectory, evaluator_type
from rightcall.errors import UnknownNameError
from rightcall.judging import EVALUATORS, SHORTHANDS
from rightcall.judging.models import Question
from rightcall.values.trajectory import Usage


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
def test_the_index_says_what_the_class_declares(type_id: str) -> None:
    kind = EVALUATORS[type_id]
    keys = [key for key, known in SHORTHANDS.items() if known == type_id]

    assert kind.type_id == type_id
    assert keys == ([kind.shorthand.key] if kind.shorthand is not None else [])
    assert kind.shorthand is None or kind.shorthand.criteria_key in kind.criteria_type.model_fields


def test_looking_one_up_imports_no_other() -> None:
    code = (
        "import sys\n"
        "from rightcall.judging import EVALUATORS\n"
        "'tool-f1' in EVALUATORS, len(EVALUATORS), list(EVALUATORS)\n"
        "subjects = ('calls._', 'answers._', 'budgets._', 'models')\n"
        "def loaded(): return [name for name in sys.modules if name.startswith(tuple('rightcall.judging.' + each "
        "for each in subjects))]\n"
        "before = loaded()\n"
        "EVALUATORS['step-count']\n"
        "print(before, loaded())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)

    assert done.stdout.split("] ")[0] == "["
    assert "budgets._efficiency" in done.stdout
    assert not any(subject in done.stdout for subject in ("calls._", "answers._", "models"))


def test_a_subclass_does_not_inherit_what_its_parent_looks_at() -> None:
    class Strange(ToolF1):
        """It might look at anything."""

        def score(self, pairs: int, expected: int, actual: int) -> float:
            return 0.5

    criteria = {"expected": ["a"]}
    parent, child = ToolF1(), Strange()

    assert parent.scope(parent.criteria(criteria)) is not None
    assert child.scope(child.criteria(criteria)) is None


@pytest.mark.parametrize("type_id", list(EVALUATORS))
def test_every_evaluator_takes_default_criteria_and_checks_them(type_id: str) -> None:
    has_limit = "at_most" in EVALUATORS[type_id].criteria_type.model_fields
    criteria = {
        "tool-call-order": {"tool_calls_order": ["a"]},
        "tool-call-count": {"tool_calls_count": {"a": 1}},
        "tool-call-args": {"tool_calls": ["a"]},
        "tool-call-output": {"tool_outputs": [{"name": "a", "output": {"$any": True}}]},
        "execution-order": {"expected_output": ["a"]},
        "forbidden-tools": {"never": ["b"]},
        "call-rules": {"rules": [{"call": "a", "at_most": 1}]},
        "final-output": {"output": "done"},
        "exact-match": {"expected_output": "done"},
        "contains": {"search_text": "one"},
        "regex-match": {"pattern": "^d"},
        "json-similarity": {"expected_output": "done"},
        "response-match": {"expected": "Done!"},
        "llm-judge-trajectory": {"expected_agent_behavior": "call a"},
        "llm-judge-output": {"expected_output": "Done!"},
        "token-usage": {"total_tokens": 30},
    }.get(type_id, {"at_most": 1} if has_limit else {"expected": ["a"]})
    call = {"name": "a", "args": {}, "output": 1, "start_ns": 5, "end_ns": 6}
    made = Trajectory.of([call], output="done", usage=Usage(duration_ns=9, input_tokens=10, output_tokens=20))

    config = {"default_evaluation_criteria": criteria, **({"judge": approve} if "judge" in type_id else {})}

    result = EVALUATORS[type_id](config=config).evaluate(made)

    assert result.passed
    assert isinstance(result.details, EVALUATORS[type_id].justification_type)


@pytest.mark.parametrize("type_id", list(EVALUATORS))
def test_every_evaluator_says_what_it_computes_and_answers_the_edge_cases(type_id: str) -> None:
    text = (EVALUATORS[type_id].__doc__ or "").lower()

    assert "1.0" in text or "divided" in text
    assert "nothing" in text or type_id == "single-tool-use"
