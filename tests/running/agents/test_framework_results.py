"""Results and objects of frameworks, as far as a run knows them. The real ones are tried by `make frameworks`."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rightcall import check, read_messages
from rightcall.errors import AgentError, InputError
from rightcall.running.agents import RESULT_FORMS, AgentRequest, answer_of, object_agent

ASKED = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Rome"}'}}]


def made(name: str, module: str, **held: Any) -> Any:
    """An object of a class with this name and module."""
    value = type(name, (), {"__module__": module})()
    for key, item in held.items():
        setattr(value, key, item)
    return value


def row(**held: Any) -> SimpleNamespace:
    return SimpleNamespace(**held)


def llama_index() -> Any:
    output = row(raw_output="sunny", is_error=False)
    call = row(tool_id="1", tool_name="look", tool_kwargs={"city": "Rome"}, tool_output=output)
    module = "llama_index.core.agent.workflow.workflow_events"
    held = {"response": row(content="Sunny."), "current_agent_name": "guide", "tool_calls": [call]}
    return made("AgentOutput", module, **held)


def agno() -> Any:
    messages = [
        {"role": "assistant", "tool_calls": ASKED},
        {"role": "tool", "tool_call_id": "1", "content": "sunny"},
    ]
    held = [row(to_dict=lambda message=message: message) for message in messages]
    metrics = row(input_tokens=3, output_tokens=2)
    return made("RunOutput", "agno.run.agent", content="Sunny.", messages=held, metrics=metrics)


def smolagents() -> Any:
    final = {"id": "2", "type": "function", "function": {"name": "final_answer", "arguments": {"answer": "Sunny."}}}
    steps = [
        {"task": "Is it sunny?", "task_images": None},
        {"step_number": 1, "tool_calls": ASKED, "observations": "sunny", "error": None},
        {"step_number": 2, "tool_calls": [final], "observations": "Sunny.", "error": None},
    ]
    usage = row(input_tokens=3, output_tokens=2)
    return made("RunResult", "smolagents.agents", output="Sunny.", steps=steps, token_usage=usage)


def autogen() -> Any:
    asked = row(content=[row(id="1", name="look", arguments='{"city": "Rome"}')], models_usage=None)
    usage = row(prompt_tokens=3, completion_tokens=2)
    answered = row(content=[row(call_id="1", content="sunny", is_error=False)], models_usage=usage)
    last = row(content="Sunny.", to_text=lambda: "Sunny.", models_usage=None)
    return made("TaskResult", "autogen_agentchat.base._task", messages=[asked, answered, last])


def haystack() -> Any:
    def message(**held: Any) -> Any:
        module = "haystack.dataclasses.chat_message"
        empty: dict[str, Any] = {"text": None, "tool_calls": [], "tool_call_results": [], "meta": {}}
        return made("ChatMessage", module, **{**empty, **held})

    asked = message(tool_calls=[row(id="1", tool_name="look", arguments={"city": "Rome"})])
    answered = message(tool_call_results=[row(origin=row(id="1"), result="sunny", error=False)])
    last = message(text="Sunny.", meta={"usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    return {"messages": [asked, answered, last], "last_message": last}


@pytest.mark.parametrize(
    "framework", [llama_index, agno, smolagents, autogen, haystack], ids=lambda each: each.__name__
)
def test_a_result_holds_answer_calls_and_tokens(framework: Any) -> None:
    result = framework()

    answer = answer_of(result)

    assert answer.output == "Sunny."
    [call] = read_messages(answer.messages).calls
    assert (call.name, call.args, call.output) == ("look", {"city": "Rome"}, "sunny")
    if framework is not llama_index:
        assert answer.usage is not None
        assert answer.usage.total_tokens == 5


def failing(framework: Any) -> Any:
    """The result of a run in which the tool raised."""
    result = framework()
    if framework is llama_index:
        result.tool_calls[0].tool_output = row(raw_output="no such city", is_error=True)
    elif framework is autogen:
        result.messages[1].content[0] = row(call_id="1", content="no such city", is_error=True)
    elif framework is haystack:
        result["messages"][1].tool_call_results[0] = row(origin=row(id="1"), result="no such city", error=True)
    else:  # a step that raised lists its call in the message of the model alone
        error = {"type": "AgentToolExecutionError", "message": "no such city"}
        said = {"role": "assistant", "content": None, "tool_calls": ASKED}
        result.steps[1] |= {"tool_calls": [], "observations": None, "error": error, "model_output_message": said}
    return result


@pytest.mark.parametrize("framework", [llama_index, smolagents, autogen, haystack], ids=lambda each: each.__name__)
def test_a_call_that_failed_is_a_failed_call(framework: Any) -> None:
    [call] = read_messages(answer_of(failing(framework)).messages).calls

    assert (call.name, call.args, call.error) == ("look", {"city": "Rome"}, "no such city")


def test_the_result_of_llama_index_does_not_tell_which_calls_were_asked_for_at_once() -> None:
    result = llama_index()
    result.tool_calls += [
        row(tool_id="2", tool_name="book", tool_kwargs={}, tool_output=row(raw_output="ok", is_error=False))
    ]

    found = read_messages(answer_of(result).messages)

    assert [(call.name, call.output, call.group) for call in found.calls] == [
        ("look", "sunny", None),
        ("book", "ok", None),
    ]


def test_calls_without_ids_share_none() -> None:
    result = haystack()
    result["messages"][0].tool_calls = [row(id=None, tool_name=name, arguments={}) for name in ("look", "book")]
    result["messages"][1].tool_call_results = []

    found = read_messages(answer_of(result).messages)

    assert [(call.name, call.call_id) for call in found.calls] == [("look", None), ("book", None)]


def test_a_result_that_lists_no_calls_is_a_run_without_calls() -> None:
    result = made("TaskResult", "autogen_agentchat.base._task", messages=[row(content="Hi", to_text=lambda: "Hi")])

    assert read_messages(answer_of(result).messages).calls_recorded
    assert check(result, {"calls": [], "output": "Hi"}).passed


def test_an_assertion_takes_the_result_of_a_framework() -> None:
    assert check(smolagents(), {"calls": [{"look": {"city": "Rome"}}], "output": "Sunny."}).passed


@pytest.mark.parametrize(
    ("result", "output"),
    [
        (
            made(
                *("AgentResult", "strands.agent.agent_result"),
                message={"content": [{"text": "Sunny."}]},
                metrics=row(accumulated_usage={"inputTokens": 3, "outputTokens": 2}),
            ),
            "Sunny.",
        ),
        (
            made(
                *("CrewOutput", "crewai.crews.crew_output"),
                raw="Sunny.",
                json_dict=None,
                token_usage=row(prompt_tokens=3, completion_tokens=2),
            ),
            "Sunny.",
        ),
        (made("TeamRunOutput", "agno.run.team", content="Sunny.", messages=[], member_responses=[]), "Sunny."),
    ],
    ids=["strands", "crewai", "a team of agno"],
)
def test_a_result_without_calls_says_so_in_an_assertion(result: Any, output: str) -> None:
    answer = answer_of(result)

    assert (answer.output, answer.messages) == (output, None)
    with pytest.raises(InputError, match="does not hold the calls of its run; capture them"):
        check(result, {"calls": []})


def test_every_framework_of_the_table_has_a_name() -> None:
    assert len({form.framework for form in RESULT_FORMS}) == 13


class Graph:
    """A graph of LangGraph without a checkpointer."""

    def __init__(self, *channels: str) -> None:
        self.channels = dict.fromkeys(channels)

    async def ainvoke(self, state: Any, config: Any) -> Any:
        return {"messages": [*state["messages"], ("assistant", f"{len(state['messages'])} so far")]}


def turns(agent: Any, *inputs: Any) -> list[Any]:
    memory: dict[str, Any] = {}
    said = []
    for turn, given in enumerate(inputs):
        request = AgentRequest(input=given, case_id="a", turn=turn, turns=len(inputs), memory=memory, run="a#1")
        answer = agent.answer(request)
        said.append((asyncio.run(answer) if agent.is_async else answer).output)
    return said


def test_a_graph_without_a_checkpointer_is_given_the_messages_of_earlier_turns() -> None:
    agent = object_agent(Graph("messages"), lambda: None)

    assert turns(agent, "a", "b", "c") == ["1 so far", "3 so far", "5 so far"]


def test_a_conversation_is_refused_where_it_would_be_forgotten() -> None:
    agent = object_agent(Graph("question"), lambda: None)

    with pytest.raises(AgentError, match="the case has turns, but its graph has neither a checkpointer nor messages"):
        turns(agent, "a", "b")


def test_an_agent_of_pydantic_ai_is_given_its_history() -> None:
    class AbstractAgent:
        async def run(self, question: str, message_history: Any = None) -> Any:
            history = [*(message_history or ()), question]
            return row(output=len(history), all_messages=lambda: history)

    AbstractAgent.__module__ = "pydantic_ai.agent.abstract"
    agent = object_agent(AbstractAgent(), lambda: None)

    assert turns(agent, "a", "b", "c") == [1, 2, 3]


def test_an_agent_of_strands_has_messages_of_its_own_for_each_run_of_a_case() -> None:
    class Agent:
        def __init__(self) -> None:
            self.messages = ["made with"]

        def __call__(self, question: str) -> Any:
            self.messages.append(question)
            return ", ".join(self.messages)

    Agent.__module__ = "strands.agent.agent"
    agent = object_agent(Agent(), lambda: None)

    assert turns(agent, "a", "b") == ["made with, a", "made with, a, b"]
    assert turns(agent, "c") == ["made with, c"]


def test_an_agent_of_haystack_is_given_messages_and_remembers_all_but_its_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def from_user(text: str) -> Any:
        return row(role=row(value="user"), text=text)

    seen = []

    class Agent:
        def run(self, messages: list[Any]) -> Any:
            seen.append([message.text for message in messages])
            return {"messages": [row(role=row(value="system"), text="Help."), *messages]}

    Agent.__module__ = "haystack.components.agents.agent"
    monkeypatch.setitem(sys.modules, "haystack.dataclasses", row(ChatMessage=row(from_user=from_user)))
    agent = object_agent(Agent(), lambda: None)

    turns(agent, "a", "b")

    assert seen == [["a"], ["a", "b"]]


def of_agent_framework(*contents: dict[str, Any], value: Any = None, waits: bool = False) -> Any:
    messages = [row(to_dict=lambda part=part: {"role": "assistant", "contents": [part]}) for part in contents]
    held = {"text": "Sunny.", "value": value, "user_input_requests": ["?"] if waits else []}
    usage = {"input_token_count": 3, "output_token_count": 2}
    return made("AgentResponse", "agent_framework._types", messages=messages, usage_details=usage, **held)


LOOK = {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"city": "Rome"}'}
PAY = {"type": "function_call", "call_id": "2", "name": "pay", "arguments": "{}"}


def test_a_response_of_agent_framework_has_its_calls_answer_and_tokens() -> None:
    answer = answer_of(of_agent_framework(LOOK, {"type": "function_result", "call_id": "1", "result": "sunny"}))

    [call] = read_messages(answer.messages).calls
    assert (call.name, call.args, call.output) == ("look", {"city": "Rome"}, "sunny")
    assert (answer.output, answer.usage and answer.usage.input_tokens) == ("Sunny.", 3)


def test_the_structured_answer_of_agent_framework_is_the_output() -> None:
    assert answer_of(of_agent_framework(value={"sky": "blue"})).output == {"sky": "blue"}


def test_calls_of_agent_framework_beside_one_that_waits_were_not_made() -> None:
    asked = {"type": "function_approval_request", "id": "a", "function_call": PAY}
    answer = answer_of(of_agent_framework(LOOK, PAY, asked, waits=True))

    path = read_messages(answer.messages)

    assert (path.names, sorted([call.name for call in path.withheld])) == ((), ["look", "pay"])


def test_an_agent_of_agent_framework_has_a_session_for_each_run_of_a_case() -> None:
    class RawAgent:
        def create_session(self) -> Any:
            return object()

        async def run(self, given: str, session: Any) -> Any:
            return id(session)

    RawAgent.__module__ = "agent_framework._agents"
    agent = object_agent(RawAgent(), lambda: None)

    first, second = turns(agent, "a", "b")

    assert first == second


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"trajectory": {}, "reasoning": "as asked", "answer": "Sunny."}, "Sunny."),
        ({"sky": "blue", "wind": "none"}, {"sky": "blue", "wind": "none"}),
    ],
)
def test_the_output_of_a_prediction_of_dspy_is_what_it_was_asked_for(fields: dict[str, Any], output: Any) -> None:
    answer = answer_of(made("Prediction", "dspy.primitives.prediction", items=fields.items))

    assert (answer.output, answer.messages) == (output, None)


def crew(*placeholders: str) -> Any:
    class Crew:
        def fetch_inputs(self) -> set[str]:
            return set(placeholders)

        def kickoff(self, inputs: Any) -> Any:
            return inputs

    Crew.__module__ = "crewai.crew"
    return object_agent(Crew(), lambda: None)


def test_a_crew_is_kicked_off_with_values_for_its_placeholders() -> None:
    assert turns(crew("question"), "Hi") == [{"question": "Hi"}]
    assert turns(crew("a", "b"), {"a": 1, "b": 2}) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(("placeholders", "told"), [((), "it has none"), (("a", "b"), "it has a, b")])
def test_a_text_that_no_placeholder_takes_is_refused(placeholders: tuple[str, ...], told: str) -> None:
    with pytest.raises(AgentError, match=told):
        turns(crew(*placeholders), "Hi")


def test_an_agent_that_would_mix_the_cases_is_refused() -> None:
    class TaskRunner:
        async def run(self, task: str) -> Any:
            raise NotImplementedError

    TaskRunner.__module__ = "autogen_agentchat.base._task"

    with pytest.raises(AgentError, match="remembers every question it is asked"):
        turns(object_agent(TaskRunner(), lambda: None), "Hi")


def part(kind: str, **held: Any) -> dict[str, Any]:
    return {"part_kind": kind, "tool_name": "look", "tool_call_id": "1", **held}


def pydantic_ai(output: Any) -> Any:
    """A run that ended after a model had asked for a call."""
    asked = part("tool-call", args={"city": "Rome"})
    messages = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look"}]},
        {"kind": "response", "parts": [asked]},
    ]
    return row(output=output, new_messages_json=lambda: json.dumps(messages))


def openai_agents(*, is_open: bool, approved: bool | None) -> Any:
    """A run with a call that needs approval."""
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"city": "Rome"}'}
    done = {"type": "function_call_output", "call_id": "1", "output": "Not approved."}
    items = [{"role": "user", "content": "Look"}, call, *([] if is_open else [done])]
    return row(
        final_output=None if is_open else "Done.",
        to_input_list=lambda: items,
        interruptions=[row(raw_item=call)] if is_open else [],
        context_wrapper=row(is_tool_approved=lambda name, call_id: approved),
    )


def test_a_stream_of_pydantic_ai_that_has_ended_is_a_result() -> None:
    done = pydantic_ai(None)
    stream = row(new_messages_json=done.new_messages_json, get_output=None, response=row(text="Sunny."))

    answer = answer_of(stream)

    assert answer.output == "Sunny."
    assert read_messages(answer.messages).names == ("look",)


def deferred(**calls: list[Any]) -> Any:
    return made("DeferredToolRequests", "pydantic_ai.tools", **{"calls": [], "approvals": [], **calls})


WAITING = row(tool_call_id="1")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (pydantic_ai(deferred(approvals=[WAITING])), "approval was asked for"),
        (pydantic_ai(deferred(calls=[WAITING])), "deferred: the tool is run elsewhere"),
        (openai_agents(is_open=True, approved=None), "approval was asked for"),
        (openai_agents(is_open=False, approved=False), "approval was refused"),
    ],
    ids=["approval", "external", "interruption", "rejection"],
)
def test_a_call_that_waits_or_was_refused_is_withheld(result: Any, reason: str) -> None:
    found = read_messages(answer_of(result).messages)

    assert found.calls == ()
    assert [(call.name, call.args, call.reason) for call in found.withheld] == [("look", {"city": "Rome"}, reason)]


@pytest.mark.parametrize(
    "result",
    [pydantic_ai("Done."), openai_agents(is_open=False, approved=True), openai_agents(is_open=False, approved=None)],
    ids=["Pydantic AI", "approved", "no approval needed"],
)
def test_any_other_call_is_one(result: Any) -> None:
    assert read_messages(answer_of(result).messages).names == ("look",)


class BaseMessage:
    """A message of LangChain."""

    __module__ = "langchain_core.messages.base"

    def __init__(self, **held: Any) -> None:
        self.content, self._held = held["content"], held

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._held


def graph_state(**more: Any) -> dict[str, Any]:
    """The state of a LangGraph graph whose model has asked for a call."""
    calls = [{"name": "look", "args": {"city": "Rome"}, "id": "1"}]
    said = [BaseMessage(type="human", content="Look"), BaseMessage(type="ai", content="", tool_calls=calls)]
    return {"messages": said, **more}


def test_a_graph_that_waits_for_approval_has_no_answer_and_has_made_no_open_call() -> None:
    answer = answer_of(graph_state(__interrupt__=[{"value": {"action_requests": [{"name": "look"}]}, "id": "i"}]))

    found = read_messages(answer.messages)
    assert answer.output is None
    assert (found.calls, [call.name for call in found.withheld]) == ((), ["look"])


def test_a_structured_answer_of_a_graph_is_its_output() -> None:
    assert answer_of(graph_state(structured_response={"sky": "blue"})).output == {"sky": "blue"}


class Event:
    """An event of ADK."""

    __module__ = "google.adk.events.event"

    def __init__(self, part: dict[str, Any] | None, **held: Any) -> None:
        content = {"role": "model", "parts": [part]}
        self.content = None if part is None else row(model_dump=lambda **_: content, parts=[row(text=part.get("text"))])
        self.author, self.partial, self.actions = "shop", held.get("partial", False), row(**held.get("actions", {}))

    def is_final_response(self) -> bool:
        return self.content is not None and not self.partial


def test_events_of_adk_say_which_agent_made_a_call_and_which_call_waits() -> None:
    call = {"function_call": {"id": "1", "name": "look", "args": {"city": "Rome"}}}
    other = {"function_call": {"id": "2", "name": "find", "args": {}}}
    result = {"function_response": {"id": "1", "name": "look", "response": {"error": "confirm"}}}
    waits = {"requested_tool_confirmations": {"1": object()}}
    events = [Event(None), Event(call), Event(other), Event(result, actions=waits)]

    answer = answer_of(events)

    found = read_messages(answer.messages)
    assert answer.output is None
    assert [(made.name, made.agent) for made in found.calls] == [("find", "shop")]
    assert [call.name for call in found.withheld] == ["look"]


def test_partial_events_of_adk_are_left_out() -> None:
    answer = answer_of([Event({"text": "It "}, partial=True), Event({"text": "It rains."})])

    assert answer.output == "It rains."
    assert [message["content"]["parts"] for message in answer.messages] == [[{"text": "It rains."}]]


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ({"requires_confirmation": True}, "approval was asked for"),
        ({"requires_user_input": True}, "approval was asked for"),
        ({"external_execution_required": True}, "deferred: the tool is run elsewhere"),
        ({"confirmed": False}, "approval was refused"),
    ],
)
def test_a_tool_of_agno_that_waits_for_a_person_is_withheld(held: dict[str, Any], reason: str) -> None:
    result = agno()
    result.messages = result.messages[:1]
    names = ("result", "confirmed", "requires_confirmation", "requires_user_input", "external_execution_required")
    result.tools = [row(**dict.fromkeys(names), tool_call_id="1")]
    for key, value in held.items():
        setattr(result.tools[0], key, value)

    found = read_messages(answer_of(result).messages)

    assert (found.calls, [call.reason for call in found.withheld]) == ((), [reason])


def test_the_tokens_of_a_turn_of_strands_are_not_those_of_all_turns() -> None:
    latest = row(usage={"inputTokens": 3, "outputTokens": 2})
    metrics = row(accumulated_usage={"inputTokens": 30, "outputTokens": 20}, latest_agent_invocation=latest)
    message = {"role": "assistant", "content": [{"text": "Sunny."}]}

    usage = answer_of(made("AgentResult", "strands.agent.agent_result", message=message, metrics=metrics)).usage

    assert usage is not None
    assert usage.total_tokens == 5


def of_openai_agents(*outputs: str, rejected: tuple[str, ...]) -> Any:
    """A run of OpenAI Agents in which the agent `shop` paid once for each output, some by a guardrail."""
    calls = [
        {"type": "function_call", "call_id": f"{place}", "name": "pay", "arguments": "{}"}
        for place in range(len(outputs))
    ]
    results = [
        {"type": "function_call_output", "call_id": f"{place}", "output": output}
        for place, output in enumerate(outputs)
    ]
    behaviors = [{"type": "allow"}, *[{"type": "reject_content", "message": message} for message in rejected]]
    return row(
        final_output="Done.",
        to_input_list=lambda: [{"role": "user", "content": "Pay"}, *calls, *results],
        new_items=[row(raw_item=each, agent=row(name="shop")) for each in [*calls, *results]],
        tool_input_guardrail_results=[row(output=row(behavior=each)) for each in behaviors],
    )


def test_a_call_that_a_guardrail_of_openai_agents_refused_is_withheld() -> None:
    trajectory = read_messages(answer_of(of_openai_agents("Too much.", "paid", rejected=("Too much.",))).messages)

    assert [each.output for each in trajectory.calls] == ["paid"]
    assert [each.reason for each in trajectory.withheld] == ["refused by a guardrail"]


def test_a_result_that_may_be_of_a_guardrail_or_of_the_tool_is_of_a_call() -> None:
    refused_once = of_openai_agents("Too much.", "Too much.", rejected=("Too much.",))

    assert read_messages(answer_of(refused_once).messages).names == ("pay", "pay")


def test_calls_of_openai_agents_have_the_agent_that_made_them() -> None:
    trajectory = read_messages(answer_of(of_openai_agents("paid", rejected=())).messages)

    assert [each.agent for each in trajectory.calls] == ["shop"]
