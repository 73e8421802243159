"""Arguments of tools of LlamaIndex, as OpenInference writes them down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import request, span

from rightcall.reading import read
from rightcall.values.trajectory import ToolCall

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
