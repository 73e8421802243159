"""Ids of calls inside one log: which calls there are, and which result is whose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.reading.logs import ANSWERED, ASKED, asks, gives, refund
from tests.reading.traces import request, span

from rightcall.reading import read, read_messages


def chat(number: int, call_id: str | None) -> list[dict[str, Any]]:
    return [asks(("look", call_id, '{"n": 1}')), gives(call_id, f"o{number}")]


def responses(number: int, call_id: str | None) -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": call_id, "output": f"o{number}"},
    ]


def anthropic(number: int, call_id: str | None) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "look", "input": {"n": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id or "", "content": f"o{number}"}]},
    ]


def gemini(number: int, call_id: str | None) -> list[dict[str, Any]]:
    result = {"id": call_id, "name": "look", "response": {"result": f"o{number}"}}
    return [
        {"role": "model", "parts": [{"functionCall": {"id": call_id, "name": "look", "args": {"n": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": result}]},
    ]


Format = Callable[[int, str | None], list[dict[str, Any]]]
FORMATS: tuple[Format, ...] = (chat, responses, anthropic, gemini)


@pytest.mark.parametrize("written", FORMATS)
@pytest.mark.parametrize("call_id", ["c1", "", None])
def test_an_id_is_free_again_once_it_was_answered(written: Format, call_id: str | None) -> None:
    trajectory = read_messages([ASKED, *[message for n in range(3) for message in written(n, call_id)], ANSWERED])

    assert [call.output for call in trajectory.calls] == ["o0", "o1", "o2"]
    assert trajectory.calls_recorded


def test_an_id_used_again_for_another_tool_keeps_both_outputs() -> None:
    messages = [asks(("look", "c", "{}")), gives("c", "a"), asks(("book", "c", "{}")), gives("c", "b")]

    assert [(call.name, call.output) for call in read_messages(messages).calls] == [("look", "a"), ("book", "b")]


@pytest.mark.parametrize("call_id", ["", "c1", None])
def test_an_id_that_calls_of_one_message_share_is_none_of_theirs(call_id: str | None) -> None:
    asked = asks(("look", call_id, '{"n": 1}'), ("look", call_id, '{"n": 1}'), ("look", call_id, '{"n": 2}'))
    calls = read_messages([ASKED, asked, *[gives(call_id, f"o{n}") for n in range(3)], ANSWERED]).calls

    assert [(call.args, call.output) for call in calls] == [({"n": 1}, "o0"), ({"n": 1}, "o1"), ({"n": 2}, "o2")]


def test_a_result_without_an_id_frees_the_id_of_the_call_it_answers() -> None:
    result = {"role": "tool", "content": "ok"}
    calls = read_messages([asks(("look", "c", "{}")), result, asks(("look", "c", "{}")), result]).calls

    assert [call.output for call in calls] == ["ok", "ok"]


def test_a_call_repeated_before_it_is_answered_is_one_call() -> None:
    asked = asks(("look", "c", "{}"))

    assert len(read_messages([ASKED, asked, asked, gives("c", "ok")]).calls) == 1


def test_a_second_result_of_one_call_changes_nothing() -> None:
    [call] = read_messages([asks(("look", "c", "{}")), gives("c", "first"), gives("c", "second")]).calls

    assert call.output == "first"


def test_a_result_that_stands_before_its_call_is_its_result() -> None:
    trajectory = read_messages([ASKED, gives("c", "ok"), asks(("look", "c", "{}")), ANSWERED])

    assert [call.output for call in trajectory.calls] == ["ok"]
    assert trajectory.calls_recorded


def test_a_line_that_a_log_repeats_is_no_new_call() -> None:
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    used = {"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": [block]}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    given_back = {"type": "user", "uuid": "b", "message": {"role": "user", "content": [result]}}

    assert len(read_messages([used, given_back, used, given_back]).calls) == 1


def test_a_summary_of_calls_and_their_results_has_no_calls_of_its_own() -> None:
    call = {"id": "c", "name": "look", "arguments": "{}"}
    result = {"call_id": "c", "name": "look", "content": "ok", "is_error": False}
    made = [
        {"source": "a", "type": "ToolCallRequestEvent", "content": [call]},
        {"source": "a", "type": "ToolCallExecutionEvent", "content": [result]},
    ]
    summary = {
        "source": "a",
        "type": "ToolCallSummaryMessage",
        "content": "ok",
        "tool_calls": [call],
        "results": [result],
    }

    assert read_messages([ASKED, *made, summary]).names == ("look",)
    assert read_messages([ASKED, summary]).names == ("look",)
    assert read_messages([ASKED, *made, summary, *made, summary]).names == ("look", "look")


def test_a_summary_with_other_arguments_is_another_call() -> None:
    def told(args: str) -> dict[str, Any]:
        call = {"id": "c", "name": "look", "arguments": args}
        return {
            "role": "assistant",
            "tool_calls": [call],
            "results": [{"call_id": "c", "is_error": False, "content": 1}],
        }

    assert read_messages([ASKED, told('{"a": 1}'), told('{"a": 2}')]).names == ("look", "look")


def test_messages_that_show_the_model_how_to_work_are_not_of_the_run() -> None:
    shown = [{**message, "is_demo": True} for message in (asks(("look", "d", "{}")), gives("d", "ok"))]

    assert read_messages([ASKED, *shown, *refund()]).names == ("refund",)


def test_a_fragment_of_an_event_is_no_call_beside_the_whole_event() -> None:
    parts = [{"function_call": {"name": "look", "args": {}}}]
    event = {"author": "a", "content": {"role": "model", "parts": parts}}

    assert read_messages([ASKED, {**event, "partial": True}, {**event, "partial": False}]).names == ("look",)


def test_a_call_that_a_message_has_in_two_places_is_one_and_keeps_its_id() -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}],
        "tool_calls": [{"name": "look", "args": {}, "id": "c", "type": "tool_call"}],
    }
    [call] = read_messages([message, {"role": "tool", "tool_call_id": "c", "content": "ok"}]).calls

    assert (call.call_id, call.output) == ("c", "ok")


def test_a_tool_of_the_server_beside_listed_calls_is_a_call_too() -> None:
    message = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        ],
        "tool_calls": [{"name": "look", "args": {}, "id": "c", "type": "tool_call"}],
    }

    assert sorted(read_messages([ASKED, message]).names) == ["look", "web_search"]


def test_prompts_that_repeat_a_conversation_with_reused_ids_have_each_call_once() -> None:
    messages = [ASKED]
    spans = []
    for number in range(3):
        messages = [*messages, *chat(number, "c1")]
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
        spans.append(span(number + 1, attributes, name="chat"))
    [trajectory] = read(request(*spans))

    assert [call.output for call in trajectory.calls] == ["o0", "o1", "o2"]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "", None])), max_size=8))
def test_every_answered_call_of_a_log_is_read_with_its_output(made: list[tuple[str, str | None]]) -> None:
    messages: list[Any] = [ASKED]
    for number, (name, call_id) in enumerate(made):
        messages += [asks((name, call_id, "{}")), gives(call_id, f"o{number}")]
    trajectory = read_messages([*messages, ANSWERED])

    expected = [(name, f"o{number}") for number, (name, _) in enumerate(made)]
    assert [(call.name, call.output) for call in trajectory.calls] == expected
    assert trajectory.calls_recorded


TWO = asks(("look", "c1", '{"n": 1}'), ("pay", "c2", "{}"))


def outputs_of(*results: dict[str, Any]) -> list[Any]:
    made = read_messages([ASKED, TWO, *results, ANSWERED])
    return [call.output if "output" not in call.unrecorded else ... for call in made.calls]


def result(text: str, **more: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, **more}


def test_results_without_ids_of_calls_with_ids_are_nobodys() -> None:
    assert outputs_of(result("one"), result("two")) == [..., ...]
    assert outputs_of(result("one")) == [..., ...]


def test_a_result_without_an_id_is_that_of_the_one_call_left_for_it() -> None:
    assert outputs_of(result("two"), result("one", tool_call_id="c1")) == ["one", "two"]
    assert outputs_of(result("one", tool_call_id="c1"), result("two")) == ["one", "two"]


def test_the_name_of_a_tool_tells_whose_a_result_without_an_id_is() -> None:
    assert outputs_of(result("two", name="pay"), result("one")) == ["one", "two"]


def test_of_equal_results_without_ids_it_does_not_matter_whose_they_are() -> None:
    assert outputs_of(result("ok"), result("ok")) == ["ok", "ok"]


def test_results_that_are_nobodys_leave_later_calls_their_own() -> None:
    later = [asks(("mail", "c3", "{}")), result("sent")]

    assert outputs_of(result("one"), result("two"), *later) == [..., ..., "sent"]


def test_the_id_of_a_call_goes_before_that_of_its_item() -> None:
    items = [{"name": "pay", "arguments": "{}", "call_id": call_id, "id": "__fake_id__"} for call_id in ("c1", "c2")]

    assert [call.call_id for call in read_messages([ASKED, *items, ANSWERED]).calls] == ["c1", "c2"]


LOOK = asks(("look", "call_0", "{}"))
AGAIN = {"role": "user", "content": "And again."}


@pytest.mark.parametrize(
    ("log", "outputs", "turns"),
    [
        ([ASKED, LOOK, ANSWERED, AGAIN, LOOK, ANSWERED], [None, None], [0, 1]),
        ([ASKED, LOOK, ANSWERED, AGAIN, LOOK, gives("call_0", "b"), ANSWERED], [None, "b"], [0, 1]),
        ([ASKED, LOOK, ANSWERED, AGAIN, gives("call_0", "a"), ANSWERED], ["a"], [0]),
        ([ASKED, LOOK, LOOK, gives("call_0", "a"), ANSWERED], ["a"], [0]),
    ],
    ids=["no result", "the second is answered", "answered in the next turn", "shown twice in a turn"],
)
def test_an_id_that_no_result_answered_is_free_in_the_next_turn(
    log: list[Any], outputs: list[Any], turns: list[int]
) -> None:
    made = read_messages(log)

    assert [call.output for call in made.calls] == outputs
    assert [call.turn for call in made.calls] == turns
