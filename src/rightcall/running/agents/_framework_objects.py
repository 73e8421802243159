"""Agents of frameworks that are run through an object: how a turn is asked, and how the next one remembers it."""

from __future__ import annotations

import importlib
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
_FIRST = "_rightcall_first_messages"
"""Where an agent of Strands keeps the messages that it was made with."""


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
    mixing: str = ""
    """Why not even single questions can be asked: an object that remembers would mix the cases of a run."""
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
    """Refuse, before its first turn, a conversation that an object would forget, or mix with others.

    Raises:
        AgentError: the object has no memory that one run of a case could have for itself.
    """
    if form.mixing:
        raise AgentError(form.mixing)
    reason = form.refusal(target) if request.turns > 1 else None
    if reason is not None:
        raise AgentError(f"the case has turns, but {reason}")


def run_openai_agent(target: Any, request: AgentRequest) -> Any:
    """Run an agent of OpenAI Agents, whose runner is a class of its own, with the items of the turns before."""
    question = {"role": "user", "content": request.input} if isinstance(request.input, str) else request.input
    new = question if isinstance(question, list) else [question]
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
    """A context has the state of a run; its memory is left out where a later run goes on from it (LlamaIndex 0.14)."""
    if _HISTORY not in request.memory:
        memory = importlib.import_module("llama_index.core.memory").ChatMemoryBuffer.from_defaults()
        request.memory[_HISTORY] = {"ctx": sys.modules["llama_index.core.workflow"].Context(agent), "memory": memory}
    return (), {"user_msg": request.input, **request.memory[_HISTORY]}


def _strands_arguments(agent: Any, request: AgentRequest) -> Given:
    """An agent of Strands goes on with the messages that it holds: each run of a case has a list of its own."""
    first = agent.__dict__.setdefault(_FIRST, list(agent.messages))
    agent.messages = request.memory.setdefault(_HISTORY, list(first))
    return (request.input,), {}


def _haystack_arguments(agent: Any, request: AgentRequest) -> Given:
    given = request.input
    if isinstance(given, Mapping):
        return (), dict(given)
    question = sys.modules["haystack.dataclasses"].ChatMessage.from_user(given) if isinstance(given, str) else given
    new = question if isinstance(question, list) else [question]
    return (), {"messages": [*request.memory.get(_HISTORY, ()), *new]}


def _haystack_remembers(request: AgentRequest, result: Any) -> None:
    # The agent puts its system prompt before the messages of every turn.
    request.memory[_HISTORY] = [one for one in result["messages"] if getattr(one.role, "value", one.role) != "system"]


def _agent_framework_arguments(agent: Any, request: AgentRequest) -> Given:
    if _HISTORY not in request.memory:
        request.memory[_HISTORY] = agent.create_session()
    return (request.input,), {"session": request.memory[_HISTORY]}


def _crew_arguments(crew: Any, request: AgentRequest) -> Given:
    """An object fills the placeholders of the tasks by their names; a text fills the only one there is."""
    if isinstance(request.input, Mapping):
        return (), {"inputs": dict(request.input)}
    names = sorted(crew.fetch_inputs())
    if len(names) != 1:
        held = ", ".join(names) or "none"
        raise AgentError(f"a text fills the one placeholder of a crew; it has {held}: give an object with their values")
    return (), {"inputs": {names[0]: request.input}}


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
    ObjectForm("Strands", "strands.agent.", "Agent", _strands_arguments, method="__call__"),
    ObjectForm(
        *("AutoGen", "autogen_agentchat.", "TaskRunner", lambda target, request: ((), {"task": request.input})),
        mixing="an agent or team of AutoGen remembers every question it is asked, whichever case it is of: name a "
        "function that makes one and keeps it in its `session` parameter",
    ),
    ObjectForm("CrewAI", "crewai.", "Crew", _crew_arguments, refusal=_forgetful("a crew"), method="kickoff"),
    ObjectForm("Haystack", "haystack.", "Agent", _haystack_arguments, _haystack_remembers),
    ObjectForm("Agent Framework", "agent_framework.", "RawAgent", _agent_framework_arguments, is_async=True),
)
