"""Agents of frameworks that are run through an object: how a turn is asked, and how the next one remembers it."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rightcall.errors import AgentError

from ._agent import AgentRequest

Given = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""
_HISTORY = "rightcall.history"
"""Where the memory of a run keeps what the framework said so far."""


class ObjectForm(NamedTuple):
    """How the objects of one framework are asked, and remember."""

    framework: str
    module: str
    """The beginning of the name of the module that has the class."""
    name: str
    arguments: Callable[[Any, AgentRequest], Given]
    remember: Callable[[AgentRequest, Any], None] = lambda request, result: None
    refusal: Callable[[Any], str | None] = lambda target: None
    """Why a conversation cannot be had with an object; None if it can."""
    method: str = ""
    """The method to call, if it is not the first of those that every object is asked for."""
    is_async: bool = False

    def fits(self, target: Any) -> bool:
        """Whether an object is of this framework."""
        return any(
            [kind.__name__ == self.name and kind.__module__.startswith(self.module) for kind in type(target).__mro__]
        )


def object_form(target: Any) -> ObjectForm:
    """Return how an object is asked: by the table, by the channels of a graph, else with the input alone."""
    return next((form for form in FORMS if form.fits(target)), _GRAPH if _is_graph(target) else _OTHER)


def check_conversation(form: ObjectForm, target: Any, request: AgentRequest) -> None:
    """Refuse a conversation, before its first turn, with an object that would forget it.

    Raises:
        AgentError: the object has no memory that one run of a case could have for itself.
    """
    reason = form.refusal(target) if request.turns > 1 else None
    if reason is not None:
        raise AgentError(f"the case has turns, but {reason}")


def run_openai_agent(target: Any, request: AgentRequest) -> Any:
    """Run an agent of OpenAI Agents, whose runner is a class of its own, with the items of the turns before."""
    said = {"role": "user", "content": request.input} if isinstance(request.input, str) else request.input
    new = said if isinstance(said, list) else [said]
    return sys.modules["agents"].Runner.run(target, [*request.memory.get(_HISTORY, ()), *new])


def _is_graph(target: Any) -> bool:
    return isinstance(getattr(target, "channels", None), Mapping)


def _only_input(target: Any, request: AgentRequest) -> Given:
    return (request.input,), {}


def _graph_arguments(graph: Any, request: AgentRequest) -> Given:
    """A text is the user's message where the state has messages; a `thread_id` finds what a checkpointer kept."""
    given = request.input
    if isinstance(given, str) and "messages" in graph.channels:
        given = {"messages": [("user", given)]}
    if _HISTORY in request.memory and isinstance(given, Mapping) and _forgets(graph):
        given = {**given, "messages": [*request.memory[_HISTORY], *given.get("messages", ())]}
    return (given, {"configurable": {"thread_id": request.run or uuid.uuid4().hex}}), {}


def _forgets(graph: Any) -> bool:
    return getattr(graph, "checkpointer", None) in (None, False)


def _graph_remembers(request: AgentRequest, result: Any) -> None:
    messages = result.get("messages") if isinstance(result, Mapping) else None
    if isinstance(messages, list):
        request.memory[_HISTORY] = messages


def _graph_refusal(graph: Any) -> str | None:
    if not _forgets(graph) or "messages" in graph.channels:
        return None
    return "its graph has neither a checkpointer nor messages in its state to remember a turn by: compile it with one"


def _pydantic_arguments(agent: Any, request: AgentRequest) -> Given:
    return (request.input,), {"message_history": request.memory.get(_HISTORY)}


def _pydantic_remembers(request: AgentRequest, result: Any) -> None:
    if callable(getattr(result, "all_messages", None)):
        request.memory[_HISTORY] = result.all_messages()


def _openai_remembers(request: AgentRequest, result: Any) -> None:
    request.memory[_HISTORY] = result.to_input_list()


def _agno_arguments(agent: Any, request: AgentRequest) -> Given:
    return (request.input,), {"session_id": request.run or uuid.uuid4().hex}


def _agno_refusal(agent: Any) -> str | None:
    if getattr(agent, "db", None) is not None and getattr(agent, "add_history_to_context", False):
        return None
    return "an agent of Agno without `db` and `add_history_to_context=True` forgets a session: give it both"


def _smolagents_arguments(agent: Any, request: AgentRequest) -> Given:
    return (request.input,), {"reset": request.turn == 0, "return_full_result": True}


def _llama_arguments(agent: Any, request: AgentRequest) -> Given:
    if _HISTORY not in request.memory:
        request.memory[_HISTORY] = sys.modules["llama_index.core.workflow"].Context(agent)
    return (), {"user_msg": request.input, "ctx": request.memory[_HISTORY]}


def _forgetful(what: str) -> Callable[[Any], str | None]:
    return lambda target: (
        f"{what} keeps no conversation that one case could have for itself: name a function with a `session` "
        "parameter, which keeps it there"
    )


_OTHER = ObjectForm("", "", "", _only_input)
_GRAPH = ObjectForm("LangGraph", "langgraph.", "Pregel", _graph_arguments, _graph_remembers, _graph_refusal)
FORMS: tuple[ObjectForm, ...] = (
    ObjectForm("Pydantic AI", "pydantic_ai.agent", "AbstractAgent", _pydantic_arguments, _pydantic_remembers),
    ObjectForm("OpenAI Agents", "agents.", "AgentBase", _only_input, _openai_remembers),
    _GRAPH,
    ObjectForm(
        *("LangChain", "langchain_core.runnables.", "Runnable", _only_input),
        refusal=_forgetful("a chain of LangChain"),
    ),
    ObjectForm("Agno", "agno.agent", "Agent", _agno_arguments, refusal=_agno_refusal, method="arun", is_async=True),
    ObjectForm("smolagents", "smolagents.", "MultiStepAgent", _smolagents_arguments),
    ObjectForm("LlamaIndex", "llama_index.core.agent.", "BaseWorkflowAgent", _llama_arguments, is_async=True),
    ObjectForm(
        *("AutoGen", "autogen_agentchat.", "TaskRunner", lambda target, request: ((), {"task": request.input})),
        refusal=_forgetful("an agent of AutoGen"),
    ),
    ObjectForm("CrewAI", "crewai.", "Crew", _only_input, refusal=_forgetful("a crew")),
    ObjectForm("Haystack", "haystack.", "Agent", _only_input, refusal=_forgetful("an agent of Haystack")),
)
