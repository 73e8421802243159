"""Results of frameworks: a table of how to get the answer, messages, pending calls and tokens from each.

Results are recognised by their class or attributes, so that no framework is imported. Their messages show the calls, so
that an agent needs no instrumentation.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rightcall.reading.conventions import ASKED_FOR, BY_GUARDRAIL, ELSEWHERE, REFUSED
from rightcall.reading.messages import refused
from rightcall.values.trajectory import Usage

from ._agent import AgentAnswer, plain

_INTERRUPTS = "__interrupt__"
"""The key of a LangGraph state with the interrupts that wait for a person."""
_Reader = Callable[[Any], Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Classes of plain values, which are never a framework's result."""


def text_of(message: Any) -> Any:
    """Return the text of a message in the usual formats; if it has none, its content."""
    if isinstance(message, (list, tuple)) and len(message) == 2:
        return message[1]
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    if isinstance(content, (list, tuple)):
        texts = [part if isinstance(part, str) else _text_of_part(part) for part in content]
        return "".join(texts) if any(texts) else plain(content)
    return plain(content)


def _text_of_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None)
    return text if isinstance(text, str) else ""


def tokens(usage: Any, given: str, returned: str) -> Usage | None:
    """Return the tokens in two attributes or keys; None unless both are integers."""
    usage = usage() if inspect.ismethod(usage) else usage
    names = (given, returned)
    found = [usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None) for name in names]
    return Usage(input_tokens=found[0], output_tokens=found[1]) if all([type(one) is int for one in found]) else None


def _sum_of(usages: Iterable[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    return Usage(
        input_tokens=sum([usage.input_tokens or 0 for usage in known]),
        output_tokens=sum([usage.output_tokens or 0 for usage in known]),
    )


def _asked(call_id: Any, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(plain(arguments), default=str)
    function = {"name": name, "arguments": text}
    return {"role": "assistant", "tool_calls": [{"id": _id(call_id), "type": "function", "function": function}]}


def _answered(call_id: Any, content: Any, *, is_error: bool) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": _id(call_id), "content": plain(content), "is_error": is_error}


def _id(call_id: Any) -> str:
    return "" if call_id is None else str(call_id)


def _since_last_human(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages of the last turn: with a checkpointer, the state has those of all turns."""
    humans = [place for place, message in enumerate(messages) if getattr(message, "type", "") == "human"]
    return messages[humans[-1] :] if humans else messages


def pydantic_messages(result: Any) -> Any:
    """Return the messages of a run, from the user's prompt on.

    A run that resumes with the results of deferred calls has no prompt: then the messages since the last prompt of the
    conversation are returned, which include those calls.
    """
    new = json.loads(result.new_messages_json())
    if not any(map(_has_prompt, new)) and hasattr(result, "all_messages_json"):
        known = json.loads(result.all_messages_json())
        prompts = [place for place, message in enumerate(known) if _has_prompt(message)]
        new = known[prompts[-1] :] if prompts else known
    return [*new, *_pydantic_deferrals(getattr(result, "output", None))]


def _pydantic_deferrals(output: Any) -> list[dict[str, Any]]:
    """Return notes on pending calls, if the output is a `DeferredToolRequests`."""
    if type(output).__name__ != "DeferredToolRequests":
        return []
    waiting = [(ASKED_FOR, output.approvals), (ELSEWHERE, output.calls)]
    return [refused(call.tool_call_id, reason) for reason, calls in waiting for call in calls]


def pydantic_usage(result: Any) -> Usage | None:
    """Return the tokens of the same messages as `pydantic_messages`; the run itself counts only its new ones."""
    counted = tokens(getattr(result, "usage", None), "input_tokens", "output_tokens")
    new = json.loads(result.new_messages_json())
    if counted is None or any(map(_has_prompt, new)):
        return counted
    known = pydantic_messages(result)
    return _sum_of(tokens(message.get("usage") or {}, "input_tokens", "output_tokens") for message in known)


def _has_prompt(message: Any) -> bool:
    return any([part.get("part_kind") == "user-prompt" for part in message.get("parts", ())])


def openai_items(result: Any) -> list[Any]:
    """Return the items of a run, and notes on the calls that wait for approval, were not approved, or were refused.

    Each call has the agent that made it as its author.
    """
    new = [(item, plain(getattr(item, "raw_item", None))) for item in getattr(result, "new_items", None) or ()]
    agents = {_id_of(raw): getattr(getattr(item, "agent", None), "name", None) for item, raw in new if _is_call(raw)}
    items = [
        {**item, "author": agents[_id_of(item)]} if _is_call(item) and agents.get(_id_of(item)) else item
        for item in plain(result.to_input_list())
    ]
    waiting = [plain(item.raw_item) for item in getattr(result, "interruptions", None) or ()]
    notes = [refused(call["call_id"], ASKED_FOR) for call in waiting if isinstance(call.get("call_id"), str)]
    notes += _refused_by_guardrails(result, [raw for _, raw in new if isinstance(raw, dict)])
    is_approved = getattr(getattr(result, "context_wrapper", None), "is_tool_approved", None)
    if is_approved is None:
        return [*items, *notes]
    calls = [item for item in items if isinstance(item, dict) and item.get("type") == "function_call"]
    denied = [call["call_id"] for call in calls if is_approved(call["name"], call["call_id"]) is False]
    return [*items, *notes, *[refused(call_id, REFUSED) for call_id in denied]]


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("type")).endswith("_call")


def _id_of(call: dict[str, Any]) -> Any:
    return call.get("call_id") or call.get("id")


def _refused_by_guardrails(result: Any, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return notes on the calls for which guardrails of OpenAI Agents gave the result, before the tool was run.

    Such a result does not name its call: if a tool returned the same text, it is not known which call was made.
    """
    behaviors = [plain(each.output.behavior) for each in getattr(result, "tool_input_guardrail_results", None) or ()]
    told = [each.get("message") for each in behaviors if each.get("type") == "reject_content"]
    calls = [each["call_id"] for each in new if each.get("type") == "function_call_output" and each["output"] in told]
    return [refused(call_id, BY_GUARDRAIL) for call_id in calls] if len(calls) == len(told) else []


def langchain_answer(state: Any) -> Any:
    """Return the structured answer, if there is one, or the text of the last message; None if it was interrupted."""
    values = state if isinstance(state, Mapping) else {}
    if values.get(_INTERRUPTS):
        return None
    return values["structured_response"] if values.get("structured_response") is not None else text_of(_last(state))


def _last(state: Any) -> Any:
    return messages_in(state)[-1]


def langchain_messages(state: Any) -> Any:
    """Return the messages of a state; with the interrupts, if the graph waits for a person."""
    messages = plain(list(messages_in(state)))
    interrupts = state.get(_INTERRUPTS) if isinstance(state, Mapping) else None
    return {"messages": messages, _INTERRUPTS: plain(list(interrupts))} if interrupts else messages


def langchain_usage(state: Any) -> Usage | None:
    """Return the tokens of the messages of the last turn."""
    new = _since_last_human(messages_in(state))
    return _sum_of(tokens(getattr(message, "usage_metadata", None), "input_tokens", "output_tokens") for message in new)


def messages_in(result: Any) -> Any:
    """Return the messages of a state, or a list of messages as it is."""
    return result["messages"] if isinstance(result, Mapping) else result


def adk_output(events: Any) -> Any:
    """Return the text of the last final response; None if it has none."""
    final = [event for event in events if event.is_final_response() and event.content is not None]
    # A request for confirmation is a final response, too, but has no text.
    return "".join([part.text for part in final[-1].content.parts or () if part.text]) or None if final else None


def adk_messages(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the content and author of ADK events, and the calls that the user is to confirm.

    Partial events of a stream are left out: the event at its end has all of their content.
    """
    whole = [event for event in events if event.content is not None and not getattr(event, "partial", False)]
    return [_adk_message(event) for event in whole]


def _adk_message(event: Any) -> dict[str, Any]:
    waiting = getattr(getattr(event, "actions", None), "requested_tool_confirmations", None)
    content = plain(event.content.model_dump(mode="json", exclude_none=True))
    author = {"author": event.author} if getattr(event, "author", None) else {}
    asked = {"actions": {"requested_tool_confirmations": dict.fromkeys(waiting)}} if waiting else {}
    return {"content": content, **author, **asked}


def adk_usage(events: Iterable[Any]) -> Usage | None:
    """Return the tokens of ADK events."""
    found = [getattr(event, "usage_metadata", None) for event in events]
    return _sum_of(tokens(usage, "prompt_token_count", "candidates_token_count") for usage in found)


def llama_index_messages(result: Any) -> list[dict[str, Any]]:
    """Return the calls of a run, as if requested at once because the result does not say, and their results."""
    calls = [_asked(call.tool_id, call.tool_name, call.tool_kwargs)["tool_calls"][0] for call in result.tool_calls]
    answer = {"role": "assistant", "content": result.response.content}
    made = [{"response": answer, "current_agent_name": result.current_agent_name, "tool_calls": calls}] if calls else []
    for call in result.tool_calls:
        output = getattr(call, "tool_output", None)
        if output is not None:
            is_error = bool(getattr(output, "is_error", False))
            made.append(_answered(call.tool_id, getattr(output, "raw_output", output), is_error=is_error))
    return made


def smolagents_steps(result: Any) -> list[dict[str, Any]]:
    """Return the steps without those that only call `final_answer`, which is the answer and not a tool of the agent."""
    return [
        {key: value for key, value in step.items() if key != "model_input_messages"}
        for step in result.steps
        if [call["function"]["name"] for call in step.get("tool_calls") or ()] != ["final_answer"]
    ]


def autogen_messages(messages: Any) -> list[dict[str, Any]]:
    """Return the calls and results in messages of AutoGen."""
    made: list[dict[str, Any]] = []
    for message in messages:
        content = message.content if isinstance(getattr(message, "content", None), list) else ()
        for part in content:
            if hasattr(part, "arguments"):
                made.append(_asked(part.id, part.name, part.arguments))
            elif hasattr(part, "call_id"):
                made.append(_answered(part.call_id, part.content, is_error=bool(part.is_error)))
    return made


def autogen_usage(messages: Any) -> Usage | None:
    """Return the tokens of messages of AutoGen."""
    found = [getattr(message, "models_usage", None) for message in messages]
    return _sum_of(tokens(usage, "prompt_tokens", "completion_tokens") for usage in found)


def haystack_messages(result: Any) -> list[dict[str, Any]]:
    """Return the calls and results in messages of Haystack."""
    made: list[dict[str, Any]] = []
    for message in messages_in(result):
        made += [_asked(call.id, call.tool_name, call.arguments) for call in message.tool_calls]
        made += [_answered(one.origin.id, one.result, is_error=one.error) for one in message.tool_call_results]
    return made


def haystack_usage(result: Any) -> Usage | None:
    """Return the tokens of messages of Haystack."""
    found = [message.meta.get("usage") for message in messages_in(result)]
    return _sum_of(tokens(usage or {}, "prompt_tokens", "completion_tokens") for usage in found)


def agno_messages(result: Any) -> list[dict[str, Any]] | None:
    """Return the messages of a run, and notes on calls that wait for a person or were rejected."""
    messages = [message.to_dict() for message in result.messages or ()]
    notes = [(tool.tool_call_id, _agno_reason(tool)) for tool in getattr(result, "tools", None) or ()]
    return [*messages, *[refused(call_id, reason) for call_id, reason in notes if reason]] or None


def _agno_reason(tool: Any) -> str:
    """Return why a tool was not run; empty if it was."""
    if tool.confirmed is False:
        return REFUSED
    if tool.result is not None:
        return ""
    is_asked = tool.requires_confirmation or tool.requires_user_input
    return ASKED_FOR if is_asked else ELSEWHERE if tool.external_execution_required else ""


def strands_usage(result: Any) -> Usage | None:
    """Return the tokens of the last invocation: the accumulated usage includes all earlier turns."""
    latest = getattr(result.metrics, "latest_agent_invocation", None)
    return tokens(result.metrics.accumulated_usage if latest is None else latest.usage, "inputTokens", "outputTokens")


def agent_framework_output(response: Any) -> Any:
    """Return the structured answer of Agent Framework, if there is one, or the text; None if it waits for a person."""
    value = getattr(response, "value", None)
    return value if value is not None else response.text or None


def agent_framework_messages(response: Any) -> list[dict[str, Any]]:
    """Return the messages of a response and, if it asks for approval, notes on all calls without a result."""
    messages = [message.to_dict() for message in response.messages]
    if not response.user_input_requests:
        return messages
    parts = [part for message in messages for part in message.get("contents") or ()]
    answered = {part.get("call_id") for part in parts if part.get("type") == "function_result"}
    asked = [part.get("call_id") for part in parts if part.get("type") == "function_call"]
    return [*messages, *[refused(call_id, ASKED_FOR) for call_id in asked if call_id and call_id not in answered]]


def dspy_output(prediction: Any) -> Any:
    """Return the only field of a DSPy prediction, or all as an object; `trajectory` and `reasoning` do not count."""
    fields = {key: value for key, value in prediction.items() if key not in ("trajectory", "reasoning")}
    return next(iter(fields.values())) if len(fields) == 1 else fields


def crew_output(result: Any) -> Any:
    """Return the answer of a crew: its JSON object, if it has one, or its text."""
    return result.json_dict if getattr(result, "json_dict", None) is not None else result.raw


def nothing(result: Any) -> None:
    """Return no messages: the result does not show calls."""
    return


class ResultForm(NamedTuple):
    """How to read the results of one framework."""

    framework: str
    module: str
    """A prefix of the name of the module that has the class; empty if results are recognised by `attributes`."""
    name: str
    """The name of the class; empty if results are recognised by `attributes`."""
    output: _Reader
    messages: _Reader
    usage: Callable[[Any], Usage | None] = lambda result: None
    attributes: tuple[str, ...] = ()

    def fits(self, result: Any) -> bool:
        """Whether a result is of this form."""
        if self.attributes:
            return all([hasattr(result, name) for name in self.attributes])
        return any([kind.__name__ == self.name and kind.__module__.startswith(self.module) for kind in _kinds(result)])


def answer_of(result: Any) -> AgentAnswer:
    """Return the answer in a result: read by its framework's row, or the value itself as the output."""
    if result.__class__ in _PLAIN or isinstance(result, type):
        return AgentAnswer(output=plain(result))
    form = form_of(result)
    if form is None:
        return AgentAnswer(output=plain(result))
    output, messages = plain(form.output(result)), plain(form.messages(result))
    if messages == []:  # the result lists calls, and there are none: the answer is the only message of this run
        messages = [{"role": "assistant", "content": output}]
    return AgentAnswer(output=output, messages=messages, usage=form.usage(result))


def form_of(result: Any) -> ResultForm | None:
    """Return the row for a result; None for a plain value, or for a result of an unknown framework."""
    if isinstance(result, Mapping):
        result = _Held(result.get("messages"))
    elif isinstance(result, (list, tuple)) and result:
        result = _Held(result)
    return next((form for form in RESULT_FORMS if form.fits(result)), None)


def answer_of_method(result: Any) -> AgentAnswer:
    """Return the answer in the result of an object's method.

    For results of unknown frameworks: if it has a list of `messages`, the output is the text of the last one; if it is
    an object with an `output`, that is the output; anything else is the output itself.
    """
    if form_of(result) is not None:
        return answer_of(result)
    messages = result.get("messages") if isinstance(result, Mapping) else getattr(result, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return AgentAnswer(output=text_of(messages[-1]), messages=plain(list(messages)))
    if not isinstance(result, (Mapping, str, list, tuple)) and hasattr(result, "output"):
        return AgentAnswer(output=plain(result.output))
    return answer_of(result)


class _Held:
    """The first item of a list, by whose class the list is recognised."""

    def __init__(self, items: Any) -> None:
        self.first = items[0] if isinstance(items, (list, tuple)) and items else None


def _kinds(result: Any) -> tuple[type, ...]:
    return type(result.first if isinstance(result, _Held) else result).__mro__


RESULT_FORMS: tuple[ResultForm, ...] = (
    ResultForm(
        *("Pydantic AI", "", ""),
        output=lambda result: result.output,
        messages=pydantic_messages,
        usage=pydantic_usage,
        attributes=("new_messages_json", "output"),
    ),
    ResultForm(
        *("Pydantic AI", "", ""),  # of a stream that has ended
        output=lambda result: getattr(result.response, "text", None),
        messages=pydantic_messages,
        usage=pydantic_usage,
        attributes=("new_messages_json", "get_output", "response"),
    ),
    ResultForm(
        *("OpenAI Agents", "", ""),
        output=lambda result: result.final_output,
        messages=openai_items,
        usage=lambda result: tokens(
            getattr(getattr(result, "context_wrapper", None), "usage", None), "input_tokens", "output_tokens"
        ),
        attributes=("to_input_list", "final_output"),
    ),
    ResultForm(
        *("LangChain", "langchain_core.messages.", "BaseMessage"),
        output=langchain_answer,
        messages=langchain_messages,
        usage=langchain_usage,
    ),
    ResultForm("Google ADK", "google.adk.events.", "Event", adk_output, adk_messages, adk_usage),
    ResultForm(
        *("LlamaIndex", "llama_index.core.agent.", "AgentOutput"),
        output=lambda result: result.response.content,
        messages=llama_index_messages,
    ),
    ResultForm(
        *("Agno", "agno.run.", "RunOutput"),
        output=lambda result: result.content,
        messages=agno_messages,
        usage=lambda result: tokens(result.metrics, "input_tokens", "output_tokens"),
    ),
    ResultForm(
        *("Agno", "agno.run.", "TeamRunOutput"),
        output=lambda result: result.content,
        messages=nothing,  # the messages of a team lack the calls of its members
    ),
    ResultForm(
        *("Strands", "strands.agent.", "AgentResult"),
        output=lambda result: text_of(result.message),
        messages=nothing,  # a result has the last message only, and no calls
        usage=strands_usage,
    ),
    ResultForm(
        *("smolagents", "smolagents.", "RunResult"),
        output=lambda result: result.output,
        messages=smolagents_steps,
        usage=lambda result: tokens(result.token_usage, "input_tokens", "output_tokens"),
    ),
    ResultForm(
        *("AutoGen", "autogen_agentchat.base.", "TaskResult"),
        output=lambda result: result.messages[-1].to_text() if result.messages else None,
        messages=lambda result: autogen_messages(result.messages),
        usage=lambda result: autogen_usage(result.messages),
    ),
    ResultForm(
        *("AutoGen", "autogen_agentchat.base.", "Response"),
        output=lambda result: result.chat_message.to_text(),
        messages=lambda result: autogen_messages(result.inner_messages or ()),
        usage=lambda result: autogen_usage([*(result.inner_messages or ()), result.chat_message]),
    ),
    ResultForm(
        *("Haystack", "haystack.dataclasses.", "ChatMessage"),
        output=lambda result: messages_in(result)[-1].text,
        messages=haystack_messages,
        usage=haystack_usage,
    ),
    ResultForm(
        *("Agent Framework", "agent_framework.", "AgentResponse"),
        output=agent_framework_output,
        messages=agent_framework_messages,
        usage=lambda result: tokens(result.usage_details, "input_token_count", "output_token_count"),
    ),
    ResultForm(
        *("DSPy", "dspy.primitives.", "Prediction"),
        output=dspy_output,
        messages=nothing,  # the calls of `ReAct` are observed when they are made
    ),
    ResultForm(
        *("CrewAI", "crewai.crews.", "CrewOutput"),
        output=crew_output,
        messages=nothing,  # calls are observed when they are made; a result lacks those of agents it delegated to
        usage=lambda result: tokens(result.token_usage, "prompt_tokens", "completion_tokens"),
    ),
)
"""The first row that fits a result is used."""
