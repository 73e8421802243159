"""Answer, messages and tokens in what frameworks return: a table, one small row a framework.

Results are recognised by their class, so that no framework is imported. The messages show the calls, so that an agent
needs no instrumentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rightcall.values.trajectory import Usage

from ._agent import AgentAnswer, plain
from ._result_readers import (
    adk_messages,
    adk_output,
    adk_usage,
    agent_framework_messages,
    agent_framework_output,
    agno_messages,
    autogen_messages,
    autogen_usage,
    crew_output,
    dspy_output,
    haystack_messages,
    haystack_usage,
    langchain_answer,
    langchain_messages,
    langchain_usage,
    llama_index_messages,
    messages_in,
    nothing,
    openai_items,
    pydantic_messages,
    pydantic_usage,
    smolagents_steps,
    strands_usage,
    text_of,
    tokens,
)

_Reader = Callable[[Any], Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Classes whose values no framework returns as a result."""


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
    if result.__class__ in _PLAIN or isinstance(result, type):
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
        messages=nothing,  # the calls of `ReAct` are seen when they are made
    ),
    ResultForm(
        *("CrewAI", "crewai.crews.", "CrewOutput"),
        output=crew_output,
        messages=nothing,  # calls are seen when they are made; those of agents that were asked for help are not in here
        usage=lambda result: tokens(result.token_usage, "prompt_tokens", "completion_tokens"),
    ),
)
"""Tried from the top."""
