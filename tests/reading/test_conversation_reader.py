"""Requests that became known in another order than that of the model, and answers that sum up others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.changes import spans, written
from tests.reading.differential import read_by_spans, read_directly, told_run
from tests.reading.logs import ASKED, asks, gives
from tests.reading.traces import request, span
from tests.walls import for_each

from rightcall import Trajectory, read, read_messages
from rightcall.reading import Turn, read_turns
from rightcall.reading.messages._conversation_reader import ConversationReader

SEARCH, WEATHER = ("search", "search", "{}"), ("weather", "weather", "{}")
BOTH = [ASKED, asks(SEARCH, WEATHER), gives("search", "ok"), gives("weather", "ok")]


def model(number: int, given: list[Any], told: list[Any] | None, **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(given)}
    return span(
        number, attributes | ({} if told is None else {"gen_ai.output.messages": json.dumps(told)}), name="chat", **more
    )


def tool(number: int, name: str) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": name}
    return span(number, attributes, name=f"execute_tool {name}", startTimeUnixNano="3000")


def one(*spans: dict[str, Any]) -> Trajectory:
    [made] = read(request(*spans))
    return made


def test_the_order_of_a_request_that_its_answer_lost_is_not_that_in_which_it_became_known() -> None:
    answer = {"role": "assistant", "content": "Done."}
    whole = one(
        model(1, [ASKED], [asks(SEARCH, WEATHER)]), model(5, BOTH, [answer]), tool(3, "weather"), tool(4, "search")
    )
    lossy = one(model(1, [ASKED], [asks(WEATHER)]), model(5, BOTH, [answer]), tool(3, "weather"), tool(4, "search"))

    assert (whole.names, whole.unordered) == (("search", "weather"), ())
    assert lossy.unordered == ((0, 2),)
    assert [len({call.group for call in made.calls}) for made in (whole, lossy)] == [1, 1]


def test_of_requests_that_answers_lost_those_of_the_same_message_are_of_the_group_of_one_that_is_known() -> None:
    save = asks(("save", "save", "{}"))
    shown = [ASKED, save, gives("save", "ok"), *BOTH[1:]]
    made = one(model(1, [ASKED], [asks(WEATHER)]), model(5, shown, [{"role": "assistant", "content": "Done."}]))

    groups = {call.name: call.group for call in made.calls}
    assert groups == {"weather": "turn-1", "search": "turn-1", "save": "turn-2"}


def test_a_request_that_became_known_after_those_before_it_keeps_its_place() -> None:
    later = [*BOTH, asks(("save", "3", "{}")), gives("3", "ok")]
    made = one(
        model(1, [ASKED], None), model(2, BOTH, None), model(3, later, [{"role": "assistant", "content": "Done."}])
    )

    assert made.names == ("search", "weather", "save")
    assert [call.group for call in made.calls] == ["turn-1", "turn-1", "turn-2"]


def test_a_request_that_only_another_history_shows_may_be_from_before_those_that_are_known() -> None:
    lost, done = {"role": "assistant", "content": [{}]}, {"role": "assistant", "content": "Done."}
    search, weather = [asks(SEARCH), gives("search", "ok")], [asks(WEATHER), gives("weather", "ok")]
    first = [ASKED, lost, gives("search", "ok"), *weather]
    torn = one(model(1, first, [done]), model(2, [ASKED, *search, lost, gives("weather", "ok")], [done]))
    whole = one(model(1, [ASKED, *search, *weather], [done]), model(2, [ASKED, *search, lost], [done]))

    assert (sorted(torn.names), torn.unordered) == (["search", "weather"], ((0, 2),))
    assert (whole.names, whole.unordered) == (("search", "weather"), ())


def test_a_request_that_only_another_agent_tells_may_be_from_before_those_that_one_with_a_lost_message_told() -> None:
    lost, done = {"role": "assistant", "content": [{}]}, {"role": "assistant", "content": "Done."}
    search, weather = [asks(SEARCH), gives("search", "ok")], [asks(WEATHER), gives("weather", "ok")]

    def agent(number: int, *told: Any) -> dict[str, Any]:
        messages = {"gen_ai.input.messages": json.dumps([ASKED]), "gen_ai.output.messages": json.dumps([*told, done])}
        return span(number, {"gen_ai.operation.name": "invoke_agent", **messages})

    made = one(agent(1, lost, gives("search", "ok"), *weather), agent(2, *search, lost, gives("weather", "ok")))

    assert (sorted(made.names), made.unordered) == (["search", "weather"], ((0, 2),))


@pytest.mark.parametrize("ids", [("1", "1"), (None, None), ("1", None), (None, "1")])
def test_an_agent_that_goes_on_after_a_person_answered_tells_its_request_once_more(ids: tuple[str | None, ...]) -> None:
    given, told = [asks(("refund", call_id, '{"n": 7}')) for call_id in ids]
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([ASKED, given])}
    agent = span(1, attributes | {"gen_ai.output.messages": json.dumps([told, gives(ids[1], "paid")])})

    assert [(call.args, call.output) for call in one(agent).calls] == [({"n": 7}, "paid")]


def test_an_agent_that_goes_on_and_asks_twice_asked_once_more() -> None:
    asked, paid = asks(("refund", None, '{"n": 7}')), gives(None, "paid")
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([ASKED, asked])}
    agent = span(1, attributes | {"gen_ai.output.messages": json.dumps([asked, paid, asked, paid])})

    assert [call.output for call in one(agent).calls] == ["paid", "paid"]


def test_calls_that_a_model_around_several_others_lists_were_not_asked_for_at_once() -> None:
    outer = model(1, [ASKED], [asks(SEARCH, WEATHER)], endTimeUnixNano="9000")
    bare = {"gen_ai.operation.name": "chat"}
    alone = one(outer)
    one_inside = one(outer, span(2, bare, parent=1, name="chat"))
    summed_up = one(outer, *[span(number, bare, parent=1, name="chat") for number in (2, 3)])

    assert [call.group for call in alone.calls] == [call.group for call in one_inside.calls] == ["turn-1", "turn-1"]
    assert [call.group for call in summed_up.calls] == [None, None]


ANSWER = {"role": "assistant", "content": "Done."}
RESULT = gives("search", "ok")
NAMELESS = {"role": "tool", "content": "ok"}


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ([[ASKED, RESULT]], "search"),
        ([[RESULT]], "search"),
        ([[ASKED, NAMELESS]], "a tool"),
        ([[ASKED], [ASKED, RESULT]], "search"),
        ([[ASKED, RESULT, ANSWER, ASKED]], ""),
        ([[ASKED, RESULT], [ASKED, asks(SEARCH), RESULT]], ""),
        ([BOTH], ""),
    ],
    ids=["alone", "without a question", "without an id", "later", "of an earlier turn", "shown later", "with its call"],
)
def test_a_result_of_this_turn_whose_call_no_message_shows_is_a_sign_of_one(prompts: list[Any], told: str) -> None:
    made = one(*[model(number, given, [ANSWER]) for number, given in enumerate(prompts, 1)])

    assert made.calls_recorded is not bool(told)
    assert made.not_understood == (f"a result of {told}, whose call the trace does not show" if told else "")


def test_where_spans_of_tools_tell_the_calls_a_result_needs_no_message_for_its_own() -> None:
    made = one(model(1, [ASKED, RESULT], [ANSWER]), tool(3, "search"))

    assert (made.names, made.calls_recorded) == (("search",), True)


def test_a_call_with_the_id_of_one_in_another_conversation_is_another_call() -> None:
    task = {"role": "user", "content": "Look for hotels."}
    found = [model(1, [ASKED], [asks(SEARCH)]), model(2, [ASKED, asks(SEARCH), RESULT], [ANSWER])]
    other = [model(3, [task], [asks(SEARCH)]), model(4, [task, asks(SEARCH), gives("search", "none")], [ANSWER])]
    made = one(*found, *other)

    assert [(call.name, call.output) for call in made.calls] == [("search", "ok"), ("search", "none")]
    assert len({call.group for call in made.calls}) == 2


@pytest.mark.parametrize(
    "again",
    [
        model(3, [ASKED], [asks(SEARCH)]),
        model(3, [ASKED, asks(SEARCH)], [asks(SEARCH)]),
        model(1, [{"role": "user", "content": "x"}], [asks(SEARCH)], spanId="ab", parentSpanId=f"{1:016x}"),
    ],
    ids=["asked again", "shown before", "of the same time"],
)
def test_a_call_with_the_id_of_one_in_the_same_conversation_is_that_call(again: dict[str, Any]) -> None:
    made = one(model(1, [ASKED], [asks(SEARCH)]), again)

    assert made.names == ("search",)


@pytest.mark.parametrize(
    ("without", "most"),
    [("", 80 * 3), ('"id"', 80 * 8)],  # every prompt from its beginning would be 80 × 80
    ids=["with the answer", "without ids, from where the prompt ended"],
)
def test_a_prompt_is_read_on_from_where_the_one_before_it_ended(
    monkeypatch: pytest.MonkeyPatch, without: str, most: int
) -> None:
    taken = []
    take = ConversationReader._take

    def counting(self: ConversationReader, exchange: Any, turn: int | None) -> None:
        taken.append(exchange)
        take(self, exchange, turn)

    monkeypatch.setattr(ConversationReader, "_take", counting)
    document = told_run(steps=20)
    for held in [each["value"] for model in spans(document) for each in model["attributes"] if without]:
        held["stringValue"] = held["stringValue"].replace(without, '"was"')
    [run] = read(written(document))

    assert len(run.calls) == 80
    assert len(taken) <= most


@pytest.mark.parametrize(
    ("told", "again"),
    [
        ('"limit": 0}', '"limit": 0.0}'),
        ('"name": "search"', '"name": "book"'),
        ('"tool_call", "id": "call_0_0"', '"tool_call", "id": "call_0_1"'),
        ('"role": "assistant", "parts"', '"role": "assistant", "parent_tool_use_id": "call_0_0", "parts"'),
        ('"parts": [{"type": "tool_call"', '"parts": [{"type": "text", "content": "Well."}, {"type": "tool_call"'),
    ],
    ids=["with another value", "of another tool", "with another id", "inside a call", "with a text"],
)
def test_a_prompt_that_repeats_an_answer_otherwise_is_read_as_it_is(told: str, again: str) -> None:
    document = told_run(steps=1)
    prompts = [
        each for span in spans(document) for each in span["attributes"] if each["key"].endswith("input.messages")
    ]
    for each in prompts:
        each["value"]["stringValue"] = each["value"]["stringValue"].replace(told, again)
    data = written(document)

    assert any(again in each["value"]["stringValue"] for each in prompts)
    assert read_directly(data) == read_by_spans(data)


def test_what_an_agent_inside_a_call_repeats_is_not_read_on_from_the_agent_outside() -> None:
    document = told_run(steps=4)
    models = [each for each in spans(document) if each["name"] == "chat m"]
    inner, call = models[-2], next(each for each in spans(document) if each["name"].startswith("execute_tool"))
    inner["parentSpanId"] = call["spanId"]
    for held in [each["value"] for model in models for each in model["attributes"] if "messages" in each["key"]]:
        held["stringValue"] = held["stringValue"].replace('"id": "call_', '"was": "call_')
    data = written(document)

    assert read_directly(data) == read_by_spans(data)


def part(kind: str, of: str = "request", **more: Any) -> dict[str, Any]:
    """A message of Pydantic AI with one part."""
    return {"kind": of, "parts": [{"part_kind": kind, "tool_name": "refund", "tool_call_id": "t", **more}]}


def prompt(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


REFUND = part("tool-call", "response", args={"n": 7})
DENIED, PAID = part("tool-return", content="Not today.", outcome="denied"), part("tool-return", content="paid")
SORRY = {"kind": "response", "parts": [{"part_kind": "text", "content": "I may not."}]}
REFUSED = [prompt("Refund order 7."), REFUND, DENIED, SORRY]


def by_turn(*logs: list[dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """The calls of a run that was logged turn by turn, and why others were not made."""
    made = read_turns([Turn(messages=log) for log in logs])
    return [(call.output, call.turn) for call in made.calls], [call.reason for call in made.withheld]


@pytest.mark.parametrize(
    "later",
    [[PAID], [REFUND, PAID], [prompt("Do it."), PAID], [*REFUSED, prompt("Do it."), PAID]],
    ids=["the result alone", "the call again", "a question", "all that was said"],
)
def test_a_refused_call_with_a_result_in_the_log_of_a_later_turn_was_made_in_that_turn(later: list[Any]) -> None:
    assert by_turn(REFUSED, later) == ([("paid", 1)], [])


def test_a_call_that_was_refused_and_then_made_is_of_its_turn_wherever_the_log_lies() -> None:
    made, thanks = [*REFUSED, prompt("Do it."), PAID], [prompt("Thanks."), SORRY]
    [call] = read_messages(made).calls

    assert (call.output, call.turn) == ("paid", 1)
    assert by_turn(REFUSED, made, [*made, *thanks]) == ([("paid", 1)], [])
    assert by_turn(REFUSED, made, [*made[:-1], *thanks]) == ([("paid", 1)], [])


def test_a_result_right_after_a_refusal_repeats_it() -> None:
    assert by_turn([*REFUSED[:3], PAID]) == ([], ["Not today."])


def test_a_refused_call_stays_refused_where_a_later_log_repeats_it_and_lost_the_refusal() -> None:
    thanks = [prompt("Thanks."), SORRY]

    assert by_turn(REFUSED, [*REFUSED, *thanks]) == ([], ["Not today."])
    assert by_turn(REFUSED, [*REFUSED[:2], SORRY, *thanks]) == ([], ["Not today."])


@for_each(
    ("states", "found"),
    [
        (["approval-requested", "approval-requested"], ([], ["approval was asked for"])),
        (["approval-requested", "approval-responded"], ([], ["approval was answered, and no result is recorded"])),
        (["approval-requested", "output-denied"], ([], ["approval was refused"])),
        (["approval-requested", "output-available"], ([(None, 1)], [])),
        (["input-streaming", "approval-requested"], ([], ["approval was asked for"])),
        (["input-streaming", "input-streaming", "output-available"], ([(None, 2)], [])),
        (["output-denied", "approval-requested"], ([], ["approval was refused"])),
        (["output-available", "approval-requested"], ([(None, 0)], [])),
    ],
)
def test_a_call_that_waited_was_made_or_refused_where_a_later_log_says_so(states: list[str], found: Any) -> None:
    asked = {"role": "user", "parts": [{"type": "text", "text": "Refund order 7."}]}
    told = [{"type": "tool-refund", "toolCallId": "t", "state": state, "input": {"n": 7}} for state in states]

    assert by_turn(*[[asked, {"role": "assistant", "parts": [each]}] for each in told]) == found
