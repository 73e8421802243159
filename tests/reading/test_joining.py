"""Order, nesting, duplicates and groups of calls; spans joined with messages."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.reading.traces import call, line, request, span
from tests.walls import for_each

from rightcall.errors import InputError
from rightcall.reading import Turn, read, read_spans, read_turns
from rightcall.reading.runs._calls import (
    _agree,
    _compatible,
    _unseen,
    group_by_time,
    ordered,
    unsettled,
    without_duplicates,
)
from rightcall.reading.runs._span_tree import Tree
from rightcall.reading.spans import NOTHING, CallRecord, Span
from rightcall.values.trajectory import Trajectory

CHAT = {"gen_ai.operation.name": "chat"}


def read_one(*spans: dict[str, Any], scope: str = "") -> Trajectory:
    [trajectory] = read(request(*spans, scope=scope))
    return trajectory


def executed(
    number: int, tool: str = "t", call_id: str | None = None, args: str | None = None, **more: Any
) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    told = {"gen_ai.tool.call.id": call_id, "gen_ai.tool.call.arguments": args}
    return span(number, attributes | {key: held for key, held in told.items() if held is not None}, **more)


def seen_by_openinference(number: int, tool: str = "t", args: str = '{"a": 1}', **more: Any) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": tool, "input.value": args, "output.value": "o"}
    return span(number, attributes, **more)


def asked(*calls: tuple[str, str, dict[str, Any]]) -> list[dict[str, Any]]:
    parts = [{"type": "tool_call", "id": call_id, "name": name, "arguments": args} for call_id, name, args in calls]
    return [{"role": "assistant", "parts": parts}]


def answered(*results: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": r}]} for i, r in results]


def chat(number: int, given: list[Any], gave: list[Any], **more: Any) -> dict[str, Any]:
    messages = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(gave)}
    return span(number, CHAT | messages, **more)


def test_calls_are_ordered_by_start_never_by_end() -> None:
    slow = call(1, "slow", endTimeUnixNano="9000000")
    trajectory = read_one(call(3, "c"), call(2, "b"), slow)

    assert trajectory.names == ("slow", "b", "c")


def test_a_start_time_of_zero_is_a_time_and_calls_without_one_come_last() -> None:
    trajectory = read_one(
        call(1, "never", startTimeUnixNano=""), call(2, "later"), call(3, "first", startTimeUnixNano="0")
    )

    assert trajectory.names == ("first", "later", "never")
    assert "a call of never has no start time" in trajectory.warnings[0]


def test_calls_that_start_together_are_unordered_unless_one_made_the_other() -> None:
    together = {"startTimeUnixNano": "5"}
    tied = read_one(call(1, "z"), call(7, "a", **together), call(8, "b", **together))
    nested = read_one(call(8, "inner", parent=7, **together), call(7, "outer", **together))

    assert tied.unordered == ((0, 2),)
    assert nested.names == ("outer", "inner")
    assert nested.unordered == ()


def test_the_models_message_settles_ties_and_names_the_group() -> None:
    together = {"startTimeUnixNano": "50000"}
    trajectory = read_one(
        chat(1, [], asked(("1", "b", {}), ("2", "a", {}))),
        executed(7, "a", "2", **together),
        executed(8, "b", "1", **together),
        chat(90, answered(("1", "x"), ("2", "y")), []),
    )

    assert trajectory.names == ("b", "a")
    assert trajectory.unordered == ()
    assert trajectory.calls[0].group == trajectory.calls[1].group is not None
    assert [found.output for found in trajectory.calls] == ["x", "y"]


def test_a_call_whose_arguments_a_person_edited_is_what_the_model_asked_for() -> None:
    trajectory = read_one(chat(1, [], asked(("1", "pay", {"n": 20}))), executed(7, "pay", "1", '{"n": 5}'))

    [made] = trajectory.calls
    assert (made.args, made.group) == ({"n": 5}, "turn-1")


@for_each(
    ("requests", "spans"),
    [
        ([("1", "pay", {"n": 20})], [("1", 5), ("1", 6)]),
        ([("1", "pay", {"n": 20}), ("1", "pay", {"n": 30})], [("1", 5)]),
        ([("pay_0", "pay", {"n": 20})], [("pay_0", 5)]),
    ],
)
def test_an_id_that_may_be_of_several_calls_does_not_stand_for_their_arguments(
    requests: list[tuple[str, str, dict[str, Any]]], spans: list[tuple[str, int]]
) -> None:
    made = [executed(place, "pay", call_id, f'{{"n": {n}}}') for place, (call_id, n) in enumerate(spans, 7)]

    trajectory = read_one(chat(1, [], asked(*requests)), *made)

    assert [call.group for call in trajectory.calls if call.source == "span"] == [None] * len(spans)


def test_of_equal_requests_the_one_with_its_output_is_that_of_a_span() -> None:
    paid = executed(9, "pay", args="{}")
    paid["attributes"].append({"key": "gen_ai.tool.call.result", "value": {"stringValue": "paid"}})
    trajectory = read_one(
        chat(1, [], asked(("1", "pay", {}))),
        chat(5, [*asked(("1", "pay", {})), *answered(("1", "declined"))], asked(("2", "pay", {}))),
        paid,
        chat(
            20,
            [
                *asked(("1", "pay", {})),
                *answered(("1", "declined")),
                *asked(("2", "pay", {})),
                *answered(("2", "paid")),
            ],
            [],
        ),
    )

    assert [(found.call_id, found.output, found.source) for found in trajectory.calls] == [
        ("1", "declined", "message"),
        ("2", "paid", "span"),
    ]


@for_each("ids", ["1", None])
def test_a_tool_that_was_tried_again_gave_the_result_of_the_last_try(ids: str | None) -> None:
    tried = executed(3, "pay", ids, "{}", status={"code": 2, "message": "timed out"})
    paid = executed(5, "pay", ids, "{}")
    paid["attributes"].append({"key": "gen_ai.tool.call.result", "value": {"stringValue": "paid"}})
    request = asked(("1", "pay", {}))

    trajectory = read_one(chat(1, [], request), tried, paid, chat(9, [*request, *answered(("1", "paid"))], []))

    assert [(found.output, found.group) for found in trajectory.calls] == [(None, "turn-1"), ("paid", "turn-1")]
    assert [found.error for found in trajectory.calls] == ["timed out", None]


def told_again_with_its_id(*, start: str) -> Trajectory:
    """Two calls of one message, and again the one whose id that message lost, beside the answer on the same span."""
    pair, again = asked(("1", "a", {}), ("", "b", {})), asked(("3", "c", {}), ("2", "b", {}))
    given = [{"role": "user", "parts": [{"type": "text", "content": "Go"}]}, *pair, *answered(("1", "x"))]
    began = {"startTimeUnixNano": start} if start else {}
    tools = [executed(number, tool, str(number - 6), args="{}", **began) for number, tool in enumerate("abc", 7)]
    said = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(again)}
    return read_one(span(1, {"gen_ai.operation.name": "invoke_agent"} | said), *tools)


def test_a_call_that_two_messages_may_have_asked_for_has_no_group() -> None:
    trajectory = told_again_with_its_id(start="")

    assert trajectory.names == ("a", "b", "c")
    assert trajectory.calls[1].group is None
    assert None not in (trajectory.calls[0].group, trajectory.calls[2].group)


def test_a_call_that_two_messages_may_have_asked_for_has_no_place_among_others_of_its_time() -> None:
    assert told_again_with_its_id(start="50000").unordered == ((0, 3),)


def test_calls_that_overlap_under_one_span_are_a_group() -> None:
    trajectory = read_one(
        call(1, "a", parent=99, endTimeUnixNano="5000"), call(2, "b", parent=99), call(9, "c", parent=99)
    )
    first, second, third = trajectory.calls

    assert first.group == second.group is not None
    assert third.group is None


def test_one_call_seen_by_two_instrumentations_is_one_call() -> None:
    inside = read_one(seen_by_openinference(1, endTimeUnixNano="9000"), executed(2, "t", "id-1", parent=1))
    beside = read_one(seen_by_openinference(1, endTimeUnixNano="9000"), executed(2, "t", "id-1", traceId="f" * 32))

    for trajectory in (inside, beside):
        [found] = trajectory.calls
        assert (found.args, found.output, found.call_id) == ({"a": 1}, "o", "id-1")


@pytest.mark.parametrize(
    "spans",
    [
        [seen_by_openinference(1), seen_by_openinference(2)],
        [seen_by_openinference(1, endTimeUnixNano="9000"), seen_by_openinference(2)],
        [seen_by_openinference(1, endTimeUnixNano="9000"), seen_by_openinference(2, parent=1)],
        [
            seen_by_openinference(1, endTimeUnixNano="9000"),
            span(2, CHAT, parent=1, endTimeUnixNano="8000"),
            executed(3, parent=2),
        ],
        [seen_by_openinference(1, endTimeUnixNano="9000"), executed(2, "other")],
        [
            executed(1, endTimeUnixNano="9000"),
            span(2, {"gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.event_id": "e"}, name="execute_tool t"),
        ],
        [seen_by_openinference(1), executed(5)],
    ],
    ids=["a retry", "at once", "recursion", "by a sub-agent", "another tool", "one framework", "one after the other"],
)
def test_calls_that_only_look_alike_are_two(spans: list[dict[str, Any]]) -> None:
    assert len(read_one(*spans).calls) == 2


def test_identical_calls_at_once_seen_by_two_instrumentations_are_two() -> None:
    lasting = {"endTimeUnixNano": "90000"}
    spans = [
        seen_by_openinference(1, **lasting),
        seen_by_openinference(2, **lasting),
        executed(3, **lasting),
        executed(4, **lasting),
    ]

    assert len(read_one(*spans).calls) == 2


def test_spans_of_mcp_inside_a_call_are_the_same_call() -> None:
    mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"}
    trajectory = read_one(executed(1, endTimeUnixNano="9000"), span(2, mcp, parent=1), span(3, mcp, parent=2))
    [by_one] = read(request(executed(1, endTimeUnixNano="9000"), span(2, mcp, parent=1), scope="agents"))

    assert len(trajectory.calls) == 1
    assert len(by_one.calls) == 1


def test_calls_that_only_messages_show_are_calls() -> None:
    first, second = ("1", "a", {"x": 1}), ("2", "b", {"y": 2})
    trajectory = read_one(
        chat(1, [], asked(first)),
        chat(2, asked(first) + answered(("1", '{"r": 1}')), asked(second)),
        chat(3, asked(first) + answered(("1", '{"r": 1}')) + asked(second) + answered(("2", "Error: no")), []),
    )
    a, b = trajectory.calls

    assert (a.name, a.args, a.output, a.source) == ("a", {"x": 1}, {"r": 1}, "message")
    assert (b.name, b.args, b.output, b.suspected_error) == ("b", {"y": 2}, "Error: no", True)
    assert a.group != b.group


def test_a_log_of_messages_completes_spans_and_adds_what_they_do_not_show() -> None:
    log = [*asked(("c1", "t", {"a": 1}), ("c2", "u", {})), *answered(("c1", "o"), ("c2", "p"))]

    trajectory = read_spans([executed(1, "t", "c1")], messages=log)

    assert [(made.name, made.args, made.output, made.source) for made in trajectory.calls] == [
        ("t", {"a": 1}, "o", "span"),
        ("u", {}, "p", "message"),
    ]
    assert read_spans([], messages=log).names == ("t", "u")
    with pytest.raises(InputError, match="messages"):
        read_spans([], messages=[5])


def test_a_call_that_only_a_log_shows_stays_before_those_that_were_asked_for_later() -> None:
    log = [*asked(("c1", "no_such_tool", {})), *answered(("c1", "Error: unknown")), *asked(("c2", "t", {"a": 1}))]

    trajectory = read_spans([executed(1, "t", "c2")], messages=[*log, *answered(("c2", "o"))])

    assert (trajectory.names, trajectory.unordered) == (("no_such_tool", "t"), ())


USER = {"role": "user", "content": "Pay back 7 and 7."}


def paid(number: int, call_id: str) -> dict[str, Any]:
    """A span of a call with an id of its framework."""
    given = {"gen_ai.tool.call.arguments": '{"order": 7}', "gen_ai.tool.call.result": "ok"}
    made = executed(number, "pay", call_id)
    return {**made, "attributes": [*made["attributes"], *span(0, given)["attributes"]]}


def logged(*call_ids: str) -> list[dict[str, Any]]:
    """The log that the framework keeps of the same calls."""
    work = [each for i in call_ids for each in (*asked((i, "pay", {"order": 7})), *answered((i, "ok")))]
    return [USER, *work, {"role": "assistant", "content": "Paid."}]


ONE = asked(("pay_0", "pay", {"order": 7}))
TWO_AT_ONCE = asked(("pay_0", "pay", {"order": 7}), ("pay_1", "pay", {"order": 7}))
ANSWERED = answered(("pay_0", "ok"))


@pytest.mark.parametrize(
    ("models", "ids"),
    [
        ([chat(1, [USER], ONE), chat(9, [USER, *ONE, *ANSWERED], [])], ["adk-1"]),
        ([chat(1, [USER], ONE), chat(9, [USER, *ONE, *ANSWERED], ONE)], ["adk-1", "adk-2"]),
        ([chat(1, [USER], TWO_AT_ONCE)], ["adk-1", "adk-2"]),
    ],
    ids=["one call", "the same again", "the same at once"],
)
def test_ids_made_up_from_name_and_place_make_no_further_calls(models: list[dict[str, Any]], ids: list[str]) -> None:
    tools = [paid(3 + 8 * place, call_id) for place, call_id in enumerate(ids)]
    turn = Turn(spans=[request(*models, *tools)], messages=logged(*ids), asked=USER["content"])
    without_tools = Turn(spans=[request(*models)], messages=logged(*ids), asked=USER["content"])

    assert [call.call_id for call in read_turns([turn]).calls] == ids
    assert [call.call_id for call in read_turns([without_tools]).calls] == ids


def test_a_call_that_was_asked_for_under_a_made_up_id_and_never_run_is_a_call() -> None:
    trajectory = read_one(chat(1, [USER], TWO_AT_ONCE), executed(3, "pay", "adk-1"))

    assert {call.call_id: call.args for call in trajectory.calls} == {"adk-1": {"order": 7}, "pay_1": {"order": 7}}


def test_equal_calls_with_ids_of_one_kind_are_two() -> None:
    turn = Turn(spans=[request(chat(1, [USER], asked(("x", "pay", {"order": 7}))))], messages=logged("y"))

    assert [call.call_id for call in read_turns([turn]).calls] == ["x", "y"]


def test_the_bytes_of_several_documents_are_one_source() -> None:
    documents = [line(call(2, "b")), line(call(1, "a"))]

    assert [made.names for made in read(documents, grouping="file")] == [("a", "b")]


@pytest.mark.parametrize(
    "key", ["output.value", "traceloop.entity.output", "langfuse.observation.output", "gen_ai.completion"]
)
def test_the_state_of_a_graph_tells_the_result_that_no_model_was_shown(key: str) -> None:
    told = "Returning structured response: n=1"
    message = {"type": "tool", "content": told, "name": "Answer", "tool_call_id": "c1", "status": "success"}
    state = {"messages": [{"type": "human", "content": "go"}, message]}
    returned = {"outputs": state} if key.startswith("traceloop") else state
    user = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    output = json.dumps(asked(("c1", "Answer", {"n": 1})))
    model = {**CHAT, "gen_ai.input.messages": json.dumps(user), "gen_ai.output.messages": output}

    [found] = read_one(span(1, {key: json.dumps(returned)}), span(2, model, parent=1)).calls

    assert (found.output, found.internal) == (told, True)


def test_tools_asked_for_at_once_are_not_inside_one_another_whatever_their_sub_agents_take() -> None:
    output = json.dumps(asked(("c1", "research", {"q": 1}), ("c2", "write", {"q": 2})))
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "boss"}
    sub_agent = {**agent, "gen_ai.agent.name": "researcher"}
    spans = [
        span(1, agent, endTimeUnixNano="30000"),
        span(2, {**CHAT, "gen_ai.output.messages": output}, parent=1),
        executed(3, "research", "c1", '{"q": 1}', parent=1, endTimeUnixNano="20000"),
        span(4, sub_agent, endTimeUnixNano="15000"),
        executed(5, "write", "c2", '{"q": 2}', parent=1, endTimeUnixNano="9000"),
    ]

    assert [(each.name, each.parent_id, each.agent) for each in read_one(*spans).calls] == [
        ("research", None, "boss"),
        ("write", None, "boss"),
    ]


@pytest.mark.parametrize("call_id", ["c1", None], ids=["with ids", "without ids"])
def test_a_tool_that_was_tried_again_gives_the_model_the_result_of_its_last_attempt(call_id: str | None) -> None:
    user = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    request_of_model = asked(("c1", "t", {"a": 1}))
    prompt = [*user, *request_of_model, *answered(("c1", "fine"))]
    models = [
        span(
            1,
            {**CHAT, "gen_ai.input.messages": json.dumps(user), "gen_ai.output.messages": json.dumps(request_of_model)},
        ),
        span(9, {**CHAT, "gen_ai.input.messages": json.dumps(prompt)}),
    ]
    failed: dict[str, Any] = {"status": {"code": 2, "message": "try later"}}
    attempts = [executed(number, "t", call_id, '{"a": 1}', **failed) for number in (2, 3)]

    trajectory = read_one(*models, *attempts, executed(4, "t", call_id, '{"a": 1}'), scope="langchain")

    assert [(each.output, each.error) for each in trajectory.calls] == [
        (None, "try later"),
        (None, "try later"),
        ("fine", None),
    ]
    assert {(each.turn, each.group) for each in trajectory.calls} == {(0, "turn-1")}


@for_each(
    ("call_id", "told"),
    [
        ("c1", [(None, "turn-1"), ("fine", "turn-1")]),
        # Made up from the name and a number, it is the id of another call in the next turn.
        ("t_0", [("fine", "turn-1"), (None, None)]),
    ],
)
def test_two_tries_under_one_id_are_one_call_also_where_the_request_has_no_id(call_id: str, told: list[Any]) -> None:
    request_of_model = asked(("", "t", {"a": 1}))
    tries = [executed(number, "t", call_id, '{"a": 1}') for number in (2, 3)]

    trajectory = read_one(
        chat(1, [], request_of_model), *tries, chat(9, [*request_of_model, *answered(("", "fine"))], [])
    )

    assert [(each.output, each.group) for each in trajectory.calls] == told


def test_the_same_request_without_an_id_is_one_however_often_it_is_repeated() -> None:
    def question(*names: str) -> list[dict[str, Any]]:
        parts = [{"type": "tool_call", "name": name, "arguments": {}} for name in names]
        return [{"role": "assistant", "parts": [part]} for part in parts]

    trajectory = read_one(
        chat(1, [], question("a")), chat(2, question("a"), question("a")), chat(3, question("a", "a"), question("b"))
    )

    assert trajectory.names == ("a", "a", "b")


@pytest.mark.parametrize("stateful", [False, True], ids=["every prompt repeats them", "each prompt has the new ones"])
def test_results_without_ids_and_requests_are_given_in_order(stateful: bool) -> None:
    def question(name: str) -> list[dict[str, Any]]:
        return [{"role": "assistant", "parts": [{"type": "tool_call", "name": name, "arguments": {}}]}]

    one, two = {"role": "tool", "content": "one"}, {"role": "tool", "content": "two"}
    trajectory = read_one(
        chat(1, [], question("a")), chat(2, [one], question("b")), chat(3, [two] if stateful else [one, two], [])
    )

    assert trajectory.names == ("a", "b")
    assert [found.output for found in trajectory.calls] == ["one", "two"]


def test_no_calls_are_told_from_no_tool_data() -> None:
    silent = read_one(span(1, CHAT))
    talking = read_one(chat(1, [{"role": "user", "parts": []}], [{"role": "assistant", "parts": []}]))

    assert silent.metadata["tool_data"] == "none"
    assert talking.metadata["tool_data"] == "messages"
    assert talking.warnings == ()


def test_where_calls_are_known_from_is_told() -> None:
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "other", "arguments": {}, "id": "o"}]}]
    both = read_one(call(2, "search"), chat(1, [], asked))
    marked = read_turns([Turn(messages=[{"role": "user", "content": "x"}, *asked])], tools_are_seen=True)

    assert (both.names, both.metadata["tool_data"]) == (("other", "search"), "spans")
    assert (marked.names, marked.metadata["tool_data"]) == (("other",), "messages")


@given(seed=st.integers(0, 2**32), shape=st.lists(st.integers(0, 8), min_size=1, max_size=9))
def test_the_order_in_which_spans_arrive_changes_nothing(seed: int, shape: list[int]) -> None:
    spans = [
        call(number + 1, f"tool-{number}", parent=parent if parent <= number else None, endTimeUnixNano="99000")
        for number, parent in enumerate(shape)
    ]
    shuffled = random.Random(seed).sample(spans, len(spans))

    assert read_one(*shuffled).calls == read_one(*spans).calls


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6))
def test_every_call_is_read_once_whatever_its_parent_claims(links: list[tuple[int, int]]) -> None:
    spans = [call(number, parent=parent) for number, parent in links]
    distinct = {number for number, _ in links if number} | {-n for n, (number, _) in enumerate(links, 1) if not number}

    assert len(read_one(*spans).calls) == len(distinct)


def test_a_span_without_an_id_does_not_take_the_request_whose_id_another_span_has() -> None:
    asking = asked(("1", "t", {}), ("2", "t", {}))
    results = chat(8, [*asking, *answered(("1", "one"), ("2", "two"))], [])
    trajectory = read_one(chat(1, [], asking), executed(5, "t"), executed(6, "t", "1"), results)

    assert [(call.call_id, call.output) for call in trajectory.calls] == [("2", "two"), ("1", "one")]


def test_a_result_that_only_a_message_has_is_unwrapped_as_the_spans_framework_wraps_it() -> None:
    tool = {"gcp.vertex.agent.event_id": "e", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "name": "look", "arguments": {}, "id": "c"}]}
    given = {"role": "tool", "tool_call_id": "c", "content": '{"result": "ok"}'}
    spans = [chat(1, [], [asked]), span(2, {**tool, "gen_ai.tool.call.id": "c"}), chat(3, [asked, given], [])]

    assert [found.output for found in read_one(*spans).calls] == ["ok"]


def test_messages_of_an_agents_span_are_read_where_its_framework_keeps_them_there() -> None:
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "name": "look", "arguments": {}, "id": "c"}]}
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Go."}]}, asked])
    kept = span(1, {"gen_ai.operation.name": "invoke_agent", "pydantic_ai.all_messages": said})
    copied = span(1, {"gen_ai.operation.name": "invoke_agent", "mlflow.spanInputs": said})

    assert (read_one(kept).names, read_one(copied).names) == (("look",), ())


def test_spans_belong_to_the_turn_that_was_over_when_they_had_been_added() -> None:
    trajectory = read_turns([Turn(spans=[request(call(1, "a"))]), Turn(spans=[request(call(2, "b"))])])

    assert [(found.name, found.turn) for found in trajectory.calls] == [("a", 0), ("b", 1)]


def at(start: int | None, end: int | None = None, span_id: str = "s", trace: str = "t") -> Span:
    return Span("a span", trace, span_id, None, start, end)


@for_each(
    ("first", "second", "count"),
    [
        ((at(0, 9), ("a",)), (at(5, 8), ("b",)), 1),
        ((at(0, 9), ("a",)), (at(5, 8), ("a",)), 2),
        ((at(0, 9), ("a",)), (at(9, 12), ("b",)), 2),
        ((at(0, 9), ("a",)), (at(8, 12), ("b",)), 1),
        ((at(0, None), ("a",)), (at(20, 30), ("b",)), 1),
        ((at(5, 5), ("a",)), (at(5, 5), ("b",)), 1),
        ((at(5, 5), ("a",)), (at(6, 6), ("b",)), 2),
        ((at(None, None), ("a",)), (at(0, 9), ("b",)), 1),
        ((at(0, 9), ("a", "b")), (at(0, 9), ("b",)), 2),
        ((at(0, 9), ("a", "b")), (at(0, 9), ("c",)), 1),
    ],
)
def test_records_of_two_instrumentations_are_one_call_while_it_runs(first: Any, second: Any, count: int) -> None:
    records = [CallRecord("look", span, layers=layers, args={}) for span, layers in (first, second)]
    records[1].span = msgspec.structs.replace(second[0], span_id="other")
    found = without_duplicates(records, Tree([record.span for record in records if record.span], {}))

    assert len(found) == count
    assert found[0].is_doubtful == (count == 1 and None in (first[0].end_ns, first[0].start_ns))


@for_each(
    ("first", "second", "are_one"),
    [
        ({"args": {"x": 1}}, {"args": {"x": 1}}, True),
        ({"args": {"x": 1}}, {"args": {"x": 2}}, False),
        ({"args": {"x": 1}}, {"args": {"x": 1, "y": None}}, True),
        ({"args": {"x": 1}}, {}, True),
        ({}, {"args": {"x": 1}}, True),
        ({"bare": 1}, {"args": {"x": 1}}, True),
        ({"bare": 2}, {"args": {"x": 1}}, False),
        ({"bare": 1}, {"args": {"x": 1, "y": 2}}, False),
        ({"args": {"x": 1}}, {"bare": 1}, True),
        ({"args": {"x": 1}}, {"bare": 2}, False),
        ({"bare": 1}, {"bare": 2}, True),
        ({"call_id": "1"}, {"call_id": "2"}, False),
        ({"call_id": "1"}, {"call_id": "1"}, True),
        ({"call_id": "1"}, {}, True),
        ({}, {"call_id": "2"}, True),
        ({"name": "look"}, {"name": "find"}, False),
    ],
)
def test_records_are_one_call_where_names_ids_and_arguments_agree(
    first: dict[str, Any], second: dict[str, Any], are_one: bool
) -> None:
    assert _agree(CallRecord(**{"name": "look", **first}), CallRecord(**{"name": "look", **second})) is are_one


@for_each(
    ("made", "requested", "fits"),
    [
        ({}, {}, True),
        ({"turn": 0}, {"turn": 1}, False),
        ({"turn": 1}, {"turn": 1}, True),
        ({"turn": 0}, {}, True),
        ({}, {"turn": 0}, True),
        ({"call_id": "1"}, {"call_id": "2"}, False),
        ({"call_id": "1"}, {"call_id": "look_0"}, True),
        ({"call_id": "look_1"}, {"call_id": "look_0"}, False),
        ({"args": {"x": 1}}, {"args": {"x": 2}}, False),
        ({"args": {"x": 1}}, {"args": {"x": 1, "y": None}}, True),
        ({"args": {"x": 1}}, {}, True),
        ({}, {"args": {"x": 1}}, True),
        ({"bare": 1}, {"args": {"x": 1}}, True),
        ({"bare": 2}, {"args": {"x": 1}}, False),
        ({"bare": 1}, {"args": {"x": 1, "y": 1}}, False),
        ({"bare": 1}, {}, True),
    ],
)
def test_a_span_fits_a_request_where_turns_ids_and_arguments_do_not_differ(
    made: dict[str, Any], requested: dict[str, Any], fits: bool
) -> None:
    assert _compatible(CallRecord("look", **made), CallRecord("look", **requested)) is fits


def test_requests_that_no_span_shows_are_calls_unless_a_span_of_the_tool_is_left_or_has_their_id() -> None:
    def unseen(request: dict[str, Any], record: dict[str, Any] | None = None, left: tuple[str, ...] = ()) -> bool:
        asked = CallRecord(**{"name": "look", "call_id": "1", "args": {"x": 1}, **request})
        made = [] if record is None else [CallRecord(**{"name": "look", "call_id": "1", "args": {"x": 1}, **record})]
        return _unseen([asked], made, [CallRecord(name) for name in left]) == [asked]

    assert unseen({})
    assert unseen({"call_id": None})
    assert unseen({}, {"call_id": "2"})
    assert unseen({"call_id": None}, {"name": "other"})
    assert unseen({"call_id": None}, {"args": {"x": 2}})
    assert not unseen({"call_id": None}, {"call_id": "2"})
    assert not unseen({"call_id": None}, {"args": NOTHING})
    assert not unseen({"call_id": None, "args": NOTHING}, {"args": {"x": 2}})
    assert unseen({"call_id": None, "args": NOTHING}, {"name": "find"})
    assert not unseen({"call_id": None}, {"name": "find"}, ("look",))
    assert not unseen({}, {})
    assert unseen({}, {"args": {"x": 2}})
    assert unseen({}, {"name": "find"})
    assert not unseen({}, {"name": "find"}, ("look",))
    assert unseen({}, {"name": "find"}, ("find",))
    assert not unseen({"args": NOTHING}, {})
    assert unseen({"args": NOTHING}, {"call_id": "2"})
    assert unseen({"args": NOTHING}, {"name": "find"})


def test_calls_are_ordered_by_start_then_as_asked_for_then_outer_before_inner() -> None:
    def names(*records: CallRecord) -> str:
        return "".join([record.name for record in ordered(list(records))])

    outer = CallRecord("o", at(1), order=5)
    assert names(CallRecord("b", at(2)), CallRecord("a", at(1))) == "ab"
    assert names(CallRecord("b", at(None)), CallRecord("a", at(1)), CallRecord("0", at(0))) == "0ab"
    assert names(CallRecord("b", asked_ns=2), CallRecord("a", at(1))) == "ab"
    assert names(CallRecord("b", at(1), order=2), CallRecord("a", at(1), order=1)) == "ab"
    assert names(CallRecord("b", at(1), order=0), CallRecord("a", at(1), order=-1)) == "ba"
    assert names(CallRecord("b", at(1), order=2), CallRecord("a", at(1), order=0)) == "ab"
    assert names(CallRecord("i", at(1), parent=outer), outer) == "oi"
    assert names(CallRecord("i", at(1), parent=outer, order=4), outer) == "io"
    inner = CallRecord("i", at(1), parent=outer)
    assert names(CallRecord("d", at(1), parent=inner), inner, CallRecord("z", at(0)), outer) == "zoid"


def test_the_order_of_calls_is_open_where_nothing_shows_it() -> None:
    def told(start: int | None, order: int = -1, **more: Any) -> CallRecord:
        return CallRecord("look", at(start, trace=more.pop("trace", "t")), order=order, **more)

    other = told(0)
    assert unsettled([told(None)]) == ()
    assert unsettled([told(1), told(2)]) == ()
    assert unsettled([told(1), told(1)]) == ((0, 2),)
    assert unsettled([told(0), told(1), told(1), told(2)]) == ((1, 3),)
    assert unsettled([told(1, 0), told(1, 1)]) == ()
    assert unsettled([told(1, 0), told(1)]) == ((0, 2),)
    assert unsettled([told(1), told(1, parent=other)]) == ()
    assert unsettled([told(1), told(None)]) == ((0, 2),)
    assert unsettled([told(1, 0), told(None, 1)]) == ()
    assert unsettled([told(1, 0), told(None, 1, trace="u")]) == ((0, 2),)
    assert unsettled([told(1, 0), told(None, 1, parent=other)]) == ((0, 2),)
    assert unsettled([told(1, 0), told(None, 1, parent=other)], in_log=True) == ()
    assert unsettled([told(1), told(None, 1)], in_log=True) == ((0, 2),)


def test_calls_are_a_group_while_one_of_them_runs_that_the_same_agent_made() -> None:
    def groups(*times: tuple[int | None, int | None], **more: Sequence[Any]) -> list[str | None]:
        records = [CallRecord("look", at(*each)) for each in times]
        for key, values in more.items():
            for record, value in zip(records, values, strict=True):
                setattr(record, key, value)
        group_by_time(records)
        return [record.group for record in records]

    one = ["overlap-1"] * 2
    assert groups((0, 5), (4, 9)) == one
    assert groups((0, 5), (5, 9)) == [None, None]
    assert groups((0, 20), (1, 2), (10, 11)) == ["overlap-1"] * 3
    assert groups((0, 5), (1, 9), (8, 12)) == ["overlap-1"] * 3
    assert groups((0, 5), (4, 9), (20, 25), (24, 29)) == [*one, "overlap-2", "overlap-2"]
    assert groups((0, 5), (4, None)) == [None, None]
    assert groups((None, 5), (4, 9)) == [None, None]
    assert groups((0, 5), (4, 9), group=["turn-7", None]) == ["turn-1", None]
    assert groups((0, 5), (1, 5), (2, 5), group=["turn-7", None, None]) == ["turn-1", *one]
    assert groups((0, 5), (4, 9), group=["turn-7", "turn-3"]) == ["turn-1", "turn-2"]
    assert groups((0, 5), (4, 9), is_placed=[True, False]) == [None, None]
    assert groups((0, 5), (4, 9), turn=[0, 1]) == [None, None]
    assert groups((0, 5), (4, 9), turn=[1, 1]) == one
    assert groups((0, 5), (4, 9), parent=[None, CallRecord("outer")]) == [None, None]
    assert groups((0, 5), (4, 9), under=["a", "b"]) == [None, None]
    assert groups((0, 5), (4, 9), under=["a", "a"]) == one
    assert groups((0, 5), (4, 9), under=["a", None]) == one
    assert groups((0, 5), (4, 9), under=[None, "b"]) == one


def test_a_tool_of_crewai_and_what_the_model_asked_for_are_one_call() -> None:
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call."
    model = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    model |= {f"{asked}id": "c1", f"{asked}function.name": "ask_a_coworker", f"{asked}function.arguments": "{}"}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "Ask a coworker", "input.value": "{}"}
    tool |= {"tool.description": "Tool Name: ask_a_coworker\nTool Arguments: {}", "output.value": "Yes."}

    [made] = read_one(span(1, model), span(2, tool)).calls

    assert (made.name, made.call_id, made.output) == ("ask_a_coworker", "c1", "Yes.")


def task_of_crewai(*names: str, answer: str = "Done.") -> dict[str, Any]:
    """An agent's span of a task in which a model asked for tools, one after the other."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Current Task: go"}]
    for number, name in enumerate(names):
        asked = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": f"c{number}", "name": name, "content": f"{name} {number}"},
        ]
    messages.append({"role": "assistant", "content": answer})
    returned = {"description": "go", "expected_output": "an answer", "raw": answer, "messages": messages}
    attributes = {"openinference.span.kind": "AGENT", "output.value": json.dumps(returned)}
    return span(1, attributes, name="support._execute_core", endTimeUnixNano="90000")


def tool_of_crewai(number: int, name: str, output: str) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": "{}", "output.value": output}
    return span(number, attributes, parent=1, name=f"{name}.run")


def test_a_call_that_a_task_of_crewai_tells_and_no_span_shows_is_where_the_model_asked_for_it() -> None:
    task = task_of_crewai("look", "look", "no_such_tool", "book")

    found = read_one(task, tool_of_crewai(2, "look", "look 0"), tool_of_crewai(3, "book", "book 3"))

    told = [(call.name, call.output, call.source) for call in found.calls]
    assert told == [
        ("look", "look 0", "span"),
        ("look", "look 1", "message"),
        ("no_such_tool", "no_such_tool 2", "message"),
        ("book", "book 3", "span"),
    ]
    assert (found.unordered, found.output) == ((), "Done.")


def test_a_task_of_crewai_whose_model_asks_in_its_text_is_not_understood() -> None:
    found = read_one(task_of_crewai(answer="Thought: look\nAction: look\nAction Input: {}\nObservation: 3"))

    assert not found.calls_recorded
    assert "not understood" in found.warnings[0]


def test_a_call_without_arguments_is_not_paired_before_those_that_came_first() -> None:
    """LlamaIndex calls the tool with nothing where it cannot parse the arguments that the model wrote."""
    said = [{"role": "user", "content": "Go."}]
    asks = asked(("c1", "t", '{"a": '), ("c2", "t", {"b": 1}))  # type: ignore[arg-type]
    gave = answered(("c1", "first"), ("c2", "second"))
    prompt = {**CHAT, "gen_ai.input.messages": json.dumps([*said, *asks, *gave])}

    found = read_one(executed(2, args='{"a": null}'), executed(3), span(4, prompt))

    assert [(call.args, call.output) for call in found.calls] == [({"a": None}, "first"), ({"b": 1}, "second")]
