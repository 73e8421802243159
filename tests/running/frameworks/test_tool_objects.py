"""Tools that are objects which run themselves: answered for by name, recorded once, logged, and found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.running.frameworks import tool_lookalikes as fake
from tests.running.frameworks.lookalikes import loaded

from rightcall import read_spans
from rightcall.errors import MockError
from rightcall.running.frameworks import DispatchedCall, find_tools, log_document, logging_calls
from rightcall.running.mocking import Mocks, Recorder, Recording, recording_to, use_mocks
from rightcall.values.trajectory import Trajectory

RAN: list[int] = []


@pytest.fixture(autouse=True)
def frameworks() -> Iterator[None]:
    RAN.clear()
    with loaded(fake.MODULES):
        yield


def refund(order: int, **_: Any) -> Any:
    RAN.append(order)
    return f"paid {order}"


def by_smolagents(order: int) -> Any:
    return fake.Tool("refund", refund)(order=order, sanitize_inputs_outputs=True)


def by_code_of_smolagents(order: int) -> Any:
    return fake.Tool("refund", refund)(order)


def by_llama_index(order: int) -> Any:
    return asyncio.run(fake.LlamaTool("refund", refund).acall(order=order, ctx=object())).raw_output


def by_haystack(order: int) -> Any:
    return fake.HaystackTool("refund", refund).invoke(order=order, user="ann", state=fake.State())


def by_haystack_awaited(order: int) -> Any:
    return asyncio.run(fake.HaystackTool("refund", refund).invoke_async(order=order, user="ann"))


def by_agno(order: int) -> Any:
    call = fake.FunctionCall(fake.Function("refund", refund), {"order": order})
    assert call.execute().result == call.result
    return call.result


def by_agno_awaited(order: int) -> Any:
    return asyncio.run(fake.FunctionCall(fake.Function("refund", refund), {"order": order}).aexecute()).result


def by_agent_framework(order: int) -> Any:
    [content] = asyncio.run(fake.MicrosoftTool("refund", refund).invoke(arguments={"order": order}, context=object()))
    return content.text


def by_dspy(order: int) -> Any:
    return fake.DspyTool("refund", refund)(order=order)


def by_dspy_awaited(order: int) -> Any:
    return asyncio.run(fake.DspyTool("refund", refund).acall(order=order))


def by_crewai(order: int) -> Any:
    return fake.CrewTool("Refund", refund).run(order=order)


def by_crewai_awaited(order: int) -> Any:
    return asyncio.run(fake.CrewTool("refund", refund).arun(order))


def by_text_of_crewai(order: int) -> Any:
    asked = fake.ToolCalling("Refund", {"order": order})
    return fake.ToolUsage(asked, fake.CrewTool("refund", refund)).use(asked, "Action: Refund").split("\n")[0]


def by_text_of_crewai_awaited(order: int) -> Any:
    asked = fake.ToolCalling("refund", {"order": order})
    usage = fake.ToolUsage(asked, fake.CrewTool("refund", refund))
    return asyncio.run(usage.ause(calling=asked, tool_string="Action: refund")).split("\n")[0]


DISPATCHERS = [
    by_smolagents,
    by_code_of_smolagents,
    by_llama_index,
    by_haystack,
    by_haystack_awaited,
    by_agno,
    by_agno_awaited,
    by_agent_framework,
    by_dspy,
    by_dspy_awaited,
    by_crewai,
    by_crewai_awaited,
    by_text_of_crewai,
    by_text_of_crewai_awaited,
]
each_framework = pytest.mark.parametrize("dispatch", DISPATCHERS, ids=lambda each: each.__name__[3:])


def logged(call: Callable[[], Any]) -> Trajectory:
    """What is logged while a call is dispatched, as it is read."""
    log: list[DispatchedCall] = []
    with logging_calls(log):
        call()
    return read_spans([json.loads(log_document(log))]) if log else Trajectory()


@each_framework
def test_a_mock_answers_for_a_tool_by_its_name_and_the_tool_does_not_run(dispatch: Callable[[int], Any]) -> None:
    with use_mocks(Mocks.of({"refund": {"when": {"order": 7}, "returns": "mocked"}})):
        answer = dispatch(7)

    assert (answer, RAN) == ("mocked", [])


@each_framework
def test_a_call_is_recorded_once_with_the_arguments_of_the_model_and_replayed(dispatch: Callable[[int], Any]) -> None:
    recorder = Recorder("a")
    with recording_to(recorder):
        first = dispatch(7)
    with use_mocks(Recording(recorder.entries).replay("a")):
        second = dispatch(7)

    [entry] = recorder.entries
    assert (entry.tool, entry.args, entry.output) == ("refund", {"order": 7}, "paid 7")
    assert (first, second, RAN) == ("paid 7", "paid 7", [7])


@each_framework
def test_a_call_is_logged_with_the_arguments_of_the_model(dispatch: Callable[[int], Any]) -> None:
    [call] = logged(lambda: dispatch(7)).calls

    assert (call.name, call.args, call.output) == ("refund", {"order": 7}, "paid 7")


@pytest.mark.parametrize(
    "own",
    [lambda: fake.Tool("final_answer", refund)(7), lambda: fake.DspyTool("finish", refund)(order=7)],
    ids=["smolagents", "DSPy"],
)
def test_a_tool_by_which_a_framework_ends_is_no_call(own: Callable[[], Any]) -> None:
    assert (logged(own).calls, RAN) == ((), [7])


def test_the_task_of_another_agent_is_a_call_around_those_that_it_makes() -> None:
    billing = fake.MultiStepAgent("billing", {"refund": fake.Tool("refund", refund)})

    outer, inner = logged(lambda: billing("Refund 7")).calls

    assert (outer.name, outer.args, inner.name) == ("billing", {"task": "Refund 7"}, "refund")
    assert inner.parent_id == outer.span_id


def test_the_only_argument_of_smolagents_may_be_an_object_of_them() -> None:
    [call] = logged(lambda: fake.Tool("refund", lambda given: given)({"order": 7})).calls

    assert call.args == {"order": 7}


def test_a_call_that_the_cache_of_crewai_answers_is_logged_and_not_recorded() -> None:
    cache, recorder = fake.CacheHandler(), Recorder("a")
    cache.held["refund", '{"order": 7}'], cache.held["ping", ""] = {"paid": 7}, "pong"

    with recording_to(recorder):
        asked = [("refund", '{"order": 7}'), ("refund", '{"order": 8}'), ("ping", "")]
        refunded, pinged = logged(lambda: [cache.read(*each) for each in asked]).calls

    assert (refunded.name, refunded.args, refunded.output) == ("refund", {"order": 7}, {"paid": 7})
    assert (pinged.name, pinged.args, pinged.output) == ("ping", {}, "pong")
    assert recorder.entries == ()


def test_what_the_cache_of_crewai_is_asked_by_may_be_any_text() -> None:
    cache = fake.CacheHandler()
    cache.held["refund", "order 7"], cache.held["refund", "[7]"] = "paid", "paid"

    made = logged(lambda: [cache.read("refund", asked) for asked in ("order 7", "[7]")]).calls

    assert [call.args for call in made] == [{"input": "order 7"}, {"input": [7]}]


def test_a_cached_call_in_the_text_of_a_model_is_one_call() -> None:
    asked, cache = fake.ToolCalling("refund", {"order": 7}), fake.CacheHandler()
    cache.held["refund", '{"order": 7}'] = "paid before"

    usage = fake.ToolUsage(asked, fake.CrewTool("refund", refund), cache)
    [call] = logged(lambda: usage.use(asked, "Action: refund")).calls

    assert (call.output, RAN) == ("paid before", [])


def test_a_tool_that_crewai_tries_several_times_is_one_call_that_failed() -> None:
    def fail(order: int) -> Any:
        RAN.append(order)
        raise ValueError("out of money")

    asked = fake.ToolCalling("refund", {"order": 7})
    [call] = logged(lambda: fake.ToolUsage(asked, fake.CrewTool("refund", fail)).use(asked, "Action: refund")).calls

    assert (call.error, RAN) == ("ToolError: out of money", [7, 7, 7])


def failing_call() -> fake.FunctionExecutionResult:
    def fail(order: int) -> Any:
        raise ValueError("out of money")

    return fake.FunctionCall(fake.Function("refund", fail), {"order": 7}).execute()


def failing_tool() -> Any:
    made = fake.ToolOutput("", "refund", {}, "out of money", is_error=True)
    return fake.LlamaTool("refund", lambda order: made).call(order=7)


@pytest.mark.parametrize("fail", [failing_call, failing_tool])
def test_an_error_that_a_tool_returns_is_the_error_of_its_call(fail: Callable[[], Any]) -> None:
    [call] = logged(fail).calls

    assert (call.error, call.output) == ("ToolError: out of money", None)


@pytest.mark.parametrize(("fail", "told"), [(failing_call, "failure"), (failing_tool, True)])
def test_an_error_that_a_tool_returned_is_replayed_as_one(fail: Callable[[], Any], told: Any) -> None:
    recorder = Recorder("a")
    with recording_to(recorder):
        fail()
    with use_mocks(Recording(recorder.entries).replay("a")):
        again = fail()

    assert getattr(again, "status", getattr(again, "is_error", None)) == told


def test_a_method_that_an_instrumentation_replaced_is_called_with_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrapper:
        """As wrapt makes them: the tool is known to what is bound to it."""

        def __get__(self, tool: Any, kind: type) -> Callable[..., Any]:
            return lambda **kwargs: f"{tool.name} {kwargs}"

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("it was not bound")

    monkeypatch.setattr(fake.HaystackTool, "invoke", Wrapper())

    [call] = logged(lambda: fake.HaystackTool("refund", refund).invoke(order=7)).calls

    assert call.output == "refund {'order': 7}"


RAISING = {"refund": {"raises": {"type": "ValueError", "message": "out of money"}}}


def test_what_a_mock_raises_is_a_failure_to_agno() -> None:
    call = fake.FunctionCall(fake.Function("refund", refund), {"order": 7})
    with use_mocks(Mocks.of(RAISING)):
        outcome = call.execute()

    assert (outcome.status, outcome.error, call.error, RAN) == ("failure", "out of money", "out of money", [])


def test_what_a_mock_raises_is_told_to_a_model_that_asked_crewai_in_its_text() -> None:
    with use_mocks(Mocks.of(RAISING)):
        told = by_text_of_crewai(7)

    assert (told, RAN) == ("Error executing tool: out of money", [])


@pytest.mark.parametrize("dispatch", [by_haystack, by_haystack_awaited])
def test_what_a_mock_raises_is_an_error_of_haystack(dispatch: Callable[[int], Any]) -> None:
    with use_mocks(Mocks.of(RAISING)), pytest.raises(fake.ToolInvocationError, match="out of money"):
        dispatch(7)


def test_what_a_mock_raises_is_raised_where_the_framework_takes_it_as_it_is() -> None:
    with use_mocks(Mocks.of(RAISING)), pytest.raises(ValueError, match="out of money"):
        by_smolagents(7)


@pytest.mark.parametrize("dispatch", [by_agno, by_haystack, by_text_of_crewai])
def test_a_call_that_no_mock_answers_is_no_error_of_the_tool(dispatch: Callable[[int], Any]) -> None:
    rules = Mocks.of({"refund": {"when": {"order": 8}, "returns": "mocked"}})
    with use_mocks(rules), pytest.raises(MockError):
        dispatch(7)


def test_what_a_tool_is_still_going_to_yield_is_not_known() -> None:
    def steps(order: int) -> Iterator[str]:
        yield "paid"

    [call] = logged(lambda: fake.FunctionCall(fake.Function("refund", steps), {"order": 7}).execute()).calls

    assert (call.args, "output" in call.unrecorded) == ({"order": 7}, True)


@pytest.mark.parametrize(
    ("tool", "framework"),
    [
        (fake.Tool("refund", refund), "smolagents"),
        (fake.LlamaTool("refund", refund), "LlamaIndex"),
        (fake.HaystackTool("refund", refund), "Haystack"),
        (fake.Function("refund", refund), "Agno"),
        (fake.MicrosoftTool("refund", refund), "Agent Framework"),
        (fake.DspyTool("refund", refund), "DSPy"),
        (fake.CrewTool("Refund", refund), "CrewAI"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_tools_are_found_with_their_parameters(tool: Any, framework: str, tmp_path: Path) -> None:
    found = {each.name: each for each in find_tools([tool], tmp_path).tools}["refund"]

    assert (found.name, found.framework, found.parameters) == ("refund", framework, ("order: integer",))


@pytest.mark.parametrize(("executor", "seen"), [("local", True), ("docker", False)])
def test_tools_of_code_that_runs_elsewhere_are_not_seen(executor: str, seen: bool, tmp_path: Path) -> None:
    agent = fake.MultiStepAgent("shop", {"refund": fake.Tool("refund", refund)}, executor_type=executor)

    assert find_tools(agent, tmp_path).are_all_seen is seen


def test_tools_of_a_crew_are_those_of_its_agents_and_tasks(tmp_path: Path) -> None:
    search, book, plan = [fake.CrewTool(name, refund) for name in ("search", "book", "plan")]
    crew = fake.Crew([fake.BaseAgent([search])], [fake.Task([book])], fake.BaseAgent([plan]))

    names = {tool.name for tool in find_tools([crew], tmp_path).tools}

    assert {"search", "book", "plan"} <= names


@pytest.mark.parametrize(
    "agent",
    [fake.BaseAgent([], mcps=["https://shop"]), fake.BaseAgent([], allow_delegation=True)],
    ids=["MCP", "other"],
)
def test_a_crew_may_bring_more_tools_once_it_runs(agent: fake.BaseAgent, tmp_path: Path) -> None:
    tools = [fake.CrewTool("refund", refund)]

    assert not find_tools([fake.Crew([fake.BaseAgent(tools)], [])], tmp_path).is_open
    assert find_tools([fake.Crew([agent], [fake.Task(tools)])], tmp_path).is_open
