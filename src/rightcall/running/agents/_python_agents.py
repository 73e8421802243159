"""Agents that are Python functions or objects of frameworks: how to call them for a turn, and keep their history."""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import sys
import types
import typing
import uuid
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from rightcall.errors import AgentError, MissingExtraError, shown

from ._agent import AgentAnswer, AgentRequest, plain
from ._results import adk_messages, adk_usage, answer_of, answer_of_method

_METHODS = ("ainvoke", "invoke", "run")
_BY_RUNNER = "Runner.run"
"""Not a method: agents of OpenAI Agents are run by a class of the framework."""
_USER = "user"
_SESSION = ("session", "context")
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Given = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""
_HISTORY = "rightcall.history"
"""The key of a run's memory for the framework's messages, or the session, of the conversation so far."""
_FIRST = "_rightcall_first_messages"
"""The attribute added to a Strands agent, for the messages that it was created with."""


class FunctionAgent:
    """A synchronous function; the output of a generator is the last value it yields."""

    is_async = False

    def __init__(self, function: Callable[..., Any], name: str, close: Callable[[], None]) -> None:
        self.target = self._function = function
        self._arguments = Arguments(function, name)
        self._close = close

    def answer(self, request: AgentRequest) -> AgentAnswer:
        """Call the function, and return its answer."""
        positional, named = self._arguments.of(request)
        result = self._function(*positional, **named)
        if inspect.isgenerator(result):
            return answer_of(_last_value(result))
        if inspect.isawaitable(result) or isinstance(result, AsyncIterable):
            return answer_of(_run_to_end(result))
        return answer_of(result)

    def close(self) -> None:
        """Remove the agent's folder from the search path."""
        self._close()


class AsyncFunctionAgent(FunctionAgent):
    """A coroutine function or an asynchronous generator."""

    is_async = True

    async def answer(self, request: AgentRequest) -> AgentAnswer:  # type: ignore[override]
        """Call the function, and return its answer."""
        positional, named = self._arguments.of(request)
        return answer_of(await awaited(self._function(*positional, **named)))


def function_agent(function: Callable[..., Any], name: str, close: Callable[[], None]) -> FunctionAgent:
    """Return a callable as an agent, asynchronous if the callable is.

    Raises:
        AgentError: its parameters are unknown.
    """
    kind = AsyncFunctionAgent if is_asynchronous(function) else FunctionAgent
    return kind(function, name, close)


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Whether a call returns an awaitable or an asynchronous generator, as far as can be told without calling it."""
    called = function if inspect.isroutine(function) else getattr(type(function), "__call__", function)  # noqa: B004
    inner = getattr(function, "func", function)  # a functools.partial
    candidates = (function, called, inner)
    return any([inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in candidates])


async def awaited(result: Any) -> Any:
    """Await an awaitable, or return the last value of a generator; return anything else as it is."""
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterable):
        last = None
        async for value in result:
            last = value
        return last
    return _last_value(result) if inspect.isgenerator(result) else result


def _last_value(generator: Any) -> Any:
    last = None
    for value in generator:
        last = value
    return last


def _run_to_end(result: Any) -> Any:
    # A plain function that returns a coroutine, such as a lambda around one: run it in this thread.
    import asyncio

    return asyncio.run(awaited(result))


class ObjectAgent:
    """An object with a synchronous method such as `invoke` or `run`."""

    is_async = False

    def __init__(self, target: Any, method: str, close: Callable[[], None]) -> None:
        self.target = self._target = target
        self._method, self._close = method, close
        self._form = object_form(target)

    def answer(self, request: AgentRequest) -> AgentAnswer:
        """Call the object's method with the input, and return its answer.

        Raises:
            AgentError: the case is a conversation, and the object would forget its turns.
        """
        result = self._asked(request)
        self._form.remember(request, result)
        return answer_of_method(result)

    def _asked(self, request: AgentRequest) -> Any:
        check_conversation(self._form, self._target, request)
        if self._method == _BY_RUNNER:
            return run_openai_agent(self._target, request)
        positional, named = self._form.arguments(self._target, request)
        return getattr(self._target, self._method)(*positional, **named)

    def close(self) -> None:
        """Remove the agent's folder from the search path."""
        self._close()


class AsyncObjectAgent(ObjectAgent):
    """An object with an asynchronous method."""

    is_async = True

    async def answer(self, request: AgentRequest) -> AgentAnswer:  # type: ignore[override]
        """Call the object's method with the input, and return its answer."""
        result = await awaited(self._asked(request))
        self._form.remember(request, result)
        return answer_of_method(result)


def is_openai_agent(value: Any) -> bool:
    """Whether a value is an agent of OpenAI Agents, which has no method to run it."""
    return object_form(value).framework == "OpenAI Agents"


def object_agent(target: Any, close: Callable[[], None]) -> ObjectAgent | None:
    """Return an object as an agent, called by its `method_of` or by OpenAI Agents' runner; `None` if it has neither."""
    if is_openai_agent(target):
        return AsyncObjectAgent(target, _BY_RUNNER, close)
    method = method_of(target)
    if method is None:
        return None
    asynchronous = object_form(target).is_async or method == "ainvoke" or is_asynchronous(getattr(target, method))
    return (AsyncObjectAgent if asynchronous else ObjectAgent)(target, method, close)


def method_of(target: Any) -> str | None:
    """Return the method to call: the framework's, else `ainvoke`, `invoke` or `run`; None if it has none."""
    names = [name for name in (object_form(target).method, *_METHODS) if name]
    return next((name for name in names if callable(getattr(target, name, None))), None)


class AdkAgent:
    """An ADK agent; every run of a case has its own session, kept in memory.

    The session has the `app_name`, `user_id` and `state` of the case. An object with none of these keys is the state
    itself. A string is the user's message; an object with `parts` is ADK's content; any other input is sent as JSON.
    The output is the text of the last final response. The events are the answer's messages.
    """

    is_async = True

    def __init__(self, target: Any, name: str, close: Callable[[], None]) -> None:
        self.target = self._target = target
        self._name, self._close = name, close
        self._runners: dict[str, Any] = {}
        self._sessions: Any = None

    async def answer(self, request: AgentRequest) -> AgentAnswer:
        """Return the agent's last final response."""
        session = _session_of(request.session, self._name)
        runner = self._runner(str(session["app_name"] or getattr(self._target, "name", "agent")))
        session_id = await self._session(runner.app_name, session, request)
        question = self._content(request.input)
        output = None
        user_id = str(session["user_id"] or _USER)
        events = []
        async for event in runner.run_async(user_id=user_id, session_id=session_id, new_message=question):
            events.append(event)
            if event.content is not None and event.is_final_response():
                output = _text_of(event.content) or None  # a request for confirmation is final, too, but has no text
        messages = [plain(question.model_dump(mode="json", exclude_none=True)), *adk_messages(events)]
        return AgentAnswer(output=output, messages=messages, usage=adk_usage(events))

    def close(self) -> None:
        """Remove the agent's folder from the search path; sessions end with this object."""
        self._close()

    def _runner(self, app_name: str) -> Any:
        if app_name not in self._runners:
            kit = _kit(self._name)
            self._sessions = self._sessions or kit.InMemorySessionService()
            kind = "app" if type(self._target).__module__.startswith("google.adk.apps") else "agent"
            self._runners[app_name] = kit.Runner(
                app_name=app_name, session_service=self._sessions, **{kind: self._target}
            )
        return self._runners[app_name]

    async def _session(self, app_name: str, session: Mapping[str, Any], request: AgentRequest) -> str:
        """Return the id of this run's session, which is created with the first turn."""
        session_id = request.run or uuid.uuid4().hex
        owner = {"app_name": app_name, "user_id": str(session["user_id"] or _USER), "session_id": session_id}
        if await self._sessions.get_session(**owner) is None:
            await self._sessions.create_session(**owner, state=dict(session["state"] or {}))
        return session_id

    def _content(self, given: Any) -> Any:
        content = _kit(self._name).Content
        try:
            if isinstance(given, Mapping) and "parts" in given:
                return content.model_validate({"role": _USER, **given})
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            return content.model_validate({"role": _USER, "parts": [{"text": text}]})
        except (TypeError, ValueError) as problem:
            raise AgentError(f"{self._name}: the input {shown(given)} cannot be sent to it: {problem}") from None


class _Kit:
    """The classes of ADK that are used here, imported late."""

    def __init__(self) -> None:
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.genai.types import Content

        self.Runner, self.InMemorySessionService, self.Content = Runner, InMemorySessionService, Content


def _kit(name: str) -> _Kit:
    try:
        return _Kit()
    except ImportError:
        raise MissingExtraError(f"{name} needs Google's ADK; to run it: pip install google-adk") from None


def _session_of(session: Any, name: str) -> dict[str, Any]:
    if session is not None and not isinstance(session, Mapping):
        raise AgentError(f"{name}: the session of an ADK agent is an object, not {shown(session)}")
    given = dict(session or {})
    keys = {"app_name": "appName", "user_id": "userId", "state": "state"}
    if given and not any([key in given for pair in keys.items() for key in pair]):
        given = {"state": given}
    found = {key: given.get(key, given.get(camel)) for key, camel in keys.items()}
    if found["state"] is not None and not isinstance(found["state"], Mapping):
        raise AgentError(f"{name}: the state of a session is an object, not {shown(found['state'])}")
    return found


def _text_of(content: Any) -> str:
    return "".join(part.text for part in content.parts or () if part.text and not part.thought)


class Arguments:
    """The parameters of a function, and how a request fills them.

    - An input object is passed by name if it has every parameter without a default, and no unknown key.
    - Otherwise a function with one required parameter gets the input as it is.
    - A parameter after the first that is called `session` or `context` gets the session, unless the input has that key.
      Without a `session` in the eval set it gets a dict that is empty at first, and the same one in all turns.
    - A function without required parameters is called without arguments if the input is empty.

    A value for a parameter annotated with a pydantic model, a dataclass, a msgspec struct or an enum is converted.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        parameters = list(_signature(function, name).parameters.values())
        self._session = next((one.name for one in parameters[1:] if one.name in _SESSION), None)
        rest = [one for one in parameters if one.name != self._session]
        self._named = [one for one in rest if one.kind not in (inspect.Parameter.VAR_KEYWORD, one.VAR_POSITIONAL)]
        self._takes_any_name = any([one.kind is one.VAR_KEYWORD for one in rest])
        self._takes_any_number = any([one.kind is one.VAR_POSITIONAL for one in rest])
        self._hints = _hints(function)

    def of(self, request: AgentRequest) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments for a request.

        Raises:
            AgentError: the input does not fit the parameters, or cannot be converted to an annotated type.
        """
        positional, named = self._placed(request.input)
        if self._session is not None and self._session not in named:
            named[self._session] = request.memory if request.session is None else request.session
        return positional, named

    def _placed(self, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(given, Mapping) and given and not self._unfit(given):
            return self._by_name(given)
        required = [one for one in self._named if one.default is one.empty]
        if len(required) == 1 or (not required and self._named):
            only = (required or self._named)[0]
            value = self._converted(only, given)
            return ((value,), {}) if only.kind in _PLACED else ((), {only.name: value})
        if not required and self._takes_any_number:
            return (given,), {}
        if not required and (given is None or given in ({}, "")):
            return (), {}
        raise AgentError(self._misfit_message(given, len(required)))

    def _by_name(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        known = {one.name: one for one in self._named}
        made = {key: self._converted(known[key], value) if key in known else value for key, value in given.items()}
        only_placed = [one.name for one in self._named if one.kind is one.POSITIONAL_ONLY and one.name in made]
        return tuple(made.pop(name) for name in only_placed), made

    def _unfit(self, given: Mapping[str, Any]) -> str:
        """Return why an object cannot be passed by name; empty if it can."""
        names = {one.name for one in self._named}
        missing = [one.name for one in self._named if one.default is one.empty and one.name not in given]
        unknown = [str(key) for key in given if key not in names and key != self._session]
        if missing:
            return f"it has no {', '.join(map(repr, missing))}"
        if unknown and not self._takes_any_name:
            return f"the function has no parameter {', '.join(map(repr, unknown[:5]))}"
        return ""

    def _misfit_message(self, given: Any, required: int) -> str:
        if not self._named:
            return f"{self._name} takes no parameters, but the input is {shown(given)}; add one"
        wanted = ", ".join(one.name for one in self._named)
        if isinstance(given, Mapping):
            return f"{self._name}({wanted}) cannot be called with the input {shown(given)}: {self._unfit(given)}"
        return (
            f"{self._name}({wanted}) needs {required} arguments; an input that is an object with these keys would "
            f"give them, but it is {shown(given)}"
        )

    def _converted(self, parameter: inspect.Parameter, value: Any) -> Any:
        wanted = self._hints.get(parameter.name)
        try:
            return convert(wanted, value)
        except (TypeError, ValueError) as problem:
            kind = getattr(_class_of(wanted), "__name__", wanted)
            reason = _reason(problem)
            raise AgentError(f"{self._name}: the input does not make a {kind} for {parameter.name}: {reason}") from None


def convert(wanted: Any, value: Any) -> Any:
    """Convert a value to an annotated model, dataclass, struct or enum; keep it for any other annotation.

    Raises:
        ValueError: the value does not fit the annotation.
        TypeError: the value does not fit the annotation.
    """
    kind = _class_of(wanted)
    if kind is None:
        return value
    if issubclass(kind, enum.Enum):
        return kind(value)
    if not isinstance(value, Mapping):
        return value
    if callable(validate := getattr(kind, "model_validate", None)):
        return validate(value)
    if hasattr(kind, "__pydantic_validator__"):
        return kind(**value)
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass(kind, value)
    return msgspec.convert(value, kind) if issubclass(kind, msgspec.Struct) else value


def _reason(problem: Exception) -> str:
    """Return why a value did not fit, on one line; for pydantic, the first five errors with their locations."""
    if callable(errors := getattr(problem, "errors", None)):
        found = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in errors()[:5]]
        return "; ".join(found)
    return " ".join(str(problem).split())


def _dataclass(kind: type, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: convert(hints.get(name), item) for name, item in value.items()})


def _class_of(wanted: Any) -> type | None:
    """Return the class that an annotation names, alone or in a union with `None`."""
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        [*others] = [one for one in typing.get_args(wanted) if one is not type(None)]
        wanted = others[0] if len(others) == 1 else None
    if typing.get_origin(wanted) is typing.Annotated:
        wanted = typing.get_args(wanted)[0]
    return wanted if isinstance(wanted, type) and typing.get_origin(wanted) is None else None


def _signature(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as problem:
        raise AgentError(f"{name}: its parameters are not known ({problem}); wrap it in a function") from None


def _hints(annotated: Any) -> dict[str, Any]:
    target = inspect.unwrap(annotated) if callable(annotated) else annotated
    if not isinstance(target, type) and not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating annotations runs the agent's code; unresolved ones are ignored
        return {}


class ObjectForm(NamedTuple):
    """How to call the agents of one framework, and how to keep their history between turns."""

    framework: str
    module: str
    """A prefix of the name of the module that has the class."""
    name: str
    arguments: Callable[[Any, AgentRequest], Given]
    remember: Callable[[AgentRequest, Any], None] = lambda request, result: None
    refusal: Callable[[Any], str | None] = lambda target: None
    """Returns why an object cannot take part in a conversation; None if it can."""
    mixing: str = ""
    """Why the object cannot be used at all: it keeps a history that would mix the cases of a run."""
    method: str = ""
    """The method to call, if it is not the first of `ainvoke`, `invoke` and `run`."""
    is_async: bool = False

    def fits(self, target: Any) -> bool:
        """Whether an object is an instance of this framework's class."""
        return any(
            [kind.__name__ == self.name and kind.__module__.startswith(self.module) for kind in type(target).__mro__]
        )


def object_form(target: Any) -> ObjectForm:
    """Return how to call an object: by the table, as a graph if it has channels, else with the input alone."""
    return next((form for form in FORMS if form.fits(target)), _GRAPH if _is_graph(target) else _OTHER)


def check_conversation(form: ObjectForm, target: Any, request: AgentRequest) -> None:
    """Refuse a conversation whose turns an object would forget, or mix with those of other cases.

    Raises:
        AgentError: the object cannot keep a separate history for each run of a case.
    """
    if form.mixing:
        raise AgentError(form.mixing)
    reason = form.refusal(target) if request.turns > 1 else None
    if reason is not None:
        raise AgentError(f"the case has turns, but {reason}")


def run_openai_agent(target: Any, request: AgentRequest) -> Any:
    """Run an agent of OpenAI Agents, by the framework's `Runner`, with the items of the previous turns."""
    question = {"role": "user", "content": request.input} if isinstance(request.input, str) else request.input
    new = question if isinstance(question, list) else [question]
    return sys.modules["agents"].Runner.run(target, [*request.memory.get(_HISTORY, ()), *new])


def _is_graph(target: Any) -> bool:
    return isinstance(getattr(target, "channels", None), Mapping)


def _only_input(target: Any, request: AgentRequest) -> Given:
    return (request.input,), {}


def _graph_arguments(graph: Any, request: AgentRequest) -> Given:
    """Pass a string as the user's message if the state has messages; a `thread_id` selects the checkpointer's state."""
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
    """Pass a context, and the memory beside it: a run that continues a context does not get its memory (0.14)."""
    if _HISTORY not in request.memory:
        memory = importlib.import_module("llama_index.core.memory").ChatMemoryBuffer.from_defaults()
        request.memory[_HISTORY] = {"ctx": sys.modules["llama_index.core.workflow"].Context(agent), "memory": memory}
    return (), {"user_msg": request.input, **request.memory[_HISTORY]}


def _strands_arguments(agent: Any, request: AgentRequest) -> Given:
    """Give each run of a case its own list of messages: a Strands agent continues the list that it has."""
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
    # The agent adds its system prompt again in every turn.
    request.memory[_HISTORY] = [one for one in result["messages"] if getattr(one.role, "value", one.role) != "system"]


def _agent_framework_arguments(agent: Any, request: AgentRequest) -> Given:
    if _HISTORY not in request.memory:
        request.memory[_HISTORY] = agent.create_session()
    return (request.input,), {"session": request.memory[_HISTORY]}


def _crew_arguments(crew: Any, request: AgentRequest) -> Given:
    """Fill the placeholders of the tasks: an object by name, a string if there is only one placeholder."""
    if isinstance(request.input, Mapping):
        return (), {"inputs": dict(request.input)}
    names = sorted(crew.fetch_inputs())
    if len(names) != 1:
        places = ", ".join(names) or "none"
        raise AgentError(
            f"a string fills the one placeholder of a crew; it has {places}: give an object with their values"
        )
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
