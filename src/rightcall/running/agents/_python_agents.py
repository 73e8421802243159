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

METHODS = ("ainvoke", "invoke", "run")
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

    def answer(self, request: AgentRequest) -> AgentAnswer:
        """Call the object's method with the input, and return its answer."""
        positional, named = method_arguments(self._target, request)
        return answer_of_method(getattr(self._target, self._method)(*positional, **named))

    def close(self) -> None:
        """Remove the agent's folder from the search path."""
        self._close()


class AsyncObjectAgent(ObjectAgent):
    """An object whose method has to be awaited."""

    is_async = True

    async def answer(self, request: AgentRequest) -> AgentAnswer:  # type: ignore[override]
        """Call the object's method with the input, and return its answer."""
        positional, named = method_arguments(self._target, request)
        return answer_of_method(await awaited(getattr(self._target, self._method)(*positional, **named)))


def object_agent(target: Any, close: Callable[[], None]) -> ObjectAgent | None:
    """Return an object as an agent, by its first method of `ainvoke`, `invoke` and `run`; `None` without any."""
    for method in METHODS:
        if callable(getattr(target, method, None)):
            asynchronous = method == "ainvoke" or is_asynchronous(getattr(target, method))
            return (AsyncObjectAgent if asynchronous else ObjectAgent)(target, method, close)
    return None


def method_arguments(target: Any, request: AgentRequest) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments for an object's method.

    A LangGraph graph (it has `channels`) with `messages` in its state gets a text as the user's message, and every
    graph gets a `thread_id`, so that one with a checkpointer remembers earlier turns. Any other object gets the input
    as it is.
    """
    channels = getattr(target, "channels", None)
    if not isinstance(channels, Mapping):
        return (request.input,), {}
    given = request.input
    if isinstance(given, str) and "messages" in channels:
        given = {"messages": [("user", given)]}
    return (given, {"configurable": {"thread_id": request.run or uuid.uuid4().hex}}), {}


def answer_of_method(result: Any) -> AgentAnswer:
    """Return the answer in the result of an object's method.

    Of a result with a list of `messages`, the output is the text of the last one. Run results of frameworks are
    recognised. Of any other object with an `output`, that is the output. Anything else is the output itself.
    """
    messages = result.get("messages") if isinstance(result, Mapping) else getattr(result, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return AgentAnswer(output=text_of(messages[-1]), messages=plain(list(messages)))
    answer = answer_of(result)
    if answer.messages is None and not isinstance(result, (Mapping, str, list, tuple)) and hasattr(result, "output"):
        return AgentAnswer(output=plain(result.output))
    return answer


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


def answer_of(result: Any) -> AgentAnswer:
    """Return the answer in the result of a function or a method.

    Of a run result of Pydantic AI, the output is its `output`; of OpenAI Agents, its `final_output`. The messages of
    both show the calls, so that neither needs an instrumentation. They are recognised by their methods, so that no
    framework is imported. Anything else is the output itself.
    """
    if isinstance(result, type):
        return AgentAnswer(output=plain(result))
    if callable(getattr(result, "new_messages_json", None)) and hasattr(result, "output"):
        return AgentAnswer(output=plain(result.output), messages=json.loads(result.new_messages_json()))
    if callable(getattr(result, "to_input_list", None)) and hasattr(result, "final_output"):
        return AgentAnswer(output=plain(result.final_output), messages=plain(result.to_input_list()))
    return AgentAnswer(output=plain(result))


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
        said = self._content(request.input)
        output, messages = None, [_content_json(said)]
        user_id = str(session["user_id"] or _USER)
        async for event in runner.run_async(user_id=user_id, session_id=session_id, new_message=said):
            if event.content is None:
                continue
            messages.append(_content_json(event.content))
            output = _text_of(event.content) if event.is_final_response() else output
        return AgentAnswer(output=output, messages=messages)

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


def _content_json(content: Any) -> Any:
    return plain(content.model_dump(mode="json", exclude_none=True))


def _text_of(content: Any) -> str:
    return "".join(part.text for part in content.parts or () if part.text and not part.thought)
