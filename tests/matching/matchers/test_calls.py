"""An expected call: which calls it accepts, under each policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import ToolCall
from rightcall.matching.matchers import ArgsPolicy, CallPattern, equal

POLICIES: list[ArgsPolicy] = ["exact", "subset", "superset", "ignore"]
VALUES = st.sampled_from([0, 1, True, False, 1.0, "x", None, [1], [True], {"a": 0}])
PLACES = st.sampled_from(["nowhere", "expected", "actual", "both", "both", "both"])


@st.composite
def both_args(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Expected and actual arguments, which often have a value in common."""
    expected, actual = {}, {}
    for key in "abc":
        place, value = draw(PLACES), draw(VALUES)
        if place in ("expected", "both"):
            expected[key] = value
        if place in ("actual", "both"):
            actual[key] = draw(st.just(value) | VALUES)
    return expected, actual


def accepted(expected: Any, actual: Any, policy: ArgsPolicy) -> bool:
    """What a policy says, by its definition."""
    both = [equal(value, actual[key]) for key, value in expected.items() if key in actual]
    return (
        all(both)
        and {
            "exact": expected.keys() == actual.keys(),
            "subset": expected.keys() <= actual.keys(),
            "superset": expected.keys() >= actual.keys(),
            "ignore": True,
        }[policy]
    )


@pytest.mark.parametrize("policy", POLICIES)
@given(drawn=both_args())
def test_a_policy_is_its_definition_for_values_and_for_matchers(
    policy: ArgsPolicy, drawn: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    expected, actual = drawn
    # The value of another kind must not decide the matter under `ignore`.
    wanted = policy == "ignore" or accepted(expected, actual, policy)
    made = ToolCall("t", actual)

    assert CallPattern("t", expected, policy).accepts(made) is wanted
    hidden = {key: {"$allOf": [value]} for key, value in expected.items()}
    assert CallPattern("t", hidden, policy).accepts(made) is wanted
    assert CallPattern("t", expected, policy).accepts_part(actual) is wanted
    assert bool(CallPattern("t", expected, policy).differences_from(made)) is not wanted


@pytest.mark.parametrize(
    ("args", "policy", "verdict"),
    [
        ({"a": 1}, "subset", None),
        ({"a": 1}, "exact", None),
        ({}, "exact", None),
        ({}, "subset", True),
        ({"a": 1}, "ignore", True),
        ({"$any": True}, "exact", True),
        ({"$not": {"a": 1}}, "subset", None),
    ],
)
def test_of_arguments_that_were_not_recorded_nothing_is_known_unless_nothing_is_asked(
    args: Any, policy: ArgsPolicy, verdict: bool | None
) -> None:
    pattern = CallPattern("t", args, policy)
    unknown = ToolCall("t", None, unrecorded=frozenset({"args"}))

    assert pattern.accepts(unknown) is verdict
    assert pattern.differences_from(unknown) == ()
    assert pattern.accepts_all is (verdict is True)


def test_no_arguments_are_an_empty_object() -> None:
    without = ToolCall("t", None)

    assert CallPattern("t", {}, "exact").accepts(without) is True
    assert CallPattern("t", {"a": 1}).accepts(without) is False
    assert CallPattern("t", {"a": {"$absent": True}}).accepts(without) is True
    assert CallPattern("t", None, "exact").accepts_part(None) is True
    assert CallPattern("t", {"a": 1}, "superset").accepts_part(None) is True
