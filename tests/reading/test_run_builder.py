"""What a run is put together from: its calls, its turns, its warnings, and where they are known from."""

from __future__ import annotations

import json
from typing import Any

from tests.reading.logs import ANSWERED, ASKED, asks, gives
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall import read, read_messages
from rightcall.reading.messages import Log
from rightcall.reading.runs._input_output import GivenLog
from rightcall.reading.runs._run_builder import RunBuilder, _conventions_of
from rightcall.reading.spans import NOTHING, CallRecord, Span
from rightcall.values.trajectory import Trajectory

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
AGENT = {"gen_ai.operation.name": "invoke_agent"}
MODEL = {"gen_ai.operation.name": "chat"}


def one(*spans: dict[str, Any]) -> Trajectory:
    [found] = read(request(*spans), grouping="file")
    return found


def model(number: int, shown: list[Any], answered: list[Any], **more: Any) -> dict[str, Any]:
    said = {"gen_ai.input.messages": json.dumps(shown), "gen_ai.output.messages": json.dumps(answered)}
    return span(number, {**MODEL, **said}, **more)


@for_each(
    ("spans", "tool_data", "is_recorded"),
    [
        ([span(1)], "none", False),
        ([span(1, AGENT)], "none", False),
        ([span(1, MODEL)], "none", False),
        ([call(1)], "spans", True),
        ([span(1, AGENT), call(2, parent=1)], "spans", True),
        ([model(1, [ASKED], [ANSWERED])], "messages", True),
        ([model(1, [ASKED], [asks(("look", "1", "{}"))])], "messages", True),
        ([span(1, {**MODEL, "gen_ai.input.messages": json.dumps([ASKED])})], "messages", False),
        ([model(1, [ASKED], [asks(("look", "1", "{}"))]), call(2, "look")], "spans", True),
        ([model(1, [ASKED], [{"role": "assistant", "content": [{"type": "odd"}]}])], "messages", False),
    ],
)
def test_where_the_calls_of_a_run_are_known_from(
    spans: list[dict[str, Any]], tool_data: str, is_recorded: bool
) -> None:
    found = one(*spans)

    assert (found.metadata["tool_data"], found.calls_recorded) == (tool_data, is_recorded)
    assert ("instrumentation" in found.metadata) == any(call.source == "span" for call in found.calls)


@for_each(
    ("attributes", "warning"),
    [
        ({"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "ok"}, ""),
        ({"gen_ai.tool.call.arguments": "{odd", "gen_ai.tool.call.result": "ok"}, "the arguments of a call of look "),
        (
            {"gen_ai.tool.call.arguments": '"seven"', "gen_ai.tool.call.result": "ok"},
            "the arguments of a call of look ",
        ),
        ({"gen_ai.tool.call.result": "ok"}, "arguments or outputs of 1 call were not recorded"),
        ({"gen_ai.tool.call.arguments": "{}"}, "arguments or outputs of 1 call were not recorded"),
    ],
)
def test_what_a_call_lacks_is_warned_of(attributes: dict[str, str], warning: str) -> None:
    found = one(span(1, {**TOOL, **attributes}))

    assert [each[: len(warning)] for each in found.warnings] == ([warning] if warning else [])


def test_calls_that_lack_something_are_counted_and_those_without_a_start_are_named() -> None:
    bare = one(span(1, TOOL), span(2, TOOL))
    assert [each.partition(";")[0] for each in bare.warnings] == [
        "arguments or outputs of 2 calls were not recorded",
    ]
    [failed] = one(span(1, {**TOOL, "gen_ai.tool.call.arguments": "{}"}, status={"code": 2})).calls
    assert failed.error is not None
    assert one(span(1, {**TOOL, "gen_ai.tool.call.arguments": "{}"}, status={"code": 2})).warnings == ()
    late = one(call(1, "late", startTimeUnixNano=""), call(2, "early"))
    assert late.names == ("early", "late")
    assert late.warnings[0] == "a call of late has no start time; it is put last"


def test_a_log_of_several_turns_has_a_question_and_an_answer_for_each() -> None:
    one_turn = read_messages([ASKED, ANSWERED])
    two = read_messages(
        [ASKED, ANSWERED, {"role": "user", "content": "Thanks!"}, {"role": "assistant", "content": "Bye."}]
    )

    assert (one_turn.input, one_turn.output) == ("Refund order 7.", "Done.")
    assert (one_turn.turn_inputs, one_turn.turn_outputs) == ((), ())
    assert (two.input, two.output) == ("Refund order 7.", "Bye.")
    assert (two.turn_inputs, two.turn_outputs) == (("Refund order 7.", "Thanks!"), ("Done.", "Bye."))


def test_words_in_the_name_of_the_user_that_are_notes_are_no_question() -> None:
    note = {"role": "user", "content": "[Request interrupted by user]"}

    assert read_messages([note, {"role": "system", "content": "Be kind."}, ASKED, ANSWERED]).input == "Refund order 7."
    assert read_messages([{"role": "user", "content": ""}, ASKED, ANSWERED]).input == "Refund order 7."


def test_what_calls_were_read_by_is_told_in_the_order_of_the_calls() -> None:
    made = [CallRecord("a", format="x"), CallRecord("b", Span("b"), "y", format="z"), CallRecord("c", format="x")]

    assert list(_conventions_of(made, Log([]))) == ["x", "y"]
    assert list(_conventions_of(made, Log([], format="claude"))) == ["y"]
    assert list(_conventions_of([CallRecord("a")], Log([]))) == []


def test_calls_below_a_span_that_may_be_one_have_no_known_parent() -> None:
    unread = span(1, {"rightcall.unreadable": "x"})

    def parents(above: dict[str, Any]) -> list[bool]:
        return ["parent_id" not in each.unrecorded for each in one(above, call(2, parent=1), call(9, parent=1)).calls]

    assert parents(unread) == [False, False]
    assert parents(span(1)) == [True, True]
    assert parents(span(1, AGENT)) == [True, True]


def test_a_call_that_only_messages_show_names_the_call_around_it() -> None:
    inner = model(3, [ASKED], [asks(("look", "1", "{}"))], parent=2)
    found = one(span(1, AGENT), call(2, "research", parent=1, endTimeUnixNano="9000"), inner)
    [outer, made] = found.calls

    assert (outer.name, made.name, made.parent_id, made.source) == ("research", "look", outer.span_id, "message")


def test_turns_that_were_given_one_by_one_have_their_calls() -> None:
    builder = RunBuilder()
    for turn in range(2):
        for number in range(turn + 1):
            attributes = {**TOOL, "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "ok"}
            builder.add(Span(f"{turn} {number}", "t", f"{turn} {number}", None, number, number, attributes))
        builder.end_turn()
    found = builder.trajectory(["one more"])

    assert [(each.span_id, each.turn) for each in found.calls] == [("0 0", 0), ("1 0", 1), ("1 1", 1)]
    assert found.warnings[-1] == "one more"


def test_the_order_of_calls_in_logs_is_known_where_each_turn_has_one() -> None:
    def log(number: int) -> Log:
        inner = {"type": "assistant", "parent_tool_use_id": f"{number}", "message": uses(f"{number}i", "look")}
        return Log([ASKED, {"type": "assistant", "message": uses(f"{number}", "Task")}, inner])

    def order(*turns: int | None) -> tuple[Any, ...]:
        builder = RunBuilder()
        builder.given_logs += [GivenLog(log(number), turn) for number, turn in enumerate(turns)]
        return builder.trajectory().unordered

    assert [order(0), order(None), order(0, 1)] == [(), (), ()]
    assert order(0, 0) == order(None, None) == ((0, 4),)


def uses(call_id: str, name: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]}


def test_a_turn_without_spans_of_tools_or_messages_is_named() -> None:
    def turn(number: int, *inside: dict[str, Any]) -> list[dict[str, Any]]:
        trace: dict[str, Any] = {"traceId": f"{number}" * 32}
        asked = {"gen_ai.conversation.id": "c", "input.value": f"Ask {number}"}
        above = span(number * 10, {**AGENT, **asked}, **trace)
        return [above, *[{**each, **trace} for each in inside]]

    [found] = read(request(*turn(1, call(11, parent=10)), *turn(2, call(21, parent=20))))
    assert found.calls_recorded
    assert [each.turn for each in found.calls] == [0, 1]


def test_a_state_among_messages_is_asked_for_calls_that_were_not_understood() -> None:
    odd = {"role": "assistant", "content": [{"type": "gadget_call", "gadget": "look", "arguments": {"x": 1}}]}

    def complete(*state: Any) -> bool:
        [found] = read("\n".join([json.dumps(line) for line in (ASKED, {"messages": [ASKED, *state]})]).encode())
        return found.calls_recorded

    assert (complete(ANSWERED), complete(odd)) == (True, False)


def test_results_of_a_log_without_their_calls_leave_the_calls_unknown() -> None:
    whole = read_messages([ASKED, asks(("look", "1", "{}")), gives("1", "ok"), ANSWERED])
    lost = read_messages([ASKED, gives("1", "ok"), ANSWERED])

    assert (whole.calls_recorded, lost.calls_recorded) == (True, False)
    assert [(each.args, each.output) for each in whole.calls] == [({}, "ok")]
    assert whole.calls[0].output is not NOTHING
