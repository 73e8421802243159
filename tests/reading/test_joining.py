"""Order, nesting, duplicates and groups of calls; spans joined with messages."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.reading.traces import call, line, request, span

from rightcall.errors import InputError
from rightcall.reading import Turn, read, read_spans, read_turns
from rightcall.values.trajectory import Trajectory

CHAT = {"gen_ai.operation.name": "chat"}


def read_one(*spans: dict[str, Any], scope: str = "") -> Trajectory:
    [trajectory] = read(request(*spans, scope=scope))
    return trajectory


def executed(number: int, tool: str = "t", call_id: str | None = None, **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    return span(number, attributes | ({"gen_ai.tool.call.id": call_id} if call_id else {}), **more)


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

    assert len(trajectory.calls) == 1


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
