"""What conversations look like in the protocols of OpenAI and Gemini, and what an answer does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .script import Message, Said

_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class Speech(Protocol):
    """One protocol."""

    def conversation(self, request: Mapping[str, Any]) -> list[Message]:
        """The messages of a request."""

    def is_streamed(self, path: str, request: Mapping[str, Any]) -> bool:
        """Whether the answer is wanted in chunks."""

    def answer(self, said: Said, number: int, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer as one document."""

    def chunks(self, said: Said, number: int, request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The answer as events of a stream."""


def of(path: str) -> Speech | None:
    """The protocol that is spoken at a path."""
    if path.endswith("/chat/completions"):
        return _Chat()
    if path.endswith("/responses"):
        return _Responses()
    return _Gemini() if "generateContent" in path.replace("streamG", "g") else None


class _Chat:
    """OpenAI's chat completions."""

    def conversation(self, request: Mapping[str, Any]) -> list[Message]:
        roles = {"tool": "result", "user": "user"}
        return [
            Message(roles.get(message["role"], "other"), _text(message.get("content")))
            for message in request["messages"]
        ]

    def is_streamed(self, path: str, request: Mapping[str, Any]) -> bool:
        return bool(request.get("stream"))

    def answer(self, said: Said, number: int, request: Mapping[str, Any]) -> Mapping[str, Any]:
        message = {"role": "assistant", **self._content(said, number)}
        choice = {"index": 0, "message": message, "finish_reason": self._reason(said)}
        return {**self._head(number, request), "object": "chat.completion", "choices": [choice], "usage": _USAGE}

    def chunks(self, said: Said, number: int, request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        head = {**self._head(number, request), "object": "chat.completion.chunk"}
        delta = {"role": "assistant", **self._content(said, number)}
        for place, call in enumerate(delta.get("tool_calls") or ()):
            call["index"] = place
        return [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": self._reason(said)}]},
            {**head, "choices": [], "usage": _USAGE},
        ]

    def _head(self, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": f"chatcmpl-{number}", "created": 1_700_000_000, "model": request["model"]}

    def _reason(self, said: Said) -> str:
        return "tool_calls" if said.text is None else "stop"

    def _content(self, said: Said, number: int) -> dict[str, Any]:
        if said.text is not None:
            return {"content": said.text}
        function = {"name": said.tool, "arguments": json.dumps(said.args)}
        return {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}


class _Responses:
    """OpenAI's responses."""

    def conversation(self, request: Mapping[str, Any]) -> list[Message]:
        given = request["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [self._message(item) for item in items]

    def _message(self, item: Mapping[str, Any]) -> Message:
        if item.get("type") == "function_call_output":
            return Message("result")
        return Message("user" if item.get("role") == "user" else "other", _text(item.get("content")))

    def is_streamed(self, path: str, request: Mapping[str, Any]) -> bool:
        return bool(request.get("stream"))

    def answer(self, said: Said, number: int, request: Mapping[str, Any]) -> Mapping[str, Any]:
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": request["model"],
            "status": "completed",
            "output": [self._item(said, number)],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details},
        }

    def chunks(self, said: Said, number: int, request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        whole = self.answer(said, number, request)
        return [{"type": "response.completed", "sequence_number": 0, "response": whole}]

    def _item(self, said: Said, number: int) -> dict[str, Any]:
        if said.text is None:
            call = {"call_id": f"call_{number}", "name": said.tool, "arguments": json.dumps(said.args)}
            return {"id": f"fc_{number}", "type": "function_call", "status": "completed", **call}
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }


class _Gemini:
    """Gemini's generateContent."""

    def conversation(self, request: Mapping[str, Any]) -> list[Message]:
        return [self._message(content) for content in request["contents"]]

    def _message(self, content: Mapping[str, Any]) -> Message:
        if any("functionResponse" in part for part in content["parts"]):
            return Message("result")
        return Message("user" if content.get("role") == "user" else "other", _text(content["parts"]))

    def is_streamed(self, path: str, request: Mapping[str, Any]) -> bool:
        return "streamGenerateContent" in path

    def answer(self, said: Said, number: int, request: Mapping[str, Any]) -> Mapping[str, Any]:
        part = (
            {"text": said.text} if said.text is not None else {"functionCall": {"name": said.tool, "args": said.args}}
        )
        return {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "scripted",
            "responseId": f"response-{number}",
        }

    def chunks(self, said: Said, number: int, request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [self.answer(said, number, request)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content or ()
    return "".join([part.get("text") or "" for part in parts])
