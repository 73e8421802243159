"""What the model asked for, with the results that belong to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reading.talks import asks_for, chat, gives, says, tool_span
from tests.reading.traces import request, span
from tests.walls import for_each

from rightcall.reading import read, read_messages, read_spans
from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.messages import Requests, SpanMessages, exchanges_of, logs_in, turns_in_log, words_shared
from rightcall.reading.messages._log_splitter import _conversations_inside
from rightcall.reading.messages._requests import BEFORE, _turns_of_words, doubtful_places
from rightcall.reading.spans import NOTHING, CallRecord, LogRecord
from rightcall.values.trajectory import Trajectory

MODEL_WORDS = says("assistant", "Gone.")


def test_of_calls_that_wait_under_one_id_the_one_that_a_result_names_is_answered() -> None:
    asking = [asks_for("a", {}, "1"), asks_for("b", {}, "1")]
    results = [{**gives("of b", "1"), "name": "b"}, {**gives("of a", "1"), "name": "a"}]
    found = read_messages([says("user", "Go."), *asking, *results])

    assert [(call.name, call.output) for call in found.calls] == [("a", "of a"), ("b", "of b")]


def test_a_result_that_comes_once_more_is_of_the_last_call_of_its_id() -> None:
    without_output = {"role": "tool", "tool_call_id": "1"}
    calls = [asks_for("a", {}, "1"), gives("one", "1"), asks_for("a", {}, "1"), without_output, gives("two", "1")]
    found = read_messages([says("user", "Go."), *calls])

    assert [call.output for call in found.calls] == ["one", "two"]


@for_each("item", ["fc_1", "c2"])
def test_a_prompt_may_repeat_a_call_under_the_id_of_its_item(item: str) -> None:
    """OpenLLMetry writes the id of the call (`call_…`) in the answer, and that of the item in later prompts."""
    asked, words = asks_for("refund", {"id": 7}, "call_1"), says("user", "Go.")
    repeated = [words, asks_for("refund", {"id": 7}, item), gives("ok", "call_1")]
    again = [*repeated, asks_for("refund", {"id": 8}, "fc_3"), gives("ok", "call_3")]
    spans = [
        chat(1, [words], asked),
        tool_span(2, "refund", {"id": 7}),
        chat(3, repeated, asks_for("refund", {"id": 8}, "call_3")),
        tool_span(4, "refund", {"id": 8}),
        chat(5, again, MODEL_WORDS),
    ]
    [found] = read(request(*spans))

    assert [call.args for call in found.calls] == [{"id": 7}] * (1 if item == "fc_1" else 2) + [{"id": 8}]
    assert [call.call_id for call in found.calls if call.source == "span"] == ["call_1", "call_3"]


def test_ids_of_two_items_are_two_calls() -> None:
    words = says("user", "Go.")
    shown = [words, asks_for("refund", {"id": 7}, "fc_1"), gives("ok", "call_1")]
    spans = [
        chat(1, [words], asks_for("refund", {"id": 7}, "fc_1")),
        chat(2, shown, asks_for("refund", {"id": 7}, "fc_2")),
    ]

    assert [each.names for each in read(request(*spans))] == [("refund", "refund")]


@pytest.mark.parametrize("turns", [1, 2])
def test_a_log_without_words_of_the_user_repeats_what_the_spans_of_its_turn_show(turns: int) -> None:
    """A function may return the events of ADK, which have other ids than the prompts and lack the user's message."""
    words = [says("user", f"Go {turn}.") for turn in range(turns)]
    asked = [asks_for("a", {}, "a_0"), gives("one", "a_0"), MODEL_WORDS]
    spans = []
    for turn, each in enumerate(words):
        said = [*[message for word in words[:turn] for message in (word, *asked)], each]
        first = 10 * turn + 1
        spans += [chat(first, said, asked[0]), tool_span(first + 1, "a", {}, f"adk-{turn}")]
        spans += [chat(first + 2, [*said, *asked[:2]], MODEL_WORDS)]
    last = f"adk-{turns - 1}"
    log = [asks_for("a", {}, last), gives("one", last), MODEL_WORDS]

    found = read_spans([request(*spans)], messages=log)

    assert [(call.name, call.call_id, call.turn) for call in found.calls] == [
        ("a", f"adk-{turn}", turn) for turn in range(turns)
    ]


def test_a_failure_that_only_the_log_of_a_run_marks_is_kept_beside_the_prompts_of_its_spans() -> None:
    asked = [says("user", "Go."), asks_for("a", {}, "1")]
    prompts = request(*[chat(1, asked[:1], asked[1]), chat(2, [*asked, gives("No such tool.", "1")], MODEL_WORDS)])
    log = [*asked, {**gives("No such tool.", "1"), "status": "error"}, MODEL_WORDS]

    [call] = read_spans([prompts], messages=log).calls

    assert (call.error, call.output) == ("No such tool.", "No such tool.")


@pytest.mark.parametrize("held", [1, None, [{"x": None, "y": 2}]])
def test_a_request_that_a_prompt_repeats_with_its_arguments_in_another_order_is_one(held: Any) -> None:
    asked, asking = says("user", "Go."), asks_for("a", {"p": held, "q": {"r": 1, "s": None}})
    again = asks_for("a", {"q": {"s": None, "r": 1}, "p": held})
    spans = [chat(1, [asked], asking), chat(2, [asked, again, gives("ok")], says("assistant", "Done."))]
    [found] = read(request(*spans))

    assert [(call.name, call.output) for call in found.calls] == [("a", "ok")]


def test_a_first_prompt_without_words_of_the_user_hides_no_calls_where_it_has_none() -> None:
    [found] = read(request(chat(1, [says("system", "Greet.")], says("assistant", "Hello."))))

    assert found.calls == ()
    assert found.calls_recorded


@pytest.mark.parametrize("answered", [("1", "2"), ("1",), ()])
@pytest.mark.parametrize("recorded", ["in a log", "in spans"])
def test_calls_of_two_messages_were_asked_for_at_once_only_if_all_were_answered(
    recorded: str, answered: tuple[str, ...]
) -> None:
    asking = [asks_for("a", {}, "1"), asks_for("b", {}, "2")]
    said = [says("user", "Go."), *asking, *[gives("ok", call_id) for call_id in answered], says("assistant", "Done.")]
    if recorded == "in a log":
        found = read_messages(said)
    else:
        [found] = read(request(chat(1, said[:-1], said[-1])))
    groups = [call.group for call in found.calls]

    assert groups == (["turn-1", "turn-1"] if len(answered) == 2 else [None, None])


def test_a_call_that_only_a_later_prompt_shows_is_in_the_group_of_the_others_of_its_message() -> None:
    both = {
        "role": "assistant",
        "tool_calls": [*asks_for("a", {}, "1")["tool_calls"], *asks_for("b", {}, "2")["tool_calls"]],
    }
    asked, results = says("user", "Go."), [gives("one", "1"), gives("two", "2")]
    [found] = read(request(chat(1, [asked], asks_for("a", {}, "1")), chat(2, [asked, both, *results], MODEL_WORDS)))

    assert [(call.name, call.group) for call in found.calls] == [("a", "turn-1"), ("b", "turn-1")]


def test_the_last_of_equal_words_is_what_was_asked() -> None:
    assert _turns_of_words(("go", "x", "go"), [2, 1, 0], 2, [], "go", False) == (0, 1, 2)
    assert _turns_of_words(("go", "x", "y"), [2, 1, 0], 2, [], "x", False) == (1, 2, 2)
    assert _turns_of_words(("go", "x"), [1, 0], 2, [], None, False) == (1, 2)
    assert _turns_of_words(("go", "x"), [1, 0], 2, [], None, True) == (BEFORE, 2)


def test_groups_are_numbered_in_the_order_of_their_calls() -> None:
    both = asks_for("a", {}, "1")
    both["tool_calls"] += asks_for("b", {}, "2")["tool_calls"]
    third = asks_for("c", {}, "3")
    found = read_messages([says("user", "Go."), both, gives("ok", "1"), gives("ok", "2"), third, gives("ok", "3")])

    assert [call.group for call in found.calls] == ["turn-1", "turn-1", "turn-2"]


@pytest.mark.parametrize("numbers", [(2**70, 2**70 + 1), (1, 2), (None, float("nan"))])
def test_requests_that_differ_in_a_number_are_two_however_large_it_is(numbers: tuple[Any, Any]) -> None:
    asked, meanwhile = says("user", "Go."), {"endTimeUnixNano": "5000"}
    asking = [asks_for("a", {"n": number}) for number in numbers]

    def calls(*answers: dict[str, Any]) -> int:
        [found] = read(request(*[chat(at, [asked], each, **meanwhile) for at, each in enumerate(answers, 1)]))
        return len(found.calls)

    assert calls(*asking) == 2
    assert calls(asking[0], asking[0]) == 1


def test_a_call_after_one_that_was_answered_in_its_own_message_was_not_asked_for_with_it() -> None:
    def asked_and_answered(name: str) -> dict[str, Any]:
        call = {"functionCall": {"name": name, "args": {}}}
        return {"role": "model", "parts": [call, {"functionResponse": {"name": name, "response": {"result": name}}}]}

    asked = {"role": "user", "parts": [{"text": "Go."}]}
    found = read_messages([asked, asked_and_answered("a"), asked_and_answered("b")])

    assert [(call.name, call.group) for call in found.calls] == [("a", "turn-1"), ("b", "turn-2")]


def test_an_id_of_the_simulated_user_is_free_for_the_agent_once_it_was_answered() -> None:
    """As tau2-bench writes it: a user with tools, beside an agent with others."""

    def asks(role: str, name: str) -> dict[str, Any]:
        call = {"id": "1", "name": name, "arguments": {}, "requestor": role}
        return {"role": role, "content": None, "tool_calls": [call]}

    def answers(role: str, output: str) -> dict[str, Any]:
        return {"role": "tool", "id": "1", "content": output, "requestor": role, "error": False}

    begin = [says("user", "Help me."), says("assistant", "Toggle it.")]
    made = [asks("user", "toggle"), answers("user", "on"), asks("assistant", "look"), answers("assistant", "seen")]
    found = read_messages([*begin, *made, says("assistant", "Done.")])

    assert [(call.name, call.output) for call in found.calls] == [("look", "seen")]


def test_a_choice_among_the_events_of_a_model_span_is_its_answer() -> None:
    asks = {"event.name": "gen_ai.choice", "message": asks_for("look", {})}
    asked = {"event.name": "gen_ai.user.message", "role": "user", "content": "Go."}
    given = {"event.name": "gen_ai.tool.message", "role": "tool", "content": "ok"}
    spans = [
        span(number, {"gen_ai.operation.name": "chat", "events": json.dumps(events)})
        for number, events in enumerate([[asked, asks], [given, asks]], 1)
    ]
    [found] = read(request(*spans))

    # The second model span has no history, so that its answer asks for a call of its own.
    assert found.names == ("look", "look")


def test_calls_that_models_ask_for_at_the_same_time_are_told_apart_by_any_arguments() -> None:
    spans = [
        chat(number, [says("user", "Go.")], asks_for("look", {"text": f"\ud800{number}"}), endTimeUnixNano="9000")
        for number in (1, 2)
    ]
    [found] = read(request(*spans))

    assert [call.args for call in found.calls] == [{"text": "\ud8001"}, {"text": "\ud8002"}]


def test_calls_that_are_items_of_one_answer_were_asked_for_at_once_though_one_was_not_answered() -> None:
    items = [{"type": "function_call", "name": name, "arguments": "{}", "call_id": name} for name in ("a", "b")]
    given = {"type": "function_call_output", "call_id": "a", "output": "ok"}
    found = read_messages([says("user", "Go."), *items, given])

    assert [call.group for call in found.calls] == ["turn-1", "turn-1"]


def test_an_answer_that_another_span_repeats_after_the_same_prompt_is_one() -> None:
    asked, asking = says("user", "Go."), asks_for("a", {})
    shown = [asked, asking, gives("ok")]
    [found] = read(request(chat(1, [asked], asking), chat(2, shown, asking), chat(3, shown, asking)))

    assert found.names == ("a", "a")


def test_calls_of_two_steps_of_smolagents_were_not_asked_for_at_once() -> None:
    steps = [
        {
            "step_number": number,
            "tool_calls": [{"id": str(number), "function": {"name": name, "arguments": {}}}],
            "observations": "ok",
        }
        for number, name in enumerate(("look", "book"), 1)
    ]
    found = read_messages([{"task": "Go."}, *steps])

    assert [(call.name, call.group) for call in found.calls] == [("look", "turn-1"), ("book", "turn-2")]


@pytest.mark.parametrize("answered", [True, False])
def test_a_call_of_an_earlier_turn_that_its_model_did_not_make_is_not_made_up_by_a_later_prompt(answered: bool) -> None:
    """The calls of the first turn are known where its model has answered."""
    asked, made = says("user", "Where is it?"), [asks_for("look", {}, "1"), gives("ok", "1")]
    spans = [chat(1, [asked], says("assistant", "At home.") if answered else None)]
    spans += [chat(2, [asked, *made, says("assistant", "At home."), says("user", "Thanks.")], says("assistant", "OK."))]
    for number, each in enumerate(spans, 1):
        each["traceId"] = f"{number}" * 32
        each["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}})
    [found] = read(request(*spans))

    assert found.names == (() if answered else ("look",))


RESULTS: dict[str, tuple[list[str], list[str | None]]] = {
    "only what is new": (["two"], ["one", "two"]),
    "all from the first": (["one", "two"], ["one", "two"]),
    "more than there are calls": (["one", "two", "three"], ["one", None]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_without_ids_are_of_the_calls_before_in_order(name: str) -> None:
    results, outputs = RESULTS[name]
    asks = [chat(1, [says("user", "Go.")], asks_for("a", {})), chat(2, [gives("one")], asks_for("b", {}))]
    [found] = read(request(*asks, chat(3, [gives(each) for each in results], says("assistant", "Done."))))

    assert [(call.name, call.output) for call in found.calls] == list(zip("ab", outputs, strict=True))


@pytest.mark.parametrize(
    ("messages", "output"),
    [
        ([gives("ok", "1"), asks_for("a", {}, "1")], "ok"),
        ([asks_for("a", {}, "1"), gives("ok")], "ok"),
        ([asks_for("a", {}), gives("ok", "1")], "ok"),
        ([asks_for("a", {}, "1"), gives("ok", "2")], None),
        ([asks_for("a", {}), {**gives("ok"), "name": "a"}], "ok"),
        ([asks_for("a", {}), {**gives("ok"), "name": "b"}], None),
    ],
    ids=["before its call", "without an id", "of a call without one", "of another id", "of its name", "of another"],
)
def test_a_result_is_of_a_call_unless_its_id_or_name_is_another(messages: list[Any], output: str | None) -> None:
    found = read_messages([says("user", "Go."), *messages, says("assistant", "Done.")])

    assert [(call.name, call.output) for call in found.calls] == [("a", output)]
    assert found.calls_recorded == (output is not None)


def test_an_object_around_messages_is_opened_unless_it_is_a_call_itself() -> None:
    held = {"messages": [asks_for("inner", {}, "2")]}
    call = {"type": "function_call", "name": "send", "arguments": "{}", "call_id": "1"}

    def names(written: dict[str, Any]) -> tuple[str, ...]:
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([says("user", "Go.")])}
        [found] = read(request(span(1, {**attributes, "gen_ai.output.messages": json.dumps(written)})))
        return found.names

    assert names(held) == ("inner",)
    assert names({**call, **held}) == ("send",)


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        ("Error when executing tool 'book': full", {"book": "Error when executing tool 'book': full"}),
        ("'look' and 'book' failed", {}),
        ("no such tool", {}),
        (None, {}),
    ],
)
def test_an_error_of_a_step_of_smolagents_is_of_the_call_that_it_names(
    error: str | None, failed: dict[str, str]
) -> None:
    calls: list[Any] = [{"id": name, "function": {"name": name, "arguments": {}}} for name in ("look", "book")]
    step = {"step_number": 1, "tool_calls": calls, "observations": None, "error": error and {"message": error}}
    found = read_messages([{"task": "Go."}, step])

    assert found.names == ("look", "book")
    assert {call.name: call.error for call in found.calls if call.error} == failed


def logged(*messages: Any) -> Requests:
    found = Requests()
    found.add_log(exchanges_of(messages))
    return found


def test_a_request_takes_an_id_where_it_has_none_of_its_model() -> None:
    requests = Requests()
    for record, after in (
        (CallRecord("look"), "1"),
        (CallRecord("look", call_id="look_0"), "1"),
        (CallRecord("look", call_id="own"), "own"),
    ):
        requests.name_by_id(record, "1")
        assert record.call_id == after
        requests.name_by_id(record, None)
        assert record.call_id == after
    assert requests.with_id("1") is not None
    assert requests.with_id("own") is None
    assert requests.with_id("1", "find") is None
    assert requests.with_id("1", "look", use=1) is None


@for_each(
    ("results", "outputs"),
    [
        ([gives("a")], [NOTHING, NOTHING]),
        ([gives("a"), gives("a")], ["a", "a"]),
        ([gives("a"), gives("b")], [NOTHING, NOTHING]),
        ([gives("a", "1"), gives("b")], ["a", "b"]),
        ([{**gives("b"), "name": "find"}], [NOTHING, "b"]),
        ([gives("a", "1"), gives("b", "1")], ["a", NOTHING]),
        ([gives("a", "3")], [NOTHING, NOTHING]),
    ],
)
def test_a_result_without_an_id_is_of_the_only_call_that_can_have_it(results: list[Any], outputs: list[Any]) -> None:
    asking = {"role": "assistant", "tool_calls": [*asks_for("look", {}, "1")["tool_calls"]]}
    asking["tool_calls"] += asks_for("find", {}, "2")["tool_calls"]
    found = logged(says("user", "Go."), asking, *results, says("assistant", "Done."))

    assert [each.output for each in found.made] == outputs


@pytest.mark.parametrize("after", [(), (MODEL_WORDS,)], ids=["the end", "an answer"])
def test_results_without_ids_are_of_the_calls_that_they_name_whatever_follows_them(after: tuple[Any, ...]) -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in "ab"]
    results = [{"role": "tool", "name": name, "content": f"of {name}"} for name in "ba"]
    found = read_messages([says("user", "Go."), {"role": "assistant", "tool_calls": calls}, *results, *after])

    assert [(call.name, call.output) for call in found.calls] == [("a", "of a"), ("b", "of b")]


def test_calls_without_ids_are_answered_in_order() -> None:
    asking = [asks_for("look", {"x": place}) for place in range(2)]
    found = logged(says("user", "Go."), *asking, gives("a"), gives("b"))

    assert [each.output for each in found.made] == ["a", "b"]


def test_a_message_of_the_user_without_words_leaves_the_turns_open_in_prompts_and_in_logs() -> None:
    silent = {"role": "user"}
    said = [says("user", "Go."), says("assistant", "Gone.")]
    for messages, doubtful in (([*said, silent], True), ([silent, *said], False), (said, False)):
        prompted = Requests()
        prompted.add(exchanges_of(messages), [])
        prompted.add(exchanges_of(said), [])
        assert prompted.are_turns_doubtful is doubtful
        again = logged(*messages)
        again.add_log(exchanges_of(said))
        assert again.are_turns_doubtful is doubtful


def test_a_call_that_was_asked_for_is_carried_out_later_and_one_that_was_refused_is_not() -> None:
    call = asks_for("look", {}, "1")

    def after(*results: Any) -> list[tuple[Any, str]]:
        found = logged(says("user", "Go."), call, *results)
        return [(each.output, each.withheld) for each in found.made]

    waits = {"type": "user.tool_confirmation", "tool_use_id": "1", "result": "deny", "deny_message": ASKED_FOR}
    denied = {**waits, "deny_message": "not now"}
    assert after(waits) == [(NOTHING, ASKED_FOR)]
    assert after(waits, gives("ok", "1")) == [("ok", "")]
    assert after(denied) == [(NOTHING, "not now")]
    assert after(denied, gives("ok", "1"))[0][1] == "not now"


def test_an_id_that_a_later_turn_uses_again_is_another_call() -> None:
    requests = Requests()
    asked, call = says("user", "Go."), asks_for("look", {}, "1")
    requests.add(exchanges_of([asked]), exchanges_of([call]), turn=0)
    shown = [asked, call, gives("a", "1"), says("assistant", "Gone."), says("user", "Again.")]
    requests.add(exchanges_of(shown), exchanges_of([call]), turn=1)

    assert [(each.turn, each.output) for each in requests.made] == [(0, "a"), (1, NOTHING)]


def test_prompts_are_shown_again_only_where_their_turn_was_answered() -> None:
    requests = Requests()
    assert not requests.is_shown_again(None, None, 0)
    assert not requests.is_shown_again(None, 1, 1)
    assert requests.is_shown_again(None, -1, 0)
    assert not requests.is_shown_again(None, 0, 1)
    requests.add(exchanges_of([says("user", "Go.")]), exchanges_of([says("assistant", "Gone.")]), turn=0)
    assert requests.is_shown_again(None, 0, 1)
    assert not requests.is_shown_again(object(), 0, 1)
    assert requests.heard == {0}


@for_each(
    ("known", "texts", "shared"),
    [
        (("a", "b"), ("a", "b", "c"), range(2)),
        (("a", "b", "c"), ("a", "b"), range(2)),
        (("a", "b", "c"), ("b", "c", "d"), range(1, 3)),
        (("a", "b"), ("b",), range(1, 2)),
        (("a", "a", "b"), ("a", "b"), range(1, 3)),
        (("a", "b"), ("a", "c"), None),
        (("a",), (), None),
        ((), ("a",), None),
    ],
)
def test_a_prompt_goes_on_from_another_that_it_begins_with(
    known: tuple[str, ...], texts: tuple[str, ...], shared: range | None
) -> None:
    assert words_shared(known, texts) == shared


@for_each(
    ("roles", "asked", "turns"),
    [
        ("ua", None, [0, 0]),
        ("uaua", None, [0, 0, 1, 1]),
        ("uuaua", None, [0, 0, 0, 1, 1]),
        ("sua", None, [None, 0, 0]),
        ("sa", None, [None, None]),
        ("uauaua", "2", [-1, -1, 0, 0, 1, 1]),
        ("uauaua", "4", [-1, -1, -1, -1, 0, 0]),
        ("uauaua", "odd", [0, 0, 1, 1, 2, 2]),
    ],
)
def test_words_of_the_user_after_work_begin_a_turn_of_a_log(
    roles: str, asked: str | None, turns: list[int | None]
) -> None:
    names = {"u": "user", "a": "assistant", "s": "system"}
    said = exchanges_of([says(names[role], str(place)) for place, role in enumerate(roles)])

    assert turns_in_log(said, asked) == turns


def test_calls_before_the_run_are_doubtful_where_no_answer_followed_them() -> None:
    call, answer, user = asks_for("look", {}, "1"), says("assistant", "Gone."), says("user", "Go.")

    def doubtful(messages: list[Any], turns: list[int], models_tell: bool = True, is_first: bool = False) -> list[int]:
        return sorted(doubtful_places(exchanges_of(messages), turns, models_tell, is_first))

    assert doubtful([user, call, answer, user], [-1, -1, -1, 0]) == []
    assert doubtful([user, call, answer, user], [-1, -1, -1, 0], models_tell=False) == [1]
    assert doubtful([user, call, user], [-1, -1, 0]) == [1]
    assert doubtful([user, call, user, answer], [-1, -1, 0, 0]) == [1]
    assert doubtful([user, call, user], [0, 0, 0]) == []
    assert doubtful([user, call, user], [-1, 0, 0]) == []
    assert doubtful([call, answer], [0, 0], is_first=True) == [0, 1]
    assert doubtful([call, answer], [0, 0]) == []
    assert doubtful([call, gives("ok", "1"), user], [-1, -1, 0]) == [0]


@for_each(
    ("documents", "logs", "left_out"),
    [
        ([[says("user", "Go.")]], [1], 0),
        ([{"messages": [says("user", "Go.")]}], [1], 0),
        ([says("user", "Go."), says("assistant", "Gone.")], [2], 0),
        ([[says("user", "Go.")], [says("user", "Back."), MODEL_WORDS]], [1, 2], 0),
        ([[[says("user", "Go.")], [MODEL_WORDS, MODEL_WORDS]]], [1, 2], 0),
        ([[says("user", "Go.")], {"odd": 1}], [1], 1),
        ([[says("user", "Go.")], ["odd", MODEL_WORDS, MODEL_WORDS]], [1, 3], 0),
        ([says("user", "Go."), {"messages": [MODEL_WORDS]}], [1], 0),
        ([{"messages": []}, {"messages": [MODEL_WORDS]}], [0, 1], 0),
        ([{"chat": [says("user", "Go."), MODEL_WORDS]}, {"chat": [says("user", "Go."), MODEL_WORDS]}], [2, 2], 0),
    ],
)
def test_documents_are_conversations_or_messages_of_one(documents: list[Any], logs: list[int], left_out: int) -> None:
    found, unread = logs_in(documents)

    assert ([len(log.messages) for log in found], unread) == (logs, left_out)


def test_conversations_below_keys_are_named_by_them() -> None:
    found, _ = logs_in([{"one": [says("user", "Go."), MODEL_WORDS], "two": [says("user", "Back."), MODEL_WORDS]}])

    assert [log.id for log in found] == ["one", "two"]


def test_a_state_that_goes_on_from_another_takes_its_place() -> None:
    def state(*ids: str) -> dict[str, Any]:
        return {"messages": [{**says("user", each), "id": each * 16} for each in ids]}

    def read_states(*states: dict[str, Any]) -> list[tuple[int, bool]]:
        return [(len(log.messages), bool(log.nested)) for log in logs_in(list(states))[0]]

    assert read_states(state("a"), state("a", "b")) == [(2, False)]
    assert read_states(state("a"), state("a")) == [(1, False)]
    assert read_states(state("a", "b"), state("c", "d")) == [(2, False)] * 2
    assert read_states(state("a", "b"), state("a")) == [(2, True)]
    assert read_states(state("a", "b"), state("a", "c", "d")) == [(3, True)]
    plain = {"messages": [{**says("user", "Go."), "id": "1"}]}
    assert read_states(plain, plain) == [(1, False)] * 2
    assert read_states(plain, {"messages": [*plain["messages"], MODEL_WORDS]}) == [(2, False)]
    nameless = {"messages": [says("user", "Go.")]}
    assert read_states(nameless, {"messages": [*nameless["messages"], MODEL_WORDS]}) == [(1, False), (2, False)]


def test_log_records_of_one_span_are_one_use_of_its_model_until_it_has_answered() -> None:
    def record(name: str, time: int | None, span_id: str = "s") -> LogRecord:
        message = {"role": "assistant", "content": "Gone."}
        body = {"message": message} if name == "gen_ai.choice" else {"content": "Go."}
        return LogRecord(name, body, {}, "t", span_id, time)

    def uses(*records: LogRecord) -> list[tuple[int, int, int | None, int | None]]:
        found = SpanMessages().in_logs(records)
        return [(len(each.input), len(each.output), each.start_ns, each.end_ns) for each in found]

    user, choice = "gen_ai.user.message", "gen_ai.choice"
    assert uses(record(user, 1), record(choice, 2)) == [(1, 1, 1, 2)]
    assert uses(record(choice, 2), record(user, 1)) == [(1, 1, 1, 2)]
    assert uses(record(user, 1), record(choice, 2), record(user, 3)) == [(1, 1, 1, 2), (1, 0, 3, 3)]
    assert uses(record(user, 1), record(choice, 2), record(user, 2)) == [(2, 1, 1, 2)]
    assert uses(record(user, 1), record(user, 2), record(choice, 3), record(choice, 4)) == [(2, 2, 1, 4)]
    assert uses(record(user, 1), record(user, 2, "other")) == [(1, 0, 1, 1), (1, 0, 2, 2)]
    assert uses(record(user, 1), record("odd", 2)) == [(1, 0, 1, 2)]
    assert uses(record("odd", 2)) == []


def test_results_in_order_are_nobodys_where_an_answer_of_the_model_is_missing() -> None:
    spans = [
        chat(1, [says("user", "Go.")], asks_for("a", {})),
        chat(2, [gives("one")]),
        chat(3, [gives("one"), gives("two")], asks_for("c", {})),
        chat(4, [gives("one"), gives("two"), gives("three")], says("assistant", "Done.")),
    ]
    [found] = read(request(*spans))

    assert [(call.name, call.output) for call in found.calls] == [("a", "one"), ("c", None)]


def test_a_result_that_got_lost_leaves_the_others_where_they_belong() -> None:
    asks = [chat(1, [says("user", "Go.")], asks_for("a", {})), chat(2, [gives("one")], asks_for("b", {}))]
    more = [chat(3, [gives("one"), gives("two")], asks_for("c", {}))]
    [found] = read(request(*asks, *more, chat(4, [gives("one"), gives("three")], says("assistant", "Done."))))

    assert [(call.name, call.output) for call in found.calls] == [("a", "one"), ("b", "two"), ("c", "three")]


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1), (2, 3), (0, 2), (1, 2)], ids=str)
def test_results_of_calls_at_once_are_never_exchanged_where_ids_got_lost(lost: tuple[int, ...]) -> None:
    first, second = [None if place in lost else name for place, name in enumerate(("1", "2"))]
    later, earlier = [None if place in lost else name for place, name in enumerate(("2", "1"), 2)]
    named = [("a", first), ("b", second)]
    calls = [{"id": call_id, "function": {"name": name, "arguments": "{}"}} for name, call_id in named]
    asked = {"role": "assistant", "tool_calls": calls}
    found = read_messages([says("user", "Go."), asked, gives("two", later), gives("one", earlier)]).calls

    assert [call.name for call in found] == ["a", "b"]
    assert all([call.output in (None, output) for call, output in zip(found, ("one", "two"), strict=True)])


@pytest.mark.parametrize("lost", ["listed", "begun", "both"])
def test_an_event_that_begins_a_listed_call_is_no_second_call_where_its_id_got_lost(lost: str) -> None:
    call = {"tool_name": "look", "tool_kwargs": {"a": 1}}
    listed, begun = [call if lost in (each, "both") else {**call, "tool_id": "c"} for each in ("listed", "begun")]
    output = {"raw_output": 7, "tool_name": "look", "is_error": False}
    result = {"event": "ToolCallResult", **call, "tool_id": "c", "tool_output": output}
    response = {"role": "assistant", "blocks": []}

    events = [{"event": "AgentOutput", "response": response, "tool_calls": [listed]}, {"event": "ToolCall", **begun}]

    assert [(each.name, each.output) for each in read_messages([*events, result]).calls] == [("look", 7)]
    assert len(read_messages([events[1], {"event": "ToolCall", **call}, result]).calls) == 2


def test_conversations_are_found_five_lists_deep() -> None:
    talk = [says("user", "Go."), MODEL_WORDS]

    def nested(depth: int) -> Any:
        return talk if depth == 0 else [nested(depth - 1)]

    assert [_conversations_inside(nested(depth)) for depth in (0, 5, 6)] == [[talk], [talk], []]
    assert _conversations_inside([1] * 99 + [talk]) == [*[1] * 99, talk]
    assert _conversations_inside([1] * 100 + [talk]) == []
    assert _conversations_inside([talk, *[1] * 100, talk]) == [talk, *[1] * 100, talk]
    assert _conversations_inside([talk, *[1] * 100, nested(4)])[-1] == talk


def _response(name: str, before: str | None, *items: dict[str, Any]) -> dict[str, Any]:
    return {"object": "response", "id": name, "previous_response_id": before, "output": list(items)}


def _wants(name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}


_SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
_RESPONSES = [
    _response("r1", None, _wants("lookup"), _wants("customer")),
    _response("r2", "r1", _wants("refund")),
    _response("r3", "r2", _SAID),
]


def _run_of(responses: list[dict[str, Any]], folder: Path) -> Trajectory:
    log = folder / "responses.jsonl"
    log.write_text("".join([json.dumps(each) + "\n" for each in responses]))
    [run] = read(log)
    return run


def test_calls_of_one_response_were_asked_for_at_once_and_those_of_the_next_were_not(tmp_path: Path) -> None:
    run = _run_of(_RESPONSES, tmp_path)

    lookup, customer, refund = run.calls
    assert lookup.group == customer.group != refund.group
    assert run.calls_recorded
    assert run.output == "Done."


@pytest.mark.parametrize("lost", [1, 2])
def test_a_response_that_continues_one_not_in_the_log_does_not_show_all_calls(lost: int, tmp_path: Path) -> None:
    run = _run_of(_RESPONSES[lost:], tmp_path)

    assert not run.calls_recorded
    assert [call.name for call in run.calls] == ["refund"][: 2 - lost]
