"""One call that several instrumentations saw is one call; calls with other arguments are others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import call, request, span

from rightcall import Trajectory, read

LASTING = {"endTimeUnixNano": "90000"}


def by_openinference(number: int, given: str | None = None, tool: str = "t", **more: Any) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": tool, "output.value": "o"}
    return span(number, attributes | ({} if given is None else {"input.value": given}), **{**LASTING, **more})


def by_semantic_conventions(number: int, args: Any = None, call_id: str = "", **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    attributes |= {} if args is None else {"gen_ai.tool.call.arguments": json.dumps(args)}
    return span(number, attributes | ({"gen_ai.tool.call.id": call_id} if call_id else {}), **{**LASTING, **more})


def trajectory(*spans: dict[str, Any]) -> Trajectory:
    [made] = read(request(*spans))
    return made


PLACES = pytest.mark.parametrize("place", [{}, {"parent": 1}], ids=["beside", "inside"])
ARGUMENTS: dict[str, tuple[str | None, Any, int]] = {
    "the same": ('{"city": "Rome"}', {"city": "Rome"}, 1),
    "none known on one side": (None, {"city": "Rome"}, 1),
    "none known on the other side": ('{"city": "Rome"}', None, 1),
    "none known at all": (None, None, 1),
    "other values": ('{"city": "Rome"}', {"city": "Oslo"}, 2),
    "more of them": ('{"city": "Rome"}', {"city": "Rome", "days": 2}, 2),
    "a value without its name": ("Rome", {"city": "Rome"}, 1),
    "another value without its name": ("Rome", {"city": "Oslo"}, 2),
    "one of two values without its name": ("Rome", {"city": "Rome", "from": "Oslo"}, 2),
    "cut off on one side": ('{"city": "Ro', {"city": "Rome", "from": "Oslo"}, 1),
}


@PLACES
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "turned round"])
@pytest.mark.parametrize(("given", "args", "expected"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_two_instrumentations_saw_one_call_where_the_arguments_agree(
    given: str | None, args: Any, expected: int, turned: bool, place: dict[str, Any]
) -> None:
    first, second = (1, 2) if not turned else (2, 1)
    outer, inner = ({}, place) if not turned else (place, {})

    made = trajectory(by_openinference(first, given, **outer), by_semantic_conventions(second, args, **inner))

    assert len(made.calls) == expected
    if expected == 1:
        [call] = made.calls
        assert call.args == (args or (json.loads(given) if given else None))
        assert call.output == "o"


@PLACES
def test_calls_with_other_ids_are_two_though_all_else_agrees(place: dict[str, Any]) -> None:
    named = span(
        2,
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "t",
            "input.value": '{"a": 1}',
            "tool_call.id": "other",
        },
        **{**LASTING, **place},
    )

    assert len(trajectory(by_semantic_conventions(1, {"a": 1}, "one"), named).calls) == 2


def test_one_that_ends_when_the_other_starts_is_another_call() -> None:
    first = by_openinference(1, '{"a": 1}', endTimeUnixNano="2000")

    assert len(trajectory(first, by_semantic_conventions(2, {"a": 1})).calls) == 2


def test_a_call_that_took_no_time_is_one_that_both_instrumentations_saw_at_that_time() -> None:
    moment = {"startTimeUnixNano": "1000", "endTimeUnixNano": "1000"}
    spans = [by_openinference(1, '{"a": 1}', **moment), by_semantic_conventions(2, {"a": 1}, **moment)]

    assert len(trajectory(*spans).calls) == 1


def test_each_of_several_at_once_is_seen_with_its_own_twin() -> None:
    spans = [by_openinference(number, json.dumps({"n": number % 2})) for number in range(1, 5)]
    spans += [by_semantic_conventions(number, {"n": number % 2}) for number in range(5, 9)]

    assert sorted([call.args["n"] for call in trajectory(*spans).calls if call.args]) == [0, 0, 1, 1]


def test_what_one_instrumentation_saw_twice_is_two_calls_beside_another() -> None:
    spans = [by_openinference(1, '{"a": 1}'), by_openinference(2, '{"a": 1}'), by_semantic_conventions(3, {"a": 1})]

    assert len(trajectory(*spans).calls) == 2


def by_phoenix(number: int, args: Any = None, **more: Any) -> dict[str, Any]:
    """A span of the semantic conventions as Phoenix gives it back: without its scope, and with a kind of its own."""
    made = by_semantic_conventions(number, args, **more)
    made["attributes"].append({"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}})
    return made


@PLACES
def test_what_a_server_adds_to_a_span_does_not_hide_which_instrumentation_made_it(place: dict[str, Any]) -> None:
    [call] = trajectory(by_openinference(1, '{"a": 1}'), by_phoenix(2, {"a": 1}, **place)).calls

    assert (call.args, call.output) == ({"a": 1}, "o")


@PLACES
def test_two_spans_of_one_instrumentation_stay_two_calls_in_a_servers_export(place: dict[str, Any]) -> None:
    assert len(trajectory(by_phoenix(1, {"a": 1}), by_phoenix(2, {"a": 1}, **place)).calls) == 2


def by_mcp(number: int, **more: Any) -> dict[str, Any]:
    attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "t", "gen_ai.operation.name": "execute_tool"}
    return span(number, attributes, name="tools/call t", **more)


@pytest.mark.parametrize("lost", [(), (3,), (2, 3)], ids=["nothing", "of the server", "of both"])
def test_the_span_of_a_server_that_lost_its_place_may_be_of_the_call_that_is_running(lost: tuple[int, ...]) -> None:
    parents = {number: {} if number in lost else {"parent": number - 1} for number in (2, 3)}
    client = by_mcp(2, endTimeUnixNano="9000", **parents[2])
    made = trajectory(span(1, {}, name="run", endTimeUnixNano="9900"), client, by_mcp(3, **parents[3]))

    assert (made.names, made.calls_recorded) == (("t",), not lost)


def marked(args: str, *, inside: bool, scope: str = "rightcall") -> Trajectory:
    """A call of a framework, and a span of the function that it called, which is marked as a tool."""
    framework = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
    outer = span(1, {**framework, "gen_ai.tool.call.arguments": '{"id": 1}'}, endTimeUnixNano="9000")
    inner = call(2, "book", args, parent=1 if inside else None)
    resources = [*request(outer, scope="framework")["resourceSpans"], *request(inner, scope=scope)["resourceSpans"]]
    [trajectory] = read({"resourceSpans": resources})
    return trajectory


@pytest.mark.parametrize("inside", [True, False])
def test_a_marked_function_with_defaults_is_the_call_of_its_framework(inside: bool) -> None:
    assert [each.args for each in marked('{"id": 1, "nights": 3}', inside=inside).calls] == [{"id": 1}]


def test_another_call_of_a_marked_function_is_a_call_of_its_own() -> None:
    assert len(marked('{"id": 2, "nights": 3}', inside=True).calls) == 2
    assert len(marked('{"nights": 3}', inside=True).calls) == 2
    assert len(marked('{"id": 1, "nights": 3}', inside=True, scope="other").calls) == 2


def test_a_marked_function_has_the_arguments_that_the_model_gave() -> None:
    asked = {"id": "c1", "function": {"name": "book", "arguments": '{"id": 1}'}}
    said = json.dumps([{"role": "assistant", "tool_calls": [asked]}])
    model = span(1, {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said})
    resources = [
        *request(model, scope="framework")["resourceSpans"],
        *request(call(2, "book", '{"id": 1, "nights": 3}'), scope="rightcall")["resourceSpans"],
    ]

    [trajectory] = read({"resourceSpans": resources})

    assert [(each.args, each.call_id) for each in trajectory.calls] == [({"id": 1}, "c1")]
