"""Which traces are a run does not depend on what else lies in a source, nor on where their parents are."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.reading import corpus
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall.limits import Limits
from rightcall.reading import Grouping, read
from rightcall.reading.runs._span_calls import read_span
from rightcall.reading.runs._span_tree import ReadSpan
from rightcall.reading.runs._traces import (
    RunFilter,
    Traces,
    _around_others,
    _has,
    _holds,
    _is_known,
    _leaf_calls,
    is_at_work,
    whole_runs,
)
from rightcall.reading.spans import NOTHING, Span
from rightcall.values.trajectory import Trajectory

ELSEWHERE = "00f067aa0ba902b7"
SUB_AGENT = "strands/nested-0.2.1"


def recording(run: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(corpus.inputs(run)["otlp.json"])
    return document


def spans_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span for resource in document["resourceSpans"] for scoped in resource["scopeSpans"] for span in scoped["spans"]
    ]


def together(*documents: dict[str, Any]) -> list[Trajectory]:
    return list(read([json.dumps(document).encode() for document in documents]))


def health(number: int, **more: Any) -> dict[str, Any]:
    return request(span(number, {"http.route": "/health"}, name="GET /health", traceId=f"{number:032x}", **more))


def names(trajectories: list[Trajectory]) -> list[tuple[str, ...]]:
    return sorted(trajectory.names for trajectory in trajectories)


@pytest.mark.parametrize("parent", [None, ELSEWHERE])
@pytest.mark.parametrize("checks", [1, 2, 60])
def test_health_checks_are_no_runs_beside_an_agent_wherever_its_caller_is(parent: str | None, checks: int) -> None:
    document = recording("pydantic-ai/trip-pkg2-fmt5")
    for each in spans_of(document):
        if not each.get("parentSpanId") and parent:
            each["parentSpanId"] = parent
    [alone] = together(document)
    [found] = together(document, *[health(number, parentSpanId=ELSEWHERE) for number in range(1, checks + 1)])

    assert found == alone
    assert found.output == "Trip booked."


def test_a_request_that_made_no_call_is_a_run_if_it_begins_as_others_do() -> None:
    served = request(
        span(1, name="POST /chat", parentSpanId=ELSEWHERE),
        span(2, {"gen_ai.operation.name": "chat"}, parent=1),
        call(3, parent=1),
    )
    idle = request(span(9, name="POST /chat", traceId="a" * 32, parentSpanId=ELSEWHERE))

    assert names(together(served, idle, health(20))) == [(), ("search",)]


def test_making_an_agent_is_no_run_however_it_begins() -> None:
    served = request(span(1, name="POST /chat"), span(2, {"gen_ai.operation.name": "chat"}, parent=1))
    made = request(
        span(8, name="POST /chat", traceId="a" * 32),
        span(9, {"gen_ai.operation.name": "create_agent"}, name="create_agent x", traceId="a" * 32, parent=8),
    )

    assert len(together(served, made)) == 1


@pytest.mark.parametrize("grouping", ["auto", "trace", "conversation", "session"])
def test_a_trace_in_which_an_agent_was_made_and_nothing_done_is_no_run_however_traces_are_grouped(
    grouping: Grouping,
) -> None:
    served = request(span(1, {"gen_ai.operation.name": "chat"}), call(3, parent=1))
    made = request(span(9, {"gen_ai.operation.name": "create_agent"}, name="create_agent x", traceId="a" * 32))
    sources = [json.dumps(document).encode() for document in (made, served)]

    assert [found.names for found in read(sources, grouping=grouping)] == [("search",)]
    assert list(read(made, grouping=grouping)) == []


@pytest.mark.parametrize("grouping", ["auto", "trace", "conversation", "session"])
def test_a_call_of_a_tool_that_makes_agents_is_a_run_however_it_lies(grouping: Grouping) -> None:
    made = request(span(9, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}, name="create_agent x"))
    sources: list[Any] = [made, json.dumps(made).encode()]

    assert [[found.names for found in read(source, grouping=grouping)] for source in sources] == [[("x",)]] * 2


def test_what_may_be_a_call_is_not_left_out_for_its_name() -> None:
    [found] = read(request(span(9, {"acme.tool.name": "x"}, name="create_agent x")))

    assert not found.calls_recorded


@pytest.mark.parametrize("run", corpus.names())
def test_spans_that_were_sent_twice_are_one(run: str) -> None:
    if "otlp.json" not in corpus.inputs(run):
        return
    once, twice = recording(run), recording(run)
    for resource in twice["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            scoped["spans"] += scoped["spans"]

    assert together(twice) == together(once)


def test_a_sub_agent_with_a_trace_of_its_own_belongs_to_the_call_that_started_it_alone_and_among_others() -> None:
    nested = recording(SUB_AGENT)
    [alone] = together(nested)
    others = ["strands/trip-0.2.1", "pydantic-ai/trip-pkg2-fmt5", "mcp-sdk/trip"]
    among = together(recording(others[0]), nested, *map(recording, others[1:]))

    assert alone.names == ("research", "lookup", "lookup", "save_note")
    assert [each for each in among if each.trace_id == alone.trace_id] == [alone]


def test_a_run_that_only_happened_meanwhile_is_a_run_of_its_own() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    outer = request(
        span(1, agent, endTimeUnixNano="90000"),
        call(2, "research", '{"topic": "visa"}', "90 days", parent=1, endTimeUnixNano="80000"),
    )

    def inner(question: str, answer: str) -> dict[str, Any]:
        said = {**agent, "input.value": question, "final_result": answer}
        return request(span(3, said, traceId="a" * 32), call(4, "lookup", traceId="a" * 32, parent=3))

    assert names(together(outer, inner("Where is my order?", "At home."))) == [("lookup",), ("research",)]
    assert names(together(outer, inner("visa", "It is 90 days."))) == [("research", "lookup")]
    assert names(together(outer, inner("Tell me.", "90 days"))) == [("research", "lookup")]
    assert names(together(inner("Tell me.", "90 days"), outer)) == [("research", "lookup")]


@pytest.mark.parametrize("args", [{"topic": "visa"}, {"topics": ["rail", "visa"]}, {"about": {"topic": "visa"}}])
def test_an_agent_that_was_asked_what_a_call_was_given_was_started_by_it(args: dict[str, Any]) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    made = call(2, "research", json.dumps(args), "done", parent=1, endTimeUnixNano="80000")
    outer = request(span(1, agent, endTimeUnixNano="90000"), made)

    def inner(question: str) -> dict[str, Any]:
        said = {**agent, "input.value": question, "final_result": "90 days"}
        return request(span(3, said, traceId="a" * 32), call(4, "lookup", traceId="a" * 32, parent=3))

    assert names(together(outer, inner("visa"))) == [("research", "lookup")]
    assert names(together(outer, inner("weather"))) == [("lookup",), ("research",)]


def test_an_agent_that_went_on_when_a_call_had_ended_was_not_started_by_it() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    said = {**agent, "input.value": "visa", "final_result": "90 days"}
    other = request(
        span(3, said, traceId="a" * 32, endTimeUnixNano="7000"), call(4, "lookup", traceId="a" * 32, parent=3)
    )

    def outer(end: int) -> dict[str, Any]:
        made = call(2, "research", '{"topic": "visa"}', "90 days", parent=1, endTimeUnixNano=str(end))
        return request(span(1, agent, endTimeUnixNano="90000"), made)

    assert names(together(outer(5000), other)) == [("lookup",), ("research",)]
    assert names(together(outer(8000), other)) == [("research", "lookup")]


ANSWERS: dict[str, dict[str, Any]] = {
    "an output": {"output.value": "Done."},
    "a message": {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Done."}])},
    "a conversation": {"pydantic_ai.all_messages": json.dumps([{"role": "assistant", "content": "Done."}])},
}


@pytest.mark.parametrize("answer", [*ANSWERS, "an event", ""])
def test_the_span_of_an_agent_alone_is_a_run_if_it_has_an_answer(answer: str) -> None:
    served = request(span(1, {"gen_ai.operation.name": "chat"}, name="chat"), call(2, parent=1))
    agent = {"gen_ai.operation.name": "invoke_agent", "input.value": "Go.", **ANSWERS.get(answer, {})}
    alone = span(9, agent, name="invoke_agent x", traceId="a" * 32)
    if answer == "an event":
        alone["events"] = [{"name": "gen_ai.choice", "attributes": [], "timeUnixNano": "9100"}]

    assert names(together(served, request(alone))) == ([(), ("search",)] if answer else [("search",)])


def test_an_agent_that_was_at_work_before_a_call_began_was_not_started_by_it() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    said = {**agent, "input.value": "visa", "final_result": "90 days"}
    made = call(5, "research", '{"topic": "visa"}', "90 days", parent=4, endTimeUnixNano="80000")
    outer = request(span(4, agent, endTimeUnixNano="90000"), made)

    def inner(begin: int) -> dict[str, Any]:
        lasts: dict[str, Any] = {"traceId": "a" * 32, "endTimeUnixNano": "9000"}
        return request(span(begin, said, **lasts), call(8, "lookup", traceId="a" * 32, parent=begin))

    assert names(together(outer, inner(2))) == [("lookup",), ("research",)]
    assert names(together(outer, inner(6))) == [("research", "lookup")]


def test_a_trace_inside_a_run_makes_it_no_part_of_another_run() -> None:
    """An agent that was at work before a call is not of it, though one of its own calls began while that one ran."""
    agent = {"gen_ai.operation.name": "invoke_agent"}
    said = {**agent, "input.value": "visa", "final_result": "90 days"}
    made = call(5, "research", '{"topic": "visa"}', "90 days", parent=4, endTimeUnixNano="80000")
    outer = request(span(4, agent, endTimeUnixNano="90000"), made)
    lasts: dict[str, Any] = {"traceId": "a" * 32, "endTimeUnixNano": "9000"}
    other = request(span(2, said, **lasts), call(6, "lookup", parent=2, **lasts))

    assert names(together(outer, other, health(7))) == names(together(outer, other)) == [("lookup",), ("research",)]


def test_a_source_of_nothing_but_calls_is_one_run_though_a_server_answers_each() -> None:
    document = recording("mcp-sdk/trip")
    [plain] = together(document)
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            for each in list(scoped["spans"]):
                each["parentSpanId"] = ELSEWHERE
                server = {**each, "name": "POST /mcp", "spanId": ELSEWHERE, "parentSpanId": "", "attributes": []}
                scoped["spans"].append(server)
    [served] = together(document)

    assert served.names == plain.names


@pytest.mark.parametrize("is_inside", [True, False], ids=["an agent in the call", "an agent beside the call"])
def test_a_call_with_an_agent_inside_started_no_run_of_another_trace(is_inside: bool) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    said = {**agent, "input.value": "visa", "final_result": "90 days"}
    made = call(2, "research", '{"topic": "visa"}', "90 days", parent=1, endTimeUnixNano="9000")
    at_work = span(3, agent, parent=2 if is_inside else 1)
    outer = request(span(1, agent, endTimeUnixNano="90000"), made, at_work)
    other = request(
        span(4, said, traceId="a" * 32),
        call(5, "lookup", traceId="a" * 32, parent=4, startTimeUnixNano="4100", endTimeUnixNano="4200"),
    )

    assert len(names(together(outer, other))) == (2 if is_inside else 1)


def read_as(
    name: str, kind: str = "", parent: str | None = None, times: tuple[Any, Any] = (0, 9), output: str | None = None
) -> ReadSpan:
    """A span of a call, an agent, a model, a call by MCP, or of none of them."""
    attributes = {
        "call": {"tool.name": name, "input.value": "{}", "output.value": "ok"},
        "mcp": {"mcp.method.name": "tools/call", "gen_ai.tool.name": name},
        "agent": {"gen_ai.operation.name": "invoke_agent"},
        "model": {"gen_ai.operation.name": "chat"},
    }
    held = attributes.get(kind, {}) | ({} if output is None else {"output.value": output})
    return read_span(Span(name, "t", name, parent, *times, held), Limits(), ())


@pytest.mark.parametrize(
    ("times", "holds"),
    [((1, 9), True), ((2, 9), False), ((1, 8), False), ((None, 9), False), ((1, None), False), ((0, 10), True)],
)
def test_a_call_holds_what_begins_after_it_and_ends_before_it(times: tuple[Any, Any], holds: bool) -> None:
    assert _holds(read_as("research", "call", times=times), 2, 8) is holds


@for_each(
    ("held", "said", "has"),
    [
        ("the visa", "visa", True),
        ("visa", " the visa\n", True),
        (" visa ", "the visa", True),
        ("weather", "visa", False),
        ("", "visa", False),
        (" ", "visa", False),
        ({"topic": "visa"}, "visa", True),
        ({"topic": "rail", "days": 3}, "visa", False),
        ({"topic": "rail"}, {"topic": "rail"}, True),
        ({"topic": "rail"}, {"topic": "visa"}, False),
        ([["rail"], ["visa"]], "visa", True),
        (["rail"], "visa", False),
        ([], [], False),
        (7, 7, True),
        (7, 8, False),
        (7, "7", False),
    ],
)
def test_a_value_has_what_was_said_whole_or_as_a_part(held: Any, said: Any, has: bool) -> None:
    assert _has(held, said) is has


def test_a_run_is_around_others_that_begin_and_end_within_its_time() -> None:
    def around(*times: tuple[int, int]) -> list[bool]:
        return _around_others([[read_as("a", times=each)] for each in times])

    assert around((0, 9), (1, 8)) == [True, False]
    assert around((1, 8), (0, 9)) == [False, True]
    assert around((0, 9), (10, 12)) == [False, False]
    assert around((0, 9), (5, 12)) == [False, False]
    assert around((0, 9), (1, 20), (2, 3)) == [True, True, False]
    assert around((0, 9), (0, 5)) == [True, False]
    assert around((0, 9), (1, 9)) == [False, False]


def test_calls_are_leaves_where_no_call_agent_or_model_is_below_them() -> None:
    run = [
        read_as("top", "agent"),
        read_as("plain", "call", "top"),
        read_as("http", "", "plain"),
        read_as("outer", "call", "top"),
        read_as("step", "", "outer"),
        read_as("inner", "call", "step"),
        read_as("asking", "call", "top"),
        read_as("chat", "model", "asking"),
        read_as("lost", "call", "gone"),
    ]

    assert [span.name for span in _leaf_calls(run)] == ["plain", "inner", "lost"]


@pytest.mark.parametrize(
    ("run", "works"),
    [
        ([read_as("a", "model")], True),
        ([read_as("a", "agent")], False),
        ([read_as("a", "agent", output="Done.")], True),
        ([read_as("a", "agent"), read_as("b", "agent", "a")], True),
        ([read_as("a", "agent"), read_as("b", "call", "a")], True),
        ([read_as("a", "agent"), read_as("b", "mcp", "a")], True),
        ([read_as("a", "call")], False),
        ([read_as("a"), read_as("b", "call", "a")], True),
        ([read_as("a"), read_as("b", "mcp", "a")], False),
        ([read_as("a"), read_as("b", "mcp", "a"), read_as("c", "call", "b")], True),
        ([read_as("a", "call"), read_as("b", "", "a")], False),
        ([read_as("a")], False),
    ],
    ids=lambda each: " ".join([span.name for span in each]) if isinstance(each, list) else str(each),
)
def test_a_trace_is_at_work_where_a_model_an_agent_or_something_else_made_calls(
    run: list[ReadSpan], works: bool
) -> None:
    assert is_at_work(run) is works


def test_of_a_large_source_what_begins_like_a_run_counts_and_the_rest_waits() -> None:
    working = [read_as("POST /chat"), read_as("chat", "model", "POST /chat")]
    alike, elsewhere = [read_as("POST /chat")], [read_as("GET /health")]
    alone, created = [read_as("search", "call")], [read_as("POST /chat"), read_as("create_agent x", "", "POST /chat")]
    filtered = RunFilter()

    assert filtered.counted([alike, elsewhere]) == []
    assert filtered.waiting == [alike, elsewhere]
    assert filtered.count({("GET /health", "")})
    assert filtered.counted([alike, alone, elsewhere, created, working]) == [alike, alone, working]
    assert not filtered.count({("GET /health", "")})
    assert filtered.late() == [alike]
    assert filtered.waiting == []


def test_one_trace_is_a_run_whatever_it_shows_and_so_are_several_that_show_nothing() -> None:
    idle, other = [read_as("a")], [read_as("b")]
    first, second = [read_as("c", "call")], [read_as("d", "call")]

    assert whole_runs([idle]) == [idle]
    assert whole_runs([idle, other]) == [idle, other]
    assert whole_runs([idle, first, second]) == [[*first, *second]]


def test_runs_are_handed_out_once_and_those_with_names_alone_when_asked_for() -> None:
    traces = Traces("trace")
    first, second = read_as("a", times=(5, 6)), msgspec.structs.replace(read_as("b", times=(1, 2)), trace_id="u")
    for each in (first, second, msgspec.structs.replace(first)):
        traces.add(each)

    assert (traces.count(), traces.names(), traces.has_spans) == (3, {"t", "u"}, True)
    assert traces.part_with({"u"}) == [[second]]
    assert (traces.count(), traces.names()) == (2, {"t"})
    assert traces.runs() == [[first]]
    assert (traces.runs(), traces.count(), traces.has_spans) == ([], 0, False)


def test_traces_of_one_conversation_are_one_run_in_the_order_of_their_begin() -> None:
    def said(name: str, trace: str, start: int, key: str, value: Any) -> ReadSpan:
        return ReadSpan(name, trace, name, None, start, start, {key: value})

    def runs(grouping: Grouping, *spans: ReadSpan) -> list[list[str]]:
        traces = Traces(grouping)
        for each in spans:
            traces.add(each)
            traces.unite(each)
        return [[span.name for span in run] for run in traces.runs() if isinstance(run, list)]

    key = "gen_ai.conversation.id"
    spans = [said("a", "1", 5, key, "x"), said("b", "2", 1, key, "y"), said("c", "3", 7, key, "x")]
    assert runs("auto", *spans) == [["b"], ["a", "c"]]
    assert runs("conversation", *spans) == [["b"], ["a", "c"]]
    assert runs("trace", *spans) == [["b"], ["a"], ["c"]]
    assert runs("file", *spans) == [["a", "b", "c"]]
    assert runs("auto", said("a", "1", 1, key, ""), said("b", "2", 2, key, "")) == [["a"], ["b"]]
    assert runs("auto", said("a", "1", 1, key, 3), said("b", "2", 2, key, 3)) == [["a"], ["b"]]


def test_a_question_is_compared_with_a_call_where_both_are_known() -> None:
    pairs = [("a", "b"), (NOTHING, "b"), (None, "b"), ("a", None), (NOTHING, None)]

    assert [_is_known(held, said) for held, said in pairs] == [True, False, False, False, False]
