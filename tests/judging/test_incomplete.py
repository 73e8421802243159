"""Verdicts about trajectories of which calls may be missing."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from tests.builders import call, judge

from rightcall.judging import AgentExecution
from rightcall.values.trajectory import Trajectory

SOMETHING = {"not_understood": "message 3: an item with the keys cmd"}


def incomplete(*names: str) -> Trajectory:
    return Trajectory(calls=tuple([call(name) for name in names]), calls_recorded=False, metadata=SOMETHING)


RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("forbidden-tools", {"never": ["a"]}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": 1}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": ("<=", 1)}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": ("<", 1)}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": (">=", 1), "b": (">", 0)}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": ("!=", 1)}}, {}),
    ("tool-call-count", {"tool_calls_count": {"a": 1, "b": 1}}, {"strict": True}),
    ("step-count", {"at_most": 1}, {}),
    ("tool-call-order", {"tool_calls_order": ["a", "b"]}, {}),
    ("tool-call-order", {"tool_calls_order": ["a", "b"]}, {"strict": True}),
    ("tool-call-args", {"tool_calls": [{"name": "a", "args": {}}]}, {}),
    ("tool-precision", {"expected": ["a"]}, {}),
    ("tool-recall", {"expected": ["a", "b"]}, {}),
    ("tool-f1", {"expected": ["a"]}, {}),
    ("single-tool-use", {"expected": "a"}, {}),
    ("execution-order", {"expected_output": ["a", "b"]}, {"should_exact_match": True}),
    ("execution-order", {"expected_output": ["a", "b"]}, {}),
    ("redundant-calls", {"at_most": 0}, {}),
    ("loops", {"at_most": 1}, {}),
    ("retries", {"at_most": 0}, {}),
    ("tool-error-rate", {"at_most": 0.0}, {}),
    *[
        ("tool-trajectory", {"expected": expected, "match_type": match}, {})
        for match in ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
        for expected in ([], ["a"], ["a", "b"])
    ],
]
MADE = [names for length in range(4) for names in permutations("aabb", length)]


def parts(made: tuple[str, ...]) -> set[tuple[str, ...]]:
    """What may have been understood of calls that were made: any of them, in their order."""
    kept = [[place for place in range(len(made)) if mask >> place & 1] for mask in range(2 ** len(made))]
    return {tuple(made[place] for place in places) for places in kept}


@pytest.mark.parametrize("threshold", [1.0, 0.5])
@pytest.mark.parametrize(("type_id", "criteria", "config"), RULES, ids=str)
def test_a_verdict_about_some_of_the_calls_is_that_about_all_of_them(
    type_id: str, criteria: dict[str, Any], config: dict[str, Any], threshold: float
) -> None:
    config = {**config, "threshold": threshold}
    for made in set(MADE):
        truth = judge(type_id, Trajectory(calls=tuple(map(call, made))), criteria, **config).verdict
        for seen in parts(made):
            verdict = judge(type_id, incomplete(*seen), criteria, **config).verdict
            assert verdict in (truth, "not_measured"), (made, seen)


@pytest.mark.parametrize(
    ("type_id", "criteria", "code"),
    [
        ("forbidden-tools", {"never": ["a"]}, "RC107"),
        ("tool-call-count", {"tool_calls_count": {"a": 0}}, "RC105"),
        ("step-count", {"at_most": 0}, "RC115"),
        ("tool-trajectory", {"expected": []}, "RC102"),
        ("tool-trajectory", {"expected": ["b"]}, "RC102"),
    ],
)
def test_a_rule_that_is_broken_already_is_failed(type_id: str, criteria: dict[str, Any], code: str) -> None:
    result = judge(type_id, incomplete("a"), criteria)

    assert result.verdict == "failed"
    assert code in [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    ("type_id", "criteria"),
    [
        ("tool-call-order", {"tool_calls_order": ["a"]}),
        ("tool-trajectory", {"expected": ["a"], "match_type": "IN_ORDER"}),
        ("tool-call-count", {"tool_calls_count": {"a": (">=", 1)}}),
    ],
)
def test_a_rule_that_other_calls_cannot_break_is_passed(type_id: str, criteria: dict[str, Any]) -> None:
    assert judge(type_id, incomplete("a"), criteria).verdict == "passed"


@pytest.mark.parametrize(
    ("type_id", "criteria"),
    [
        ("forbidden-tools", {"never": ["x"]}),
        ("tool-trajectory", {"expected": []}),
        ("tool-call-count", {"tool_calls_count": {"x": 0}}),
        ("step-count", {"at_most": 0}),
    ],
)
def test_no_calls_in_sight_are_not_no_calls(type_id: str, criteria: dict[str, Any]) -> None:
    result = judge(type_id, incomplete(), criteria)
    [finding] = result.findings

    assert (result.verdict, result.score) == ("not_measured", None)
    assert finding.code == "RC304"
    assert "message 3: an item with the keys cmd" in finding.message


def test_spans_that_are_handed_over_vouch_only_for_what_was_understood() -> None:
    span = {
        "name": "running tool",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:01.000000Z",
        "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": 7},
    }

    assert AgentExecution(agent_trace=[]).trajectory.calls_recorded
    assert not AgentExecution(agent_trace=[span]).trajectory.calls_recorded
