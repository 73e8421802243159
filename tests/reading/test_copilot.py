"""Sessions of GitHub Copilot CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rightcall import Trajectory, read

ASKED = {"type": "user.message", "data": {"content": "Go."}}
TURN = {"type": "assistant.turn_start", "data": {"turnId": "0"}}


def requested(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant.message", "data": {"content": "", "toolRequests": list(calls), **more}}


def begun(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool.execution_start", "data": {"toolCallId": call_id, **more}}


def ended(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool.execution_complete", "data": {"toolCallId": call_id, "success": True, **more}}


def session(*events: dict[str, Any]) -> Trajectory:
    [trajectory] = read("\n".join([json.dumps(each) for each in (ASKED, TURN, *events)]).encode())
    return trajectory


LOOK = {"toolCallId": "1", "name": "look", "arguments": {"x": 1}}
MAIL = {"toolCallId": "2", "name": "mail", "arguments": {}}


def test_a_call_that_only_its_request_names_is_read() -> None:
    made = session(requested(LOOK), begun("1"), ended("1", result="ok"))

    assert [(call.name, call.args, call.output) for call in made.calls] == [("look", {"x": 1}, "ok")]
    assert made.calls_recorded


def test_a_call_that_was_asked_for_and_never_began_is_not_dropped() -> None:
    made = session(requested(LOOK, MAIL), begun("1", toolName="look"), ended("1", result={"content": "ok"}))

    assert made.names == ("look", "mail")
    assert made.calls[1].unrecorded == {"output"}


def test_calls_of_one_answer_are_a_group_though_they_ran_one_after_the_other() -> None:
    made = session(requested(LOOK, MAIL), begun("1"), ended("1", result="a"), begun("2"), ended("2", result="b"))

    assert [(call.group, call.output) for call in made.calls] == [("turn-1", "a"), ("turn-1", "b")]


def test_a_call_that_the_user_did_not_allow_is_withheld() -> None:
    error = {"message": "The user rejected this tool call.", "code": "rejected"}
    made = session(requested(LOOK), begun("1"), ended("1", success=False, error=error))

    assert (made.names, [held.name for held in made.withheld]) == ((), ["look"])


def test_calls_of_a_sub_agent_are_inside_of_the_call_that_asked_it() -> None:
    inner = [requested(MAIL, parentToolCallId="1"), begun("2", parentToolCallId="1"), ended("2", parentToolCallId="1")]
    made = session(requested(LOOK), begun("1"), *inner, ended("1", result="ok"))

    assert [(call.name, call.parent_id) for call in made.calls] == [("look", None), ("mail", "1")]


def test_a_request_of_another_shape_is_not_understood() -> None:
    assert not session(requested("look"), begun("1")).calls_recorded


@pytest.mark.parametrize("lost", ["request", "start"])
def test_a_call_whose_request_or_start_lost_its_id_is_one(lost: str) -> None:
    asked = {key: held for key, held in LOOK.items() if lost != "request" or key != "toolCallId"}
    start = begun("1" if lost != "start" else "", toolName="look", arguments={"x": 1})

    made = session(requested(asked), start, ended("1", result="ok"))

    assert [(call.name, call.args, call.output) for call in made.calls] == [("look", {"x": 1}, "ok")]


def test_an_answer_that_lost_its_type_leaves_its_calls_to_their_starts() -> None:
    answer = {**requested(LOOK), "type": None}

    assert session(answer, begun("1", toolName="look"), ended("1")).names == ("look",)
