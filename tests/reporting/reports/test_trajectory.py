"""A trajectory as lines: its tree, its timing, and what was not recorded."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import call, calls

from rightcall import ToolCall, Trajectory
from rightcall.reporting.reports import Line, Paper, cell_count, trajectory_lines

MS = 10**6


def plain_text(line: Line) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in line)


def shown(trajectory: Trajectory, name: str = "trace.json", **paper: Any) -> list[str]:
    return [plain_text(line).rstrip() for line in trajectory_lines(trajectory, name, Paper(**paper))]


def timed(name: str, start: int, end: int, **fields: Any) -> ToolCall:
    return ToolCall(name, {}, None, start_ns=start * MS, end_ns=end * MS, **fields)


def trajectory(*made: ToolCall, **fields: Any) -> Trajectory:
    return Trajectory(calls=made, **fields)


def rows(lines: list[str]) -> list[str]:
    """The lines of the table, without headings."""
    first = lines.index("") + 1
    table = lines[first : lines.index("", first) if "" in lines[first:] else None]
    return table[1:] if table[0].split() == ["#", "start", "took"] else table


def test_the_header_says_where_it_comes_from_and_what_it_is_like() -> None:
    made = trajectory(
        timed("a", 1000, 1020, agent="planner", source="span"),
        timed("b", 1030, 1050, agent="planner", source="span", error="no such thing"),
        trace_id="ab12",
        input={"q": "Find me a laptop"},
        output="Done.",
        metadata={"tool_data": "spans", "instrumentation": ["openinference"], "rightcall.case.id": "laptop"},
    )

    assert shown(made)[:5] == [
        "trace.json · trace ab12",
        "2 calls, 1 failed · in 50ms · agent planner · from spans of openinference",
        "rightcall.case.id: laptop",
        'input: {"q": "Find me a laptop"}',
        "output: Done.",
    ]


def test_calls_made_by_a_call_stand_below_it_with_their_own_numbers() -> None:
    made = trajectory(
        timed("outer", 0, 100, span_id="1"),
        timed("first", 10, 20, span_id="2", parent_id="1"),
        timed("deeper", 12, 15, span_id="3", parent_id="2"),
        timed("second", 30, 40, span_id="4", parent_id="1"),
        timed("after", 100, 110, span_id="5"),
    )

    assert rows(shown(made)) == [
        " 1     0ms   100ms    outer() → null",
        " 2    10ms    10ms      first() → null",
        " 3    12ms  3.00ms        deeper() → null",
        " 4    30ms    10ms      second() → null",
        " 5   100ms    10ms    after() → null",
    ]


def test_calls_that_ran_at_the_same_time_are_bracketed() -> None:
    made = trajectory(timed("a", 0, 50), timed("b", 10, 20), timed("c", 30, 60), timed("d", 70, 80))

    lines = shown(made)

    assert [row[18:22] for row in rows(lines)] == ["╓ a(", "║ b(", "╙ c(", "  d("]
    assert "║ ran at the same time" in lines


def test_calls_asked_for_at_once_are_bracketed_even_without_times() -> None:
    made = trajectory(ToolCall("a", {}, 1, group="1"), ToolCall("b", {}, 2, group="1"), ToolCall("c", {}, 3, group="2"))

    lines = shown(made)

    assert rows(lines) == [" 1  ┌ a() → 1", " 2  └ b() → 2", " 3    c() → 3"]
    assert "│ asked for at once" in lines


def test_a_bracket_goes_on_beside_what_its_calls_made() -> None:
    made = trajectory(
        ToolCall("a", {}, 1, group="1", span_id="1"),
        ToolCall("inner", {}, 2, span_id="2", parent_id="1"),
        ToolCall("b", {}, 3, group="1", span_id="3"),
    )

    assert rows(shown(made)) == [" 1  ┌ a() → 1", " 2  │   inner() → 2", " 3  └ b() → 3"]


def test_errors_suspicions_and_calls_of_the_framework_are_marked() -> None:
    made = trajectory(
        ToolCall("charge", {}, None, "card\n  declined"),
        ToolCall("charge", {}, "Error: card declined", suspected_error=True),
        ToolCall("final_answer", {}, "Done.", internal=True),
    )

    lines = shown(made)

    assert lines[1] == "3 calls, 1 failed, 1 suspected of having failed"
    assert rows(lines) == [
        " 1    charge() ✗ card declined",
        ' 2    charge() → "Error: card declined" ! reads like an error',
        ' 3    final_answer() [internal] → "Done."',
    ]


def test_an_error_and_another_output_are_both_shown() -> None:
    made = trajectory(ToolCall("charge", {}, {"code": 402}, "declined"))

    assert rows(shown(made)) == [" 1    charge()", "        ✗ declined", '        → {"code": 402}']


def test_what_was_not_recorded_is_marked_at_each_call_and_counted_once() -> None:
    made = Trajectory(
        calls=(ToolCall("a"), ToolCall("b", {"x": None}), call("c")),
        warnings=("arguments of 1 call were not recorded; to record them: SOME_SETTING=true",),
    )

    lines = shown(made)

    assert rows(lines) == [" 1    a(?) → ?", " 2    b(x=null) → ?", " 3    c() → null"]
    assert lines[-2:] == [
        "? not recorded: the arguments of 1 and the outputs of 2 of 3 calls",
        "note: arguments of 1 call were not recorded; to record them: SOME_SETTING=true",
    ]


def test_no_tool_data_is_not_the_same_as_no_calls() -> None:
    nothing = shown(Trajectory(metadata={"tool_data": "none"}, warnings=("no tool data in this trace",)))
    none_made = shown(Trajectory(metadata={"tool_data": "messages"}))

    assert nothing[1] == "no tool data: cannot tell whether tools were called"
    assert nothing[-1] == "note: no tool data in this trace"
    assert none_made == ["trace.json", "no calls"]


def test_agents_are_named_where_there_are_several_and_turns_counted() -> None:
    made = trajectory(ToolCall("a", {}, 1, agent="x", turn=0), ToolCall("b", {}, 2, agent="y", turn=1))

    assert rows(shown(made)) == ["turn 1", " 1    a() @x → 1", "turn 2", " 2    b() @y → 2"]


def test_turns_are_counted_also_where_some_have_no_calls() -> None:
    made = trajectory(ToolCall("a", {}, 1, turn=0), turn_inputs=("Is it?", "Thanks"), turn_outputs=("Yes", "Welcome"))

    assert shown(made)[1] == "1 call in 2 turns"
    assert shown(trajectory(turn_inputs=("Hi", "Thanks")))[1] == "no calls in 2 turns"
    assert shown(trajectory(turn_inputs=("Hi",)))[1] == "no calls"


def test_an_order_that_nothing_settles_and_clocks_that_run_backwards_are_noted() -> None:
    lines = shown(trajectory(timed("a", 5, 5), timed("b", 5, 3), unordered=((0, 2),)), width=100)

    assert "note: the order of calls 1 to 2 was not recorded: they may have been made in any order" in lines
    assert "note: 1 call ended before starting, by the clock of the trace" in lines


def test_long_values_are_cut_in_the_middle_and_whole_if_asked_for() -> None:
    made = calls(call("send", text=" ".join(map(str, range(200)))))

    cut, whole = shown(made), shown(made, full=True)

    assert len(rows(cut)) == 3
    assert "…" in "".join(cut)
    assert "".join(rows(whole)).replace(" ", "").startswith('1send(text="0123456789101112')
    assert "…" not in "".join(whole)


def test_lines_of_an_error_stay_lines_if_it_is_shown_whole() -> None:
    made = trajectory(ToolCall("a", {}, None, "Traceback:\n  line 7\nValueError"))

    assert rows(shown(made)) == [" 1    a() ✗ Traceback: line 7 ValueError"]
    assert rows(shown(made, full=True)) == [
        " 1    a()",
        "        ✗ Traceback:",
        "            line 7",
        "          ValueError",
    ]


def test_beyond_the_deepest_lane_a_bracket_is_not_drawn_again() -> None:
    chain = [ToolCall("a", {}, 1, span_id=str(n), parent_id=str(n - 1)) for n in range(1, 12)]
    twin = ToolCall("twin", {}, 1, span_id="x", parent_id="7", group="g")
    chain[7] = ToolCall("first", {}, 1, span_id="8", parent_id="7", group="g")

    lines = rows(shown(trajectory(*chain, twin)))

    assert [line.split()[1] for line in lines[7:]] == ["┌", "│", "│", "│", "└"]
    assert "(10 deep) a()" in lines[10]


HOSTILE = "\x1b[31m\u202e\n[bold]東京" * 3
MADE = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from(["a", HOSTILE, "x" * 300]),
        st.sampled_from([{}, {HOSTILE: HOSTILE}, {"k": ["v" * 50] * 9}]),
        st.sampled_from([None, HOSTILE, float("nan"), {"k": 10**40}]),
        st.sampled_from([None, HOSTILE, "e " * 200, "", "東" * 90]),
        turn=st.sampled_from([None, 0, 1]),
        group=st.sampled_from([None, "1", "2"]),
        span_id=st.sampled_from([None, "1", "2", "3", "4"]),
        parent_id=st.sampled_from([None, "1", "2", "3", "4"]),
        agent=st.sampled_from([None, HOSTILE, "y" * 200]),
        start_ns=st.sampled_from([None, -1, 0, 1, 2**63, 2**64 - 1]),
        end_ns=st.sampled_from([None, 0, 3, 2**63 + 5]),
        suspected_error=st.booleans(),
        internal=st.booleans(),
    ),
    max_size=12,
)


@given(MADE, st.booleans(), st.booleans(), st.sampled_from([80, 81, 120]))
def test_every_call_is_shown_once_within_the_width_and_nothing_is_obeyed(
    made: list[ToolCall], plain: bool, full: bool, width: int
) -> None:
    paper = Paper(width=width, plain=plain, full=full)
    written = list(trajectory_lines(trajectory(*made), "trace.json", paper))

    lines = [plain_text(line) for line in written]
    leads = [line[0][0].split()[0] for line in written[1:] if line and isinstance(line[0], tuple)]
    numbers = [int(lead) for lead in leads if lead.isdigit()]

    assert sorted(numbers) == list(range(1, len(made) + 1))
    assert all(line.isprintable() for line in lines)
    assert max(map(cell_count, lines)) <= width
    assert not plain or "".join(lines).isascii()


def test_the_middle_of_a_huge_text_costs_nothing() -> None:
    huge = "東" * 5_000_000
    begin = time.process_time()

    lines = shown(trajectory(ToolCall("a", {"x": huge}, huge, huge, agent=huge), input=huge))

    assert len(lines) < 20
    assert max(map(cell_count, lines)) <= 80
    assert time.process_time() - begin < 3


@pytest.mark.parametrize("shape", ["flat", "chain", "circle", "at once"])
def test_forty_thousand_calls_are_shown_in_seconds(shape: str) -> None:
    count = 40_000  # where each call cost a look at all the others, this would be minutes
    parents = {"chain": range(count), "circle": [count, *range(1, count)]}.get(shape, [0] * count)
    group = "1" if shape == "at once" else None
    made = [
        ToolCall("a", {"x": 1}, 1, group=group, span_id=str(number + 1), parent_id=str(parent) if parent else None)
        for number, parent in enumerate(parents)
    ]
    begin = time.process_time()

    lines = shown(trajectory(*made))

    assert len(rows(lines)) >= count
    assert time.process_time() - begin < 30
