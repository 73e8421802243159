"""A call belongs to the turn in which it was made; what a model is shown again is not a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.walls import for_each

from rightcall import read, read_messages
from rightcall.reading import Turn, read_turns
from rightcall.reading.messages import Conversation, exchanges_of
from rightcall.reading.runs._conversations import _is_unanswered, _note_copies, _Talk
from rightcall.reading.runs._run_builder import _by_turn
from rightcall.reading.runs._span_tree import ReadSpan, Tree
from rightcall.reading.runs._turns import (
    Turns,
    UserRequest,
    UserRequests,
    _are_all_known,
    _following_traces,
    _follows_work,
    _have_answered,
    _is_asked_anew,
    end_of,
)
from rightcall.reading.spans import CallRecord
from rightcall.values.trajectory import Trajectory

from .talks import (
    ANSWERED,
    ASKED,
    CALLED,
    MADE,
    agent_span,
    asks_for,
    chat,
    gives,
    log,
    of_turn,
    says,
    spans_of_turn,
    spans_that_waited,
    tool_span,
)
from .traces import call, request, span

CONVERSATION = "gen_ai.conversation.id"


def made(trajectory: Trajectory) -> list[tuple[str, int | None]]:
    return [(call.name, call.turn) for call in trajectory.calls]


def trace_of(turn: int) -> dict[str, Any]:
    return {"traceId": f"{turn + 1}" * 32}


def joined(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spans that say which conversation they are of."""
    for each in spans:
        each["attributes"].append({"key": CONVERSATION, "value": {"stringValue": "c"}})
    return spans


def recorded(place: str, **options: Any) -> Trajectory:
    """The conversation, recorded in one of the places where turns are found."""
    if place == "a log":
        return read_messages(log(3, options["ids"]))
    if place == "a trace a turn":
        spans = [each for turn in range(3) for each in joined(spans_of_turn(turn, **options, **trace_of(turn)))]
    else:
        parent = None if place == "one trace" else 1
        spans = [each for turn in range(3) for each in spans_of_turn(turn, parent=parent, **options)]
    lasts: dict[str, Any] = {"endTimeUnixNano": "90000"}
    if place == "one trace, wrapped":
        spans.append(span(1, name="session", **lasts))
    if place == "one trace, in a framework's own":
        spans.append(span(1, {"openinference.span.kind": "AGENT"}, name="Agent workflow", **lasts))
    [trajectory] = read(request(*spans))
    return trajectory


PLACES = ("a log", "a trace a turn", "one trace", "one trace, wrapped", "one trace, in a framework's own")


@pytest.mark.parametrize("agent", ["support", None], ids=["agent", "no agent"])
@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
@pytest.mark.parametrize("place", PLACES)
def test_a_conversation_is_the_same_wherever_it_was_recorded(
    place: str, tools: bool, ids: bool, agent: str | None
) -> None:
    found = recorded(place, tools=tools, ids=ids, agent=agent)

    assert made(found) == MADE
    assert (found.turn_inputs, found.turn_outputs) == (ASKED, ANSWERED)
    assert (found.input, found.output) == (ASKED[0], ANSWERED[2])
    assert found.calls_recorded


@for_each("agent", [{"gen_ai.agent.name": "support"}, {"input.value": "{}"}])
def test_turns_are_not_known_where_the_span_of_a_turn_has_its_last_prompt_alone(agent: dict[str, str]) -> None:
    """In Google ADK's spans by OpenInference all uses of a model in a run write into one span, the last one counts."""
    spans = [span(1, name="session", endTimeUnixNano="90000")]
    for turn, called in enumerate(CALLED):
        first, said = 10 * (turn + 1), log(turn + 1)[:-1]
        around = {"gen_ai.operation.name": "invoke_agent", **agent}
        spans += [span(first, around, parent=1, endTimeUnixNano=str((first + 9) * 1000))]
        spans += [chat(first + 1, said, says("assistant", ANSWERED[turn]), parent=first)]
        spans += [tool_span(first + 2, *called, parent=first)] if called else []
    [found] = read(request(*spans))

    assert made(found) == [("lookup_order", None), ("refund", None)]
    assert found.turn_outputs == ()


def test_a_turn_is_over_where_the_user_answers_it_however_late_the_span_of_its_agent_ends() -> None:
    """Around agents of AutoGen, OpenInference records only their generators, which end when they are collected."""
    spans = [each for turn in range(3) for each in joined(spans_of_turn(turn, **trace_of(turn)))]
    for agent, end in zip(spans[::4], ("35000", "90000", "80000"), strict=True):
        agent["endTimeUnixNano"] = end
    [found] = read(request(*spans))

    assert made(found) == MADE
    assert found.turn_outputs == ANSWERED


def test_an_agent_that_works_while_another_one_does_is_of_its_turn_whatever_it_is_asked() -> None:
    spans = [each for turn in range(2) for each in joined(spans_of_turn(turn, **trace_of(turn)))]
    at_work = chat(28, log(1)[:-1], says("assistant", ANSWERED[0]), parent=10, **trace_of(0))
    spans[0]["endTimeUnixNano"] = "90000"
    [found] = read(request(*spans, *joined([at_work])))

    assert made(found) == [("lookup_order", 0), ("refund", 0)]


def test_turns_are_not_known_where_the_only_model_of_one_lost_what_it_was_asked() -> None:
    around = {"gen_ai.operation.name": "invoke_agent", "input.value": "{}"}
    spans = [span(1, name="session", endTimeUnixNano="90000")]
    for turn in range(3):
        [agent, *inside] = spans_of_turn(turn, parent=1)
        spans += [agent | {"attributes": span(0, around)["attributes"]}, *inside]
    assert made(*read(request(*spans))) == MADE

    spans[-1] |= {"droppedAttributesCount": 2}
    assert made(*read(request(*spans))) == [("lookup_order", None), ("refund", None)]


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("place", PLACES[1:])
def test_calls_that_only_later_prompts_show_are_of_the_turn_they_were_made_in(place: str, ids: bool) -> None:
    assert made(recorded(place, tools=False, ids=ids, outputs=False)) == MADE


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
def test_without_anything_around_it_an_agent_goes_on_with_its_turn_until_the_user_writes(
    tools: bool, ids: bool
) -> None:
    """Each use of a model is a trace then, and so is each call."""
    spans = [each for turn in range(3) for each in joined(spans_of_turn(turn, tools=tools, ids=ids, agent=None))]
    for number, each in enumerate(spans):
        each.update(traceId=f"{number + 1:032x}", parentSpanId="")
    [found] = read(request(*spans))

    assert made(found) == MADE
    assert found.turn_inputs == ASKED


def test_results_alone_in_a_trace_of_their_own_go_on_with_the_turn() -> None:
    """Prompts have what is new in them, where the server keeps the conversation."""
    spans = []
    for turn, called in enumerate(CALLED):
        asking = (
            [] if called is None else [chat(10 * turn + 1, [says("user", ASKED[turn])], asks_for(*called, f"c{turn}"))]
        )
        new = gives("ok", f"c{turn}") if called else says("user", ASKED[turn])
        spans += [*asking, chat(10 * turn + 3, [new], says("assistant", ANSWERED[turn]))]
    for number, each in enumerate(joined(spans)):
        each["traceId"] = f"{number + 1:032x}"

    [found] = read(request(*spans))

    assert made(found) == MADE
    assert (found.turn_inputs, found.turn_outputs) == (ASKED, ANSWERED)


def test_the_rest_of_a_run_that_waited_for_a_person_is_of_the_same_turn() -> None:
    [found] = read(request(*spans_that_waited()))

    assert [(call.name, call.turn) for call in found.calls] == [("lookup_order", 0), ("refund", 0)]
    assert (found.input, found.output, found.turn_inputs) == ("Refund order 7.", "I refunded 20.", ())


def test_the_first_prompt_of_a_turn_that_is_lost_makes_no_turn_of_another() -> None:
    spans = [each for turn in range(3) for each in joined(spans_of_turn(turn, tools=False, agent=None))]
    for number, each in enumerate(spans):
        each.update(traceId=f"{number + 1:032x}", parentSpanId="")
    shown = [json.loads(each["attributes"][1]["value"]["stringValue"])[-1] for each in spans]
    first = next(place for place, message in enumerate(shown) if message == says("user", ASKED[1]))
    [found] = read(request(*spans[:first], *spans[first + 1 :]))

    assert made(found) == MADE


@pytest.mark.parametrize("outputs", [True, False], ids=["answers", "prompts only"])
@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
@pytest.mark.parametrize(("turn", "names"), [(0, ("lookup_order",)), (1, ("refund",)), (2, ())])
def test_a_turn_that_stands_alone_has_its_own_calls_only(
    turn: int, names: tuple[str, ...], tools: bool, outputs: bool
) -> None:
    [found] = read(request(*spans_of_turn(turn, tools=tools, outputs=outputs)))

    assert found.names == names
    assert (found.input, found.output) == (ASKED[turn], ANSWERED[turn])
    assert found.calls_recorded


def test_no_group_reaches_over_turns() -> None:
    for place in PLACES:
        found = recorded(place, tools=False, ids=False, agent="support")

        assert len({call.group for call in found.calls}) == 2, place


def test_examples_in_a_prompt_are_not_calls() -> None:
    examples = [says("user", "Where is order 1?"), asks_for("lookup_order", {"order_id": 1}), gives("lost")]
    examples += [says("assistant", "It is lost.")]
    asked = [*examples, says("user", ASKED[0])]
    asking = asks_for("lookup_order", {"order_id": 7})
    spans = [chat(1, asked, asking), chat(2, [*asked, asking, gives("ok")], says("assistant", "Shipped."))]
    [found] = read(request(*spans))

    assert [(call.name, call.args, call.output) for call in found.calls] == [("lookup_order", {"order_id": 7}, "ok")]


def test_a_call_made_again_in_another_turn_is_another_call() -> None:
    said: list[dict[str, Any]] = []
    spans = []
    for turn, question in enumerate(["Is it there?", "And now?"]):
        asked = [*said, says("user", question)]
        asking = asks_for("look", {})
        spans.append(chat(10 * turn + 1, asked, asking))
        spans.append(chat(10 * turn + 2, said := [*asked, asking, gives(f"seen {turn}")], says("assistant", "Yes.")))
        said = [*said, says("assistant", "Yes.")]
    [found] = read(request(*spans))

    assert [(call.turn, call.output) for call in found.calls] == [(0, "seen 0"), (1, "seen 1")]


def test_a_prompt_that_forgets_its_beginning_shows_no_new_calls() -> None:
    last = [*of_turn(1, ids=False), says("user", ASKED[2])]
    spans = [*spans_of_turn(0, ids=False, tools=False), *spans_of_turn(1, ids=False, tools=False)]
    spans += [agent_span(30), chat(31, last, says("assistant", ANSWERED[2]), parent=30)]
    [found] = read(request(*spans))

    assert made(found) == MADE
    assert found.turn_outputs == ANSWERED


def test_words_that_a_framework_says_as_the_user_begin_no_turn() -> None:
    asking = asks_for("lookup_order", {"order_id": 7})
    asked = [says("user", ASKED[0])]
    tried = [*asked, asking, gives("ok"), says("assistant", "Shipped?"), says("user", "Validation failed. Try again.")]
    spans = [
        agent_span(1),
        chat(2, asked, asking, parent=1),
        chat(3, tried, asking, parent=1),
        chat(4, [*tried, asking, gives("ok")], says("assistant", ANSWERED[0]), parent=1),
    ]
    [found] = read(request(*spans))

    assert made(found) == [("lookup_order", 0), ("lookup_order", 0)]
    assert found.turn_outputs == ()


def test_a_hand_off_begins_no_turn() -> None:
    asked = [says("user", ASKED[0])]
    handing = [asks_for("transfer_to_billing", {}, "h"), gives("billing", "h")]
    spans = [
        agent_span(10, "triage"),
        chat(11, asked, handing[0], parent=10),
        agent_span(20, "billing"),
        chat(21, [*asked, *handing], asks_for("refund", {}, "r"), parent=20),
        tool_span(22, "refund", {}, "r", parent=20),
        chat(
            23, [*asked, *handing, asks_for("refund", {}, "r"), gives("ok", "r")], says("assistant", "Done."), parent=20
        ),
    ]
    [found] = read(request(*spans))

    assert {call.turn for call in found.calls} <= {0, None}
    assert (found.turn_outputs, found.output) == ((), "Done.")


@pytest.mark.parametrize("place", ["inside of a call", "inside of a request"])
def test_agents_inside_of_others_begin_no_turn(place: str) -> None:
    around = {
        "inside of a call": {"tool.name": "plan", "input.value": "{}"},
        "inside of a request": {"input.value": "Go"},
    }
    spans = [span(1, around[place], name="around", endTimeUnixNano="90000")]
    spans += [each for turn in range(3) for each in spans_of_turn(turn, parent=1)]
    [found] = read(request(*spans))

    assert found.turn_outputs == ()
    assert [call.name for call in found.calls if call.name != "plan"] == ["lookup_order", "refund"]


def as_events(made: dict[str, Any], said: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A span with messages in events that do not say whose they are but by their names."""
    held = [(name, span(0, {key: json.dumps(text) for key, text in body.items()})) for name, body in said]
    return {**made, "events": [{"name": f"gen_ai.{name}", "attributes": each["attributes"]} for name, each in held]}


def with_messages_in_logs(spans: list[dict[str, Any]]) -> list[bytes]:
    """Spans, and the messages of models in log records instead."""
    records = []
    for each in spans:
        said = [held for held in each["attributes"] if held["key"].endswith("put.messages")]
        each["attributes"] = [held for held in each["attributes"] if held not in said]
        if said:
            named = {"eventName": "gen_ai.client.inference.operation.details", "attributes": said}
            place = {key: each[key] for key in ("traceId", "spanId")}
            records.append({**named, **place, "timeUnixNano": each["startTimeUnixNano"]})
    logged = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    return [json.dumps(request(*spans)).encode(), json.dumps(logged).encode()]


@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
def test_messages_in_log_records_tell_turns_as_those_in_spans_do(tools: bool) -> None:
    spans = [each for turn in range(3) for each in spans_of_turn(turn, tools=tools, agent=None)]
    [found] = read(with_messages_in_logs(spans))

    assert made(found) == MADE
    assert (found.turn_inputs, found.turn_outputs) == (ASKED, ANSWERED)


def test_words_of_the_model_in_events_end_an_earlier_turn() -> None:
    use = {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}}
    result = {"toolResult": {"toolUseId": "c", "status": "success", "content": [{"text": "ok"}]}}
    said: list[tuple[str, dict[str, Any]]] = [
        ("user.message", {"content": [{"text": "Is it there?"}]}),
        ("assistant.message", {"content": [use]}),
        ("tool.message", {"content": [result]}),
        ("assistant.message", {"content": [{"text": "Yes."}]}),
        ("user.message", {"content": [{"text": "Thanks!"}]}),
    ]
    cycle = as_events(span(2, {"gen_ai.operation.name": "execute_event_loop_cycle"}, parent=1), said)
    model = span(3, {"gen_ai.operation.name": "chat"}, parent=2)
    answered = as_events(model, [*said, ("choice", {"message": [{"text": "You are welcome."}]})])
    [found] = read(request(agent_span(1), cycle, answered))

    assert (found.names, found.calls_recorded, found.warnings) == ((), True, ())


def openinference(number: int, shown: list[tuple[str, str]], parent: int) -> dict[str, Any]:
    """A span of a model, with what it was shown as text only."""
    said = {}
    for place, (role, text) in enumerate(shown):
        said[f"llm.input_messages.{place}.message.role"] = role
        said[f"llm.input_messages.{place}.message.contents.0.message_content.type"] = "text"
        said[f"llm.input_messages.{place}.message.contents.0.message_content.text"] = text
    return span(number, {"openinference.span.kind": "LLM", **said}, parent=parent)


@pytest.mark.parametrize("role", ["tool-call", "tool-response", "tool", "assistant"])
def test_what_tools_did_before_a_question_makes_it_a_new_turn_though_it_is_told_in_words(role: str) -> None:
    question, work, again = ("user", "Plan it."), (role, "Calling tools: [{'id': 'c'}]"), ("user", "Book it.")
    agents = [
        span(number, {"openinference.span.kind": "AGENT", "input.value": "x"}, parent=1, endTimeUnixNano=f"{number}900")
        for number in (2, 5)
    ]
    models = [openinference(3, [question], 2), openinference(6, [question, work, again], 5)]
    tools = [tool_span(4, "look", {}, parent=2), tool_span(7, "book", {}, parent=5)]
    [found] = read(request(span(1, endTimeUnixNano="9000"), *agents, *models, *tools))

    assert made(found) == [("look", 0), ("book", 1)]


def smolagents_step(*names: str) -> dict[str, Any]:
    """A step whose calls share one text, as smolagents writes it."""
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": {}}} for name in names]
    return {"step_number": 1, "tool_calls": calls, "observations": "some text", "error": None}


def test_the_steps_of_two_tasks_are_two_turns_and_the_calls_of_a_step_one_group() -> None:
    first, second = {"task": "Plan it.", "task_images": None}, {"task": "Book it.", "task_images": None}
    steps = [smolagents_step("look", "see"), smolagents_step("compare"), second, smolagents_step("book")]
    found = read_messages([first, *steps])

    assert made(found) == [("look", 0), ("see", 0), ("compare", 0), ("book", 1)]
    assert [call.group for call in found.calls] == ["turn-1", "turn-1", "turn-2", "turn-3"]


@pytest.mark.parametrize("place", ["a trace a turn", "one trace", "one trace, in a framework's own"])
def test_the_span_of_a_generator_that_is_thrown_away_late_reaches_into_no_other_turn(place: str) -> None:
    spans = []
    for turn in range(3):
        trace = trace_of(turn) if place == "a trace a turn" else {}
        outer, *work = spans_of_turn(turn, parent=1 if place == PLACES[-1] else None, **trace)
        stream = agent_span(10 * (turn + 1) + 5, lasts=9, parent=10 * (turn + 1), **trace)
        stream["startTimeUnixNano"] = outer["startTimeUnixNano"]
        spans += joined([outer, stream, *[{**each, "parentSpanId": stream["spanId"]} for each in work]])
    if place == PLACES[-1]:
        around = {"openinference.span.kind": "AGENT"}
        spans.append(span(1, around, name="Agent workflow", endTimeUnixNano="90000"))
    [found] = read(request(*spans))

    assert made(found) == MADE
    assert (found.turn_inputs, found.turn_outputs) == (ASKED, ANSWERED)


def test_agents_of_a_team_that_follow_one_another_are_one_turn() -> None:
    spans = [agent_span(10, "researcher"), chat(11, [says("user", "Find it.")], says("assistant", "42"), parent=10)]
    spans += [
        agent_span(20, "writer"),
        chat(21, [says("user", "Write: 42")], says("assistant", "It is 42."), parent=20),
    ]
    [found] = read(request(*spans))

    assert (found.turn_outputs, found.output) == ((), "It is 42.")


@pytest.mark.parametrize(("names", "turns"), [(("support", "support"), [0, 1]), (("triage", "billing"), [None, None])])
def test_without_messages_the_same_agent_asked_again_is_another_turn(names: tuple[str, str], turns: list[Any]) -> None:
    spans = [each for at, name in zip((10, 20), names, strict=True) for each in _silent(at, name)]
    [found] = read(request(*spans))

    assert [call.turn for call in found.calls] == turns


@for_each(
    ("given", "is_anew"),
    [
        (("Where is it?", "Refund it."), True),
        (("Where is it?", "Where is it?"), False),
        (("Where is it?", '{"resume": {"type": "approve"}}'), False),
        (("Where is it?", ""), False),
        (("", "Refund it."), False),
        (("", ""), False),
    ],
)
@pytest.mark.parametrize("place", [0, 1], ids=["one trace", "a trace each"])
def test_an_agent_that_had_asked_for_calls_is_asked_anew_where_it_is_given_other_words(
    place: int, given: tuple[str, str], is_anew: bool
) -> None:
    """Without words, it may have waited for a person, and goes on."""
    first, second = [_silent(at, "support", told) for at, told in zip((10, 20), given, strict=True)]
    first.append(chat(12, [], asks_for("refund", {}), parent=10))
    for number, spans in enumerate((first, second)):
        for each in joined(spans):
            each.update(trace_of(number * place))
    [found] = read(request(*first, *second))

    assert [call.turn for call in found.calls if call.name == "look"] == ([0, 1] if is_anew else [None, None])


def test_without_messages_each_trace_of_a_conversation_is_a_turn() -> None:
    first, second = _silent(10, "support"), _silent(20, "billing")
    for place, spans in enumerate((first, second)):
        for each in joined(spans):
            each.update(trace_of(place))
    [found] = read(request(*first, *second))

    assert [call.turn for call in found.calls] == [0, 1]


def test_without_messages_another_agent_in_the_same_trace_may_be_given_other_words_by_the_first() -> None:
    spans = [*_silent(10, "triage", "Where is it?"), *_silent(20, "billing", "Refund it.")]
    [found] = read(request(*spans))

    assert [call.turn for call in found.calls] == [None, None]


def _silent(at: int, name: str, given: str = "") -> list[dict[str, Any]]:
    agent = agent_span(at, name)
    agent["attributes"] += [{"key": "input.value", "value": {"stringValue": given}}] if given else []
    return [agent, tool_span(at + 1, "look", {}, parent=at)]


@pytest.mark.parametrize(("answer", "turns"), [(says("assistant", "Shipped."), [0, 1]), (None, [None, None])])
@pytest.mark.parametrize("trace", [0, 1], ids=["one trace", "a trace each"])
def test_without_prompts_the_same_agent_that_had_answered_is_asked_anew(
    trace: int, answer: dict[str, Any] | None, turns: list[Any]
) -> None:
    first, second = _silent(10, "support"), _silent(20, "support")
    first.append(chat(12, [], answer or asks_for("refund", {}), parent=10))
    for place, spans in enumerate((first, second)):
        for each in joined(spans):
            each.update(trace_of(place * trace))
    [found] = read(request(*first, *second))

    assert [call.turn for call in found.calls if call.name == "look"] == turns


def test_where_the_first_prompt_is_missing_and_nothing_tells_no_calls_are_recorded() -> None:
    asking = asks_for("lookup_order", {"order_id": 7})
    shown = [says("user", ASKED[0]), asking, gives("ok"), says("user", "Validation failed. Try again.")]
    [found] = read(request(chat(1, shown, says("assistant", "Shipped."))))

    assert not found.calls_recorded
    assert any("earlier turn" in warning for warning in found.warnings)


def test_a_turn_of_which_nothing_tells_leaves_the_calls_not_recorded() -> None:
    spans = joined([*spans_of_turn(0, tools=False, **trace_of(0)), agent_span(20, **trace_of(1))])
    [found] = read(request(*spans))

    assert not found.calls_recorded
    assert any("turn 2" in warning for warning in found.warnings)


def test_spans_around_the_work_of_a_trace_are_of_its_turn() -> None:
    spans = []
    for turn in range(3):
        first = 10 * (turn + 1) - 2
        root = {"openinference.span.kind": "CHAIN", "input.value": ASKED[turn], "output.value": ANSWERED[turn]}
        lasts = {"endTimeUnixNano": str((first + 11) * 1000), **trace_of(turn)}
        spans += joined([span(first, root, **lasts), *spans_of_turn(turn, agent=None, parent=first, **trace_of(turn))])
    [found] = read(request(*spans))

    assert (found.turn_inputs, found.turn_outputs) == (ASKED, ANSWERED)


def spans_at(place: str, **options: Any) -> list[dict[str, Any]]:
    """The spans of the conversation, as `recorded` reads them."""
    each_trace = place == "a trace a turn"
    parent = 1 if place == "one trace, wrapped" else None
    made = [
        each
        for turn in range(3)
        for each in spans_of_turn(turn, parent=parent, **options, **(trace_of(turn) if each_trace else {}))
    ]
    if parent:
        made.append(span(1, name="session", endTimeUnixNano="90000"))
    return joined(made)


def without_times(each: dict[str, Any]) -> dict[str, Any]:
    return {key: held for key, held in each.items() if not key.endswith("TimeUnixNano")}


def without(key: str, value: str = "") -> Any:
    def taken(each: dict[str, Any]) -> dict[str, Any]:
        kept = [held for held in each["attributes"] if held["key"] != key or value not in held["value"].values()]
        kept = kept if value else [held for held in each["attributes"] if held["key"] != key]
        return {**each, "attributes": kept}

    return taken


def with_other_text(old: str, new: str) -> Any:
    return lambda each: json.loads(json.dumps(each).replace(old, new))


REMOVALS = {
    "times": without_times,
    "roles of models": without("gen_ai.operation.name", "chat"),
    "roles of agents": without("gen_ai.operation.name", "invoke_agent"),
    "names of agents": without("gen_ai.agent.name"),
    "prompts": without("gen_ai.input.messages"),
    "answers": without("gen_ai.output.messages"),
    "the user's role": with_other_text(r"\"role\": \"user\"", r"\"role\": \"\""),
}


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
@pytest.mark.parametrize("removed", REMOVALS)
@pytest.mark.parametrize("place", PLACES[1:4])
def test_what_is_taken_out_makes_no_call_one_of_another_turn(place: str, removed: str, tools: bool, ids: bool) -> None:
    spans = [REMOVALS[removed](each) for each in spans_at(place, tools=tools, ids=ids)]
    [found] = read(request(*spans))

    if found.calls_recorded:
        assert set(made(found)) <= {*MADE, *[(name, None) for name, _ in MADE]}
        assert len(found.calls) == 2


@for_each("removed", REMOVALS)
def test_what_is_taken_out_of_a_run_that_waited_for_a_person_makes_no_turn_of_its_rest(removed: str) -> None:
    [found] = read(request(*[REMOVALS[removed](each) for each in spans_that_waited()]))

    assert {call.turn for call in found.calls} <= {0, None}
    assert not any(found.turn_outputs[1:])


@pytest.mark.parametrize("change", ["shuffled", "twice", "a server around each trace", "a queue between"])
@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
@pytest.mark.parametrize("place", PLACES[1:4])
def test_what_lies_around_the_spans_changes_no_turn(place: str, tools: bool, change: str) -> None:
    spans = spans_at(place, tools=tools)
    [before] = read(request(*spans))
    [after] = read(request(*CHANGES[change](spans)))

    assert made(after) == made(before) == MADE
    assert (after.turn_inputs, after.turn_outputs) == (ASKED, ANSWERED)


def _around_each(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    traces = sorted({each["traceId"] for each in spans})
    servers = [span(900 + at, name="POST /chat", traceId=trace) for at, trace in enumerate(traces)]
    for server in servers:
        held = [each for each in spans if each["traceId"] == server["traceId"]]
        server["startTimeUnixNano"] = min([each["startTimeUnixNano"] for each in held], key=int)
        server["endTimeUnixNano"] = max([each["endTimeUnixNano"] for each in held], key=int)
    ids = {server["traceId"]: server["spanId"] for server in servers}
    return [*servers, *[{"parentSpanId": ids[each["traceId"]], **each} for each in spans]]


def _between(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for at, each in enumerate(spans):
        if "parentSpanId" in each:
            queue = {
                **span(800 + at, name="receive"),
                **{k: each[k] for k in each if k not in ("spanId", "attributes")},
            }
            found.append({**queue, "name": "receive", "attributes": []})
            each = {**each, "parentSpanId": queue["spanId"]}
        found.append(each)
    return found


CHANGES: dict[str, Any] = {
    "shuffled": lambda spans: [*spans[1::2], *spans[::2]],
    "twice": lambda spans: [*spans, *spans],
    "a server around each trace": _around_each,
    "a queue between": _between,
}


def test_messages_given_as_pairs_are_a_question() -> None:
    root = {"openinference.span.kind": "CHAIN", "input.mime_type": "application/json"}
    root["input.value"] = json.dumps({"messages": [["user", ASKED[0]]]})
    [found] = read(request(span(1, root), chat(2, [says("user", ASKED[0])], says("assistant", "Hi."), parent=1)))

    assert found.input == ASKED[0]


def test_what_a_later_turn_repeats_without_a_word_of_the_user_is_not_called_again() -> None:
    asked, asking = says("user", ASKED[0]), asks_for("lookup_order", {"order_id": 7})
    first = chat(11, [asked], asking, **trace_of(0))
    second = chat(21, [asked, asking, gives("ok")], says("assistant", ANSWERED[0]), **trace_of(1))
    [found] = read(request(*joined([first, second])))

    assert made(found) == MADE[:1]


def test_turns_that_are_logs_of_messages_show_all_their_calls() -> None:
    found = read_turns([Turn(messages=of_turn(turn)) for turn in range(3)])

    assert made(found) == MADE
    assert found.calls_recorded
    assert found.warnings == ()


def test_logs_that_repeat_the_conversation_up_to_each_turn_leave_calls_in_the_turn_they_were_made_in() -> None:
    found = read_turns([Turn(messages=log(turn + 1)) for turn in range(3)])

    assert made(found) == MADE
    assert [call.output for call in found.calls] == ["ok", "ok"]


def test_what_prompts_without_words_of_the_user_repeat_is_not_called_again() -> None:
    told, other = says("system", "Look after order 7."), says("system", "Report.")
    first, second = asks_for("lookup_order", {"order_id": 7}), asks_for("refund", {"order_id": 7})
    shown = [told, first, gives("ok")]
    spans = [
        chat(11, [told], first, **trace_of(0)),
        chat(21, shown, second, **trace_of(1)),
        chat(31, [*shown, second, gives("ok"), other], says("assistant", "Done."), **trace_of(2)),
    ]
    [found] = read(request(*joined(spans)))

    assert made(found) == [(name, None) for name, _ in MADE]


def test_a_trace_that_begins_when_another_ends_is_a_turn_of_its_own() -> None:
    def agent(given: str) -> dict[str, str]:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c", "input.value": given}

    first = [span(1, agent("one"), endTimeUnixNano="5000"), call(2, "a", parent=1)]
    then = [span(5, agent("two"), traceId="b" * 32, endTimeUnixNano="9000"), call(6, "b", parent=5, traceId="b" * 32)]
    [found] = read(request(*first, *then))

    assert [(each.name, each.turn) for each in found.calls] == [("a", 0), ("b", 1)]


def test_a_turn_that_only_the_log_of_a_later_one_shows_is_not_recorded() -> None:
    later = Turn(messages=log(2), asked=ASKED[1])
    silent = read_turns([Turn(asked=ASKED[0]), later])
    heard = read_turns([Turn(messages=log(1), asked=ASKED[0]), later])

    assert (silent.calls_recorded, heard.calls_recorded) == (False, True)


@pytest.mark.parametrize(("end", "turns"), [("20000", [0, 1]), ("20001", [None, None])])
def test_an_agent_that_is_asked_again_when_it_ends_is_asked_anew(end: str, turns: list[Any]) -> None:
    first, second = _silent(10, "support", "one"), _silent(20, "support", "two")
    first[0]["endTimeUnixNano"] = end
    [found] = read(request(*first, *second))

    assert [call.turn for call in found.calls] == turns


def timed(name: str, start: int | None, end: int | None, parent: str | None = None, trace: str = "t") -> ReadSpan:
    return ReadSpan(name, trace, name, parent, start, end)


@pytest.mark.parametrize(("start", "end", "over"), [(1, 9, 9), (5, None, 5), (5, 3, 5), (None, 3, 3), (None, None, 0)])
def test_a_span_is_over_when_it_ended_and_not_before_it_began(start: int | None, end: int | None, over: int) -> None:
    assert end_of(timed("a", start, end)) == over


def test_a_span_is_of_the_turn_that_had_begun_and_not_before_its_trace_was_at_work() -> None:
    turns = Turns(count=3, begins=(10, 20), traces={"t": (0,), "u": (10,), "v": (20,)})

    assert [turns.at(time) for time in (None, 0, 9, 10, 19, 20, 99)] == [None, 0, 0, 1, 1, 2, 2]
    assert [turns.of(timed("a", start, 99)) for start in (None, 9, 10)] == [None, 0, 1]
    assert [turns.of(timed("a", start, 99, trace="u")) for start in (8, 12, 20)] == [1, 1, 2]
    assert turns.of(timed("a", 3, 9, trace="unknown")) == 0
    assert Turns().of(timed("a", None, None)) == 0
    assert Turns(traces={"t": (5,)}).of(timed("a", None, None)) == 0


def test_turns_that_were_given_one_by_one_go_by_spans_and_not_by_times() -> None:
    known, other = timed("a", 5, 6), timed("b", 5, 6)
    turns = Turns(count=2, given={id(known): 1})

    assert (turns.of(known), turns.of(other), turns.at(5)) == (1, None, None)


@for_each(
    ("ends", "sure"),
    [
        ([], (True, True)),
        ([15], (True, True)),
        ([20], (True, True)),
        ([21], (True, False)),
        ([11], (True, True)),
        ([10], (False, True)),
        ([10, 21], (False, False)),
        ([None, 15], (False, False)),
    ],
)
def test_the_first_and_last_turn_are_sure_unless_work_of_unknown_time_may_be_before_or_after(
    ends: list[int | None], sure: tuple[bool, bool]
) -> None:
    turns = Turns(count=3, begins=(10, 20), is_known=False)

    assert turns.are_ends_sure([timed("a", 1, 9), *[timed("b", None, end) for end in ends]]) == sure
    assert Turns(count=2, given={}).are_ends_sure([timed("a", None, None)]) == (True, True)


@pytest.mark.parametrize(("lost", "told"), [(0, (None, ANSWERED[2])), (2, (ASKED[0], None))])
def test_a_turn_whose_time_is_lost_leaves_no_other_to_begin_or_end_the_run(
    lost: int, told: tuple[str | None, str | None]
) -> None:
    never: dict[str, Any] = {"startTimeUnixNano": ""}
    spans = [spans_of_turn(turn, **(never if turn == lost else {})) for turn in range(3)]

    [trajectory] = read(request(*[each for turn in spans for each in turn]))

    assert (trajectory.input, trajectory.output) == told


@pytest.mark.parametrize("tools", [True, False], ids=["tool spans", "messages only"])
def test_prompts_whose_time_is_lost_show_no_call_of_another_turn_again(tools: bool) -> None:
    spans = [each for turn in range(3) for each in spans_of_turn(turn, tools=tools, ids=False)]
    for each in spans:
        if each["spanId"] in {f"{number:016x}" for number in (10, 23, 30, 33)}:
            del each["startTimeUnixNano"]

    [trajectory] = read(request(*spans))

    assert sorted(trajectory.names) == ["lookup_order", "refund"]


def test_spans_that_reach_over_a_further_turn_of_their_trace_are_of_none() -> None:
    turns = Turns(count=2, begins=(10,), traces={"t": (0, 10)})
    first, second, until, both = timed("a", 0, 9), timed("b", 10, 19), timed("c", 5, 10), timed("d", 5, 11)
    unknown, elsewhere = timed("e", None, 11), timed("f", 5, 11, trace="u")

    assert turns.parted([first, second, until, both, unknown, elsewhere]) == [[first, until, elsewhere], [second]]

    late = Turns(count=2, begins=(10,), traces={"t": (0, 10)}, ends={id(both): 9.0})
    assert late.parted([both]) == [[both], []]


def test_a_trace_begins_a_turn_when_all_before_it_are_over() -> None:
    def begins(*times: tuple[int, int]) -> list[int]:
        traces = {str(place): [timed("a", start, end)] for place, (start, end) in enumerate(times)}
        following = _following_traces(traces, {id(trace[0]): end_of(trace[0]) for trace in traces.values()})
        return [begin for begin, _, _ in following]

    assert begins((0, 9)) == []
    assert begins((0, 9), (9, 12)) == [9]
    assert begins((0, 9), (8, 12)) == []
    assert begins((20, 29), (0, 9), (10, 19)) == [10, 20]
    assert begins((0, 50), (10, 19), (30, 39), (60, 69)) == [60]


@pytest.mark.parametrize(
    ("roles", "said", "follows"),
    [
        ("u", "ask", False),
        ("uau", "ask, answer, ask", True),
        ("ua", "ask, answer", False),
        ("uaus", "ask, answer, ask, note", True),
        ("", "nothing", False),
        ("su", "note, ask", False),
        ("auu", "answer, ask, ask", True),
    ],
)
def test_the_agent_was_at_work_before_the_last_words_of_the_user(roles: str, said: str, follows: bool) -> None:
    names = {"u": "user", "a": "assistant", "s": "system"}
    assert _follows_work(exchanges_of([says(names[role], said) for role in roles])) is follows


def given(start: int | None, shown: list[Any], answered: list[Any], of_model: bool = True) -> Conversation:
    return Conversation(exchanges_of(shown), exchanges_of(answered), None, start, None, of_model)


USER, MODEL, TOOL = says("user", "Go."), says("assistant", "Gone."), gives("ok", "c")
BLANK = {"role": "assistant"}


@pytest.mark.parametrize(
    ("conversations", "is_unanswered"),
    [
        ([], False),
        ([given(1, [USER], [])], True),
        ([given(1, [USER], [BLANK])], True),
        ([given(1, [USER], [{**BLANK, "finish_reason": "stop"}])], False),
        ([given(1, [USER], [MODEL])], False),
        ([given(1, [USER], [asks_for("look", {})])], False),
        ([given(1, [USER], [BLANK, MODEL])], False),
        ([given(1, [USER, MODEL], [])], False),
        ([given(1, [USER], [], of_model=False)], False),
        ([given(1, [], [])], False),
        ([given(1, [USER], []), given(2, [USER, MODEL, USER], [MODEL])], False),
        ([given(1, [USER], []), given(2, [USER], [MODEL])], True),
        ([given(2, [USER], []), given(1, [USER, MODEL, USER], [MODEL])], True),
        ([given(1, [USER, MODEL, USER], []), given(2, [USER], [MODEL])], True),
    ],
)
def test_a_model_is_unanswered_where_none_was_given_more_later(
    conversations: list[Conversation], is_unanswered: bool
) -> None:
    failed = ReadSpan("a", "t", "a", None, 1, 2, failed=True)

    assert _is_unanswered([_Talk(each, None, 0) for each in conversations]) is is_unanswered
    assert not _is_unanswered([_Talk(each, failed, 0) for each in conversations])


@pytest.mark.parametrize(
    ("answered", "is_answer"),
    [
        ([MODEL], True),
        ([BLANK, MODEL], True),
        ([], False),
        ([BLANK], False),
        ([asks_for("look", {})], False),
        ([{**asks_for("look", {}), "content": "Let me look."}], False),
        ([MODEL, asks_for("look", {})], False),
    ],
)
def test_a_model_has_answered_if_it_said_something_and_asked_for_no_call(answered: list[Any], is_answer: bool) -> None:
    model = ReadSpan("a", "t", "a", None, 1, 2)

    assert _have_answered([model], lambda span: given(1, [USER], answered)) is is_answer
    assert not _have_answered([], lambda span: given(1, [USER], answered))


def test_what_log_records_tell_of_a_model_that_stopped_is_not_told_of_its_span() -> None:
    said = Conversation(start_ns=3, end_ns=4, is_choice=True)
    model = ReadSpan("chat", "t", "a", None, 1, 2)

    def told(span: ReadSpan | None, in_records: bool) -> tuple[str, int | None]:
        stop = _Talk(said, span, 0, in_records=in_records).stop()
        assert stop is not None
        return stop.told.partition(" ")[2][:10], stop.begin_ns

    assert told(model, False) == ("span 'chat", 1)
    assert told(model, True) == told(None, False) == ("log record", 3)


def test_a_model_that_lists_calls_of_others_and_more_is_no_model() -> None:
    def asking(*ids: str, of_model: bool = True) -> Conversation:
        return given(1, [], [asks_for("look", {}, each) for each in ids], of_model)

    def models(*conversations: Conversation) -> list[bool]:
        _note_copies(conversations)
        return [said.of_model for said in conversations]

    assert models(asking("1", "2"), asking("1"), asking("2")) == [False, True, True]
    assert models(asking("1"), asking("1", "2")) == [True, False]
    assert models(asking("1", "2"), asking("1", "2")) == [True, True]
    assert models(asking("1", "2"), asking("3")) == [True, True]
    assert models(asking("1", "2"), asking("1", of_model=False)) == [True, False]


def test_all_turns_are_known_where_all_at_work_have_times_and_places() -> None:
    def known(*spans: ReadSpan, at_work: int) -> bool:
        roles: Any = {id(span): "model" for span in spans[:at_work]}
        return _are_all_known(spans, roles, Tree(spans, roles))

    first, second = timed("a", 0, 9), timed("b", 10, 19)
    prompted = [ReadSpan(name, "t", name, None, None, None, {"gen_ai.input.messages": "[]"}) for name in "cd"]
    assert known(first, second, at_work=2)
    assert not known(first, timed("b", 10, None), at_work=2)
    assert not known(first, timed("b", None, 19), at_work=2)
    assert not known(first, timed("b", 10, 19, "lost"), at_work=2)
    assert known(timed("a", 0, None), at_work=1)
    assert known(first, *prompted, at_work=1)
    assert known(prompted[0], at_work=0)
    assert not known(*prompted, at_work=0)
    assert not known(*prompted, at_work=1)


def test_an_agent_works_no_longer_than_the_agents_around_it_and_a_model_to_its_end() -> None:
    top, step, inner = timed("top", 0, 20), timed("step", 1, 5, "top"), timed("inner", 2, 30, "step")
    endless, model = timed("endless", 2, None, "top"), timed("model", 3, 40, "inner")
    spans = [top, step, inner, endless, model]
    roles: Any = {id(span): "agent" for span in (top, inner, endless)} | {id(model): "model"}
    requests = UserRequests(spans, roles, Tree(spans, roles))

    assert [requests.end_of_work(span) for span in (model, inner, top, endless)] == [40, 20, 20, 2]


def test_a_request_is_over_when_the_last_of_its_models_is() -> None:
    agent = ReadSpan("agent", "t", "agent", None, 0, 20, {"gen_ai.agent.name": "shop"})
    early, late = timed("early", 1, 5, "agent"), timed("late", 6, 40, "agent")
    roles: Any = {id(agent): "agent", id(early): "model", id(late): "model"}
    spans = [agent, early, late]

    [found] = UserRequests(spans, roles, Tree(spans, roles)).of(spans)

    assert (found.end, found.models) == (40, [early, late])


@for_each(
    ("before", "now", "agents", "is_new"),
    [
        ("a", "a", "xx", False),
        ("a", "a. b", "xx", True),
        ("a", "ab", "xx", False),
        ("ab", "a. b", "xx", False),
        ("a. b", "b. c", "xx", True),
        ("a. b", "b", "xx", False),
        ("a. b", "b.", "xx", False),
        ("a", "b", "xx", True),
        ("a", "b", "xy", None),
        ("", "a", "xx", None),
        ("a", "", "xy", None),
        ("a", "r", "xx", False),
        ("a", "a. br", "xx", None),
        ("a", "abr", "xx", False),
        ("a", "a. b.", "xx", None),
    ],
)
def test_a_request_is_new_where_the_user_wrote_more_after_the_agent_was_at_work(
    before: str, now: str, agents: str, is_new: bool | None
) -> None:
    """Letters are words of the user, a dot an answer of the model, `r` a result."""
    kinds = {".": says("assistant", "Done."), "r": gives("ok", "1"), " ": None}
    spans = [timed(name, start, start + 5) for start, name in enumerate(("last", "next"))]
    said = {
        id(span): given(1, [message for letter in text if (message := kinds.get(letter, says("user", letter)))], [])
        for span, text in zip(spans, (before, now), strict=True)
    }
    last, request = [UserRequest(span, name, (), 0, 9, [span]) for span, name in zip(spans, agents, strict=True)]

    assert _is_asked_anew(last, request, lambda span: said[id(span)]) is is_new


def test_calls_are_sorted_by_turn_if_all_have_one_and_lose_turns_that_are_not_known() -> None:
    def turned(turns: list[int | None], count: int, are_known: bool) -> list[tuple[str, int | None]]:
        records = [CallRecord(name, turn=turn) for name, turn in zip("abc", turns, strict=False)]
        return [(record.name, record.turn) for record in _by_turn(records, Turns(count=count), are_known)]

    assert turned([1, 0, 2], 3, True) == [("b", 0), ("a", 1), ("c", 2)]
    assert turned([1, None, 0], 3, True) == [("a", 1), ("b", None), ("c", 0)]
    assert turned([1, 0], 2, False) == [("a", None), ("b", None)]
    assert turned([1, 0], 1, True) == [("a", 1), ("b", 0)]
