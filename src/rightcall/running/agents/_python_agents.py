"""Agents that are Python objects: functions, generators, objects with `ainvoke`, `invoke` or `run`, and ADK's."""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any

from rightcall.errors import AgentError, MissingExtraError, shown

from ._agent import AgentAnswer, AgentRequest, plain
from ._arguments import Arguments
from ._framework_objects import check_conversation, object_form, run_openai_agent
from ._result_readers import adk_messages, adk_usage
from ._results import answer_of, answer_of_method

_METHODS = ("ainvoke", "invoke", "run")
_BY_RUNNER = "Runner.run"
"""Not a method: agents of OpenAI Agents are run by a class of the framework."""
_USER = "user"


class FunctionAgent:
    """A function that blocks; the output of a generator is the last value it yields."""

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
    """Whether a call returns something to await, as far as that is known without calling it."""
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
    """An object whose `invoke` or `run` blocks."""

    is_async = False

    def __init__(self, target: Any, method: str, close: Callable[[], None]) -> None:
        self.target = self._target = target
        self._method, self._close = method, close
        self._form = object_form(target)

    def answer(self, request: AgentRequest) -> AgentAnswer:
        """Call the object's method with the input, and return its answer.

        Raises:
            AgentError: the case is a conversation, which the object would forget.
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
    """An object whose method has to be awaited."""

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
    """Return an object as an agent, by its first method of `ainvoke`, `invoke` and `run`; `None` without any."""
    if is_openai_agent(target):
        return AsyncObjectAgent(target, _BY_RUNNER, close)
    method = method_of(target)
    if method is None:
        return None
    asynchronous = object_form(target).is_async or method == "ainvoke" or is_asynchronous(getattr(target, method))
    return (AsyncObjectAgent if asynchronous else ObjectAgent)(target, method, close)


def method_of(target: Any) -> str | None:
    """Return the method by which an object is asked: that of its framework, else the first of the usual ones."""
    names = [name for name in (object_form(target).method, *_METHODS) if name]
    return next((name for name in names if callable(getattr(target, name, None))), None)


class AdkAgent:
    """An ADK agent; every run of a case has its own session, kept in memory.

    The session has the `app_name`, `user_id` and `state` of the case. An object with none of these keys is the state
    itself. A text is the user's message; an object with `parts` is ADK's content; any other input is sent as JSON. The
    output is the text of the last final response. The events are the answer's messages.
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
                output = _text_of(event.content) or None  # one that asks for a confirmation says nothing
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
