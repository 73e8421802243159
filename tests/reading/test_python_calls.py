"""Arguments of tools of LlamaIndex and DSPy, as OpenInference writes them down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import request, span

from rightcall.reading import read
from rightcall.values.trajectory import ToolCall, Trajectory

SCHEMA = {"properties": {"order": {"type": "integer"}, "amount": {"type": "integer"}}, "type": "object"}
CONTEXT = "<workflows.context.context.Context object at 0x7f1d3dd6d190>"


def called(value: Any, schema: Any = SCHEMA, **more: str) -> ToolCall:
    held = {"openinference.span.kind": "TOOL", "tool.name": "refund", "tool.parameters": json.dumps(schema)}
    [trajectory] = read(request(span(1, {**held, "input.value": json.dumps(value), **more}, name="FunctionTool.acall")))
    [call] = trajectory.calls
    return call


@pytest.mark.parametrize(
    ("value", "args"),
    [
        ({"kwargs": {"order": 7, "amount": 20}}, {"order": 7, "amount": 20}),
        ({"kwargs": {"order": 7, "amount": 20, "ctx": CONTEXT}}, {"order": 7, "amount": 20}),
        ({"args": [7], "kwargs": {"amount": 20, "ctx": CONTEXT}}, {"order": 7, "amount": 20}),
        ({"kwargs": {"order": 7, "amount": 20, "force": True}}, {"order": 7, "amount": 20, "force": True}),
        ({"kwargs": {"order": CONTEXT, "amount": 20}}, {"order": CONTEXT, "amount": 20}),
    ],
    ids=["named", "a context beside", "one without a name", "one too many", "a text like an object"],
)
def test_arguments_are_those_that_the_model_gave(value: Any, args: Any) -> None:
    assert called(value).args == args


def test_arguments_without_names_may_be_missing_where_not_every_parameter_has_one() -> None:
    assert "args" in called({"kwargs": {"amount": 20}}).unrecorded


def test_without_the_parameters_of_the_tool_it_is_not_known_which_arguments_have_no_name() -> None:
    assert "args" in called({"kwargs": {"order": 7, "amount": 20}}, schema=None).unrecorded


def test_what_a_tool_returns_has_its_arguments_too() -> None:
    given = {"args": [], "kwargs": {"amount": 20}}
    output = {"raw_input": given, "raw_output": "paid", "is_error": False}

    call = called({"kwargs": {"amount": 20}}, **{"output.value": json.dumps(output)})

    assert (call.args, call.output) == ({"amount": 20}, "paid")


def of_dspy(*names: str, value: str = '{"kwargs": {"order": 7}}', scope: str = "dspy") -> Trajectory:
    held = {"openinference.span.kind": "TOOL", "input.value": value, "output.value": "ok"}
    spans = [span(number, held, name=name) for number, name in enumerate(names, 1)]
    [trajectory] = read(request(*spans, scope=f"openinference.instrumentation.{scope}"))
    return trajectory


def test_calls_of_dspy_have_the_name_of_their_tool_in_that_of_the_span() -> None:
    [call] = of_dspy("refund.__call__").calls

    assert (call.name, call.args, call.output) == ("refund", {"order": 7}, "ok")


def test_the_tool_by_which_react_ends_is_the_frameworks_own() -> None:
    calls = of_dspy("refund.__call__", "finish.__call__").calls

    assert [(call.name, call.internal) for call in calls] == [("refund", False), ("finish", True)]


@pytest.mark.parametrize(("name", "scope"), [("refund.__call__", "llama_index"), ("refund", "dspy")])
def test_a_tool_that_only_the_name_of_another_span_may_have_is_not_understood(name: str, scope: str) -> None:
    trajectory = of_dspy(name, scope=scope)

    assert (trajectory.calls, trajectory.calls_recorded) == ((), False)
