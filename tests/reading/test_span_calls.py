"""What a span says of the call that it records: name, arguments, output, error, and whether it was made."""

from __future__ import annotations

import json
from typing import Any

from tests.walls import for_each

from rightcall.limits import Limits
from rightcall.reading.runs._span_calls import _is_schema, _message_in, _name_in, first_text, read_span
from rightcall.reading.spans import NOTHING, CallRecord, Event, Span

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
ARGS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
OF_UIPATH = {"tool.name": "look", "output.value": "ok"}


def record(attributes: dict[str, Any], *events: Event, name: str = "a span", **more: Any) -> CallRecord:
    found = read_span(Span(name, "t", "s", None, 0, 9, attributes, events=events, **more), Limits(), ()).call
    assert found is not None
    return found


@for_each(
    ("attributes", "args", "bare", "unparsable"),
    [
        ({**TOOL}, NOTHING, NOTHING, False),
        ({**TOOL, ARGS: "{}"}, {}, NOTHING, False),
        ({**TOOL, ARGS: {"x": 1}}, {"x": 1}, NOTHING, False),
        ({**TOOL, ARGS: '"{\\"x\\": 1}"'}, {"x": 1}, NOTHING, False),
        ({**TOOL, ARGS: "{odd"}, NOTHING, NOTHING, True),
        ({**TOOL, ARGS: "[odd"}, NOTHING, NOTHING, True),
        ({**TOOL, ARGS: " {odd"}, NOTHING, NOTHING, True),
        ({**TOOL, ARGS: "seven"}, NOTHING, "seven", True),
        ({**TOOL, ARGS: '{"INVALID_JSON": "{odd"}'}, NOTHING, NOTHING, True),
        ({**TOOL, ARGS: {"INVALID_JSON": "{odd"}}, NOTHING, NOTHING, True),
        ({**TOOL, ARGS: {"INVALID_JSON": "{odd", "x": 1}}, {"INVALID_JSON": "{odd", "x": 1}, NOTHING, False),
        ({**TOOL, ARGS: "<not specified>"}, NOTHING, NOTHING, False),
        ({**TOOL, ARGS: "[Scrubbed due to 'password']"}, NOTHING, NOTHING, False),
        ({**OF_UIPATH, "input.value": '{"x": 1}'}, {"x": 1}, NOTHING, False),
    ],
)
def test_the_arguments_of_a_call(attributes: dict[str, Any], args: Any, bare: Any, unparsable: bool) -> None:
    found = record(attributes)

    assert (found.args, found.unparsable) == (args, unparsable)
    assert found.bare == bare or (bare is NOTHING and found.bare is NOTHING)


def raised(**held: Any) -> Event:
    return Event("exception", {f"exception.{key}": value for key, value in held.items()})


@for_each(
    ("attributes", "events", "status", "error"),
    [
        ({RESULT: "ok"}, (), (False, ""), None),
        ({RESULT: "ok"}, (), (True, ""), "ok"),
        ({}, (), (True, "no"), "no"),
        ({}, (), (True, "ERROR"), ""),
        ({}, (), (True, "the details are redacted"), ""),
        ({"error.type": "KeyError"}, (), (False, ""), "KeyError"),
        ({"error.type": "KeyError"}, (), (False, "no"), "no"),
        ({}, (raised(message="first"), raised(message="last")), (False, ""), "last"),
        ({}, (raised(type="KeyError"),), (False, ""), "KeyError"),
        ({}, (raised(message="", type="KeyError"),), (True, "no"), "no"),
        ({}, (Event("other", {"exception.message": "no"}),), (False, ""), None),
    ],
)
def test_the_error_of_a_call_is_the_first_message_that_says_something(
    attributes: dict[str, Any], events: tuple[Event, ...], status: tuple[bool, str], error: str | None
) -> None:
    failed, description = status
    found = record({**TOOL, **attributes}, *events, failed=failed, description=description)

    assert (found.failed, found.error) == (error is not None, error or None)


@for_each(
    ("held", "message"),
    [
        ("no", "no"),
        ({"message": "no"}, "no"),
        ('{"message": "no", "data": {"error": "why"}}', "why"),
        ({"message": "no", "data": {"error": ""}}, "no"),
        ({"message": "no", "data": "x"}, "no"),
        ({}, None),
    ],
)
def test_a_message_may_be_inside_an_object(held: Any, message: Any) -> None:
    assert _message_in(held) == message


@for_each(
    ("attributes", "events", "failed", "withheld"),
    [
        ({}, (), False, ""),
        ({"pydantic_ai.tool.deferral.name": "CallDeferred"}, (), False, "deferred: the tool is run elsewhere"),
        ({"pydantic_ai.tool.deferral.name": "Odd"}, (), False, "deferred: Odd"),
        ({"pydantic_ai.tool.deferral.name": "x" * 300}, (), False, f"deferred: {'x' * 200}"),
        ({}, (raised(type="pydantic_ai.exceptions.CallDeferred"),), True, "deferred: the tool is run elsewhere"),
        ({}, (raised(type="langgraph.errors.GraphInterrupt"),), True, "approval was asked for"),
        ({}, (raised(type="CallDeferred"),), True, ""),
        ({}, (Event("other", {"exception.type": "pydantic_ai.exceptions.CallDeferred"}),), True, ""),
        ({}, (), True, ""),
    ],
)
def test_a_call_that_was_deferred_was_not_made(
    attributes: dict[str, Any], events: tuple[Event, ...], failed: bool, withheld: str
) -> None:
    assert record({**TOOL, **attributes}, *events, failed=failed).withheld == withheld


@for_each(
    ("name", "tool"),
    [
        ("execute_tool look", "look"),
        ("look.tool", "look"),
        ("look", "look"),
        ("handoff to Billing Desk", "transfer_to_billing_desk"),
        ("tool: 'look'", "look"),
        ("mcp_tool: 'look' on 'maps'", "look"),
        ("tool: look", "tool: look"),
    ],
)
def test_the_name_of_a_tool_in_that_of_its_span(name: str, tool: str) -> None:
    assert _name_in(name) == tool


CREWAI = {"openinference.span.kind": "TOOL", "tool.description_updated": False}
DESCRIBED = "Tool Name: search_the_web\nTool Arguments: {}\nTool Description: Search"


@for_each(
    ("attributes", "tool"),
    [
        ({**CREWAI, "tool.name": "Search The Web", "tool.description": DESCRIBED}, "search_the_web"),
        ({**CREWAI, "tool.name": "SearchTheWeb", "tool.description": DESCRIBED}, "search_the_web"),
        ({**CREWAI, "tool.name": "search_maps", "tool.description": DESCRIBED}, "search_maps"),
        ({**CREWAI, "tool.name": "search_maps"}, "search_maps"),
        ({**TOOL, "gen_ai.tool.name": "searchTheWeb", "tool.description": "Tool Name: Search"}, "searchTheWeb"),
    ],
)
def test_a_tool_is_called_as_the_model_calls_it(attributes: dict[str, Any], tool: str) -> None:
    assert record(attributes).name == tool


def test_a_tool_of_crewai_that_a_model_may_call_otherwise_is_not_understood() -> None:
    lost = record({**CREWAI, "tool.name": "Search The Web"})

    assert (lost.name, lost.unread.startswith("the span 'a span', whose tool has no name in text")) == ("", True)


def test_the_first_attribute_with_a_text_counts() -> None:
    keys = ("a", "b", "c")
    assert first_text({"a": 3, "b": "", "c": "x"}, keys) == "x"
    assert first_text({"a": '"x"', "b": "y"}, keys) == "x"
    assert first_text({"a": "x", "b": "y"}, keys) == "x"
    assert first_text({}, keys) is None


def test_a_span_of_a_tool_without_a_name_is_not_understood() -> None:
    unnamed = record({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": 3}, name="odd")
    assert (unnamed.name, unnamed.unread.startswith("the span 'odd', whose tool has no name in text")) == ("", True)
    long = record({**TOOL, "gen_ai.tool.name": "x" * (Limits().name_length + 1)})
    assert long.unread
    assert not record({**TOOL, "gen_ai.tool.name": "x" * Limits().name_length}).unread
    assert record({"rightcall.unreadable": "x"}).unread == "the span 'a span': x"


def test_a_span_keeps_what_is_needed_of_it_later_and_no_more() -> None:
    def kept(attributes: dict[str, Any], parent: str | None = "p", keep: tuple[str, ...] = ()) -> dict[str, Any]:
        found = read_span(Span("s", "t", "s", parent, 0, 9, attributes), Limits(), keep)
        assert found.attribute_count == len(attributes)
        return {key: found.attributes.get(key) for key in found.attributes}

    call = {**TOOL, ARGS: "{}", "gen_ai.usage.input_tokens": 3}
    assert kept({**TOOL, ARGS: "{}"}) == {}
    assert kept(call) == {"gen_ai.usage.input_tokens": 3, "gen_ai.operation.name": "execute_tool"}
    assert kept({**TOOL, ARGS: "{}"}, parent=None) == {**TOOL, ARGS: "{}"}
    assert kept({**TOOL, "ticket": 7}, keep=("ticket",)) == {**TOOL, "ticket": 7}
    assert kept({"http.route": "/"}) == {}
    assert kept({"gen_ai.operation.name": "chat"}) == {"gen_ai.operation.name": "chat"}
    assert kept({"input.value": "Go."}) == {"input.value": "Go."}
    assert kept({"gen_ai.input.messages": "[]"}) == {"gen_ai.input.messages": "[]"}


def test_the_fields_of_a_call_are_those_of_its_span() -> None:
    found = record({**TOOL, "gen_ai.tool.call.id": "c", "gen_ai.agent.name": "a", RESULT: '{"x": 1}'}, scope="one")

    assert (found.name, found.call_id, found.agent, found.layers) == ("look", "c", "a", ("one",))
    assert found.output == {"x": 1}
    assert not found.failed


def test_the_first_attribute_that_says_something_has_the_arguments_and_the_output() -> None:
    given = {ARGS: '{"x": 1}', "tool_arguments": '{"x": 2}', "input.value": '{"x": 3}'}
    returned = {RESULT: "one", "tool_response": "two"}

    assert (record({**TOOL, **given}).args, record({**TOOL, **returned}).output) == ({"x": 1}, "one")
    assert record({**TOOL, **given, ARGS: "<not specified>"}).args == {"x": 2}
    assert record({**TOOL, **returned, RESULT: "N/A"}).output == "two"


@for_each(
    ("held", "is_schema"),
    [
        ({"type": "object", "properties": {"x": {}}}, True),
        ({"properties": {"x": {}}, "required": ["x"]}, True),
        ({"x": {"type": "string"}}, True),
        ({"type": "gas", "litres": 3}, False),
        ({"required": True}, False),
        ({"properties": {"x": {}}}, False),
        ({"type": "house", "properties": 3}, False),
        ({"x": {"type": "string"}, "y": 1}, False),
        ({}, False),
        ("{odd", False),
        ("[1]", False),
    ],
)
def test_a_definition_of_a_tool_is_told_from_arguments(held: Any, is_schema: bool) -> None:
    assert _is_schema(held) is is_schema


def test_arguments_that_openllmetry_could_not_parse_are_not_recorded() -> None:
    assert record({**TOOL, ARGS: '{"_raw": "{\\"x\\": "}'}).args is NOTHING
    assert record({**TOOL, ARGS: '{"_raw": "{}"}'}).args == {"_raw": "{}"}
    assert record({**TOOL, ARGS: '{"_raw": 1}'}).args == {"_raw": 1}


@for_each(
    ("returned", "output"),
    [
        ('{"return_value": "paid", "content": ["more"], "metadata": null, "kind": "tool-return"}', "paid"),
        ('{"return_value": {"n": 7}, "content": null, "kind": "tool-return"}', {"n": 7}),
        ('{"return_value": "paid", "kind": "other"}', {"return_value": "paid", "kind": "other"}),
        ('{"kind": "tool-return"}', {"kind": "tool-return"}),
    ],
)
def test_the_value_that_a_tool_of_pydantic_ai_returns_is_its_output(returned: str, output: Any) -> None:
    assert record({**TOOL, RESULT: returned}).output == output
    assert record({"openinference.span.kind": "TOOL", "tool.name": "pay", "output.value": returned}).output == output


TOLD = {"type": "tool", "content": "set", "tool_call_id": "1", "additional_kwargs": {}, "response_metadata": {}}


@for_each(
    ("update", "graph", "is_told"),
    [
        ({"messages": [TOLD], "name": "Ann"}, None, True),
        ({"messages": [{"type": "tool", "data": TOLD}]}, None, True),
        ({"messages": [TOLD, TOLD]}, None, False),
        ({"name": "Ann"}, None, False),
        ([], None, False),
        ({"messages": [TOLD]}, "__parent__", False),
    ],
)
def test_a_tool_that_returns_a_command_has_its_message_as_the_output(update: Any, graph: Any, is_told: bool) -> None:
    command = {"graph": graph, "update": update, "resume": None, "goto": []}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "name", "output.value": json.dumps(command)}

    assert record(tool).output == ("set" if is_told else command)


def test_the_text_of_a_tool_of_an_mcp_server_is_the_output_in_spans_of_logfire_and_openllmetry() -> None:
    text = '{"type": "text", "text": "3"}'
    logfire = {"logfire.msg_template": "Function: {name}", "name": "add", "output": text}
    traceloop = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "add", RESULT: text}

    assert record(logfire, scope="logfire.openai_agents").output == "3"
    assert record(traceloop, scope="opentelemetry.instrumentation.openai_agents").output == "3"
    assert record(logfire, scope="logfire").output == {"type": "text", "text": "3"}


ADK_TOOL = {**TOOL, "gcp.vertex.agent.event_id": "e"}
HANDLED = {
    "response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN",
    "error_type": "ValueError",
    "error_details": "no",
}


@for_each(
    ("attributes", "output", "error"),
    [
        ({**ADK_TOOL, RESULT: HANDLED}, HANDLED, "no"),
        ({**ADK_TOOL, RESULT: {**HANDLED, "response_type": "PLAIN"}}, {**HANDLED, "response_type": "PLAIN"}, None),
        ({**ADK_TOOL, RESULT: {"result": "<not specified>"}}, NOTHING, None),
        ({**ADK_TOOL, RESULT: {"result": "N/A"}}, "N/A", None),
        ({**TOOL, RESULT: "[<agent_framework._types.Content object at 0x7fc7edd47750>]"}, NOTHING, None),
        ({**TOOL, RESULT: "[<a.B object at 0x7f>, <a.B object at 0x8f>]"}, NOTHING, None),
        ({**TOOL, RESULT: "the <a.B object at 0x7f>"}, "the <a.B object at 0x7f>", None),
    ],
)
def test_what_frameworks_write_in_place_of_an_output(attributes: dict[str, Any], output: Any, error: Any) -> None:
    found = record(attributes)

    assert (found.output, found.error) == (output, error)


OF_LLAMAINDEX = {
    "openinference.span.kind": "TOOL",
    "tool.name": "book",
    "tool.parameters": '{"properties": {"city": {"type": "string"}, "nights": {"type": "integer"}}, "type": "object"}',
}


@for_each(
    ("held", "args"),
    [
        ('{"kwargs": {"city": "Rome", "nights": 2}}', {"city": "Rome", "nights": 2}),
        ('{"kwargs": {"city": "Rome"}}', {"city": "Rome"}),
        ('{"kwargs": {"nights": 2}}', NOTHING),
        ('{"args": ["Rome"], "kwargs": {"nights": 2}}', {"city": "Rome", "nights": 2}),
    ],
)
def test_arguments_of_llamaindex_are_whole_if_the_first_is_among_those_by_name(held: str, args: Any) -> None:
    assert record({**OF_LLAMAINDEX, "input.value": held}, name="FunctionTool.acall").args == args
