"""What users and models said in a run, for people to look at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.corpus import recordings
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall import read, read_messages
from rightcall.limits import KEEPING_MESSAGES, Limits
from rightcall.reading import Turn, read_turns
from rightcall.reading.messages import exchanges_of
from rightcall.reading.runs._conversations import Conversations
from rightcall.reading.runs._run_messages import Recorded, _figures, _timed, _Told, _told_by, _uses, _writer_of
from rightcall.reading.runs._span_tree import ReadSpan, Tree
from rightcall.reading.runs._turns import Turns
from rightcall.values.trajectory import Message, Trajectory

USER = {"role": "user", "parts": [{"type": "text", "content": "Where is my order?"}]}
TOLD = {"role": "assistant", "parts": [{"type": "text", "content": "I look it up."}]}
ASKS = {
    "role": "assistant",
    "parts": [
        {"type": "text", "content": "I look it up."},
        {"type": "tool_call", "id": "c1", "name": "search", "arguments": {}},
    ],
}
SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
# The instrumentations of the corpus whose spans of models have the messages, each with its version's format.
WITH_MESSAGES = (
    "pydantic-ai/trip-pkg2-fmt5",
    "pydantic-ai/trip-pkg1-fmt1",
    "openai-agents-openinference/trip-chat",
    "openai-agents-dup-oi+v2/trip-chat",
    "langgraph-openinference/trip-react",
    "langgraph-openllmetry/trip-react",
    "langgraph-langsmith-otel/trip-react",
)


def model(number: int, given: list[Any], made: list[Any], **more: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 10 * number,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(made),
    }
    return span(number, attributes | more.pop("attributes", {}), **more)


def agent(number: int, name: str = "shop", **more: Any) -> dict[str, Any]:
    return span(number, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}, **more)


def kept(document: Any, limits: Limits = KEEPING_MESSAGES) -> Trajectory:
    [trajectory] = read(document, grouping="file", limits=limits)
    return trajectory


def told(messages: tuple[Message, ...]) -> list[tuple[int, str, str]]:
    return [(each.at, each.writer, each.text) for each in messages]


def test_each_message_is_there_once_where_it_was_said() -> None:
    found = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "sent"}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "It was sent."}]}

    run = kept(
        request(
            agent(1, endTimeUnixNano="9000"),
            model(2, [SYSTEM, USER], [ASKS], parent=1),
            call(3, parent=1),
            model(4, [SYSTEM, USER, ASKS, found], [answer], parent=1),
        )
    )

    assert told(run.messages) == [
        (0, "system", "Be kind."),
        (0, "user", "Where is my order?"),
        (0, "model", "I look it up."),
        (1, "model", "It was sent."),
    ]
    _, _, first, last = run.messages
    assert (first.model, first.input_tokens, first.output_tokens, first.asks) == ("m-1", 20, 5, 1)
    assert (last.input_tokens, last.asks, last.start_ns, last.end_ns) == (40, 0, 4_000, 4_500)


def test_the_same_words_said_again_are_another_message() -> None:
    again = [USER, TOLD, USER]

    run = kept(request(agent(1), model(2, [USER], [TOLD], parent=1), model(3, again, [TOLD], parent=1)))

    assert [each.writer for each in run.messages] == ["user", "model", "user", "model"]


@for_each(
    ("messages", "said"),
    [
        ([USER], [(0, "user", "Where is my order?"), (0, "model", "I look it up.")]),
        ([SYSTEM], [(0, "system", "Be kind."), (0, "user", "Where is it?"), (0, "model", "I look it up.")]),
        ([], [(0, "user", "Where is it?"), (0, "model", "I look it up.")]),
    ],
)
def test_the_plain_input_of_a_model_is_what_the_user_said_where_no_message_is_his(
    messages: list[Any], said: list[tuple[int, str, str]]
) -> None:
    spans = [model(number, messages, [TOLD], attributes={"input.value": "Where is it?"}) for number in (2,)]

    assert told(kept(request(agent(1), *spans)).messages) == said


def test_a_cost_is_what_the_trace_says() -> None:
    stated = model(2, [USER], [TOLD], attributes={"gen_ai.usage.cost": {"doubleValue": 0.25}})

    [_, said] = kept(request(stated)).messages
    [_, silent] = kept(request(model(2, [USER], [TOLD]))).messages

    assert (said.cost, silent.cost) == (0.25, None)


def test_a_message_inside_a_call_names_the_call_and_its_agent() -> None:
    run = kept(
        request(
            agent(1, endTimeUnixNano="9000"),
            call(2, "ask_billing", parent=1, endTimeUnixNano="6000"),
            agent(3, "billing", parent=2, endTimeUnixNano="5000"),
            model(4, [USER], [TOLD], parent=3),
        )
    )

    assert {(each.agent, each.parent_id) for each in run.messages} == {("billing", f"{2:016x}")}


def test_two_instrumentations_of_one_call_of_a_model_are_one_message() -> None:
    beside = request(model(3, [USER], [TOLD]), scope="two")
    one = request(model(2, [USER], [TOLD], endTimeUnixNano="5000"), scope="one")

    assert [each.writer for each in kept([one, beside]).messages] == ["user", "model"]


@pytest.mark.parametrize(
    ("end", "text"), [("5000", "I do not know."), ("2900", "I look it up.")], ids=["words", "times"]
)
def test_two_instrumentations_of_two_calls_of_a_model_are_two_messages(end: str, text: str) -> None:
    other = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    beside = request(model(3, [USER], [other]), scope="two")
    one = request(model(2, [USER], [TOLD], endTimeUnixNano=end), scope="one")

    assert [each.writer for each in kept([one, beside]).messages].count("model") == 2


def test_long_texts_are_cut_and_counted() -> None:
    long = {"role": "assistant", "parts": [{"type": "text", "content": "x" * 50}]}
    document = request(agent(1), model(2, [USER], [long], parent=1), model(3, [USER, long], [TOLD], parent=1))

    cut = kept(document, Limits(messages_text=40, message_text=20)).messages

    assert [(len(each.text), each.left_out) for each in cut] == [(18, 0), (20, 30), (2, 11)]


def test_what_is_not_kept_has_no_messages() -> None:
    [run] = read(request(model(2, [USER], [TOLD])), grouping="file")

    assert run.messages == ()


@for_each("name", WITH_MESSAGES)
def test_real_instrumentations_tell_what_was_asked_and_said(name: str) -> None:
    run = kept(recordings()[name]["otlp.json"])

    assert told(run.messages)[0] == (0, "user", "Book me a trip from Tokyo to Paris.")
    assert told(run.messages)[-1] == (6, "model", "Trip booked.")
    models = [each for each in run.messages if each.writer == "model"]
    assert [(each.at, each.asks) for each in models] == [(0, 1), (1, 2), (3, 1), (4, 1), (5, 1), (6, 0)]


def test_a_log_of_messages_has_them_too() -> None:
    log = [
        {"role": "user", "content": "Where is my order?"},
        {
            "role": "assistant",
            "content": "I look it up.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sent"},
        {"role": "assistant", "content": "It was sent."},
    ]

    run = read_messages(log, limits=KEEPING_MESSAGES)

    assert told(run.messages) == [
        (0, "user", "Where is my order?"),
        (0, "model", "I look it up."),
        (1, "model", "It was sent."),
    ]


def test_texts_of_an_agent_have_the_figures_of_its_models() -> None:
    """Pydantic AI may write messages to logs, which are in another file: the agent's span has the texts alone."""
    run = kept(recordings()["pydantic-ai/trip-pkg1-fmt1-logs"]["otlp.json"])

    last = run.messages[-1]
    assert (last.text, last.input_tokens, last.output_tokens) == ("Trip booked.", 105, 76)


def stated(
    name: str, times: tuple[int | None, int | None] = (0, 9), parent: str | None = None, scope: str = "one", **more: Any
) -> ReadSpan:
    held = {key.replace("__", "."): value for key, value in more.items()}
    return ReadSpan(name, "t", name, parent, *times, held, scope=scope)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (_Told(stated("b", (1, 8), scope="two"), "Hi.", 0, 1, 2), True),
        (_Told(stated("b", (1, 8), scope="one"), "Hi.", 0, 1, 2), False),
        (_Told(stated("b", (9, 12), scope="two"), "Hi.", 0, 1, 2), False),
        (_Told(stated("b", (8, 12), scope="two"), "Hi.", 0, 1, 2), True),
        (_Told(stated("b", (-5, 0), scope="two"), "Hi.", 0, 1, 2), False),
        (_Told(stated("b", (-5, 1), scope="two"), "Hi.", 0, 1, 2), True),
        (_Told(stated("b", (None, 8), scope="two"), "Hi.", 0, 1, 2), False),
        (_Told(stated("b", (1, None), scope="two"), "Hi.", 0, 1, 2), False),
        (_Told(stated("b", (1, 8), scope="two"), "Ho.", 0, 1, 2), True),
        (_Told(stated("b", (1, 8), scope="two"), "Ho.", 0, 1, 3), False),
        (_Told(stated("b", (1, 8), scope="two"), "Hi.", 1, 1, 3), False),
        (_Told(stated("b", (1, 8), scope="two"), "Hi.", 0, None, None), True),
        (_Told(stated("b", (1, 8), scope="two"), "Ho.", 0, None, None), False),
    ],
)
def test_two_instrumentations_tell_of_one_call_at_one_time_in_the_same_words_or_tokens(
    other: _Told, same: bool
) -> None:
    assert _Told(stated("a"), "Hi.", 0, 1, 2).is_same_as(other) is same
    assert other.is_same_as(_Told(stated("a"), "Hi.", 0, 1, 2)) is same


def test_calls_without_known_tokens_are_not_the_same_for_that() -> None:
    first = _Told(stated("a"), "Hi.", 0, None, None)
    second = _Told(stated("b", scope="two"), "Ho.", 0, None, None)

    assert not first.is_same_as(second)


@for_each(
    ("spans", "figures"),
    [
        ([{}], (None, None, None, None)),
        ([{"gen_ai__request__model": "m"}], ("m", None, None, None)),
        ([{"gen_ai__request__model": "m", "gen_ai__response__model": "m-2"}], ("m-2", None, None, None)),
        ([{"gen_ai__response__model": "unknown", "gen_ai__request__model": '"m"'}], ("m", None, None, None)),
        ([{"gen_ai__response__model": 3}, {"model_name": "m" * 201}], ("m" * 200, None, None, None)),
        ([{"gen_ai__usage__input_tokens": 1}, {"gen_ai__usage__output_tokens": 2}], (None, 1, 2, None)),
        ([{"gen_ai__usage__input_tokens": 0}, {"gen_ai__usage__input_tokens": 2}], (None, 0, None, None)),
        ([{"gen_ai__usage__cost": 0.5}], (None, None, None, 0.5)),
        ([{"gen_ai__usage__cost": 0}], (None, None, None, 0.0)),
        ([{"gen_ai__usage__cost": -1}, {"llm__cost__total": 2}], (None, None, None, 2.0)),
        ([{"gen_ai__usage__cost": True}, {"operation__cost": 1e9}], (None, None, None, None)),
    ],
)
def test_the_first_span_that_states_a_figure_counts(spans: list[dict[str, Any]], figures: Any) -> None:
    found = _figures([stated("a", **each) for each in spans])

    assert (found["model"], found["input_tokens"], found["output_tokens"], found["cost"]) == figures


@for_each(
    ("message", "told_by"),
    [
        ({}, (None, None, None)),
        ({"model": "m", "usage": {"input_tokens": 1, "output_tokens": 2}}, ("m", 1, 2)),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 0}}, (None, 1, 0)),
        ({"message": {"model": "m" * 201, "usage": {"input_tokens": 1}}}, ("m" * 200, 1, None)),
        ({"message": "Hi.", "usage": 3, "model": 4}, (None, None, None)),
        ({"usage": {"input_tokens": True, "output_tokens": -1}}, (None, None, None)),
        ({"usage": {"input_tokens": 1.5, "output_tokens": 10**15}}, (None, None, None)),
    ],
)
def test_a_message_of_a_log_may_state_its_model_and_tokens(message: dict[str, Any], told_by: Any) -> None:
    assert tuple(_told_by(message).values()) == told_by


@for_each(
    ("message", "writer"),
    [
        ({"role": "user", "content": "Hi."}, "user"),
        ({"role": "assistant", "content": "Hi."}, "model"),
        ({"role": "SYSTEM", "content": "Hi."}, "system"),
        ({"role": "developer", "content": "Hi."}, "system"),
        ({"event.name": "gen_ai.system.message", "content": "Hi."}, "system"),
        ({"role": "tool", "tool_call_id": "1", "content": "ok"}, None),
        ({"role": "user", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]}, "user"),
        ({"type": "tool_use", "id": "1", "name": "look", "input": {}}, "model"),
        ({"content": "Hi."}, None),
    ],
)
def test_who_said_what(message: dict[str, Any], writer: str | None) -> None:
    assert [_writer_of(each) for each in exchanges_of([message])] == [writer]


def test_of_nested_records_the_innermost_is_the_call_and_a_span_around_several_is_a_loop() -> None:
    loop, first, inner = stated("loop"), stated("a", (5, 6), "loop"), stated("b", (5, 6), "a")
    second, late = stated("c", (1, 2), "loop"), stated("d", (None, None))
    spans = [loop, first, inner, late, second]
    roles: Any = {id(span): "model" for span in spans}
    run = Recorded(spans, roles, Tree(spans, roles), Turns(), Conversations(spans, roles, ()), (), ())

    assert [(use.span.name, [each.name for each in use.around]) for use in _uses(run)] == [
        ("c", []),
        ("b", ["a"]),
        ("d", []),
    ]


def test_figures_of_spans_belong_to_a_log_with_as_many_calls_of_models() -> None:
    told_ = (
        Message(writer="user", text="Go."),
        Message(writer="model", text="Hi.", turn=1),
        Message(writer="model", text="Ho."),
    )
    recorded = (Message(writer="model", input_tokens=1), Message(writer="model", input_tokens=2, turn=3))

    assert _timed(told_, recorded) == (
        Message(writer="user", text="Go."),
        Message(writer="model", text="Hi.", turn=1, input_tokens=1),
        Message(writer="model", text="Ho.", turn=3, input_tokens=2),
    )
    assert _timed(told_, recorded[:1]) == told_


def test_messages_of_models_without_times_come_after_those_before_them() -> None:
    timeless: dict[str, Any] = {"startTimeUnixNano": "", "endTimeUnixNano": ""}
    said = model(5, [USER], [TOLD], parent=1)
    run = kept(request(agent(1, endTimeUnixNano="9000"), call(2, parent=1), call(4, parent=1), said))
    assert [each.at for each in run.messages] == [2, 2]
    untimed = kept(
        request(agent(1), call(2, parent=1, **timeless), call(4, parent=1), model(5, [USER], [TOLD], parent=1))
    )
    assert [each.at for each in untimed.messages] == [0, 0]
    late = kept(request(agent(1), call(2, parent=1), model(5, [USER], [TOLD], parent=1, **timeless)))
    assert [each.at for each in late.messages] == [0, 0]


def test_what_a_log_repeats_of_one_before_it_is_said_once() -> None:
    def asking(call_id: str, text: str) -> dict[str, Any]:
        call = {"id": call_id, "type": "function", "function": {"name": "search", "arguments": "{}"}}
        return {"role": "assistant", "content": text, "tool_calls": [call]}

    user, tool = {"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    first, second = asking("c1", "One."), asking("c2", "Two.")
    end = {"role": "assistant", "content": "Gone."}
    log = [user, first, tool, second, {**tool, "tool_call_id": "c2"}, end, user, end, user]
    run = read_messages(log, limits=KEEPING_MESSAGES)

    assert told(run.messages) == [
        (0, "user", "Go."),
        (0, "model", "One."),
        (1, "model", "Two."),
        (2, "model", "Gone."),
        (2, "user", "Go."),
        (2, "model", "Gone."),
        (2, "user", "Go."),
    ]
    assert [each.turn for each in run.messages] == [0, 0, 0, 0, 1, 1, 2]

    turns = [Turn(messages=log[:6]), Turn(messages=log[:8])]
    assert told(read_turns(turns, limits=KEEPING_MESSAGES).messages) == told(run.messages)[:6]
