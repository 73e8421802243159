"""Which call encloses a span, where the spans say so and where only their times do."""

from __future__ import annotations

from typing import Any

from tests.reading.traces import call, request, span

from rightcall.reading import read
from rightcall.values.trajectory import Trajectory

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "inner"}


def one(*spans: dict[str, Any]) -> Trajectory:
    [trajectory] = read(request(*spans))
    return trajectory


def made_inside(trajectory: Trajectory) -> dict[str, str | None]:
    """For each call the one inside which it was made."""
    names = {call.span_id: call.name for call in trajectory.calls}
    return {call.name: names.get(call.parent_id) for call in trajectory.calls}


def until(microseconds: int) -> dict[str, Any]:
    return {"endTimeUnixNano": str(microseconds * 1000)}


def test_a_call_inside_another_knows_it_though_no_agent_was_recorded() -> None:
    assert made_inside(one(call(1, "outer", **until(9)), call(2, "inner", parent=1))) == {
        "outer": None,
        "inner": "outer",
    }


def test_an_agent_that_ran_while_one_call_did_was_started_by_it() -> None:
    agent = span(3, AGENT, **until(8))
    found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=3), call(10, "save"))

    assert made_inside(found) == {"research": None, "lookup": "research", "save": None}


def test_an_agent_that_ran_while_two_calls_did_is_of_neither() -> None:
    agent = span(3, AGENT, **until(8))
    found = one(call(1, "one", **until(9)), call(2, "two", **until(9)), agent, call(4, "lookup", parent=3))

    assert made_inside(found) == {"one": None, "two": None, "lookup": None}


def test_an_agent_that_began_before_a_call_or_ended_after_it_was_not_started_by_it() -> None:
    for begin, end in ((1, 8), (3, 12)):
        agent = span(begin, AGENT, **until(end))
        found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=begin))

        assert made_inside(found) == {"research": None, "lookup": None}


def test_a_call_beside_an_agent_that_a_call_started_was_started_by_it_too() -> None:
    agent = span(3, AGENT, **until(5))
    found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=3), call(7, "save"))

    assert made_inside(found) == {"research": None, "lookup": "research", "save": "research"}


def test_a_call_that_only_ran_meanwhile_is_not_inside_another() -> None:
    found = one(call(2, "research", **until(9)), call(4, "lookup"), span(20, AGENT))

    assert made_inside(found) == {"research": None, "lookup": None}


def test_an_agent_without_a_start_time_is_inside_no_call() -> None:
    agent = span(3, AGENT, startTimeUnixNano="")
    found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=3))

    assert made_inside(found) == {"research": None, "lookup": None}


def test_an_agent_that_never_ended_is_inside_no_call() -> None:
    agent = span(3, AGENT, endTimeUnixNano="")
    found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=3))

    assert made_inside(found) == {"research": None, "lookup": None}


def test_the_agent_that_a_call_names_counts_unless_the_agents_of_the_run_have_other_names() -> None:
    def agent_of(name: str, *others: dict[str, Any]) -> str | None:
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup", "gen_ai.agent.name": name}
        [found] = [each for each in one(span(4, tool), *others).calls if each.name == "lookup"]
        return found.agent

    elsewhere = [span(10, AGENT, **until(12)), call(11, "search", parent=10)]
    assert agent_of("inner", *elsewhere) == "inner"
    assert agent_of("default", *elsewhere) is None
    assert agent_of("default") == "default"


def test_spans_that_are_each_other_s_parents_are_around_no_call() -> None:
    found = one(call(1, "search", parent=2), span(2, parent=3), span(3, parent=2), span(20, AGENT))

    assert made_inside(found) == {"search": None}
