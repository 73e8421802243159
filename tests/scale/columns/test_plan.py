"""Plans say the same wherever they are sent."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rightcall import ConfigurationError, DocumentError, InputError
from rightcall.scale.columns import Plan

EVALSET = (
    "cases:\n  - {id: first, tags: [quick], expect: {order: [search]}}\n  - {id: second, expect: {never: [book]}}\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "set.yaml"
    path.write_text(EVALSET)
    return path


def test_a_plan_is_a_value(file: Path) -> None:
    plan = Plan.of_eval_set(file, tags=("quick",))

    sent = pickle.loads(pickle.dumps(plan))

    assert sent == plan
    assert hash(sent) == hash(plan)
    assert {plan: 1}[sent] == 1
    with pytest.raises(AttributeError):
        plan.name = "other"  # type: ignore[misc]


def test_a_plan_that_was_sent_needs_no_file(file: Path) -> None:
    sent = pickle.dumps(Plan.of_eval_set(file))
    file.unlink()

    assert [case.id for case in pickle.loads(sent).cases] == ["first", "second"]


def test_a_plan_has_the_cases_that_were_chosen(file: Path) -> None:
    assert [case.id for case in Plan.of_eval_set(file, case_globs=("s*",)).cases] == ["second"]
    assert [case.id for case in Plan.of_eval_set(file, tags=("quick",)).cases] == ["first"]
    with pytest.raises(InputError, match="no case matches 'third'"):
        Plan.of_eval_set(file, case_globs=("third",))


def test_an_expectation_is_text_or_an_object() -> None:
    assert Plan.of_expectation("order: [a]").cases[0].checks[0].key == "order"
    assert Plan.of_expectation({"order": ["a"]}).cases[0].checks[0].key == "order"


def test_what_is_wrong_with_a_plan_is_said_when_it_is_made(file: Path) -> None:
    with pytest.raises(DocumentError, match="ordre"):
        Plan.of_expectation({"ordre": ["a"]})
    with pytest.raises(ConfigurationError, match="no fixed order"):
        Plan.of_eval_set(file, join="order")
    with pytest.raises(InputError, match=r"none\.yaml"):
        Plan.of_eval_set(file.with_name("none.yaml"))


def test_eval_sets_of_other_tools_are_plans_too(tmp_path: Path) -> None:
    (tmp_path / "test.test.json").write_text(
        '[{"query": "hi", "expected_tool_use": [{"tool_name": "greet", "tool_input": {}}], "reference": "hello"}]'
    )

    [case] = Plan.of_eval_set(tmp_path / "test.test.json").cases

    assert [check.key for check in case.checks] == ["tool_trajectory_avg_score", "response_match_score"]
