"""Answer, messages and tokens in what frameworks return: a table, one small row a framework.

Results are recognised by their class, so that no framework is imported. The messages show the calls, so that an agent
needs no instrumentation.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rightcall.reading.conventions import ASKED_FOR, ELSEWHERE, REFUSED
from rightcall.reading.messages import refused
from rightcall.values.trajectory import Usage

from ._agent import AgentAnswer, plain

_Reader = Callable[[Any], Any]
_INTERRUPTS = "__interrupt__"
"""Where the state of a LangGraph graph has what it waits for."""


class ResultForm(NamedTuple):
    """How to read the results of one framework."""

    framework: str
    module: str
    """The beginning of the name of the module that has the class; empty if the attributes decide."""
    name: str
    """The name of the class; empty if the attributes decide."""
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
    """Return the answer in the result of a function: of a framework's result its parts, else the value itself."""
    if isinstance(result, type):
        return AgentAnswer(output=plain(result))
    form = form_of(result)
    if form is None:
        return AgentAnswer(output=plain(result))
    output, messages = plain(form.output(result)), plain(form.messages(result))
    if messages == []:  # the result lists its calls, and there are none: the answer alone is the log of such a run
        messages = [{"role": "assistant", "content": output}]
    return AgentAnswer(output=output, messages=messages, usage=form.usage(result))


def form_of(result: Any) -> ResultForm | None:
    """Return the row of the table that a result is of; None if it is a plain value, or of an unknown framework."""
    if isinstance(result, Mapping):
        result = _Held(result.get("messages"))
    elif isinstance(result, (list, tuple)) and result:
        result = _Held(result)
    return next((form for form in RESULT_FORMS if form.fits(result)), None)


def answer_of_method(result: Any) -> AgentAnswer:
    """Return the answer in the result of an object's method.

    Of a result with a list of `messages`, the output is the text of the last one. Of any other object with an `output`,
    that is the output. Anything else is the output itself.
    """
    if form_of(result) is not None:
        return answer_of(result)
    messages = result.get("messages") if isinstance(result, Mapping) else getattr(result, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return AgentAnswer(output=text_of(messages[-1]), messages=plain(list(messages)))
    if not isinstance(result, (Mapping, str, list, tuple)) and hasattr(result, "output"):
        return AgentAnswer(output=plain(result.output))
    return answer_of(result)


def text_of(message: Any) -> Any:
    """Return the text of a message in the usual formats; if it has no text, its content."""
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


class _Held:
    """The first item of a list, by whose class the list is recognised."""

    def __init__(self, items: Any) -> None:
        self.first = items[0] if isinstance(items, (list, tuple)) and items else None


def _kinds(result: Any) -> tuple[type, ...]:
    return type(result.first if isinstance(result, _Held) else result).__mro__


def _tokens(usage: Any, given: str, returned: str) -> Usage | None:
    """Return the tokens of an object or mapping with these two names; None without both."""
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
    """Return the messages of the last turn: the state of a graph with a checkpointer has those of all turns."""
    humans = [place for place, message in enumerate(messages) if getattr(message, "type", "") == "human"]
    return messages[humans[-1] :] if humans else messages


def _pydantic_messages(result: Any) -> Any:
    """Return the messages of a run from the user's words on.

    A run that continues with the answers to deferred calls has none of its own: those calls are before it.
    """
    new = json.loads(result.new_messages_json())
    if not any(map(_has_prompt, new)) and hasattr(result, "all_messages_json"):
        known = json.loads(result.all_messages_json())
        prompts = [place for place, message in enumerate(known) if _has_prompt(message)]
        new = known[prompts[-1] :] if prompts else known
    return [*new, *_pydantic_deferrals(getattr(result, "output", None))]


def _pydantic_deferrals(output: Any) -> list[dict[str, Any]]:
    """Return notes on the calls that wait, if an output is a `DeferredToolRequests`."""
    if type(output).__name__ != "DeferredToolRequests":
        return []
    waiting = [(ASKED_FOR, output.approvals), (ELSEWHERE, output.calls)]
    return [refused(call.tool_call_id, reason) for reason, calls in waiting for call in calls]


def _pydantic_usage(result: Any) -> Usage | None:
    """Return the tokens of the messages of a run, of which the run itself counts those that are new."""
    counted = _tokens(getattr(result, "usage", None), "input_tokens", "output_tokens")
    new = json.loads(result.new_messages_json())
    if counted is None or any(map(_has_prompt, new)):
        return counted
    known = _pydantic_messages(result)
    return _sum_of(_tokens(message.get("usage") or {}, "input_tokens", "output_tokens") for message in known)


def _has_prompt(message: Any) -> bool:
    return any([part.get("part_kind") == "user-prompt" for part in message.get("parts", ())])


def _openai_items(result: Any) -> list[Any]:
    """Return the items of a run, and notes on the calls that wait for approval or were not approved."""
    items = plain(result.to_input_list())
    waiting = [plain(item.raw_item) for item in getattr(result, "interruptions", None) or ()]
    notes = [refused(call["call_id"], ASKED_FOR) for call in waiting if isinstance(call.get("call_id"), str)]
    is_approved = getattr(getattr(result, "context_wrapper", None), "is_tool_approved", None)
    if is_approved is None:
        return [*items, *notes]
    calls = [item for item in items if isinstance(item, dict) and item.get("type") == "function_call"]
    denied = [call["call_id"] for call in calls if is_approved(call["name"], call["call_id"]) is False]
    return [*items, *notes, *[refused(call_id, REFUSED) for call_id in denied]]


def _langchain_answer(state: Any) -> Any:
    """Return the structured answer, if there is one, or the text of the last message; None if the graph waits."""
    held = state if isinstance(state, Mapping) else {}
    if held.get(_INTERRUPTS):
        return None
    return held["structured_response"] if held.get("structured_response") is not None else text_of(_last(state))


def _last(state: Any) -> Any:
    return _messages_in(state)[-1]


def _langchain_messages(state: Any) -> Any:
    """Return the messages of a state; of a graph that waits for a person, with what it waits for."""
    messages = plain(list(_messages_in(state)))
    interrupts = state.get(_INTERRUPTS) if isinstance(state, Mapping) else None
    return {"messages": messages, _INTERRUPTS: plain(list(interrupts))} if interrupts else messages


def _langchain_usage(state: Any) -> Usage | None:
    new = _since_last_human(_messages_in(state))
    return _sum_of(
        _tokens(getattr(message, "usage_metadata", None), "input_tokens", "output_tokens") for message in new
    )


def _messages_in(result: Any) -> Any:
    return result["messages"] if isinstance(result, Mapping) else result


def _adk_output(events: Any) -> Any:
    final = [event for event in events if event.is_final_response() and event.content is not None]
    # An event that asks for a confirmation is final, too, and says nothing.
    return "".join([part.text for part in final[-1].content.parts or () if part.text]) or None if final else None


def adk_messages(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return events of ADK with what they say, who said it, and which calls the user is to confirm.

    Of a stream, the event at its end has all that the partial ones before it have.
    """
    said = [event for event in events if event.content is not None and not getattr(event, "partial", False)]
    return [_adk_message(event) for event in said]


def _adk_message(event: Any) -> dict[str, Any]:
    waiting = getattr(getattr(event, "actions", None), "requested_tool_confirmations", None)
    content = plain(event.content.model_dump(mode="json", exclude_none=True))
    author = {"author": event.author} if getattr(event, "author", None) else {}
    asked = {"actions": {"requested_tool_confirmations": dict.fromkeys(waiting)}} if waiting else {}
    return {"content": content, **author, **asked}


def adk_usage(events: Iterable[Any]) -> Usage | None:
    """Return the tokens that events of ADK have."""
    found = [getattr(event, "usage_metadata", None) for event in events]
    return _sum_of(_tokens(usage, "prompt_token_count", "candidates_token_count") for usage in found)


def _llama_index_messages(result: Any) -> list[dict[str, Any]]:
    """Return the calls of the run, of which it is not known which were asked for at once, and what they returned."""
    calls = [_asked(call.tool_id, call.tool_name, call.tool_kwargs)["tool_calls"][0] for call in result.tool_calls]
    answer = {"role": "assistant", "content": result.response.content}
    made = [{"response": answer, "current_agent_name": result.current_agent_name, "tool_calls": calls}] if calls else []
    for call in result.tool_calls:
        output = getattr(call, "tool_output", None)
        if output is not None:
            is_error = bool(getattr(output, "is_error", False))
            made.append(_answered(call.tool_id, getattr(output, "raw_output", output), is_error=is_error))
    return made


def _smolagents_steps(result: Any) -> list[dict[str, Any]]:
    """Return the steps but the last one, whose call of `final_answer` is the answer and not a tool of the agent."""
    return [
        {key: held for key, held in step.items() if key != "model_input_messages"}
        for step in result.steps
        if [call["function"]["name"] for call in step.get("tool_calls") or ()] != ["final_answer"]
    ]


def _autogen_messages(messages: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for message in messages:
        content = message.content if isinstance(getattr(message, "content", None), list) else ()
        for part in content:
            if hasattr(part, "arguments"):
                made.append(_asked(part.id, part.name, part.arguments))
            elif hasattr(part, "call_id"):
                made.append(_answered(part.call_id, part.content, is_error=bool(part.is_error)))
    return made


def _autogen_usage(messages: Any) -> Usage | None:
    found = [getattr(message, "models_usage", None) for message in messages]
    return _sum_of(_tokens(usage, "prompt_tokens", "completion_tokens") for usage in found)


def _haystack_messages(result: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for message in _messages_in(result):
        made += [_asked(call.id, call.tool_name, call.arguments) for call in message.tool_calls]
        made += [_answered(one.origin.id, one.result, is_error=one.error) for one in message.tool_call_results]
    return made


def _haystack_usage(result: Any) -> Usage | None:
    found = [message.meta.get("usage") for message in _messages_in(result)]
    return _sum_of(_tokens(usage or {}, "prompt_tokens", "completion_tokens") for usage in found)


def _crew_output(result: Any) -> Any:
    return result.json_dict if getattr(result, "json_dict", None) is not None else result.raw


def _nothing(result: Any) -> None:
    return None


RESULT_FORMS: tuple[ResultForm, ...] = (
    ResultForm(
        *("Pydantic AI", "", ""),
        output=lambda result: result.output,
        messages=_pydantic_messages,
        usage=_pydantic_usage,
        attributes=("new_messages_json", "output"),
    ),
    ResultForm(
        *("Pydantic AI", "", ""),  # of a stream that has ended
        output=lambda result: getattr(result.response, "text", None),
        messages=_pydantic_messages,
        usage=_pydantic_usage,
        attributes=("new_messages_json", "get_output", "response"),
    ),
    ResultForm(
        *("OpenAI Agents", "", ""),
        output=lambda result: result.final_output,
        messages=_openai_items,
        usage=lambda result: _tokens(
            getattr(getattr(result, "context_wrapper", None), "usage", None), "input_tokens", "output_tokens"
        ),
        attributes=("to_input_list", "final_output"),
    ),
    ResultForm(
        *("LangChain", "langchain_core.messages.", "BaseMessage"),
        output=_langchain_answer,
        messages=_langchain_messages,
        usage=_langchain_usage,
    ),
    ResultForm("Google ADK", "google.adk.events.", "Event", _adk_output, adk_messages, adk_usage),
    ResultForm(
        *("LlamaIndex", "llama_index.core.agent.", "AgentOutput"),
        output=lambda result: result.response.content,
        messages=_llama_index_messages,
    ),
    ResultForm(
        *("Agno", "agno.run.", "RunOutput"),
        output=lambda result: result.content,
        messages=lambda result: [message.to_dict() for message in result.messages or ()] or None,
        usage=lambda result: _tokens(result.metrics, "input_tokens", "output_tokens"),
    ),
    ResultForm(
        *("Strands", "strands.agent.", "AgentResult"),
        output=lambda result: text_of(result.message),
        messages=_nothing,  # a result has the last message only, and no calls
        usage=lambda result: _tokens(result.metrics.accumulated_usage, "inputTokens", "outputTokens"),
    ),
    ResultForm(
        *("smolagents", "smolagents.", "RunResult"),
        output=lambda result: result.output,
        messages=_smolagents_steps,
        usage=lambda result: _tokens(result.token_usage, "input_tokens", "output_tokens"),
    ),
    ResultForm(
        *("AutoGen", "autogen_agentchat.base.", "TaskResult"),
        output=lambda result: result.messages[-1].to_text() if result.messages else None,
        messages=lambda result: _autogen_messages(result.messages),
        usage=lambda result: _autogen_usage(result.messages),
    ),
    ResultForm(
        *("AutoGen", "autogen_agentchat.base.", "Response"),
        output=lambda result: result.chat_message.to_text(),
        messages=lambda result: _autogen_messages(result.inner_messages or ()),
        usage=lambda result: _autogen_usage([*(result.inner_messages or ()), result.chat_message]),
    ),
    ResultForm(
        *("Haystack", "haystack.dataclasses.", "ChatMessage"),
        output=lambda result: _messages_in(result)[-1].text,
        messages=_haystack_messages,
        usage=_haystack_usage,
    ),
    ResultForm(
        *("CrewAI", "crewai.crews.", "CrewOutput"),
        output=_crew_output,
        messages=_nothing,  # calls are in the events of CrewAI's bus only
        usage=lambda result: _tokens(result.token_usage, "prompt_tokens", "completion_tokens"),
    ),
)
"""Tried from the top."""
