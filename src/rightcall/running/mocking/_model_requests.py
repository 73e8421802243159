"""Requests to models: whom they are sent to, what they ask in whichever protocol, and how two of them differ.

The model, the messages and the tools are compared. Sampling settings, ids and headers are left out: they change from
run to run, and do not change what is asked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

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
_DATA = frozenset({"args", "arguments", "input", "response", "properties", "json"})
"""Keys below which an agent's own names stand: an `id` there is an argument, a result or a parameter."""
_CHANGING = lazy_pattern(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"  # a UUID
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"  # a date, with a time or without
    r"|\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b"  # a time
    r"|\b1[5-9]\d{8}(?:\d{3})?\b"  # seconds or milliseconds since 1970, from 2017 to 2033
    r"|\b0x[0-9a-fA-F]{6,16}\b"  # an address of memory
)
_MASK = "…"
_LONGEST = 120
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Provider(NamedTuple):
    """A provider that SDKs find by variables of the environment."""

    name: str
    bases: tuple[str, ...]
    """The variables that hold its address."""
    address: str = ""
    """Its address where none of them is set; empty if an SDK needs one to be set."""


PROVIDERS = (
    Provider("openai", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    Provider("anthropic", ("ANTHROPIC_BASE_URL",), "https://api.anthropic.com"),
    Provider("gemini", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"), "https://generativelanguage.googleapis.com"),
    Provider("azure", ("AZURE_OPENAI_ENDPOINT",)),
    Provider("groq", ("GROQ_BASE_URL",)),
    Provider("mistral", ("MISTRAL_BASE_URL",)),
    Provider("together", ("TOGETHER_BASE_URL",)),
    Provider("openrouter", ("OPENROUTER_BASE_URL",)),
    Provider("deepseek", ("DEEPSEEK_BASE_URL",)),
    Provider("litellm", ("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL")),
    Provider("ollama", ("OLLAMA_HOST", "OLLAMA_BASE_URL")),
)
KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
)
"""The variables that hold keys. An SDK refuses to be made without one, also where nothing will be sent."""


def is_of_a_provider(url: str) -> bool:
    """Whether an address is one of a known provider: of its usual ones, or below where a variable points."""
    return url.startswith(tuple([f"{base.rstrip('/')}/" for base in _bases()]))


def is_host_of_a_provider(host: str) -> bool:
    """Whether a name is that of a known provider's host; this machine is not, whatever is served on it."""
    return host not in _LOCAL and host in [urlsplit(base).hostname for base in _bases()]


def _bases() -> list[str]:
    usual = ["/".join(each.address.split("/")[:3]) for each in PROVIDERS if each.address]
    return usual + [os.environ[name] for each in PROVIDERS for name in each.bases if "://" in os.environ.get(name, "")]


class ModelRequest(msgspec.Struct, frozen=True):
    """What a request asks of a model, without anything that is volatile or secret."""

    api: str
    """The protocol, such as `openai.chat`; of anything else the method and the path."""
    model: str = ""
    messages: list[Any] = []
    """The conversation, with instructions for the model first."""
    tools: Any = None
    stream: bool = False

    @property
    def is_telemetry(self) -> bool:
        """Whether it tells a provider what an agent did, as OpenAI Agents does, and asks no model."""
        return self.api.endswith("/traces/ingest")

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
    text = asked if asked is not None else body.decode("utf-8", "replace")
    return _cleaned(ModelRequest(f"{method} {place}", messages=[text] if text else []))


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


def _bedrock(asked: dict[str, Any], found: re.Match[str]) -> ModelRequest:
    tools = asked.get("toolConfig") or asked.get("tools")
    messages = [*_instructions(asked.get("system")), *asked["messages"]]
    return ModelRequest("bedrock", unquote(found["model"]), messages, tools, "stream" in found["verb"])


def _ollama(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    # Unlike others it streams unless it is told not to (Ollama's API reference, "Generate a chat completion").
    return ModelRequest("ollama.chat", *_common({"stream": True, **asked}, asked["messages"]))


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
    _Protocol(re.compile(r"/model/(?P<model>[^/]+)/(?P<verb>(?:converse|invoke)[a-z-]*)$"), "messages", _bedrock),
    _Protocol(re.compile(r"/api/chat$"), "messages", _ollama),
    _Protocol(re.compile(r"/embeddings$"), "input", _embeddings),
)


def _cleaned(request: ModelRequest) -> ModelRequest:
    """Return a request without volatile parts and secrets."""
    messages = redacted_value([_steady(message) for message in request.messages])
    return msgspec.structs.replace(request, messages=messages, tools=redacted_value(_steady(request.tools)))


def _steady(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: held if key in _DATA and isinstance(held, Mapping) else _steady(held)
            for key, held in value.items()
            if held is not None and key not in _VOLATILE
        }
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
