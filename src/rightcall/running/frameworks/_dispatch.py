"""One call of a tool, at the place where a framework dispatches it: answered by a stub, or run, observed and logged."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from rightcall.reading.conventions import DEFERRALS
from rightcall.running.tracing import (
    ToolAnswer,
    as_arguments,
    dispatching,
    propagate,
    tool_observer,
    tool_stub,
)

_MOST_LOGGED = 10_000
"""Calls of one turn that are logged: an agent that loops must not fill the memory of its worker."""


class DispatchedCall:
    """A call that a framework has dispatched: its tool, its arguments as plain JSON, and its answer once there is one.

    A call without an answer was still running, or was cancelled. Its `parent` is the call whose tool made it, such as
    one that asks another agent.
    """

    __slots__ = ("answer", "args", "began", "ended", "has_inner", "parent", "tool")

    def __init__(self, tool: str, args: dict[str, Any]) -> None:
        self.tool = tool
        self.args = args
        self.has_inner = False
        self.parent = _inside.get()
        if self.parent is not None:
            self.parent.has_inner = True
        self.began = self.ended = time.time_ns()
        self.answer: ToolAnswer | None = None

    def end(self, answer: ToolAnswer) -> None:
        """Take the answer."""
        self.answer, self.ended = answer, time.time_ns()

    @property
    def is_deferred(self) -> bool:
        """Whether the tool said that its call is not made now: a person is asked first, or it is run elsewhere."""
        return self.answer is not None and _kind(self.answer.error) in DEFERRALS


dispatch_log: ContextVar[list[DispatchedCall] | None] = ContextVar("rightcall_dispatched", default=None)
"""Where the calls of this context are logged, if anywhere. It tells of calls where nothing else records them."""

_inside: ContextVar[DispatchedCall | None] = ContextVar("rightcall_inside", default=None)
"""The call whose tool is running in this context, if any."""

propagate(dispatch_log)
propagate(_inside)


class Form(NamedTuple):
    """How the answers of a framework's tools are written down, and returned."""

    written: Callable[[Any], Any]
    """From what the tool returned to a JSON value."""
    given: Callable[[Any], Any]
    """From the JSON value of a mock or a recording to what the framework takes."""
    answer_of: Callable[[Any], ToolAnswer] = ToolAnswer
    """From the JSON value to what the model is shown: a value, or an error that is part of the value."""


def _same(value: Any) -> Any:
    return value


AS_IT_IS = Form(_same, _same)


async def dispatched(
    tool: str, args: Mapping[str, Any], run: Callable[[], Awaitable[Any]], form: Form = AS_IT_IS
) -> Any:
    """Return the answer of a stub in the form of the framework, or await the tool itself."""
    if not _is_watched(tool):
        return await run()
    call = _Call(tool, args, form)
    answer = call.stubbed()
    if answer is not None:
        return answer.given()
    with call.running():
        value = await run()
    call.returned(value)
    return value


def dispatched_plainly(tool: str, args: Mapping[str, Any], run: Callable[[], Any], form: Form = AS_IT_IS) -> Any:
    """The same for a framework that does not await its tools."""
    if not _is_watched(tool):
        return run()
    call = _Call(tool, args, form)
    answer = call.stubbed()
    if answer is not None:
        return answer.given()
    with call.running():
        value = run()
    call.returned(value)
    return value


def answered(tool: str, args: Mapping[str, Any], value: Any, form: Form = AS_IT_IS) -> None:
    """Log a call that a framework answers by itself, such as from a cache: the agent made it, and no tool runs."""
    if dispatch_log.get() is not None and tool not in dispatching.get():
        _Call(tool, args, form).answered(value)


def _is_watched(tool: str) -> bool:
    """Whether a call concerns anyone, and is not the inner half of one that does.

    Frameworks dispatch one call in several steps: LangChain's `_arun` calls `_run`, a toolset of Pydantic AI calls an
    MCP session. The outermost step counts.
    """
    if tool in dispatching.get():
        return False
    return tool_stub.get() is not None or tool_observer.get() is not None or dispatch_log.get() is not None


def is_same_call(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call goes on with the one that is running, whose name has a prefix, as toolsets of MCP servers add."""
    running = _inside.get()
    return running is not None and running.tool.endswith(tool) and running.args == as_arguments(args)


class _Call:
    """A call that is stubbed, observed or logged."""

    def __init__(self, tool: str, args: Mapping[str, Any], form: Form) -> None:
        self._args = as_arguments(args)
        self._logged = DispatchedCall(tool, self._args)
        self._form = form
        log = dispatch_log.get()
        if log is not None and len(log) < _MOST_LOGGED:
            log.append(self._logged)

    def stubbed(self) -> ToolAnswer | None:
        """Return the stub's answer in the form of the framework. Raises `MockError`."""
        stub = tool_stub.get()
        answer = stub(self._logged.tool, self._args) if stub is not None else None
        if answer is None:
            return None
        self._log(answer)
        return answer if answer.error is not None else ToolAnswer(self._form.given(answer.value))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the tool itself: what it does under its own name is part of this call."""
        token, inner = dispatching.set(dispatching.get() | {self._logged.tool}), _inside.set(self._logged)
        try:
            yield
        except Exception as error:
            self._ended(ToolAnswer(error=error))
            raise
        finally:
            _inside.reset(inner)
            dispatching.reset(token)

    def answered(self, value: Any) -> None:
        """End the call with what was not asked of the tool."""
        self._log(ToolAnswer(self._form.written(value)))

    def returned(self, value: Any) -> None:
        """End the call with what the tool returned; what it is still going to yield is not known."""
        if not isinstance(getattr(value, "result", value), (Iterator, AsyncIterator)):
            self._ended(ToolAnswer(self._form.written(value)))

    def _log(self, answer: ToolAnswer) -> None:
        self._logged.end(answer if answer.error is not None else self._form.answer_of(answer.value))

    def _ended(self, answer: ToolAnswer) -> None:
        self._log(answer)
        observer = tool_observer.get()
        if observer is not None and not self._logged.is_deferred:
            observer(self._logged.tool, self._args, answer._replace(has_inner=self._logged.has_inner))


def log_document(calls: Sequence[DispatchedCall]) -> bytes:
    """Return logged calls as spans of tools in one document of OTLP, which the readers take."""
    ids = {id(call): f"{number:016x}" for number, call in enumerate(calls, 1)}
    trace_id = uuid.uuid4().hex
    spans = []
    for call in calls:
        span = {"traceId": trace_id, "spanId": ids[id(call)], "name": call.tool, **_status(call.answer)}
        span |= {"startTimeUnixNano": str(call.began), "endTimeUnixNano": str(call.ended)}
        if id(call.parent) in ids:
            span["parentSpanId"] = ids[id(call.parent)]
        values = {"tool.name": call.tool, "input.value": json.dumps(call.args), **_output(call.answer)}
        span["attributes"] = [_attribute(key, value) for key, value in values.items()]
        spans.append(span)
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def _status(answer: ToolAnswer | None) -> dict[str, Any]:
    if answer is None or answer.error is None:
        return {}
    event = {"name": "exception", "attributes": [_attribute("exception.type", _kind(answer.error))]}
    return {"status": {"code": 2, "message": f"{type(answer.error).__name__}: {answer.error}"}, "events": [event]}


def _kind(error: BaseException | None) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _attribute(key: str, value: str | bool | int | float) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}


def _output(answer: ToolAnswer | None) -> dict[str, Any]:
    if answer is None or answer.error is not None:
        return {}
    from rightcall.running.tracing import output_attribute, plain_value

    return {"output.value": output_attribute(plain_value(answer.value))}
