"""Envelopes of frameworks, and the keys by which an object may be in one."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isfunction, signature
from itertools import combinations, product
from typing import Any

from rightcall.reading.conventions import _envelopes
from rightcall.reading.conventions._envelopes import Envelope, _signs
from rightcall.reading.spans import CallRecord, Span

TEXT = {"type": "text", "text": "dry"}
MESSAGE = {"type": "tool", "tool_call_id": "c2", "content": "dry", "status": "error"}
WRAPPED: list[dict[str, Any]] = [
    {"input_str": "{}", "inputs": {"city": "Rome"}, "tags": [], "metadata": {}, "kwargs": {"tool_call_id": "c2"}},
    {"tool_name": "look", "arguments": {"city": "Rome"}},
    {"args": ["Rome"], "kwargs": {"days": 2}, "sanitize_inputs_outputs": True},
    {"args": [], "kwargs": {"city": "Rome"}},
    {"input": '{"city": "Rome"}'},
    {"output": MESSAGE, "kwargs": {"tags": []}},
    {"output": '"dry"'},
    {"type": "tool", "data": {"content": "dry", "status": "error"}},
    {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": {"content": "dry"}},
    {"content": "dry", "additional_kwargs": {}, "response_metadata": {}, "artifact": None, "tool_call_id": "c2"},
    {"data": {"additional_kwargs": {}, "response_metadata": {}}},
    {"tool_kwargs": {}, "tool_id": "c2", "tool_output": {"raw_output": "dry"}, "return_direct": False},
    {"raw_output": "dry", "raw_input": {"args": [], "kwargs": {}}, "is_error": True, "content": "dry"},
    {"id": "c1", "name": "look", "response": {"sky": "dry"}},
    {"isError": True, "content": [TEXT]},
    {"error": "no such city"},
    {"response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN", "error_details": "no such city"},
    {"result": "dry", "is_error": True},
    {"content": '{"sky": "dry"}', "additional_kwargs": {}},
    {"graph": None, "update": {"messages": [MESSAGE]}, "resume": None, "goto": []},
    {"return_value": "dry", "content": None, "metadata": None, "kind": "tool-return"},
    TEXT,
]
"""Objects in envelopes of frameworks; what is left of one that lost keys may be recognised, too."""
SCOPES = ["", "gcp.vertex.agent", "openinference.instrumentation.openai_agents", "smolagents", "a.dspy"]
NAMES = ["look", "FunctionTool.acall"]
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"gen_ai.tool.type": "FunctionTool", "tool.parameters": '{"properties": {"city": {}, "days": {}}}'},
    {"traceloop.entity.input": '{"tool_name": "look"}'},
]


def test_an_object_without_a_sign_is_in_no_envelope() -> None:
    changed = {
        (envelope.__name__, tuple(value))
        for envelope, signs in _signs.items()
        for value in with_and_without_keys()
        if signs.isdisjoint(value) and is_changed(envelope, value)
    }

    assert changed == set()


def test_every_envelope_of_objects_has_one_here_that_it_unwraps() -> None:
    never = {
        envelope.__name__
        for envelope, signs in _signs.items()
        if signs and not any(is_changed(envelope, value) for value in with_and_without_keys())
    }

    assert never == set()


def test_every_envelope_has_signs_but_the_one_that_any_object_is_in() -> None:
    functions = [each for each in vars(_envelopes).values() if isfunction(each) and each.__name__[0] != "_"]
    found = {each for each in functions if list(signature(each).parameters) == ["value", "call", "attributes"]}

    assert found - _signs.keys() == {_envelopes.haystack_question, _envelopes.NO_ENVELOPE}


def with_and_without_keys() -> Iterator[dict[str, Any]]:
    for value in WRAPPED:
        for size in range(1, len(value) + 1):
            for keys in combinations(value, size):
                yield {key: value[key] for key in keys}


def is_changed(envelope: Envelope, value: dict[str, Any]) -> bool:
    for scope, name, attributes in product(SCOPES, NAMES, ATTRIBUTES):
        call = CallRecord("look", Span(name, scope=scope), call_id="c1")
        if envelope(value, call, attributes) is not value or call.failed or call.call_id != "c1":
            return True
    return False
