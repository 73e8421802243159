"""Messages in the attributes and events of spans, and in log records, in every form that instrumentations write."""

from __future__ import annotations

import json
from typing import Any

from tests.reading.traces import request, span
from tests.walls import for_each

from rightcall.reading import read
from rightcall.reading.messages import SpanMessages
from rightcall.reading.messages._acting_text import acts, acts_by_text, observes_by_text
from rightcall.reading.messages._span_messages import (
    message_attributes,
    messages_in,
    messages_in_event,
)
from rightcall.reading.spans import Event, Span

USER = {"role": "user", "content": "Go."}
MODEL = {"role": "assistant", "content": "Gone."}
ASKS = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}
WRITTEN = json.dumps([USER])
DETAILS = "gen_ai.client.inference.operation.details"


def said(attributes: dict[str, Any], role: Any = "model", *events: Event) -> tuple[list[str], list[str]]:
    """The texts, or the names of calls, that a span was given and that it returned."""
    found = SpanMessages().in_span(Span("a", attributes=attributes, events=events), role)
    sides = [
        [each.text or " ".join([call.name for call in each.calls]) or each.unread for each in side]
        for side in (found.input, found.output)
    ]
    return sides[0], sides[1]


@for_each(
    ("attributes", "role", "sides"),
    [
        ({}, "model", ([], [])),
        ({"gen_ai.input.messages": WRITTEN}, "model", (["Go."], [])),
        ({"gen_ai.input.messages": WRITTEN}, None, (["Go."], [])),
        ({"gen_ai.input.messages": [USER]}, None, (["Go."], [])),
        ({"gen_ai.input.messages": "{odd"}, None, ([], [])),
        ({"gen_ai.input.messages": "3"}, None, ([], [])),
        ({"gen_ai.output.messages": json.dumps([MODEL, ASKS])}, None, ([], ["Gone.", "look"])),
        ({"gen_ai.prompt": WRITTEN}, "model", (["Go."], [])),
        ({"gen_ai.prompt": WRITTEN}, "agent", ([], [])),
        ({"gen_ai.completion": json.dumps({"choices": [{"message": ASKS}]})}, "model", ([], ["look"])),
        ({"mlflow.spanInputs": json.dumps({"messages": [USER]})}, "model", (["Go."], [])),
        ({"mlflow.spanInputs": json.dumps({"odd": 1})}, "model", ([""], [])),
        # The fullest of several.
        (
            {"gen_ai.output.messages": json.dumps([MODEL]), "mlflow.spanOutputs": json.dumps([ASKS])},
            "model",
            ([], ["look"]),
        ),
        (
            {"mlflow.spanOutputs": json.dumps([ASKS]), "gen_ai.output.messages": json.dumps([MODEL, MODEL])},
            "model",
            ([], ["look"]),
        ),
        # Plain values of a model count where nothing else has calls.
        ({"output.value": json.dumps([ASKS])}, "model", ([], ["look"])),
        ({"output.value": json.dumps([ASKS])}, "agent", ([], [])),
        ({"output.value": json.dumps([MODEL])}, "model", ([], [])),
        ({"gen_ai.output.messages": json.dumps([MODEL]), "output.value": json.dumps([ASKS])}, "model", ([], ["look"])),
        # A leaf each.
        (
            {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Go."},
            None,
            (["Go."], []),
        ),
        (
            {
                "gen_ai.prompt.10.role": "user",
                "gen_ai.prompt.10.content": "Last.",
                "gen_ai.prompt.2.role": "user",
                "gen_ai.prompt.2.content": "First.",
                "gen_ai.prompt.prompt_filter_results": "x",
            },
            None,
            (["First.", "Last."], []),
        ),
        ({"llm.output_messages": [{"message.role": "assistant", "message.content": "Gone."}]}, None, ([], ["Gone."])),
    ],
)
def test_the_messages_of_a_span(attributes: dict[str, Any], role: Any, sides: tuple[list[str], list[str]]) -> None:
    assert said(attributes, role) == sides


@for_each(
    ("name", "body", "sides"),
    [
        ("gen_ai.user.message", {"content": "Go."}, (["Go."], [])),
        ("gen_ai.assistant.message", {"content": "Gone."}, (["Gone."], [])),
        ("gen_ai.choice", {"message": json.dumps(MODEL)}, ([], ["Gone."])),
        (
            DETAILS,
            {"gen_ai.input.messages": WRITTEN, "gen_ai.output.messages": json.dumps([ASKS])},
            (["Go."], ["look"]),
        ),
        ("odd", {"content": "Go."}, ([], [])),
        ("odd", {"input": {"messages": [USER]}, "output": {"messages": [MODEL]}}, (["Go."], ["Gone."])),
        ("odd", {"input": {"messages": []}, "output": [MODEL]}, ([], [])),
    ],
)
def test_the_messages_of_an_event(name: str, body: dict[str, Any], sides: tuple[list[str], list[str]]) -> None:
    assert said({}, "model", Event(name, body)) == sides
    told = messages_in_event(name, body, body)
    assert (len(told.get("input", [])), len(told.get("output", []))) == (len(sides[0]), len(sides[1]))


def test_an_event_of_the_user_is_his_and_one_that_hides_a_call_is_not_understood() -> None:
    found = SpanMessages().in_span(Span("a", events=(Event("gen_ai.user.message", {"content": "Go."}),)), "model")
    assert [each.writer for each in found.input] == ["user"]
    hidden = {"gen_ai.event.content": json.dumps({"x": {"type": "tool_use", "id": "1", "name": "look", "input": {}}})}
    [sign] = said({}, "model", Event("odd", hidden))[0]
    assert sign.startswith("an event with a call")


@for_each(
    ("text", "pieces"),
    [
        ("[1, {}]", [b"1", b"{}"]),
        ("[[1, 2]]", [b"1", b"2"]),
        ("[[[1]]]", None),
        ("[[1], 2]", [b"[1]", b"2"]),
        ("[]", []),
        ("[odd", None),
        ("odd", None),
        ('{"messages": [{}]}', [b"{}"]),
        ('{"messages": [3]}', None),
        ('{"messages": []}', None),
        ('{"odd": [{}]}', None),
        ('{"contents": [{}], "model": "m"}', [b"{}"]),
    ],
)
def test_messages_are_split_without_being_decoded(text: str, pieces: list[bytes] | None) -> None:
    assert SpanMessages()._messages_in(text) == pieces


LONG = [{"role": "user", "content": "x" * 500} for _ in range(9)]


@for_each(
    ("text", "count"),
    [
        (json.dumps([*LONG, USER, MODEL]), 11),  # the same and more
        (f"{json.dumps(LONG)[:-1]},{json.dumps(USER)}]", 10),  # no space after the comma
        (json.dumps(LONG), 9),  # the same
        (json.dumps(LONG[:-1]), 8),  # less
        (json.dumps([*LONG[:-1], USER]), 9),  # another end
        (json.dumps([*LONG, [USER]]), 10),  # a list in it
        (f"{json.dumps(LONG)[:-1]}, ]", None),  # nothing after the comma
        (f"{json.dumps(LONG)[:-1]} {json.dumps(USER)}]", None),  # no comma
        (json.dumps([*LONG, USER])[:-2], None),  # cut off
    ],
)
def test_a_list_that_continues_another_is_split_like_any_list(text: str, count: int | None) -> None:
    after = SpanMessages()
    after._messages_in(json.dumps(LONG))

    found = after._messages_in(text)
    assert found == SpanMessages()._messages_in(text)
    assert (None if found is None else len(found)) == count


def test_a_message_that_prompts_repeat_is_read_once() -> None:
    messages = SpanMessages()
    span = Span("a", attributes={"gen_ai.input.messages": WRITTEN})

    assert messages.in_span(span, None).input[0] is messages.in_span(span, None).input[0]


def test_decoded_messages_that_a_long_prompt_repeats_are_read_once() -> None:
    messages = SpanMessages()
    first = messages._exchanges_in([*LONG, *LONG, USER])
    again = messages._exchanges_in(json.loads(json.dumps([*LONG, *LONG, USER, ASKS])))
    other = messages._exchanges_in(json.loads(json.dumps([*LONG, *LONG, MODEL, ASKS])))

    assert all(one is two for one, two in zip(first, again, strict=False))
    assert [call.name for call in again[-1].calls] == ["look"]
    assert other[0] is not first[0]
    assert [each.writer for each in other[-2:]] == ["model", "model"]


def test_attributes_that_hold_messages_are_found_by_their_names() -> None:
    names = ["gen_ai.input.messages", "gen_ai.completion", "llm.input_messages.0.message.role", "http.route"]
    found = message_attributes(dict.fromkeys(names))

    assert [(each.side, each.only_models, each.beginning) for each in found] == [
        ("input", False, ""),
        ("output", True, ""),
        ("input", False, "llm.input_messages."),
    ]
    assert message_attributes({"http.route": "/"}) == ()
    held = {"llm.input_messages.0.role": "user", "llm.input_messages.0.content": "Go."}
    [leaves] = message_attributes(held)
    assert messages_in(held, leaves) == [USER]
    [whole] = message_attributes({"gen_ai.input.messages": WRITTEN})
    assert messages_in({"gen_ai.input.messages": WRITTEN}, whole) == [USER]
    assert messages_in({"gen_ai.input.messages": "{odd"}, whole) == []
    assert messages_in({"gen_ai.input.messages": 3}, whole) == []


@for_each(
    ("text", "asks"),
    [
        ("Hello there.", False),
        ("Use [brackets] and {braces} as you like.", False),
        ("<tool_call>{}</tool_call>", True),
        ("Thought: I look.\nAction: look", True),
        ("Action: look", False),
        ("Thought: I look. [1]", False),
        ("THOUGHT: I look.\n```bash\nls\n```", True),
        ("ACTION: go north", True),
        ("[look(x=1), find()]", True),
        ("[look(x=1), find()] and more", False),
        ('{"name": "look", "arguments": {}}', True),
        ('```json\n{"name": "look", "parameters": {}}\n```', True),
        ('{"type": "function", "name": "look", "parameters": {}}', True),
        ('[{"id": "c1", "type": "function", "name": "look", "arguments": {}}]', True),
        ('{"type": "function", "function": {"name": "look", "arguments": {}}}', True),
        ('{"name": "Ann", "age": 3}', False),
        ('```json\n{"type": "person", "name": "Ann", "age": 3}\n```', False),
        ('{"function": {"kind": "linear"}}', False),
        ("Call: look(1)", True),
    ],
)
def test_a_text_of_a_model_asks_for_a_call(text: str, asks: bool) -> None:
    assert acts_by_text(text) is asks
    assert acts({"content": text}, "assistant") is asks
    assert acts({"parts": [{"text": "Hm."}, {"content": text}]}, "model") is asks
    assert acts({"message": {"content": text}}, "ai") is asks
    assert not acts({"content": text}, "system")


@for_each(
    ("text", "is_result"),
    [
        ("Hello there.", False),
        ("Observation: 3 found", True),
        ("  <tool_response>3</tool_response>", True),
        ("Of course.", False),
        ("ls\nbash-$", True),
        ("bash-$ ls", False),
    ],
)
def test_a_text_that_a_model_was_given_is_a_result(text: str, is_result: bool) -> None:
    assert observes_by_text(text) is is_result
    assert acts({"content": text}, "user") is is_result


@for_each(
    ("held", "is_understood"),
    [
        ({"odd": 1}, True),
        ({"type": "x", "payload": {"a": 1}}, True),
        ({"tool": "x", "input": {}}, False),
        ([{"odd": 1}], False),
        ([{"odd": 1}, {"even": 2}], False),
        ([MODEL, {"odd": 1}], False),
        ([MODEL], True),
    ],
)
def test_one_object_that_is_no_message_hides_a_call_only_if_it_looks_like_one(held: Any, is_understood: bool) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(held)}
    [found] = read(request(span(1, attributes)), grouping="file")

    assert ("not_understood" not in found.metadata) is is_understood


FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}
BY_MCP = {"type": "mcp_call", "id": "mcp_1", "name": "find", "server_label": "shop", "arguments": "{}", "output": "2"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "tv", "sources": None}}
FLAT = "llm.output_messages.0.message.tool_calls.{}.tool_call.{}"


def in_openinference(*items: Any, cut: int | None = None) -> dict[str, str]:
    """A model's answer as OpenInference records it for OpenAI Agents: functions and searches, and all of it as JSON."""
    found = {"output.value": json.dumps({"object": "response", "output": items})[:cut]}
    for place, item in enumerate([each for each in items if each is not BY_MCP]):
        found[FLAT.format(place, "id")] = item.get("call_id", item["id"])
        found[FLAT.format(place, "function.name")] = item.get("name", item["type"])
        found[FLAT.format(place, "function.arguments")] = item.get("arguments") or json.dumps(item["action"])
    return {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant", **found}


def test_calls_that_openinference_leaves_out_of_its_messages_are_in_the_answer_of_the_model() -> None:
    answer = span(1, in_openinference(SEARCH, BY_MCP, FUNCTION))
    again = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Go."}
    again |= {
        "input.value": json.dumps([USER, {**SEARCH, "action": {"type": "search", "query": "tv"}}, BY_MCP, FUNCTION])
    }
    [trajectory] = read(request(answer, span(2, {"openinference.span.kind": "LLM", **again})))

    found = [(each.name, each.args, each.call_id) for each in trajectory.calls]
    assert found == [
        ("web_search", {"type": "search", "query": "tv"}, "ws_1"),
        ("find", {}, "mcp_1"),
        ("look", {}, "c1"),
    ]
    assert trajectory.calls[1].output == "2"


def test_an_answer_that_was_cut_off_and_names_a_call_of_a_server_is_not_understood() -> None:
    [trajectory] = read(request(span(1, in_openinference(BY_MCP, FUNCTION, cut=-20))))

    assert "a call of a tool of OpenAI" in trajectory.not_understood


def test_an_answer_that_was_cut_off_behind_its_items_is_understood() -> None:
    answer = {"id": "resp_1", "object": "response", "output": [FUNCTION], "parallel_tool_calls": True, "tools": []}
    flat = in_openinference(FUNCTION)

    for cut, is_understood in ((-10, True), (-60, False)):
        held = {**flat, "output.value": json.dumps(answer, separators=(",", ":"))[:cut]}
        [trajectory] = read(request(span(1, held)))
        assert (not trajectory.not_understood) is is_understood


def test_messages_of_one_answer_are_no_choices_where_the_model_ended_once() -> None:
    asked: list[dict[str, Any]] = [
        {"type": "tool_call", "id": name, "name": name, "arguments": {}} for name in ("look", "pay")
    ]
    held = [{"role": "assistant", "parts": [each], "finish_reason": "tool_call"} for each in asked]
    ended = {"gen_ai.response.finish_reasons": ["tool_call"]}

    assert said({"gen_ai.output.messages": json.dumps(held), **ended}) == ([], ["look", "pay"])
    assert said({"gen_ai.output.messages": json.dumps(held)}) == ([], ["", ""])


def test_an_item_that_logfire_writes_as_it_is_is_no_message_of_an_unknown_writer() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    events = [
        {"event.name": "gen_ai.unknown", "role": role, "content": "reasoning", "data": thought}
        for role in ("unknown", "assistant")
    ]
    [trajectory] = read(request(span(1, {"gen_ai.request.model": "m", "events": json.dumps(events)})))

    assert (trajectory.calls, trajectory.not_understood) == ((), "")


CODE = "```tool_code\nprint(2 + 2)\n```"
OUTPUT = "```tool_output\nCode execution result:\n4\n```"


@for_each(
    ("role", "message", "is_one"),
    [
        ("model", {"contents": [{"message_content": {"type": "text", "text": CODE}}]}, True),
        ("model", {"contents": [{"message_content": {"type": "text", "text": "It is 4."}}]}, False),
        ("assistant", {"blocks": [{"block_type": "text", "text": CODE}]}, True),
        ("user", {"contents": [{"message_content": {"type": "text", "text": OUTPUT}}]}, True),
        ("user", {"content": OUTPUT}, True),
        ("user", {"content": "```tool_outputs\n4"}, False),
    ],
)
def test_a_call_in_text_is_seen_in_blocks_of_every_kind(role: str, message: dict[str, Any], is_one: bool) -> None:
    assert acts({"role": role, **message}, role) is is_one


def openinference(number: int, *messages: dict[str, Any], parent: int | None = None) -> dict[str, Any]:
    """A span of a model by OpenInference, with its prompt."""
    held: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for place, message in enumerate(messages):
        held |= {f"llm.input_messages.{place}.message.{key}": value for key, value in message.items()}
    return span(number, held, parent=parent)


def asked_by_openinference(*tools: str, **args: str) -> dict[str, Any]:
    """A message that asks for calls, each with an id that is its tool's name, and with arguments if there are any."""
    message = {"role": "assistant"}
    for place, tool in enumerate(tools):
        message |= {f"tool_calls.{place}.tool_call.function.name": tool, f"tool_calls.{place}.tool_call.id": tool}
        if tool in args:
            message[f"tool_calls.{place}.tool_call.function.arguments"] = args[tool]
    return message


def test_a_call_whose_arguments_openinference_left_out_is_a_call_without_recorded_arguments() -> None:
    asks = asked_by_openinference("ping", "look", look='{"x": 1}')
    asks = {key: held for key, held in asks.items() if not key.endswith(".id")}  # Gemini gives none

    [trajectory] = read(request(openinference(1, {"role": "user", "content": "Go."}, asks)))

    assert [(call.name, call.args, "args" in call.unrecorded) for call in trajectory.calls] == [
        ("ping", None, True),
        ("look", {"x": 1}, False),
    ]
    assert trajectory.calls_recorded


@for_each(
    ("results", "outputs"),
    [
        ({"book": "4 not allowed"}, [None, None]),
        ({"look": "4"}, ["4", None]),
        ({"look": "4", "book": "not allowed"}, ["4", "not allowed"]),
    ],
)
def test_results_of_several_calls_in_one_are_not_the_output_of_the_last(
    results: dict[str, str], outputs: list[str | None]
) -> None:
    """OpenInference joins the results of an agent of Strands under the id of the last call."""
    asks = asked_by_openinference("look", "book", look="{}", book="{}")
    told = [{"role": "tool", "tool_call_id": tool, "content": text} for tool, text in results.items()]
    prompt = [{"role": "user", "content": "Go."}, asks, *told]

    [trajectory] = read(request(openinference(1, *prompt), openinference(2, *prompt)))

    assert [call.output for call in trajectory.calls] == outputs
