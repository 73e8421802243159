"""Observed values as expectations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.limits import Budget
from rightcall.matching.matchers import ArgsPolicy, Expectation, compile_value
from rightcall.values.trajectory import ToolCall


def literal(value: Any) -> Any:
    """The expectation of exactly this value: an object that would be taken for a matcher is marked as none."""
    if isinstance(value, Mapping):
        if any(key.startswith("$") for key in value):
            return {"$literal": value}
        return {key: literal(item) for key, item in value.items()}
    return [literal(item) for item in value] if isinstance(value, (list, tuple)) else value


def new_call(call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """A call as it is expected: its name and, where they were recorded and count, its arguments."""
    if not call.args or policy == "ignore":
        return call.name
    return {"name": call.name, "args": literal(call.args)} if spelt_out else {call.name: literal(call.args)}


def adapted_call(written: Any, call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """An expected call as it was written, with other arguments where those that were given did not satisfy it."""
    if isinstance(written, str) or "args" in call.unrecorded:
        return new_call(call, policy, spelt_out=spelt_out) if "args" not in call.unrecorded else written
    if is_spelt_out(written):
        return {**written, "args": adapted_args(written.get("args"), call.args or {}, policy)}
    [(name, args)] = written.items()
    return {name: adapted_args(args, call.args or {}, policy)}


def is_spelt_out(written: Any) -> bool:
    """Whether an expected call is written as an object with `name` and `args`."""
    return written.keys() <= {"name", "args"} and isinstance(written.get("name"), str)


def adapted_args(expected: Any, actual: Mapping[str, Any], policy: ArgsPolicy) -> Any:
    """Expected arguments that these satisfy, with as much of what was written as still holds."""
    if not isinstance(expected, dict) or any(key.startswith("$") for key in expected):
        return literal(actual)
    wanted = {key: compile_value(value) for key, value in expected.items()}
    with Budget():
        kept = {
            key: value if _holds(wanted[key], key, actual) else literal(actual[key])
            for key, value in expected.items()
            if key in actual or policy == "superset" or wanted[key].matches_absence()
        }
    if policy == "subset" and kept:
        return kept
    others = {key: value for key, value in actual.items() if key not in kept}
    if any(key.startswith("$") for key in others):
        return literal(actual)
    return {**kept, **{key: literal(value) for key, value in others.items()}}


def _holds(expectation: Expectation, key: str, actual: Mapping[str, Any]) -> bool:
    return expectation.matches(actual[key]) if key in actual else True
