"""What the user asked and what the agent answered, by the spans of a run and by a log."""

from __future__ import annotations

import json
from typing import Any

from tests.walls import for_each

from rightcall.limits import Limits
from rightcall.reading.messages._message_exchange import Exchange, exchanges_of
from rightcall.reading.runs._input_output import (
    _beside_the_first,
    _is_act_of_user,
    _is_within,
    asked_and_answered,
    asked_and_answered_in,
    has_answer,
    plain_texts,
)
from rightcall.reading.runs._span_calls import read_span
from rightcall.reading.runs._span_tree import ReadSpan, Tree
from rightcall.reading.spans import CallRecord, Event, LogRecord, Span

KINDS: dict[str, dict[str, Any]] = {
    "agent": {"gen_ai.operation.name": "invoke_agent"},
    "model": {"gen_ai.operation.name": "chat"},
    "call": {"tool.name": "look", "input.value": "{}", "output.value": "ok"},
    "": {},
}
Times = tuple[int | None, int | None]


def made(
    name: str, kind: str = "agent", parent: str | None = None, times: Times = (0, 9), trace: str = "t", **more: Any
) -> ReadSpan:
    held = {**KINDS[kind], **{key.replace("__", "."): value for key, value in more.items()}}
    return read_span(Span(name, trace, name, parent, *times, held), Limits(), ())


def found(*spans: ReadSpan, logs: tuple[LogRecord, ...] = ()) -> tuple[Any, Any]:
    roles: Any = {id(span): span.kind for span in spans if span.kind in ("agent", "model")}
    tree = Tree(spans, roles)
    tree.place([CallRecord(span.name, span) for span in spans if span.call is not None])
    return asked_and_answered(spans, roles, tree, logs)


def words(given: str = "", returned: str = "") -> dict[str, Any]:
    """Attributes with messages of the user and of the model."""
    sides = {"gen_ai__input__messages": ("user", given), "gen_ai__output__messages": ("assistant", returned)}
    return {key: json.dumps([{"role": role, "content": text}]) for key, (role, text) in sides.items() if text}


STATE: dict[str, Any] = {"input__value": '{"q": 1}', "input__mime_type": "application/json"}
BOTH: dict[str, Any] = {"input__value": "Go.", "output__value": "Gone."}
PREDICTED: dict[str, Any] = {
    "output__value": '{"trajectory": {}, "reasoning": "r", "answer": "Gone.", "note": "x"}',
    "output__mime_type": "application/json",
}


@for_each(
    ("spans", "pair"),
    [
        ([], (None, None)),
        ([made("a")], (None, None)),
        ([made("a", **BOTH)], ("Go.", "Gone.")),
        ([made("a", "", **BOTH)], ("Go.", "Gone.")),
        ([made("a", "", **BOTH, openinference__span__kind="RETRIEVER")], (None, None)),
        ([made("a", "call")], (None, None)),
        ([made("a", **STATE)], ({"q": 1}, None)),
        ([made("a", output__value='{"q": 1}')], (None, '{"q": 1}')),
        ([made("a", "", **PREDICTED), made("b", "model", "a", **words("", "## answer ##"))], (None, None)),
        ([made("a", traceloop__entity__output='"Gone."')], (None, "Gone.")),
        ([made("a", output__value=json.dumps({"id": "r"}), gen_ai__response__id="r")], (None, '{"id": "r"}')),
        # Messages of a span itself, and of those inside it.
        ([made("a", "model", **words("Go.", "Gone."))], ("Go.", "Gone.")),
        ([made("a"), made("b", "model", "a", **words("Go.", "Gone."))], ("Go.", "Gone.")),
        ([made("a", **BOTH), made("b", "model", "a", **words("x", "y"))], ("Go.", "Gone.")),
        ([made("a"), made("b", "model", "a", output='"Gone."')], (None, "Gone.")),
        (
            [made("a"), made("b", "agent", "a", output__value='{"q": 1}', output__mime_type="application/json")],
            (None, None),
        ),
        ([made("a"), made("b", "call", "a"), made("c", "model", "b", **words("x", "y"))], (None, None)),
        # The first to begin has the question, the last to end the answer.
        (
            [made("a", times=(0, 5), **words("Go.", "x")), made("b", times=(6, 9), **words("y", "Gone."))],
            ("Go.", "Gone."),
        ),
        (
            [made("b", times=(6, 9), **words("y", "Gone.")), made("a", times=(0, 5), **words("Go.", "x"))],
            ("Go.", "Gone."),
        ),
        ([made("a", times=(0, None), **BOTH), made("b", times=(6, 9), **BOTH)], ("Go.", "Gone.")),
        ([made("a", times=(0, None), **BOTH), made("b", times=(6, 9), input__value="x")], (None, None)),
        # A model beside an agent is not the run.
        ([made("m", "model", times=(0, 1), **words("x", "y")), made("a", times=(2, 9), **BOTH)], ("Go.", "Gone.")),
        ([made("a", times=(2, 9), **BOTH), made("m", "model", times=(10, 12), **words("x", "y"))], ("Go.", "Gone.")),
        # Without a parent, and inside the time of another: what it says may be of anything, unless it is a text.
        (
            [
                made("a", "", times=(0, 9)),
                made("b", times=(1, 8), **STATE),
            ],
            (None, None),
        ),
        (
            [
                made("a", "", times=(0, 9)),
                made("b", times=(1, 10), **STATE),
            ],
            ({"q": 1}, None),
        ),
        (
            [
                made("a", "", times=(0, 9), trace="u"),
                made("b", times=(1, 8), **STATE),
            ],
            ({"q": 1}, None),
        ),
    ],
)
def test_the_question_and_the_answer_of_a_run(spans: list[ReadSpan], pair: tuple[Any, Any]) -> None:
    assert found(*spans) == pair


def test_the_last_words_of_the_user_are_the_question_where_nothing_else_is() -> None:
    shown = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Well."}]
    asked = json.dumps([*shown, {"role": "user", "content": "Now."}])

    assert found(made("a", "model", gen_ai__input__messages=json.dumps(shown))) == ("Go.", "Well.")
    assert found(made("a", "model", gen_ai__input__messages=asked)) == ("Now.", None)


def test_the_answer_of_an_agent_is_opened_where_its_model_answered_by_a_call() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "final_result", "arguments": "{}"}}]}
    asked = json.dumps([{"role": "user", "content": "Go."}, call])

    assert found(made("a", final_result='{"total": 3}', pydantic_ai__all_messages=asked))[1] == {"total": 3}
    assert found(made("a", final_result='{"total": 3}'))[1] == '{"total": 3}'
    assert found(made("a", final_result='{"total": 3}', **words(returned="Gone.")))[1] == '{"total": 3}'


@for_each("mime", ["application/json", "text/plain", None])
def test_what_a_model_returned_beside_a_message_with_calls_is_no_answer(mime: str | None) -> None:
    asks = [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}]
    told: dict[str, Any] = {
        "gen_ai__output__messages": json.dumps(asks),
        "output__value": json.dumps({"error": None, "output": asks}),
    }
    marked: dict[str, Any] = {} if mime is None else {"output__mime_type": mime}

    assert found(made("a", "model", **told, **marked))[1] is None


def test_log_records_and_events_have_the_words_of_their_span() -> None:
    body = {"content": "Go."}
    record = LogRecord("gen_ai.user.message", body, {}, "t", "a")
    choice = LogRecord("gen_ai.choice", {"message": {"role": "assistant", "content": "Gone.\n"}}, {}, "t", "a")

    assert found(made("a", "model"), logs=(record, choice)) == ("Go.", "Gone.")
    assert found(made("a", "model"), logs=(LogRecord("gen_ai.user.message", body, {}, "t", "b"),)) == (None, None)
    assert found(made("a", "model"), logs=(LogRecord("gen_ai.user.message", "odd", {}, "t", "a"),)) == (None, None)


@for_each(
    ("span", "has"),
    [
        (made("a"), False),
        (made("a", output__value="x"), True),
        (made("a", input__value="x"), False),
        (made("a", gen_ai__output__messages="[]"), True),
        (made("a", gen_ai__input__messages="[]"), False),
        (made("a", pydantic_ai__all_messages="[]"), True),
        (ReadSpan("a", events=(Event("x", {}),)), True),
    ],
)
def test_a_span_has_an_answer_where_it_records_an_output(span: ReadSpan, has: bool) -> None:
    assert has_answer(span) is has


def test_the_texts_of_a_model_beside_messages() -> None:
    assert plain_texts(made("a", "model", **BOTH)) == ("Go.", "Gone.")
    assert plain_texts(made("a", "model", raw_input='"Go."', response='"Gone."')) == ("Go.", "Gone.")
    assert plain_texts(made("a", "model", input='"Go."', output='"Gone."')) == ("Go.", "Gone.")
    assert plain_texts(made("a", "model", input__value='{"a": 1, "b": 2}', input__mime_type="application/json")) == (
        "",
        "",
    )
    assert plain_texts(made("a", "model")) == ("", "")


def test_the_question_and_the_answer_of_each_turn_of_a_log() -> None:
    def say(role: str, text: str) -> dict[str, str]:
        return {"role": role, "content": text}

    def told(messages: list[Any]) -> list[tuple[Any, Any]]:
        return asked_and_answered_in(messages, exchanges_of(messages))

    log = [
        say("system", "Be kind."),
        say("user", "Go."),
        say("assistant", "Gone."),
        say("user", "Back."),
        say("user", "Now."),
    ]
    assert told([]) == [(None, None)]
    assert told(log[:3]) == [("Go.", "Gone.")]
    assert told([*log, say("assistant", "Here.")]) == [("Go.", "Gone."), ("Back.", "Here.")]
    assert told([say("assistant", "Hello.")]) == [(None, "Hello.")]


@for_each(("times", "within"), [((2, 9), True), ((0, 9), True), ((0, 10), False), ((2, 10), False)])
def test_a_span_is_within_another_up_to_its_last_moment(times: Times, within: bool) -> None:
    inner, outer = ReadSpan("a", "t", "a", None, *times), ReadSpan("b", "t", "b", None, 0, 9)

    assert _is_within(inner, outer) is within
    assert not _is_within(inner, ReadSpan("b", "other", "b", None, 0, 9))


@for_each(
    ("first", "other", "beside"),
    [
        ((0, 9), (5, 12), True),
        ((0, 9), (9, 12), False),
        ((5, 9), (1, 6), True),
        ((5, 9), (1, 5), False),
        ((0, 9), (2, 3), True),
        ((0, 0), (0, 0), False),
        ((0, 9), (None, 3), False),
        ((0, 9), (3, None), True),
    ],
)
def test_spans_that_ran_while_the_first_did_are_beside_it(first: Times, other: Times, beside: bool) -> None:
    one, two = ReadSpan("a", "t", "a", None, *first), ReadSpan("b", "t", "b", None, *other)

    assert _beside_the_first([one, two]) == ([one, two] if beside else [one])
    assert _beside_the_first([one]) == [one]


def test_a_message_with_a_result_of_the_agent_is_no_act_of_a_simulated_user() -> None:
    def acted(*of_user: bool) -> bool:
        exchange = Exchange()
        exchange.results = [CallRecord("look", of_user=each) for each in of_user]
        return _is_act_of_user(exchange)

    assert [acted(), acted(True), acted(True, False), acted(False)] == [False, True, False, False]
