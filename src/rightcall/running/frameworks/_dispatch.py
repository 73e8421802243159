"""A tool call as a framework dispatches it: answered by a stub, or run and observed; and conversions of answers."""

from __future__ import annotations

import json
import sys
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
"""The maximum number of calls logged in one turn: an agent in a loop must not fill the memory of its worker."""


class DispatchedCall:
    """A call that a framework has dispatched: its tool, its arguments as plain JSON, and its answer once there is one.

    A call without an answer is still running, or was cancelled. Its `parent` is the call whose tool made it, such as
    one that runs another agent.
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
        """Set the answer and the time of the end."""
        self.answer, self.ended = answer, time.time_ns()

    @property
    def is_deferred(self) -> bool:
        """Whether the tool deferred the call: it waits for approval, or is run elsewhere."""
        return self.answer is not None and _kind(self.answer.error) in DEFERRALS


dispatch_log: ContextVar[list[DispatchedCall] | None] = ContextVar("rightcall_dispatched", default=None)
"""The list that calls of this context are logged to, if any; it is read if nothing else has recorded them."""

_inside: ContextVar[DispatchedCall | None] = ContextVar("rightcall_inside", default=None)
"""The call whose tool is running in this context, if any."""

propagate(dispatch_log)
propagate(_inside)


class Form(NamedTuple):
    """How answers of a framework's tools are converted to JSON and back."""

    written: Callable[[Any], Any]
    """Converts what the tool returned to a JSON value."""
    given: Callable[[Any], Any]
    """Converts the JSON value of a mock or a recording to what the framework expects."""
    answer_of: Callable[[Any], ToolAnswer] = ToolAnswer
    """Returns what the model is shown of the JSON value: a value, or an error that is encoded in it."""


def _same(value: Any) -> Any:
    return value


AS_IT_IS = Form(_same, _same)


async def dispatched(
    tool: str, args: Mapping[str, Any], run: Callable[[], Awaitable[Any]], form: Form = AS_IT_IS
) -> Any:
    """Return a stub's answer as the framework expects it, or await the tool itself."""
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
    """Do the same for a synchronous tool."""
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
    """Log a call that the framework answers itself, such as from a cache: the agent made it, but no tool runs."""
    if dispatch_log.get() is not None and tool not in dispatching.get():
        _Call(tool, args, form).answered(value)


def _is_watched(tool: str) -> bool:
    """Whether to handle a call: there is a stub, observer or log, and it is not an inner step of a handled call.

    Frameworks dispatch one call in several steps: LangChain's `_arun` calls `_run`, and a toolset of Pydantic AI calls
    an MCP session. Only the outermost step is handled.
    """
    if tool in dispatching.get():
        return False
    return tool_stub.get() is not None or tool_observer.get() is not None or dispatch_log.get() is not None


def is_same_call(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call is a step of the running one, to whose name a toolset of an MCP server may add a prefix."""
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
        """Return the stub's answer as the framework expects it; None without one. Raises `MockError`."""
        stub = tool_stub.get()
        answer = stub(self._logged.tool, self._args) if stub is not None else None
        if answer is None:
            return None
        self._log(answer)
        return answer if answer.error is not None else ToolAnswer(self._form.given(answer.value))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the tool in this block: inner calls with the same name are steps of this call."""
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
        """End the call with an answer that the tool did not give, without telling the observer."""
        self._log(ToolAnswer(self._form.written(value)))

    def returned(self, value: Any) -> None:
        """End the call with what the tool returned, unless that is an iterator, whose values are not known yet."""
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
    """Return logged calls as an OTLP document of tool spans, for the readers."""
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


class ToolError(Exception):
    """A tool reported in its result that it failed, as MCP tools do."""


def _jsonable(value: Any) -> Any:
    """Convert what a tool returned to plain data, if it is a model, a dataclass or the like."""
    from rightcall.running.tracing import plain_value

    return value if isinstance(value, (str, int, float, bool, type(None))) else plain_value(value)


def _return_value(value: Any) -> Any:
    """Return the value that the model sees, also of Pydantic AI's `ToolReturn`."""
    return _jsonable(value.return_value if type(value).__name__ == "ToolReturn" else value)


def _text_in(content: Any) -> Any:
    """Return the text if the content is a single text block; else the content."""
    blocks = content if isinstance(content, list) else [content]
    is_text = len(blocks) == 1 and isinstance(blocks[0], Mapping) and blocks[0].get("type") == "text"
    return blocks[0].get("text", content) if is_text else content


def _text_answer(content: Any) -> ToolAnswer:
    return ToolAnswer(_text_in(content))


def _as_pair(value: Any) -> tuple[Any, Any]:
    return (value[0], value[1]) if isinstance(value, (list, tuple)) and len(value) == 2 else (value, None)


def _content_answer(pair: Any) -> ToolAnswer:
    """Return the content of a pair without the artifact, which the model does not see."""
    return _text_answer(_as_pair(pair)[0])


def _mcp_json(result: Any) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _mcp_result(value: Any) -> Any:
    """Return an MCP result: a recorded one as it was; another value as text and, if an object, structured content."""
    types = sys.modules.get("mcp.types") or sys.modules["mcp_types"]
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return types.CallToolResult.model_validate(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    made: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if isinstance(value, Mapping):
        made["structuredContent"] = value
    return types.CallToolResult.model_validate(made)


def _mcp_answer(result: Any) -> ToolAnswer:
    """Return the answer in an MCP result: a tool's error is a result with `isError` (`CallToolResult`)."""
    if not isinstance(result, Mapping) or not isinstance(result.get("content"), list):
        return ToolAnswer(result)
    value = _text_in(result["content"])
    return ToolAnswer(error=ToolError(value)) if result.get("isError") is True else ToolAnswer(value)


def _tool_output(output: Any) -> Any:
    """Return the raw output of LlamaIndex's `ToolOutput`; if it is an error, in an object that says so."""
    raw = _jsonable(getattr(output, "raw_output", output))
    return {"is_error": True, "raw_output": raw} if getattr(output, "is_error", False) else raw


def _tool_output_answer(value: Any) -> ToolAnswer:
    is_error = isinstance(value, Mapping) and value.keys() == {"is_error", "raw_output"}
    return ToolAnswer(error=ToolError(value["raw_output"])) if is_error else ToolAnswer(value)


def llama_index_form(name: str, args: Mapping[str, Any]) -> Form:
    """Return how a LlamaIndex tool answers: with a `ToolOutput`, which includes its name and arguments."""

    def given(value: Any) -> Any:
        answer = _tool_output_answer(value)
        raw = value if answer.error is None else value["raw_output"]
        fields = {"content": str(raw), "tool_name": name, "raw_input": {"args": [], "kwargs": dict(args)}}
        kind = sys.modules["llama_index.core.tools.types"].ToolOutput
        return kind(**fields, raw_output=raw, is_error=answer.error is not None)

    return Form(_tool_output, given, _tool_output_answer)


def _execution_result(outcome: Any) -> Any:
    """Return the result in Agno's `FunctionExecutionResult`; if it failed, an object with the error."""
    if outcome.status == "failure":
        return {"status": "failure", "error": str(outcome.error)}
    return _jsonable(outcome.result.content if type(outcome.result).__name__ == "ToolResult" else outcome.result)


def _execution_answer(value: Any) -> ToolAnswer:
    has_failed = isinstance(value, Mapping) and value.keys() == {"status", "error"} and value["status"] == "failure"
    return ToolAnswer(error=ToolError(value["error"])) if has_failed else ToolAnswer(value)


def agno_form(call: Any) -> Form:
    """Return how Agno's `FunctionCall` answers; it also keeps the result or the error in its own fields."""

    def given(value: Any) -> Any:
        answer = _execution_answer(value)
        kind = sys.modules["agno.tools.function"].FunctionExecutionResult
        if answer.error is not None:
            call.error = value["error"]
            return kind(**value)
        call.result = value
        return kind(status="success", result=value)

    return Form(_execution_result, given, _execution_answer)


def _contents(value: Any) -> Any:
    """Return the text of a list of Agent Framework contents; if not all are texts, the contents as plain data."""
    items = value if isinstance(value, list) else []
    texts = [getattr(item, "text", None) for item in items]
    is_text = bool(items) and all([isinstance(text, str) for text in texts])
    return "".join(map(str, texts)) if is_text else _jsonable(value)


def agent_framework_form(tool: Any) -> Form:
    """Return how an Agent Framework tool answers: with a list of contents."""
    return Form(_contents, tool.parse_result)


def crewai_form(usage: Any) -> Form:
    """Return how CrewAI answers a call that a model requested in its text: with a text that CrewAI adds to."""

    def written(text: str) -> Any:
        return _jsonable(usage.get_last_raw_result(text))

    def answer_of(value: Any) -> ToolAnswer:
        failure = usage.last_failure
        return ToolAnswer(value) if failure is None else ToolAnswer(error=ToolError(failure.message))

    return Form(written, str, answer_of)


DATA = Form(_jsonable, _same)
RETURN_VALUE = Form(_return_value, _same)
"""Pydantic AI."""
CONTENT_AND_ARTIFACT = Form(_jsonable, _as_pair, _content_answer)
"""LangChain, for tools with `response_format="content_and_artifact"`."""
TOOL_OUTPUT = Form(_jsonable, _same, _text_answer)
"""OpenAI Agents: tools of MCP servers return a `ToolOutputText`, of which the model sees the text."""
MCP_RESULT = Form(_mcp_json, _mcp_result, _mcp_answer)
