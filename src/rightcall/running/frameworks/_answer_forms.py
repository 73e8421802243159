"""How the tools of frameworks answer: as a recording keeps it, as a framework takes it, and as a model is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from rightcall.running.tracing import ToolAnswer

from ._dispatch import Form


class ToolError(Exception):
    """A tool of an MCP server said that it failed."""


def _jsonable(value: Any) -> Any:
    """Return what a tool returned as plain data if it is a model, a dataclass or the like."""
    from rightcall.running.tracing import plain_value

    return value if isinstance(value, (str, int, float, bool, type(None))) else plain_value(value)


def _same(value: Any) -> Any:
    return value


def _return_value(value: Any) -> Any:
    """Return the value that the model sees of Pydantic AI's `ToolReturn`."""
    return _jsonable(value.return_value if type(value).__name__ == "ToolReturn" else value)


def _text_in(content: Any) -> Any:
    """Return the text of a single block of text; anything else as it is."""
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
    """Return a result of MCP: a recorded one as it was, any other value as its text and, if an object, its data."""
    types = sys.modules.get("mcp.types") or sys.modules["mcp_types"]
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return types.CallToolResult.model_validate(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    made: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if isinstance(value, Mapping):
        made["structuredContent"] = value
    return types.CallToolResult.model_validate(made)


def _mcp_answer(result: Any) -> ToolAnswer:
    """Return what a result of MCP says: errors of a tool are results with `isError` (`CallToolResult`)."""
    if not isinstance(result, Mapping) or not isinstance(result.get("content"), list):
        return ToolAnswer(result)
    value = _text_in(result["content"])
    return ToolAnswer(error=ToolError(value)) if result.get("isError") is True else ToolAnswer(value)


def _tool_output(output: Any) -> Any:
    """Return what a `ToolOutput` of LlamaIndex holds, and that it is an error if it is one."""
    raw = _jsonable(getattr(output, "raw_output", output))
    return {"is_error": True, "raw_output": raw} if getattr(output, "is_error", False) else raw


def _tool_output_told(value: Any) -> ToolAnswer:
    is_error = isinstance(value, Mapping) and value.keys() == {"is_error", "raw_output"}
    return ToolAnswer(error=ToolError(value["raw_output"])) if is_error else ToolAnswer(value)


def llama_index_form(name: str, args: Mapping[str, Any]) -> Form:
    """Return how a tool of LlamaIndex answers: with a `ToolOutput`, which has its name and arguments, too."""

    def given(value: Any) -> Any:
        told = _tool_output_told(value)
        raw = value if told.error is None else value["raw_output"]
        held = {"content": str(raw), "tool_name": name, "raw_input": {"args": [], "kwargs": dict(args)}}
        kind = sys.modules["llama_index.core.tools.types"].ToolOutput
        return kind(**held, raw_output=raw, is_error=told.error is not None)

    return Form(_tool_output, given, _tool_output_told)


def _execution_result(outcome: Any) -> Any:
    """Return the result of Agno's `FunctionExecutionResult`, or that it failed."""
    if outcome.status == "failure":
        return {"status": "failure", "error": str(outcome.error)}
    return _jsonable(outcome.result.content if type(outcome.result).__name__ == "ToolResult" else outcome.result)


def _execution_told(value: Any) -> ToolAnswer:
    has_failed = isinstance(value, Mapping) and value.keys() == {"status", "error"} and value["status"] == "failure"
    return ToolAnswer(error=ToolError(value["error"])) if has_failed else ToolAnswer(value)


def agno_form(call: Any) -> Form:
    """Return how a `FunctionCall` of Agno answers, which keeps the result or the error itself as well."""

    def given(value: Any) -> Any:
        told = _execution_told(value)
        kind = sys.modules["agno.tools.function"].FunctionExecutionResult
        if told.error is not None:
            call.error = value["error"]
            return kind(**value)
        call.result = value
        return kind(status="success", result=value)

    return Form(_execution_result, given, _execution_told)


def _contents(value: Any) -> Any:
    """Return the text of a list of contents of Agent Framework; of others, what they hold."""
    items = value if isinstance(value, list) else []
    texts = [getattr(item, "text", None) for item in items]
    is_text = bool(items) and all([isinstance(text, str) for text in texts])
    return "".join(map(str, texts)) if is_text else _jsonable(value)


def agent_framework_form(tool: Any) -> Form:
    """Return how a tool of Agent Framework answers: with a list of contents."""
    return Form(_contents, tool.parse_result)


def crewai_form(usage: Any) -> Form:
    """Return how a call answers that a model of CrewAI asked for in its text: with a text, and more of CrewAI in it."""

    def written(told: str) -> Any:
        return _jsonable(usage.get_last_raw_result(told))

    def answer_of(value: Any) -> ToolAnswer:
        failure = usage.last_failure
        return ToolAnswer(value) if failure is None else ToolAnswer(error=ToolError(failure.message))

    return Form(written, str, answer_of)


DATA = Form(_jsonable, _same)
RETURN_VALUE = Form(_return_value, _same)
"""Pydantic AI."""
CONTENT_AND_ARTIFACT = Form(_jsonable, _as_pair, _content_answer)
"""LangChain, where a tool says so."""
TOOL_OUTPUT = Form(_jsonable, _same, _text_answer)
"""OpenAI Agents: tools of MCP servers return a `ToolOutputText`, of which the model sees the text."""
MCP_RESULT = Form(_mcp_json, _mcp_result, _mcp_answer)
