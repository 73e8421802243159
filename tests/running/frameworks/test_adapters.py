"""Tools of frameworks: answered for by name, recorded once, and found."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.running.frameworks import lookalikes as fake

from rightcall import read_spans, tool
from rightcall.running.frameworks import DispatchedCall, find_tools, log_document, logging_calls, unreached_names
from rightcall.running.mocking import Mocks, Recorder, Recording, recording_to, use_mocks
from rightcall.values.trajectory import Trajectory

RAN: list[int] = []


@pytest.fixture(autouse=True)
def frameworks() -> Iterator[None]:
    RAN.clear()
    with fake.loaded():
        yield


def refund(order: int, **_: Any) -> Any:
    RAN.append(order)
    return {"refunded": order}


def by_pydantic_ai(order: int) -> Any:
    toolset = fake.WrapperToolset(fake.FunctionToolset(refund=lambda ctx, order: refund(order)))
    context = fake.RunContext("refund", deps=object())
    return asyncio.run(toolset.call_tool("refund", {"order": order}, context, None))


def by_pydantic_ai_renamed(order: int) -> Any:
    functions = fake.FunctionToolset(pay=lambda ctx, order: refund(order))
    toolset = fake.RenamedToolset(fake.PrefixedToolset(functions))
    context = fake.RunContext("refund", deps=object(), tool_call_id="c1")
    return asyncio.run(toolset.call_tool("refund", {"order": order}, context, None))


def by_langchain(order: int) -> Any:
    return fake.StructuredTool("refund", refund).run({"order": order, "state": object()})


def by_langchain_awaited(order: int) -> Any:
    return asyncio.run(fake.StructuredTool("refund", refund).arun({"order": order, "state": object()}))


def by_openai_agents(order: int) -> Any:
    async def invoke(context: Any, arguments: str) -> Any:
        return refund(order)

    made = dataclasses.replace(copy.copy(fake.FunctionTool("refund", invoke)))
    return asyncio.run(made.on_invoke_tool(object(), f'{{"order": {order}}}'))


def by_adk(order: int) -> Any:
    made = fake.AdkFunctionTool("refund", refund)
    return asyncio.run(made.run_async(args={"order": order}, tool_context=object()))


DISPATCHERS = [by_pydantic_ai, by_pydantic_ai_renamed, by_langchain, by_langchain_awaited, by_openai_agents, by_adk]
each_framework = pytest.mark.parametrize("dispatch", DISPATCHERS, ids=lambda each: each.__name__[3:])


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
    assert (entry.tool, entry.args, entry.output) == ("refund", {"order": 7}, {"refunded": 7})
    assert (first, second, RAN) == ({"refunded": 7}, {"refunded": 7}, [7])


@each_framework
def test_a_tool_runs_as_it_is_while_nothing_stands_in(dispatch: Callable[[int], Any]) -> None:
    with use_mocks():
        pass

    assert (dispatch(7), RAN) == ({"refunded": 7}, [7])


@each_framework
def test_calls_are_logged_as_spans(dispatch: Callable[[int], Any]) -> None:
    log: list[DispatchedCall] = []
    with logging_calls(log):
        dispatch(7)

    [call] = read_spans([json.loads(log_document(log))]).calls
    assert (call.name, call.args, call.output) == ("refund", {"order": 7}, {"refunded": 7})


@dataclasses.dataclass
class Asked:
    """A call in a message of Pydantic AI."""

    args: dict[str, Any]
    tool_call_id: str = "c1"

    def args_as_dict(self) -> dict[str, Any]:
        return self.args


@dataclasses.dataclass
class Response:
    parts: list[Any]


@pytest.mark.parametrize(("is_approved", "args"), [(False, {"order": 7}), (True, {"order": 7, "nights": 3})])
def test_defaults_of_a_tool_of_pydantic_ai_are_no_arguments_unless_a_person_approved_the_call(
    is_approved: bool, args: dict[str, Any]
) -> None:
    said = [Response([Asked({"order": 8}, "c0"), Asked({"order": 7}), object()])]
    context = fake.RunContext("refund", None, "c1", said, tool_call_approved=is_approved)
    toolset = fake.FunctionToolset(refund=lambda ctx, order, nights: refund(order))
    log: list[DispatchedCall] = []
    with logging_calls(log):
        asyncio.run(toolset.call_tool("refund", {"order": 7, "nights": 3}, context, None))

    assert ([call.args for call in log], RAN) == ([args], [7])


def test_defaults_of_a_tool_of_langchain_are_no_arguments() -> None:
    log: list[DispatchedCall] = []
    with logging_calls(log):
        fake.NightsTool("refund", refund).run({"order": 7})
        fake.NightsTool("refund", refund).run({"order": 7, "nights": 4})

    assert [call.args for call in log] == [{"order": 7}, {"order": 7, "nights": 4}]


def ask_billing(order: int) -> Any:
    """A tool that asks another agent, which calls a tool of its own."""
    ASKED.append(order)
    return fake.StructuredTool("refund", refund).run({"order": order})


ASKED: list[int] = []


def test_what_another_agent_called_is_logged_inside_of_the_call_that_asked_it() -> None:
    log: list[DispatchedCall] = []
    with logging_calls(log):
        fake.StructuredTool("ask_billing", ask_billing).run({"order": 7})

    outer, inner = read_spans([json.loads(log_document(log))]).calls
    assert (outer.name, inner.name) == ("ask_billing", "refund")
    assert inner.parent_id == outer.span_id


def test_a_tool_that_asks_another_agent_runs_when_it_is_replayed_and_the_tools_of_that_agent_do_not() -> None:
    recorder, log = Recorder("a"), list[DispatchedCall]()
    ASKED.clear()
    with recording_to(recorder):
        fake.StructuredTool("ask_billing", ask_billing).run({"order": 7})
    with use_mocks(Recording(recorder.entries).replay("a")), logging_calls(log):
        answer = fake.StructuredTool("ask_billing", ask_billing).run({"order": 7})

    assert (answer, RAN, ASKED) == ({"refunded": 7}, [7], [7, 7])
    assert [call.tool for call in log] == ["ask_billing", "refund"]


def test_a_marked_function_that_is_a_tool_of_a_framework_is_asked_for_once() -> None:
    marked, recorder = tool(refund), Recorder("a")
    with recording_to(recorder):
        fake.StructuredTool("refund", marked).run({"order": 7})

    assert [entry.tool for entry in recorder.entries] == ["refund"]


@pytest.mark.parametrize(
    ("returns", "result"),
    [
        ("sunny", {"content": [{"type": "text", "text": "sunny"}]}),
        (
            {"sky": "blue"},
            {"content": [{"type": "text", "text": '{"sky": "blue"}'}], "structuredContent": {"sky": "blue"}},
        ),
        ({"content": [], "isError": True}, {"content": [], "isError": True}),
    ],
)
def test_a_tool_of_an_mcp_session_answers_in_the_form_of_mcp(returns: Any, result: Any) -> None:
    with use_mocks(Mocks.of({"weather": {"returns": returns}})):
        answer = asyncio.run(fake.ClientSession().call_tool("weather", {"city": "Rome"}))

    assert answer.held == result


def test_the_result_of_an_mcp_session_is_recorded_as_it_was() -> None:
    recorder = Recorder("a")
    with recording_to(recorder):
        asyncio.run(fake.ClientSession().call_tool("weather"))

    assert recorder.entries[0].output == {"content": [{"type": "text", "text": "real weather"}]}


def logged(call: Callable[[], Any]) -> Trajectory:
    """What is logged while a call is dispatched, as it is read."""
    log: list[DispatchedCall] = []
    with logging_calls(log), suppress(fake.GraphInterrupt):
        call()
    return read_spans([json.loads(log_document(log))])


@pytest.mark.parametrize(
    ("args", "output", "error"),
    [({}, "real weather", None), ({"fail": True}, None, "ToolError: real weather")],
)
def test_the_result_of_an_mcp_session_is_logged_as_the_text_or_the_error_that_it_is(
    args: dict[str, Any], output: str | None, error: str | None
) -> None:
    [call] = logged(lambda: asyncio.run(fake.ClientSession().call_tool("weather", args))).calls

    assert (call.output, call.error) == (output, error)


def test_the_artifact_of_a_tool_of_langchain_is_not_logged() -> None:
    made = fake.StructuredTool("refund", lambda order: ([{"type": "text", "text": "paid"}], {"rows": 3}))
    made.response_format = "content_and_artifact"

    [call] = logged(lambda: made.run({"order": 7})).calls

    assert call.output == "paid"


def test_the_text_of_a_tool_of_openai_agents_is_logged() -> None:
    async def invoke(context: Any, arguments: str) -> Any:
        return {"type": "text", "text": "paid"}

    [call] = logged(lambda: asyncio.run(fake.FunctionTool("refund", invoke).on_invoke_tool(object(), "{}"))).calls

    assert call.output == "paid"


@pytest.mark.parametrize(
    ("tool", "args", "names"),
    [
        ("maps_weather", {"order": 7}, ("maps_weather",)),
        ("maps_weather", {"order": 8}, ("maps_weather", "weather")),
        ("ask_maps", {"order": 7}, ("ask_maps", "weather")),
    ],
    ids=["with a prefix", "with other arguments", "with another name"],
)
def test_a_session_of_mcp_goes_on_with_the_call_of_a_tool_with_a_prefix(
    tool: str, args: dict[str, Any], names: tuple[str, ...]
) -> None:
    session = fake.ClientSession()
    outer = fake.StructuredTool(tool, lambda order: asyncio.run(session.call_tool("weather", args)))

    assert logged(lambda: outer.run({"order": 7})).names == names


@pytest.mark.parametrize("value", [3, 2.5, True, None, "3", "null", "", [1], {"content": 1, "more": 2}], ids=repr)
def test_an_output_is_logged_as_the_value_that_it_is(value: Any) -> None:
    [call] = logged(lambda: fake.StructuredTool("count", lambda order: value).run({"order": 7})).calls

    assert (call.output, type(call.output), call.unrecorded) == (value, type(value), frozenset())


def test_a_tool_that_interrupts_its_graph_is_logged_as_withheld_and_not_recorded() -> None:
    def ask(order: int) -> Any:
        raise fake.GraphInterrupt("Pay?")

    recorder = Recorder("a")
    with recording_to(recorder):
        found = logged(lambda: fake.StructuredTool("refund", ask).run({"order": 7}))

    assert (found.calls, [call.name for call in found.withheld]) == ((), ["refund"])
    assert not recorder.entries


def test_tools_are_found_in_the_objects_of_an_agent(tmp_path: Path) -> None:
    agent = fake.AgentBase([fake.FunctionTool("refund", None), fake.WebSearchTool()])

    inventory = find_tools([agent, fake.StructuredTool("lookup", refund)], tmp_path)

    found = {tool.name: (tool.framework, tool.parameters, bool(tool.problem)) for tool in inventory.tools}
    assert found["refund"] == ("OpenAI Agents", ("order: integer",), False)
    assert found["lookup"] == ("LangChain", ("order: integer",), False)
    assert found["web_search"] == ("OpenAI Agents", (), True)
    assert not inventory.is_open


def test_a_name_that_no_tool_has_is_told_with_what_was_found(tmp_path: Path) -> None:
    inventory = find_tools([fake.StructuredTool("refund", refund)], tmp_path)

    problem = unreached_names(inventory, ["refunds"])

    assert problem is not None
    assert "no tool 'refunds' to stand in for" in problem
    assert "did you mean 'refund'?" in problem
    assert "@rightcall.tool" in problem
    assert unreached_names(inventory, ["refund", "ref*"]) is None


def test_a_tool_that_the_provider_runs_is_refused_by_name(tmp_path: Path) -> None:
    inventory = find_tools(fake.AgentBase([fake.WebSearchTool()]), tmp_path)

    assert "nothing can stand in for the tool 'web_search' of OpenAI Agents" in str(
        unreached_names(inventory, ["web_search"])
    )


@pytest.mark.parametrize(
    "target",
    [None, fake.AgentBase([], mcp_servers=["a server"])],
    ids=["made when the agent runs", "listed by a server"],
)
def test_a_name_is_accepted_where_more_tools_may_come(target: Any, tmp_path: Path) -> None:
    inventory = find_tools(target, tmp_path)

    assert inventory.is_open
    assert unreached_names(inventory, ["weather"]) is None
