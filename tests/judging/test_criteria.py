"""Names in criteria are exact unless they say otherwise: a `*` would match no tool, and a ban of it never fail."""

from typing import Any

import pytest
from tests.builders import judge

from rightcall import CheckFailedError, CriteriaError, calls

PATTERNS: list[tuple[str, dict[str, Any]]] = [
    ("forbidden-tools", {"never": ["delete_*"]}),
    ("forbidden-tools", {"never": [{"name": "delete_*", "args": {"x": 1}}]}),
    ("tool-call-count", {"tool_calls_count": {"delete_*": 0}}),
    ("tool-call-order", {"tool_calls_order": ["delete_*"]}),
    ("tool-call-args", {"tool_calls": [{"name": "delete_*", "args": {}}]}),
    ("tool-call-output", {"tool_outputs": [{"name": "delete_*", "output": 1}]}),
    ("execution-order", {"expected_output": ["delete_*"]}),
    ("tool-trajectory", {"expected": ["delete_*"]}),
    ("tool-trajectory", {"expected_turns": [["delete_*"]]}),
    ("tool-precision", {"expected": ["delete_*"]}),
    ("single-tool-use", {"expected": "delete_*"}),
    ("step-count", {"at_most": 1, "ignore_tools": ["delete_*"]}),
    ("redundant-calls", {"at_most": 1, "read_only": ["delete_*"]}),
]


@pytest.mark.parametrize(("kind", "criteria"), PATTERNS, ids=[f"{kind}-{[*given][-1]}" for kind, given in PATTERNS])
def test_a_name_with_a_star_is_a_mistake(kind: str, criteria: dict[str, Any]) -> None:
    with pytest.raises(CriteriaError, match=r"'delete_\*' has a '\*', but names are exact here"):
        judge(kind, ["delete_user"], criteria)


def test_an_assertion_takes_a_star_for_any_characters() -> None:
    calls(["search"]).never("delete_*")

    with pytest.raises(CheckFailedError, match="`delete_user` was called, and must never be"):
        calls(["delete_user"]).never("delete_*")


def test_the_name_of_an_agent_has_no_star() -> None:
    with pytest.raises(CriteriaError, match="an agent's name is compared exactly"):
        judge("forbidden-tools", ["a"], {"never": ["a"], "agent": "billing*"})


def test_all_tools_can_be_said_to_change_nothing() -> None:
    assert judge("redundant-calls", ["a", "b"], {"at_most": 0, "read_only": ["*"]}).verdict == "passed"
