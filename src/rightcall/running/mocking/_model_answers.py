"""Requests to models in all protocols, and their answers: recorded, and replayed without a network.

Requests are compared by model, messages and tools. Sampling settings, ids and headers are left out: they change from
run to run without changing the question.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET

from rightcall._lazy import lazy_pattern
from rightcall.errors import MockError, shown
from rightcall.running.tracing import propagate, thread_patches
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_text, redacted_value

_TRY_AGAIN = (408, 409, 429)
_TRUE, _FALSE, _NAN = object(), object(), object()
_VOLATILE = frozenset(
    {
        *("id", "call_id", "tool_call_id", "tool_use_id", "item_id", "response_id", "previous_response_id"),
        *("status", "annotations", "logprobs", "cache_control", "encrypted_content", "signature", "thoughtSignature"),
        *("thought_signature", "created", "created_at", "timestamp", "refusal", "audio", "phase"),
    }
)
"""Keys of messages whose values a provider or a framework generates for each request."""
_DATA = frozenset({"args", "arguments", "input", "response", "properties", "json"})
"""Keys with an agent's own data below them, where an `id` is an argument, a result or a parameter, not volatile."""
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


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The response of a model: its status, and its body as JSON, as text (the events of a stream) or as bytes."""

    status: int = 200
    type: str = "application/json"
    body: Any = UNSET
    text: str | msgspec.UnsetType = UNSET
    data: bytes | msgspec.UnsetType = UNSET
    """A body that is not text, such as Bedrock's event streams; base64 in a file."""

    @classmethod
    def of(cls, status: int, kind: str, content: bytes) -> ModelAnswer:
        """Make an answer of a response, without secrets. Of its headers only the content type is kept."""
        kind = kind.partition(";")[0].strip() or "application/json"
        text = content.decode("utf-8", "replace")
        clean = redacted_text(text)
        if "\ufffd" in text and clean == text:
            return cls(status=status, type=kind, data=content)
        if kind.endswith("json"):
            try:
                return cls(status=status, type=kind, body=redacted_value(msgspec.json.decode(content)))
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass  # not JSON, although its content type says so, such as an error page
        return cls(status=status, type=kind, text=clean)

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if self.data is not UNSET:
            return self.data
        return self.text.encode() if self.text is not UNSET else dump_json(self.body).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers to respond with. If the client may retry, it is told not to wait: nothing has to recover."""
        headers = {"content-type": self.type}
        if self.status in _TRY_AGAIN or self.status >= 500:
            headers["retry-after-ms"] = "1"
        return headers


class RecordedModelCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request of one case to a model, with its answer."""

    case: str
    request: ModelRequest
    answer: ModelAnswer

    def line(self, before: RecordedModelCall | None = None) -> str:
        """Return the call as a line of JSON, without messages and tools that the previous call of the case has, too.

        Each request of a conversation repeats all earlier messages. Written only once, a person can review them.
        """
        written = msgspec.to_builtins(self)
        request = written["request"]
        if before is not None:
            earlier = before.request
            shared = _shared(earlier.messages, self.request.messages)
            if shared:
                request["shared"] = shared
                request["messages"] = self.request.messages[shared:]
            if earlier.tools == self.request.tools:
                del request["tools"]
        return dump_json(written) + "\n"


def expanded(written: Any, before: RecordedModelCall | None) -> Any:
    """Undo what `RecordedModelCall.line` left out of a line of a recording."""
    request = written.get("request") if isinstance(written, dict) else None
    if before is None or not isinstance(request, dict):
        return written
    shared = request.pop("shared", 0)
    messages = [*before.request.messages[: shared if isinstance(shared, int) else 0], *request.get("messages", [])]
    return {**written, "request": {"tools": before.request.tools, **request, "messages": messages}}


def _shared(earlier: Sequence[Any], later: Sequence[Any]) -> int:
    count = 0
    while count < min(len(earlier), len(later)) and earlier[count] == later[count]:
        count += 1
    return count


class ModelTap(Protocol):
    """Answers or records the requests of an agent to models."""

    def answer(self, request: ModelRequest) -> ModelAnswer | None:
        """Return the answer to a request; None to send it to the real model."""

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Record the answer of the real model."""

    def see_connection(self, host: str) -> None:
        """Handle a connection to a provider that bypasses this tap. Raises `MockError` if it is not allowed."""


model_tap: ContextVar[ModelTap | None] = ContextVar("rightcall_model_tap", default=None)
"""The tap for requests to models in this context, if any."""
propagate(model_tap)


@contextmanager
def tapping_models(tap: ModelTap) -> Iterator[None]:
    """Route requests to models through a tap, in this context and in the threads and tasks it starts."""
    from ._http_clients import tap_http_clients

    tap_http_clients()
    with thread_patches:
        token = model_tap.set(tap)
        try:
            yield
        finally:
            model_tap.reset(token)


class ModelRecorder:
    """A tap that sends requests to the real model, and records its answers."""

    def __init__(self, case: str) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._asked: list[ModelRequest] = []
        self._entries: dict[int, RecordedModelCall] = {}

    @property
    def entries(self) -> tuple[RecordedModelCall, ...]:
        """The calls that ended so far, in the order in which they were made.

        Equal requests are replayed in this order. A client may ask again before the answer has ended: many read no more
        than the status of an error.
        """
        with self._lock:
            return tuple([self._entries[id(asked)] for asked in self._asked if id(asked) in self._entries])

    def answer(self, request: ModelRequest) -> None:
        """Return None: the real model answers."""
        with self._lock:
            self._asked.append(request)

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Record an answer, including errors such as rate limits."""
        if request.is_telemetry:
            return
        with self._lock:
            self._entries[id(request)] = RecordedModelCall(case=self._case, request=request, answer=answer)

    def see_connection(self, host: str) -> None:
        """Do nothing: connections to models are allowed."""


class ModelReplay:
    """A tap that answers from a recording. Each entry answers once; those with equal requests answer in order.

    If no entry is equal, one answers that differs only in dates, times, UUIDs and memory addresses.
    """

    def __init__(self, case: str, entries: Iterable[RecordedModelCall]) -> None:
        self._case = case
        self._entries = tuple(entries)
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._exact: dict[Hashable, deque[int]] = {}
        self._masked: dict[Hashable, deque[int]] = {}
        for place, entry in enumerate(self._entries):
            self._exact.setdefault(_key(entry.request), deque()).append(place)
            self._masked.setdefault(_key(entry.request.masked()), deque()).append(place)
        self._problems: list[MockError] = []

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The requests that were not answered. Each makes the case an error, even if the agent handled it."""
        with self._lock:
            return tuple(self._problems)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Return the recorded answer; without one, an error with the status 400, which no client retries.

        Telemetry gets an empty answer, and is not sent anywhere.
        """
        if request.is_telemetry:
            return ModelAnswer(body={})
        with self._lock:
            place = self._next(self._exact, request)
            place = self._next(self._masked, request.masked()) if place is None else place
            if place is not None:
                self._used.add(place)
                return self._entries[place].answer
            problem = MockError(self._message(request))
            self._problems.append(problem)
        error = {"message": f"RC508 model-not-recorded: {problem}", "type": "rightcall", "code": 400}
        return ModelAnswer(status=400, body={"type": "error", "error": error})

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Do nothing: no real model answers."""

    def see_connection(self, host: str) -> None:
        """Refuse a connection to a provider by a client that is not tapped: the real model would answer."""
        problem = MockError(
            f"the agent connects to {shown(host)} by a client that is neither recorded nor replayed (known are httpx, "
            "aiohttp, requests, urllib3 and urllib); mock what it does, or ask the real model with --live model"
        )
        with self._lock:
            self._problems.append(problem)
        raise problem

    def _next(self, index: dict[Hashable, deque[int]], request: ModelRequest) -> int | None:
        left = index.get(_key(request), deque())
        while left:
            place = left.popleft()
            if place not in self._used:
                return place
        return None

    def _message(self, request: ModelRequest) -> str:
        asked = f"the request to {shown(request.model or request.api)}"
        remedy = "record the case again with --record, or ask the real one with --live model"
        if not self._entries:
            return f"{asked} is not in the recording of {shown(self._case)}, which has none to a model; {remedy}"
        number, nearest = max(enumerate(self._entries, 1), key=lambda one: likeness(one[1].request, request))
        return (
            f"{asked} is not in the recording of {shown(self._case)}; the nearest, number {number}, differs in "
            f"{difference(nearest.request, request)}; {remedy}"
        )


def _key(request: ModelRequest) -> Hashable:
    return equality_key(msgspec.structs.asdict(request))


def equality_key(value: Any) -> Hashable:
    """Return a hashable key of a JSON value; two keys are equal exactly if evaluators find the values equal."""
    if isinstance(value, dict):
        return frozenset([(key, equality_key(item)) for key, item in value.items()])
    if isinstance(value, list):
        return tuple([equality_key(item) for item in value])
    if isinstance(value, bool):
        # In Python `True == 1`, and both hash alike; in JSON they are two values (RFC 8259, section 3).
        return _TRUE if value else _FALSE
    # NaN differs from itself, so without a key of its own a recorded NaN would never be found.
    return _NAN if value != value else value


class Provider(NamedTuple):
    """A model provider whose address SDKs read from environment variables."""

    name: str
    bases: tuple[str, ...]
    """The environment variables with its address."""
    address: str = ""
    """Its default address; empty if SDKs need a variable to be set."""


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
"""Environment variables with API keys. SDKs refuse to create a client without one, even if no request is sent."""


def is_of_a_provider(url: str) -> bool:
    """Whether a URL belongs to a known provider: at its default address, or at the one in an environment variable."""
    return url.startswith(tuple([f"{base.rstrip('/')}/" for base in _bases()]))


def is_host_of_a_provider(host: str) -> bool:
    """Whether a host is that of a known provider. This machine never is, whatever runs on it."""
    return host not in _LOCAL and host in [urlsplit(base).hostname for base in _bases()]


def _bases() -> list[str]:
    usual = ["/".join(each.address.split("/")[:3]) for each in PROVIDERS if each.address]
    return usual + [os.environ[name] for each in PROVIDERS for name in each.bases if "://" in os.environ.get(name, "")]


class ModelRequest(msgspec.Struct, frozen=True):
    """What a request asks of a model, without volatile parts and secrets."""

    api: str
    """The protocol, such as `openai.chat`; for an unknown protocol, the method and the path."""
    model: str = ""
    messages: list[Any] = []
    """The conversation, with instructions for the model first."""
    tools: Any = None
    stream: bool = False

    @property
    def is_telemetry(self) -> bool:
        """Whether it uploads traces to a provider, as OpenAI Agents does, instead of asking a model."""
        return self.api.endswith("/traces/ingest")

    def masked(self) -> ModelRequest:
        """Return the request with dates, times, UUIDs and memory addresses masked in its strings."""
        return msgspec.structs.replace(self, messages=[_masked(message) for message in self.messages])


def model_request(method: str, path: str, body: bytes, *, is_any: bool = False) -> ModelRequest | None:
    """Parse an HTTP request; return None if it is not in a known protocol, unless `is_any` allows any request.

    Protocols are recognised by the end of the path, which is the same for every provider and proxy.
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
    """Return the first difference between two requests: where, the recorded value, and the new one."""
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
    """Return how similar two requests are, as a sort key: equal parts first, then equal messages from the start."""
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
    """A key that the body of such a request must have."""
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
    # Unlike others, Ollama streams by default (its API reference, "Generate a chat completion").
    return ModelRequest("ollama.chat", *_common({"stream": True, **asked}, asked["messages"]))


def _embeddings(asked: dict[str, Any], _: re.Match[str]) -> ModelRequest:
    given = asked["input"]
    return ModelRequest("openai.embeddings", *_common(asked, given if isinstance(given, list) else [given]))


def _common(asked: dict[str, Any], messages: Any) -> tuple[str, list[Any], Any, bool]:
    listed = messages if isinstance(messages, list) else [messages]
    return str(asked.get("model", "")), listed, asked.get("tools"), asked.get("stream") is True


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
            key: each if key in _DATA and isinstance(each, Mapping) else _steady(each)
            for key, each in value.items()
            if each is not None and key not in _VOLATILE
        }
    return [_steady(item) for item in value] if isinstance(value, list) else value


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _CHANGING.sub(_MASK, value)
    if isinstance(value, Mapping):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _differences(before: Any, now: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _differences(before.get(key), now.get(key), f"{where}.{key}")
    elif isinstance(before, list) and isinstance(now, list):
        for place in range(max(len(before), len(now))):
            pair = [values[place] if place < len(values) else None for values in (before, now)]
            yield from _differences(pair[0], pair[1], f"{where}[{place}]")
    elif before != now:
        yield where, before, now


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
