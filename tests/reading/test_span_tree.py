"""Which call encloses a span, where the spans say so and where only their times do."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall.reading import read
from rightcall.reading.runs._span_tree import ReadSpan, Tree, once_each
from rightcall.reading.spans import CallRecord, Span
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


@for_each(
    ("name", "held"),
    [
        ("OpenInference", {"metadata": '{"langgraph_node": "tools", "lc_agent_name": "billing"}'}),
        ("OpenLLMetry", {"traceloop.association.properties.lc_agent_name": "billing"}),
        ("LangSmith", {"langsmith.metadata.lc_agent_name": "billing"}),
        ("Langfuse", {"langfuse.observation.metadata.lc_agent_name": '"billing"'}),
    ],
)
def test_the_agent_of_a_call_is_the_one_that_langchain_names_in_what_it_runs(name: str, held: dict[str, str]) -> None:
    node = span(2, {"input.value": "{}", **held}, parent=1, name="tools", **until(9))
    found = one(span(1, AGENT, **until(9)), node, call(3, "refund", parent=2))

    assert [each.agent for each in found.calls] == ["billing"]


@for_each("metadata", ['{"lc_agent_name": 7}', '["lc_agent_name"]', '{"lc_agent_name": ""}', "lc_agent_name", "{}"])
def test_metadata_that_names_no_agent_leaves_the_one_around_a_call(metadata: str) -> None:
    node = span(2, {"input.value": "{}", "metadata": metadata}, parent=1, name="tools", **until(9))
    found = one(span(1, AGENT, **until(9)), node, call(3, "refund", parent=2))

    assert [each.agent for each in found.calls] == ["inner"]


def test_a_call_that_only_the_answer_of_a_model_shows_is_of_the_agent_around_the_model() -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Refund 7"}]}]
    said = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "refund", "arguments": {}}]}]
    held = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)}
    model = span(2, {"gen_ai.operation.name": "chat", **held}, parent=1, name="chat m")
    found = one(span(1, AGENT, **until(9)), model)

    assert [(each.name, each.agent) for each in found.calls] == [("refund", "inner")]


def test_a_call_inside_another_knows_it_though_no_agent_was_recorded() -> None:
    assert made_inside(one(call(1, "outer", **until(9)), call(2, "inner", parent=1))) == {
        "outer": None,
        "inner": "outer",
    }


def test_no_call_is_inside_itself_whatever_its_parents_claim() -> None:
    own = ReadSpan("own", "t", "own", "own", 1, 2)
    first, second = ReadSpan("a", "t", "a", "b", 1, 9), ReadSpan("b", "t", "b", "a", 2, 8)
    tree = Tree([own, first, second], {})
    outer = CallRecord("a", first)
    tree.place([CallRecord("own", own), outer])

    assert tree.enclosing(own) is None
    assert tree.enclosing(second) is outer


def test_an_agent_that_ran_while_one_call_did_was_started_by_it() -> None:
    agent = span(3, AGENT, **until(8))
    found = one(call(2, "research", **until(9)), agent, call(4, "lookup", parent=3), call(10, "save"))

    assert made_inside(found) == {"research": None, "lookup": "research", "save": None}


@pytest.mark.parametrize(("most", "outer"), [(2, "research"), (1, None)])
def test_a_run_with_too_many_calls_and_agents_to_compare_keeps_the_parents_it_recorded(
    most: int, outer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reading.runs._span_tree._MOST_COMPARISONS", most)

    found = one(call(2, "research", **until(9)), span(3, AGENT, **until(8)), call(4, "lookup", parent=3))

    assert made_inside(found) == {"research": None, "lookup": outer}


def test_an_agent_that_ran_while_two_calls_did_is_of_neither() -> None:
    agent = span(3, AGENT, **until(8))
    found = one(call(1, "one", **until(9)), call(2, "two", **until(9)), agent, call(4, "lookup", parent=3))

    assert made_inside(found) == {"one": None, "two": None, "lookup": None}


def test_it_is_not_known_which_of_two_calls_started_an_agent_beside_them() -> None:
    """As teams of Agno, whose members work at the same time, are recorded by OpenInference."""
    lead = span(1, {**AGENT, "gen_ai.agent.name": "lead"}, **until(20))
    calls = [call(2, "one", parent=1, **until(9)), call(3, "two", parent=1, **until(9))]
    member = [span(4, AGENT, parent=1, **until(8)), call(5, "lookup", parent=4)]

    found = one(lead, *calls, *member)

    assert [each.name for each in found.calls if "parent_id" in each.unrecorded] == ["lookup"]


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


@pytest.mark.parametrize(
    ("times", "is_known"),
    [({"endTimeUnixNano": ""}, False), (until(12), False), (until(8), True), ({"startTimeUnixNano": "10000"}, True)],
    ids=["never ended", "ended after it", "ended in it", "began after it"],
)
def test_it_is_not_known_whether_a_call_started_an_agent_of_another_trace_that_only_began_in_it(
    times: dict[str, Any], is_known: bool
) -> None:
    inner = {"traceId": "b" * 32}
    conversation = {"gen_ai.conversation.id": "k"}
    found = one(
        span(1, conversation, **until(20)),
        call(2, "research", parent=1, **until(9)),
        span(3, {**AGENT, **conversation}, **{**until(15), **times, **inner}),
        call(11, "lookup", parent=3, **inner),
    )

    [lookup] = [call for call in found.calls if call.name == "lookup"]
    assert ("parent_id" not in lookup.unrecorded) is is_known


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


def placed(name: str, parent: str | None = None, start: int | None = 0, end: int | None = 9) -> Span:
    return Span(name, "t", name or None, parent, start, end)


@for_each(
    ("spans", "is_whole"),
    [
        ([placed("")], True),
        ([placed(""), placed("b")], False),
        ([placed("a"), placed("b", "a")], True),
        ([placed("a", "gone"), placed("b", "gone", 9, 12)], True),
        ([placed("a", "gone"), placed("b", "lost", 9, 12)], False),
        ([placed("a"), placed("b", "gone", 9, 12)], False),
        ([placed("a"), placed("b", None, 9, 12)], True),
        ([placed("a"), placed("b", None, 5, 12)], True),
        ([placed("a"), placed("b", None, 5, 9)], False),
        ([placed("a"), placed("b", None, 5, 8)], False),
        ([placed("a", None, 0, 5), placed("b", None, 0, 9)], False),
        ([placed("b", None, 9, 12), placed("a")], True),
        ([placed("a"), placed("b", None, 9, None)], False),
        ([placed("a"), placed("b", "a"), placed("c", None, 10, 20), placed("d", None, 11, 12)], False),
        ([placed("a"), Span("b", "another", "b", "gone", 1, 2)], True),
    ],
)
def test_a_trace_is_whole_where_one_caller_and_the_times_say_what_is_topmost(spans: list[Span], is_whole: bool) -> None:
    assert Tree(spans, {}).is_whole is is_whole


@pytest.mark.parametrize(
    ("begin", "end", "holder"),
    [(3, 8, "outer"), (2, 8, None), (3, 9, None), (2, 9, None), (None, 8, None), (3, None, None)],
)
@pytest.mark.parametrize("role", ["agent", "model"])
def test_a_call_adopts_what_began_after_it_and_ended_before_it(
    role: Any, begin: int | None, end: int | None, holder: str | None
) -> None:
    outer, inner = placed("outer", None, 2, 9), placed("inner", None, begin, end)
    tree = Tree([outer, inner], {id(inner): role})
    records = [CallRecord("outer", outer)]
    tree.place(records)
    tree.adopt(records)

    assert getattr(tree.enclosing(inner), "name", None) == holder
    assert tree.enclosing(outer) is None
    assert tree.is_at_work_inside(records) == (begin == 3)


def test_a_call_adopts_no_agent_around_itself_and_none_of_another_call() -> None:
    around, outer, inner = (
        placed("around", "lost", 3, 8),
        placed("outer", "around", 2, 9),
        placed("inner", "other", 4, 5),
    )
    other = placed("other", None, 20, 30)
    tree = Tree([around, outer, inner, other], {id(around): "agent", id(inner): "agent"})
    records = [CallRecord("outer", outer), CallRecord("other", other)]
    tree.place(records)
    tree.adopt(records)

    assert tree.enclosing(around) is None
    assert tree.enclosing(outer) is None
    assert tree.enclosing(inner) is records[1]


def test_only_a_call_that_started_an_agent_adopts_the_calls_beside_it() -> None:
    first, agent, beside = placed("first", None, 0, 9), placed("agent", None, 1, 3), placed("beside", None, 4, 5)
    second, alone = placed("second", None, 20, 29), placed("alone", None, 21, 22)
    edge = placed("edge", None, 5, 9)
    tree = Tree([first, agent, beside, second, alone, edge], {id(agent): "agent"})
    records = [CallRecord(span.name, span) for span in (first, beside, second, alone, edge)]
    tree.place(records)
    tree.adopt(records)

    found = {record.name: tree.parent_of(record) for record in records}
    assert {name: parent.name for name, parent in found.items() if parent} == {"beside": "first"}


@for_each(
    ("parent", "begins", "is_adopted"),
    [
        ("agent", 0, True),
        ("other", 0, False),
        ("other", 2, False),
        ("other", None, False),
        ("other", 3, True),
        ("deeper", 0, False),
        ("deeper", 3, True),
        (None, 0, True),
    ],
)
def test_a_call_adopts_nothing_of_an_agent_that_was_at_work_before_it(
    parent: str | None, begins: int | None, is_adopted: bool
) -> None:
    """Two agents at the same time: what one asks its model meanwhile was not started by the other's call."""
    agent, other = placed("agent", "root", 1, 20), placed("other", "root", begins, 20)
    deeper = placed("deeper", "other", 3, 8)
    outer, inner, beside = placed("outer", "agent", 2, 9), placed("inner", parent, 4, 5), placed("beside", parent, 6, 7)
    spans = [placed("root", None, 0, 30), agent, other, deeper, outer, inner, beside, placed("started", "agent", 4, 5)]
    tree = Tree(spans, {id(agent): "agent", id(other): "agent", id(inner): "model", id(spans[-1]): "agent"})
    records = [CallRecord("outer", outer), CallRecord("beside", beside)]
    tree.place(records)
    tree.adopt(records)

    assert tree.enclosing(inner) is (records[0] if is_adopted else None)
    assert tree.enclosing(beside) is (records[0] if is_adopted else None)


def test_calls_of_agents_that_work_at_the_same_time_are_not_inside_of_each_other() -> None:
    first = span(1, {**AGENT, "gen_ai.agent.name": "first"}, parent=0, endTimeUnixNano="40000")
    second = span(2, {**AGENT, "gen_ai.agent.name": "second"}, parent=0, endTimeUnixNano="30000")
    slow = call(5, "slow", parent=1, endTimeUnixNano="20000")
    models = [span(number, {"gen_ai.operation.name": "chat"}, parent=2) for number in (6, 9)]
    found = one(span(0, name="POST /batch", endTimeUnixNano="50000"), first, second, slow, *models, call(8, parent=2))

    assert made_inside(found) == {"slow": None, "search": None}
    assert [made.agent for made in found.calls] == ["first", "second"]


def test_of_spans_with_one_id_the_one_with_the_most_attributes_is_kept_and_the_first_of_equal_ones() -> None:
    def sent(trace: str, span_id: str | None, count: int, name: str) -> ReadSpan:
        return ReadSpan(name, trace, span_id, attribute_count=count)

    spans = [
        sent("t", "a", 1, "fewer"),
        sent("t", "a", 2, "most"),
        sent("t", "a", 2, "again"),
        sent("u", "a", 0, "another trace"),
        sent("t", None, 0, "no id"),
        sent("t", None, 0, "nor this"),
    ]

    assert [span.name for span in once_each(spans)] == ["most", "another trace", "no id", "nor this"]


def test_a_trace_shows_no_shape_where_ids_or_all_parents_are_missing_from_several_spans() -> None:
    spans = [
        *[Span("a", "alone")],
        *[Span("a", "flat", "a"), Span("b", "flat", "b")],
        *[Span("a", "nameless", "a"), Span("b", "nameless", None, "a")],
        *[Span("a", "shaped", "a"), Span("b", "shaped", "b", "a")],
        *[Span("a", "below", "a", "gone"), Span("b", "below", "b", "gone")],
    ]
    tree = Tree(spans, {})

    assert {span.trace_id for span in spans if tree.is_shapeless(span)} == {"flat", "nameless"}
    assert not tree.is_shapeless(None)


def test_the_call_around_a_span_is_not_known_where_parents_are_lost_or_may_be_calls() -> None:
    def known(*spans: Span, doubtful: tuple[Span, ...] = ()) -> list[bool]:
        tree = Tree(spans, {}, frozenset(map(id, doubtful)))
        return [tree.is_known_around(span) for span in spans]

    top, below, deep = placed("top"), placed("below", "top"), placed("deep", "below")
    assert known(top, below, deep) == [True] * 3
    assert known(top, below, deep, doubtful=(below,)) == [True, True, False]
    assert known(top, below, deep, doubtful=(top,)) == [True, False, False]
    assert known(placed("a", "gone"), placed("b", "gone"), placed("c", "b")) == [True] * 3
    assert known(placed("a", "gone"), placed("b", "lost"), placed("c", "b")) == [False] * 3
    assert known(placed("a"), placed("b")) == [False] * 2
    assert known(placed("a"), placed("b", "gone"), placed("c", "lost")) == [True, False, False]


def test_a_call_inside_one_that_is_not_known_is_known_to_be_inside_it() -> None:
    outer, inner = placed("outer", "gone"), placed("inner", "outer")
    tree = Tree([outer, inner, placed("other", "lost")], {})
    tree.place([CallRecord("outer", outer)])

    assert tree.is_known_around(inner)
    assert not tree.is_known_around(outer)


def test_the_agent_around_a_call_is_the_nearest_and_none_where_a_nameless_one_is_inside_a_call() -> None:
    def agents(*more: Span) -> dict[str, str | None]:
        top = Span("top", "t", "top", None, 0, 99, {"gen_ai.agent.name": "outer"})
        outer, inner = placed("outer", "top", 1, 50), placed("inner", "outer", 2, 3)
        spans = [top, outer, inner, *more]
        tree = Tree(spans, {id(top): "agent", **{id(span): "agent" for span in more if span.name == "nameless"}})
        records = [CallRecord(span.name, span) for span in spans if span.name in ("outer", "inner", "deep")]
        tree.place(records)
        for record in records:
            tree.look_up(record)
        return {record.name: record.agent for record in records}

    assert agents() == {"outer": "outer", "inner": "outer"}
    hidden = agents(placed("nameless", "outer", 4, 9), placed("deep", "nameless", 5, 6))
    assert hidden == {"outer": "outer", "inner": None, "deep": None}


@for_each(
    ("above", "under", "within"),
    [
        ([], None, None),
        (["http"], None, "http"),
        (["http", "wrap"], None, "http"),
        (["http", "agent"], "agent", "agent"),
        (["http", "agent", "wrap"], "agent", "agent"),
        (["http", "call", "wrap"], "call", "call"),
        (["agent", "call", "agent 2"], "agent 2", "agent 2"),
        (["http", "doubtful"], None, "doubtful"),
        (["agent", "doubtful", "wrap"], "agent", "doubtful"),
        (["missing"], None, "missing"),
        (["missing", "wrap"], None, "missing"),
        (["missing", "agent"], "agent", "agent"),
    ],
)
def test_a_call_is_under_the_nearest_known_span_and_within_what_may_have_made_it(
    above: list[str], under: str | None, within: str | None
) -> None:
    """What is neither known nor doubtful is looked through, up to the outermost span."""
    ids = [None, *above, "own"]
    chain = [ReadSpan(own or "", "t", own, outer, 1, 9) for outer, own in pairwise(ids)]
    spans = [each for each in chain if each.name != "missing"]
    roles: dict[int, Any] = {id(each): "agent" for each in spans if each.name.startswith("agent")}
    tree = Tree(spans, roles, frozenset([id(each) for each in spans if each.name == "doubtful"]))
    tree.place([CallRecord("call", each) for each in spans if each.name == "call"])
    record = CallRecord("own", spans[-1])

    tree.look_up(record)

    assert (record.under, record.within) == (under, within)


def test_an_agent_is_at_work_inside_calls_where_it_began_while_one_ran_and_after_the_first() -> None:
    agent = ReadSpan("agent", "t", "agent", None, 5, 6)
    tree = Tree([agent], {id(agent): "agent"})

    def running(*times: tuple[int, int]) -> list[CallRecord]:
        return [CallRecord("x", ReadSpan("x", "t", f"x{place}", None, *each)) for place, each in enumerate(times)]

    assert tree.is_at_work_inside(running((1, 9)))
    assert tree.is_at_work_inside(running((1, 2), (4, 9)))
    assert not tree.is_at_work_inside(running((1, 4)))
    assert not tree.is_at_work_inside(running((5, 9)))
    assert not tree.is_at_work_inside(running((6, 9)))
    assert not tree.is_at_work_inside([])


@for_each(
    ("tool", "agent"), [("delegate_work_to_coworker", None), ("ask_question_to_coworker", None), ("look", "lead")]
)
def test_a_call_inside_a_delegation_of_crewai_is_not_of_the_agent_that_delegates(tool: str, agent: str | None) -> None:
    lead = span(1, {**AGENT, "gen_ai.agent.name": "lead"}, **until(9))

    found = one(lead, call(2, tool, parent=1, **until(8)), call(3, "search", parent=2))

    assert [each.agent for each in found.calls] == ["lead", agent]
