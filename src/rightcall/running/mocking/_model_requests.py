"""Requests to models: what a request asks, whichever protocol it is in, and how two of them differ.

The model, the messages and the tools are compared. Sampling settings, ids and headers are left out: they change from
run to run, and do not change what is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import shown
from rightcall.values.redaction import redacted_value

_VOLATILE = frozenset(
    {
        *("id", "call_id", "tool_call_id", "tool_use_id", "item_id", "response_id", "previous_response_id"),
        *("status", "annotations", "logprobs", "cache_control", "encrypted_content", "signature", "thoughtSignature"),
        *("thought_signature", "created", "created_at", "timestamp", "refusal", "audio", "phase"),
    }
)
"""Keys of messages whose values are made up by a provider or a framework for each request."""
_CHANGING = lazy_pattern(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"  # a UUID
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"  # a date, with a time or without
    r"|\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b"  # a time
    r"|\b1[5-9]\d{8}(?:\d{3})?\b"  # seconds or milliseconds since 1970, from 2017 to 2033
    r"|\b0x[0-9a-fA-F]{6,16}\b"  # an address of memory
)
_MASK = "…"
_LONGEST = 120


class ModelRequest(msgspec.Struct, frozen=True):
    """What a request asks of a model, without anything that is volatile or secret."""

    api: str
    """The protocol, such as `openai.chat`; of anything else the method and the path."""
    model: str = ""
    messages: list[Any] = []
    """The conversation, with instructions for the model first."""
    tools: Any = None
    stream: bool = False

    def masked(self) -> ModelRequest:
        """Return the request without dates, times, UUIDs and addresses of memory in its texts."""
        return msgspec.structs.replace(self, messages=[_masked(message) for message in self.messages])


def model_request(method: str, path: str, body: bytes, *, is_any: bool = False) -> ModelRequest | None:
    """Return what a request asks; None if it is not one to a model, unless `is_any` request is meant.

    Protocols are known by the end of their path, which is the same for every provider and proxy that speaks them.
    """
    place = path.partition("?")[0]
    try:
        asked = json.loads(body) if body else {}
    except ValueError:
        asked = None
    if method == "POST" and isinstance(asked, dict):
        for protocol in _PROTOCOLS:
            found = protocol.path.search(place)
            if found is not None and protocol.needs in asked:
                return _cleaned(protocol.read(asked, found))
    if not is_any:
        return None
    said = asked if asked is not None else body.decode("utf-8", "replace")
    return _cleaned(ModelRequest(f"{method} {place}", messages=[said] if said else []))


def difference(recorded: ModelRequest, asked: ModelRequest) -> str:
    """Return the first difference of two requests: where, what was recorded, and what is asked."""
    for name in ("api", "model", "stream"):
        before, now = getattr(recorded, name), getattr(asked, name)
        if before != now:
            return f"{name}: recorded {shown(before)}, now {shown(now)}"
    for where, before, now in _differences(recorded.messages, asked.messages, "messages"):
        return f"{where}: recorded {_short(before)}, now {_short(now)}"
    for where, before, now in _differences(recorded.tools, asked.tools, "tools"):
        return f"{where}: recorded {_short(before)}, now {_short(now)}"
    return "nothing, but it was asked less often"


def likeness(recorded: ModelRequest, asked: ModelRequest) -> tuple[int, ...]:
    """Return how near two requests are, to choose the nearest by: equal parts, then equal first messages."""
    same = sum([getattr(recorded, name) == getattr(asked, name) for name in ("api", "model", "stream", "tools")])
    equal = 0
    for one, other in zip(recorded.messages, asked.messages, strict=False):
        if one != other:
            break
        equal += 1
    return same, equal, -abs(len(recorded.messages) - len(asked.messages))


class _Protocol(NamedTuple):
    path: re.Pattern[str]
    needs: str
    """A key that the body of such a request has."""
    read: Callable[[dict[str, Any], re.Match[str]], ModelRequest]


def _chat(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    return ModelRequest("openai.chat", *_common(asked, asked["messages"]))


def _responses(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    given = asked["input"]
    messages = given if isinstance(given, list) else [{"role": "user", "content": given}]
    return ModelRequest("openai.responses", *_common(asked, [*_instructions(asked.get("instructions")), *messages]))


def _anthropic(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    return ModelRequest(
        "anthropic.messages", *_common(asked, [*_instructions(asked.get("system")), *asked["messages"]])
    )


def _gemini(asked: dict[str, Any], found: re.Match[str]) -> ModelRequest:
    system = asked.get("systemInstruction") or asked.get("system_instruction")
    messages = [*_instructions(system), *asked["contents"]]
    is_streamed = found["verb"].startswith("stream")
    return ModelRequest("gemini.generate", found["model"], messages, asked.get("tools"), is_streamed)


def _embeddings(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    given = asked["input"]
    return ModelRequest("openai.embeddings", *_common(asked, given if isinstance(given, list) else [given]))


def _common(asked: dict[str, Any], messages: Any) -> tuple[str, list[Any], Any, bool]:
    held = messages if isinstance(messages, list) else [messages]
    return str(asked.get("model", "")), held, asked.get("tools"), asked.get("stream") is True


def _instructions(given: Any) -> list[Any]:
    return [{"role": "system", "content": given}] if given else []


_PROTOCOLS = (
    _Protocol(re.compile(r"/chat/completions$"), "messages", _chat),
    _Protocol(re.compile(r"/responses$"), "input", _responses),
    _Protocol(re.compile(r"/messages$"), "messages", _anthropic),
    _Protocol(re.compile(r"/models/(?P<model>[^/:]+):(?P<verb>(?:streamG|g)enerateContent)$"), "contents", _gemini),
    _Protocol(re.compile(r"/embeddings$"), "input", _embeddings),
)


def _cleaned(request: ModelRequest) -> ModelRequest:
    """Return a request without volatile parts and secrets."""
    messages = redacted_value([_steady(message) for message in request.messages])
    return msgspec.structs.replace(request, messages=messages, tools=redacted_value(_steady(request.tools)))


def _steady(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _steady(held) for key, held in value.items() if held is not None and key not in _VOLATILE}
    return [_steady(item) for item in value] if isinstance(value, list) else value


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _CHANGING.sub(_MASK, value)
    if isinstance(value, Mapping):
        return {key: _masked(held) for key, held in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _differences(before: Any, now: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _differences(before.get(key), now.get(key), f"{where}.{key}")
    elif isinstance(before, list) and isinstance(now, list):
        for place in range(max(len(before), len(now))):
            pair = [held[place] if place < len(held) else None for held in (before, now)]
            yield from _differences(pair[0], pair[1], f"{where}[{place}]")
    elif before != now:
        yield where, before, now


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
