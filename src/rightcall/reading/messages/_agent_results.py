"""Results, states and messages of frameworks in spellings of their own, and rows of data sets.

Those of LangChain, AutoGen, smolagents, DeepEval, ragas, xLAM and BFCL are here, and messages of frameworks for Java
and .NET, of OpenAI Agents and of Haystack. Most results list calls without messages. Each call becomes a message,
followed by one with its result. A step of no known shape is passed on as a call that cannot be read, so that the log
counts as not understood (RC304).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ._log import Log, called, decoded, listed, plain, returned, said, word
from ._message_exchange import exchanges_of, has_messages
from ._parts import writer_of

_NOT_GIVEN = object()


def _found(value: Mapping[str, Any], *keys: str, default: Any = None) -> Any:
    """Return the value of the first key that is present; keys have spellings of Python and of JavaScript."""
    return next((value[key] for key in keys if key in value), default)


def _unreadable(step: Any) -> dict[str, Any]:
    return {"tool_calls": [step or "an empty step"]}


_STEPS = ("intermediate_steps", "intermediateSteps")


def is_executor_result(document: Any) -> bool:
    """Whether a document is what LangChain's `AgentExecutor` returns together with its intermediate steps."""
    value = plain(document)
    steps = _found(value, *_STEPS)
    if not isinstance(steps, list) or "output" not in value or "messages" in value or "question" in value:
        return False
    return not steps or any([_action_and_observation(step) is not None for step in steps])


def executor_logs(result: dict[str, Any]) -> list[Log]:
    """Return the log of a result: its input, a call and an observation for each step, its output."""
    messages: list[Any] = [said("user", result["input"])] if isinstance(result.get("input"), str) else []
    for number, step in enumerate(_found(result, *_STEPS)):
        messages += _executed(step, f"step-{number}")
    if isinstance(result["output"], str):
        messages.append(said("assistant", result["output"]))
    return [Log(messages, about=result)]


def _executed(step: Any, name: str) -> list[Any]:
    pair = _action_and_observation(step)
    if pair is None:
        return [_unreadable(step)]
    action, observation = pair
    if action["tool"] == "_Exception":
        # LangChain uses this name for an answer of the model that it could not parse: no tool was called.
        return [said("assistant", action.get("log"))]
    call_id = word(_found(action, "tool_call_id", "toolCallId")) or name
    made = called(call_id, action["tool"], _found(action, "tool_input", "toolInput"))
    return [made] if observation is _NOT_GIVEN else [made, returned(call_id, observation)]


def _action_and_observation(step: Any) -> tuple[dict[str, Any], Any] | None:
    """Return the action and the observation of a step: a pair in Python, else an object; None if it is neither."""
    if isinstance(step, list):
        action, observation = (step[0], step[1]) if len(step) == 2 else (None, None)
    else:
        value = plain(step)
        action, observation = value.get("action"), value.get("observation", _NOT_GIVEN)
    action = plain(action)
    if action.get("type") == "constructor" and "lc" in action:  # what `langchain_core.load.dumpd` writes
        action = plain(action.get("kwargs"))
    is_known = bool(word(action.get("tool"))) and ("tool_input" in action or "toolInput" in action)
    return (action, observation) if is_known else None


def is_gaia_row(document: Any) -> bool:
    """Whether a document is a row of answers of smolagents' open deep research: a question and the agent's steps."""
    value = plain(document)
    steps = _found(value, "intermediate_steps", "agent_memory")
    return {"question", "prediction"} <= value.keys() and isinstance(steps, list)


def gaia_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a row. Steps are those of the agent's memory; early versions wrote them as text."""
    steps = _found(row, "intermediate_steps", "agent_memory")
    unread = ""
    if not steps or row.get("agent_error"):
        unread = "the steps of the agent, which the row does not have: the agent broke off"
    elif not all([isinstance(step, dict) for step in steps]):
        unread = "the steps of the agent, which are text"
    asks = [] if any(["task" in plain(step) for step in steps]) else [said("user", row["question"])]
    messages = [*asks, *[step for step in steps if isinstance(step, dict)]]
    if isinstance(row["prediction"], str):
        messages.append(said("assistant", row["prediction"]))
    return [Log(messages, about=row, nested=unread)]


_CALLED = ("tools_called", "toolsCalled")
_TEST_CASES = ("testCases", "test_cases")


def is_deepeval(document: Any) -> bool:
    """Whether a document is a test case of DeepEval with a list of called tools, or a test run with such cases."""
    cases = _found(plain(document), *_TEST_CASES)
    return _is_test_case(document) or (isinstance(cases, list) and any([_is_test_case(case) for case in cases]))


def _is_test_case(document: Any) -> bool:
    value = plain(document)
    return "input" in value and isinstance(_found(value, *_CALLED), list) and "messages" not in value


def deepeval_logs(document: dict[str, Any]) -> list[Log]:
    """Return a log for each test case."""
    if _is_test_case(document):
        return [_test_case_log(document)]
    return [_test_case_log(plain(case)) for case in _found(document, *_TEST_CASES)]


def _test_case_log(case: dict[str, Any]) -> Log:
    tools = _found(case, *_CALLED)
    messages: list[Any] = [said("user", case["input"])] if isinstance(case.get("input"), str) else []
    for number, tool in enumerate(listed(tools)):
        messages += _told_call(tool, f"call-{number}")
    answer = _found(case, "actual_output", "actualOutput")
    if isinstance(answer, str):
        messages.append(said("assistant", answer))
    unread = "" if isinstance(tools, list) else "the called tools, which the test case does not tell"
    return Log(messages, about=case, nested=unread)


def _told_call(tool: Any, call_id: str) -> list[Any]:
    value = plain(tool)
    if not word(value.get("name")):
        return [_unreadable(tool)]
    made = called(call_id, value["name"], _found(value, "input_parameters", "inputParameters"))
    return [made] if value.get("output") is None else [made, returned(call_id, value["output"])]


_QUESTIONS = ("input", "prompt", "question", "query", "instruction", "user_query", "user_message")
_ANSWERS = ("output", "response", "answer", "completion", "prediction", "final_answer", "final_output")
_CALLS = ("tool_calls", "function_calls", "toolCalls")
_SPOKEN = frozenset({"role", "type", "messages", "content", "author", "source", "from"})
_STEPS_OF = frozenset({"step", "step_number", "turn", "run_id", "session_id", "conversation_id", "thread_id"})
"""Keys of a row that is one step of a run, not a whole case."""


def is_case_row(document: Any) -> bool:
    """Whether a document is a row of a case: a question, and the calls that the agent made."""
    value = plain(document)
    asks = isinstance(_found(value, *_QUESTIONS), str)
    return asks and (_SPOKEN | _STEPS_OF).isdisjoint(value) and isinstance(_found(value, *_CALLS), list)


def case_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a case: its question, the calls, and the answer."""
    messages: list[Any] = [said("user", _found(row, *_QUESTIONS))]
    listed_calls = enumerate(_found(row, *_CALLS))
    calls = [
        {**call, "id": word(call.get("id")) or f"call-{at}"} if isinstance(call, dict) else call
        for at, call in listed_calls
    ]
    messages += [{"role": "assistant", "content": "", "tool_calls": calls}] if calls else []
    for call in calls:
        result = _found(plain(call), "result", "output", "response")
        messages += [returned(call["id"], result)] if result is not None else []
    answer = _found(row, *_ANSWERS)
    messages += [said("assistant", answer)] if isinstance(answer, str) else []
    return [Log(messages, about=row)]


def is_query_and_answers(document: Any) -> bool:
    """Whether a document is a row of xLAM's data sets: a query, the tools, and the calls that answer it."""
    value = plain(document)
    return {"query", "tools", "answers"} <= value.keys() and "messages" not in value


def answer_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a row: the requested calls. They have no results, because none was run."""
    answers = decoded(row["answers"])
    messages: list[Any] = [said("user", row["query"])]
    for number, answer in enumerate(answers if isinstance(answers, list) else [answers]):
        value = plain(answer)
        is_call = bool(word(value.get("name"))) and "arguments" in value
        messages.append(called(f"call-{number}", value["name"], value["arguments"]) if is_call else _unreadable(answer))
    return [Log(messages, about=row)]


def is_bfcl_result(document: Any) -> bool:
    """Whether a document is a row of results of the Berkeley function calling leaderboard."""
    value = plain(document)
    if not {"id", "result"} <= value.keys() or "jsonrpc" in value:
        return False
    told = {"latency", "input_token_count", "output_token_count"} & value.keys()
    return bool(told) or bool(_named_calls(value["result"]))


def bfcl_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a row. If the result is text or has several turns, its calls are not understood."""
    calls = _named_calls(row["result"])
    about = {"case_id": row["id"], **row}
    if calls is None:
        return [Log([said("assistant", row["result"])], about=about, nested="a result that is not a list of calls")]
    made = [called(f"call-{number}", name, args) for number, (name, args) in enumerate(calls)]
    return [Log([{"role": "assistant", "content": made}], about=about)]


def _named_calls(result: Any) -> list[tuple[str, Any]] | None:
    """Return the calls of a result that is a list of objects, each with the tool as its only key; None if it is not."""
    items = [each for each in listed(result) if isinstance(each, dict) and len(each) == 1]
    if not items or len(items) != len(result):
        return None
    calls = [(name, decoded(args)) for item in items for name, args in item.items()]
    return calls if all([name and isinstance(args, dict) for name, args in calls]) else None


def is_ragas_sample(document: Any) -> bool:
    """Whether a document is a multi-turn sample of ragas: the messages of a conversation under `user_input`."""
    value = plain(document).get("user_input")
    return isinstance(value, list) and any([word(plain(each).get("type")) in ("human", "ai", "tool") for each in value])


def ragas_logs(sample: dict[str, Any]) -> list[Log]:
    """Return the log of a sample. Its calls have no ids: results answer the calls before them in order."""
    messages: list[Any] = []
    waiting: list[str] = []
    for number, message in enumerate(sample["user_input"]):
        value = plain(message)
        calls, kind = value.get("tool_calls"), value.get("type")
        if kind == "tool" and waiting and "content" in value and not value.get("tool_call_id"):
            messages.append(returned(waiting.pop(0), value["content"]))
        elif kind == "ai" and isinstance(calls, list) and calls and not any([plain(call).get("id") for call in calls]):
            named = {f"{number}.{place}": call for place, call in enumerate(calls)}
            waiting += named
            asked = [{**call, "id": key} if isinstance(call, dict) else call for key, call in named.items()]
            messages.append({**value, "tool_calls": asked})
        else:
            messages.append(message)
    return [Log(messages, about=sample)]


def is_chat_result(document: Any) -> bool:
    """Whether a document is the result of a chat of AutoGen 0.2 and AG2."""
    value = plain(document)
    return {"chat_history", "summary", "cost"} <= value.keys() and isinstance(value["chat_history"], list)


def chat_result_logs(result: dict[str, Any]) -> list[Log]:
    """Return the log of a chat. AutoGen gives the role of the assistant to the agent that began it for the user.

    In that case the two roles are exchanged.
    """
    messages = result["chat_history"]
    if messages and plain(messages[0]).get("role") == "assistant" and not _asks(messages[0]):
        messages = [_turned(message) for message in messages]
    return [Log(messages, about=result)]


_TURNED = {"assistant": "user", "user": "assistant"}


def _turned(message: Any) -> Any:
    role = word(plain(message).get("role"))
    return {**message, "role": _TURNED[role]} if role in _TURNED and not _asks(message) else message


def _asks(message: Any) -> bool:
    """Whether a message asks for tool calls. Its role is then `assistant`, whichever agent wrote it."""
    return bool(message.get("tool_calls") or message.get("function_call"))


_DEEPEST_STATE = 12  # a team inside a team inside a `SocietyOfMindAgent` has 9 levels


def is_autogen_state(document: Any) -> bool:
    """Whether a document is what `save_state` of an AutoGen agent or team returns."""
    return word(plain(document).get("type")).endswith("State") and bool(_conversations(document, "", 0))


def autogen_logs(state: dict[str, Any]) -> list[Log]:
    """Return the log of a state: the thread of the team, or the context of the agent that made all calls.

    A team's thread and the contexts of its agents repeat each other. If none of them has all calls, the order of the
    calls is not known.
    """
    found = _conversations(state, "", 0)
    asked = [
        {call.call_id or call.name for exchange in exchanges_of(messages) for call in exchange.calls}
        for _, messages in found
    ]
    every = set().union(*asked)
    whole = [messages for (_, messages), calls in zip(found, asked, strict=True) if calls == every]
    unread = "" if whole else "calls in the contexts of several agents, whose order the state does not tell"
    if not every and _speakers(found) - {name for name, messages in found if has_messages(messages)}:
        # A thread may have the answers of agents without the events of their calls.
        unread = "the context of an agent, which the state does not have"
    # Among conversations with all calls, the longest one has the most messages around them.
    return [Log(max(whole or [messages for _, messages in found], key=len), about=state, nested=unread)]


def _speakers(found: list[tuple[str, list[Any]]]) -> set[str]:
    """Return the agents that wrote to the threads, which are the conversations without a name."""
    said_by = {word(plain(message).get("source")) for name, messages in found if not name for message in messages}
    return said_by - {"user", ""}


def _conversations(state: Any, agent: str, depth: int) -> list[tuple[str, list[Any]]]:
    """Return the conversations in a state and in the states inside it.

    These are threads of teams, with an empty name, and contexts of agents, with the names of the agents.
    """
    if not isinstance(state, dict) or depth > _DEEPEST_STATE:
        return []
    thread, context = state.get("message_thread"), plain(state.get("llm_context")).get("messages")
    found = [("", thread)] if isinstance(thread, list) else []
    found += [(agent or "agent", context)] if isinstance(context, list) else []
    for key, value in state.items():
        if key == "agent_states":
            # The key of an agent is its name, in some states with the id of the team after it.
            for name, inner in plain(value).items():
                found += _conversations(inner, str(name).partition("/")[0], depth + 1)
        elif key != "llm_context":
            found += _conversations(value, agent, depth + 1)
    return found


_JAVA_ROLES = {"USER": "user", "AI": "assistant", "ASSISTANT": "assistant", "SYSTEM": "system"}
_OF_SPRING = ("text", "textContent", "content", "toolCalls", "responses")
_OF_LANGCHAIN4J = ("text", "contents", "toolExecutionRequests")


def is_respelled(line: Any) -> bool:
    """Whether a line is a message in the spelling of a framework, or an item of OpenAI Agents around one."""
    return _standard(plain(line)) is not None


def respelled_logs(lines: list[Any]) -> list[Log]:
    """Return the log of messages, each as Chat Completions would have it; any other line stays as it is."""
    told = [(_standard(plain(line)), line) for line in lines]
    messages = [message for found, line in told for message in ([line] if found is None else found)]
    given = next(filter(None, [_given_to_agent(plain(line)) for line in lines]), [])
    asked = next((each for each in reversed(given) if writer_of(each) == "user"), None)
    return [Log(messages if asked is None else [asked, *messages])]


def _given_to_agent(event: dict[str, Any]) -> list[Any]:
    """Return the messages in an event of LlamaIndex before an agent's step: all so far, so they are asked for once."""
    return listed(plain(event.get("value")).get("input")) if "qualified_name" in event else []


def _standard(value: dict[str, Any]) -> list[Any] | None:
    """Return the messages that a line stands for; None if it is in no such spelling."""
    kind, role = value.get("type"), value.get("role")
    if isinstance(value.get("qualified_name"), str) and isinstance(value.get("value"), dict):  # LlamaIndex
        return [] if _given_to_agent(value) else [value["value"]]
    if value.get("event") in _OF_LANGGRAPH:
        return listed(value.get("data")) if value["event"] == _OF_LANGGRAPH[0] else []
    if "finishReason" in value and value.keys().isdisjoint(_NO_STEP) and not value.keys().isdisjoint(_OF_VERCEL):
        return _of_vercel(value)
    if "_role" in value and "_content" in value:  # Haystack 2.9 to 2.11
        return [{key.removeprefix("_"): held for key, held in value.items()}]
    if isinstance(role, dict) and isinstance(role.get("value"), str) and "contents" in value:  # Agent Framework
        return [{**value, "role": role["value"]}]
    if isinstance(kind, str) and kind.endswith("_item") and isinstance(_raw(value), dict):
        return _item_of_agents(kind, _raw(value), plain(value.get("agent")).get("name"))
    if "is_template" in value or any([isinstance(value.get(key), dict) for key in _OF_FAST_AGENT]):
        return _of_fast_agent(value)
    return _of_other_language(value)


def _of_other_language(value: dict[str, Any]) -> list[Any] | None:
    """Return the messages in one of a framework for .NET or Java; None for another object."""
    kind = value.get("type")
    if isinstance(value.get("Items"), list) and "Role" in value:
        return _of_semantic_kernel(value)
    if value.get("messageType") in (*_JAVA_ROLES, "TOOL") and not value.keys().isdisjoint(_OF_SPRING):
        return _of_java(value, "messageType", "TOOL")
    if kind in (*_JAVA_ROLES, "TOOL_EXECUTION_RESULT") and not value.keys().isdisjoint(_OF_LANGCHAIN4J):
        return _of_java(value, "type", "TOOL_EXECUTION_RESULT")
    return None


_OF_LANGGRAPH = ("messages/complete", "messages/partial", "messages/metadata")
"""Events of LangGraph's server: a message that is whole, one that is still being written, and what is about both."""
_OF_VERCEL = ("content", "toolCalls")
_NO_STEP = frozenset({"role", "steps"})
_ABOUT_STEP = frozenset({"request", "response", "usage", "warnings", "providerMetadata", "staticToolCalls"})
_ABOUT_STEP |= {"dynamicToolCalls", "staticToolResults", "dynamicToolResults"}


def _of_vercel(step: dict[str, Any]) -> list[Any] | None:
    """Return the message of a step of Vercel's `generateText`; None for another object.

    Since version 5 `content` has all of it. The response below repeats the messages of the steps so far.
    """
    if isinstance(step.get("content"), list):
        return [{"role": "assistant", "content": step["content"]}]
    if "toolCalls" not in step or not isinstance(step["toolCalls"] or [], list):
        return None
    return [{"role": "assistant", **{key: held for key, held in step.items() if key not in _ABOUT_STEP}}]


def _raw(value: Mapping[str, Any]) -> Any:
    return _found(value, "raw_item", "rawItem")


_OF_FAST_AGENT = ("tool_calls", "tool_results")


def _of_fast_agent(value: dict[str, Any]) -> list[Any]:
    """Return the messages in one of fast-agent: calls and results by their ids, as MCP sends them."""
    calls, results = [plain(value.get(key)).items() for key in _OF_FAST_AGENT]
    told = [
        returned(call_id, plain(each).get("content"), plain(each).get("isError") is True) for call_id, each in results
    ]
    asked = [
        called(call_id, *[plain(plain(each).get("params")).get(key) for key in ("name", "arguments")])
        for call_id, each in calls
    ]
    more = {key: held for key, held in value.items() if key not in (*_OF_FAST_AGENT, "channels", "is_template")}
    content = [*listed(value.get("content")), *asked]
    return [*told, *([{**more, "content": content}] if content or not told else ())]


def _item_of_agents(kind: str, raw: dict[str, Any], agent: Any) -> list[Any]:
    """Return the model's item in an item of OpenAI Agents (`RunItem`), or the question whether a call is approved."""
    if kind != "tool_approval_item":
        return [{**raw, "author": agent} if isinstance(agent, str) and kind.endswith("call_item") else raw]
    return [{"type": "tool-approval-request", "toolCallId": _found(raw, "call_id", "callId", "id")}]


def _of_java(value: dict[str, Any], role: str, of_tool: str) -> list[Any]:
    """Return the messages in one of Spring AI or LangChain4j."""
    more = {key: held for key, held in value.items() if key not in (role, *_OF_SPRING, *_OF_LANGCHAIN4J)}
    text = _found(value, "text", "textContent", "content", "contents")
    if value[role] == of_tool:
        results = listed(value.get("responses")) or [value]
        return [_result(each, _found(each, "responseData", "text")) for each in map(plain, results)]
    calls = [*listed(value.get("toolCalls")), *listed(value.get("toolExecutionRequests"))]
    content = [{**each, "type": "text"} if plain(each).get("type") == "TEXT" else each for each in listed(text)] or text
    return [{**more, "role": _JAVA_ROLES[value[role]], "content": content, "tool_calls": [*map(_call, calls)]}]


def _call(call: Any) -> Any:
    """Return a call as Chat Completions have it; one of no known shape stays as it is, which is not understood."""
    if {"name", "arguments"} <= plain(call).keys():
        return {"id": call.get("id"), "function": {"name": call["name"], "arguments": call["arguments"]}}
    return call


def _result(result: Mapping[str, Any], output: Any) -> dict[str, Any]:
    told = {"role": "tool", "tool_call_id": result.get("id"), "name": _found(result, "name", "toolName")}
    return {**told, "content": output, **({"error": True} if result.get("isError") is True else {})}


def _of_semantic_kernel(value: dict[str, Any]) -> list[Any]:
    """Return the messages in one of Semantic Kernel for .NET (`ChatMessageContent`), whose items say what they are."""
    role = word(_found(plain(value["Role"]), "Label", default=value["Role"])).lower()
    content: list[Any] = []
    messages: list[Any] = []
    for item in value["Items"]:
        held = plain(item)
        kind = held.get("$type")
        name = "-".join(filter(None, [word(held.get("PluginName")), word(held.get("FunctionName"))]))
        if kind == "TextContent":
            content.append({"type": "text", "text": held.get("Text")})
        elif kind == "FunctionCallContent":
            content.append(called(held.get("Id"), name, held.get("Arguments") or {}))
        elif kind == "FunctionResultContent":
            messages.append(returned(held.get("CallId"), held.get("Result")))
        else:
            content.append(item)
    return [*messages, *([{"role": role, "content": content}] if content else ())]


def is_react_result(document: Any) -> bool:
    """Whether a document is a prediction of DSPy's `ReAct`, with its steps numbered in one object."""
    value = plain(document)
    return isinstance(plain(value.get("trajectory")).get("tool_name_0"), str) and "messages" not in value


_FINISH = ("finish", "Completed.")
"""The tool with which DSPy's `ReAct` ends, and what it returns."""
_MOST_STEPS = 10_000


def react_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a prediction: a call and an observation for each step, and the only text beside them."""
    steps = document["trajectory"]
    messages: list[Any] = [said("user", document[key]) for key in ("question",) if isinstance(document.get(key), str)]
    for number in range(min(len(steps), _MOST_STEPS)):
        name, observed = steps.get(f"tool_name_{number}"), steps.get(f"observation_{number}", _NOT_GIVEN)
        if name is None or (name, observed) == _FINISH:
            continue
        made = called(f"step-{number}", name, steps.get(f"tool_args_{number}"))
        messages += [made] if observed is _NOT_GIVEN else [made, returned(f"step-{number}", observed)]
    answers = [held for key, held in document.items() if isinstance(held, str) and key not in ("question", "reasoning")]
    return [Log([*messages, *[said("assistant", each) for each in answers if len(answers) == 1]], about=document)]


def is_flowise(document: Any) -> bool:
    """Whether a document is an answer of Flowise's API with the tools that it used, and of one agent."""
    value = plain(document)
    is_told = isinstance(value.get("text"), str) and isinstance(value.get("question"), str)
    return is_told and isinstance(value.get("usedTools"), list) and not value.get("agentReasoning")


def flowise_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of an answer of Flowise: its question, a call and a result for each tool, its text."""
    messages = [said("user", document["question"])]
    for number, each in enumerate(document["usedTools"]):
        used = plain(each)
        known = isinstance(used.get("tool"), str) and "toolInput" in used
        made = called(f"tool-{number}", used.get("tool"), used.get("toolInput")) if known else _unreadable(each)
        messages += [made, returned(f"tool-{number}", used["toolOutput"])] if "toolOutput" in used and known else [made]
    return [Log([*messages, said("assistant", document["text"])], about=document)]


def is_run_state(document: Any) -> bool:
    """Whether a document is the state of a run of OpenAI Agents, as it is kept while a person is asked."""
    value = plain(document)
    return isinstance(value.get("$schemaVersion"), str) and isinstance(_found(value, *_GENERATED), list)


_GENERATED = ("generated_items", "generatedItems")


def run_state_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a run: what was asked, and its items. Agents that are tools have states of their own."""
    asked = _found(document, "original_input", "originalInput")
    items = listed(document.get("session_items")) or _found(document, *_GENERATED)
    [log] = respelled_logs([*([said("user", asked)] if isinstance(asked, str) else listed(asked)), *items])
    nested = "the states of agents that are tools" if document.get("pendingAgentToolRuns") else ""
    return [msgspec.structs.replace(log, about=document, nested=nested)]


def is_workflow_context(document: Any) -> bool:
    """Whether a document is the context of a workflow of LlamaIndex with the memory of its agents."""
    return bool(_remembered(document))


def workflow_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of the messages that the agents of a workflow remember."""
    return [Log(_remembered(document), about=document)]


def _remembered(document: Any) -> list[Any]:
    """Return the messages in the memory of a workflow's context, whose values are JSON in text."""
    value = plain(document)
    state = plain(plain(plain(value.get("state")).get("state_data")).get("_data")) or plain(value.get("globals"))
    memory = plain(plain(decoded(state.get("memory"))).get("value"))
    store = plain(plain(memory.get("chat_store")).get("store"))
    return listed(store.get(word(memory.get("chat_store_key"))))
