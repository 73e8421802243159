"""Requests to agents and their answers: as values in this process, and as JSON outside it."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import decode_json
from rightcall.values.trajectory import Usage

MAX_BYTES = 64 * 1024 * 1024

Listener = Callable[[bytes], None]

document_listener: ContextVar[Listener | None] = ContextVar("rightcall_listener", default=None)
"""Called with each document of spans as it arrives."""

errors_listener: ContextVar[Listener | None] = ContextVar("rightcall_errors_listener", default=None)
"""Called with each piece that a command writes to standard error."""

_ENVELOPE = {"output", "messages", "spans"}


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to an agent: a case's input, or one turn of its conversation."""

    input: Any
    case_id: str
    turn: int = 0
    turns: int = 1
    """How many turns the case has."""
    session: Any = None
    """The value of `session` in the eval set; the same object for all turns of one run of a case."""
    traceparent: str = ""
    """The W3C trace context that spans of this request should belong to; empty if there is none."""
    memory: dict[str, Any] = {}
    """State between the turns of one run of a case: the same object in all turns, and not sent to other processes."""
    run: str = ""
    """The id of one run of a case: the same for all its turns, and different for each repeat.

    It separates conversations (an ADK session, a LangGraph thread). If empty, every request is a new conversation.
    """


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an agent to one request."""

    output: Any = None
    documents: tuple[bytes, ...] = ()
    """Spans that an external agent recorded: OTLP (JSON or protobuf) or logs of messages, all of one run.

    To read them: `read(list(documents), grouping="file")`.
    """
    messages: Any = None
    """A log of the messages of this turn, or of the whole conversation so far, in addition to spans."""
    usage: Usage | None = None
    """The tokens of this turn, if the result of a framework has them."""


class Agent(Protocol):
    """Something that answers requests and has to be closed."""

    is_async: bool
    """Whether `answer` returns an awaitable."""
    target: Any
    """The function or object that is the agent; None for a command or an endpoint."""

    def answer(self, request: AgentRequest) -> AgentAnswer | Coroutine[Any, Any, AgentAnswer]:
        """Return the agent's answer; exceptions of the agent are not caught.

        Raises:
            AgentError: the input does not fit the agent, or an external agent failed.
        """
        ...

    def close(self) -> None:
        """Release what this agent uses: entries of the search path, processes, sockets."""
        ...


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for running an agent."""

    timeout: float | None = None
    """Seconds that a command or an endpoint may take for one request; only the runner's own limit if `None`."""
    environment: Mapping[str, str] = {}
    """Environment variables for commands, in addition to those of this process."""
    headers: Mapping[str, str] = {}
    """Headers for HTTP endpoints, such as an authorization."""
    max_bytes: int = MAX_BYTES
    """The most bytes of one answer, and of all documents of spans, both as sent and decompressed."""


@contextmanager
def listen_to_documents(listener: Listener) -> Iterator[None]:
    """Call a function with each document that is received for a request made in this block."""
    token = document_listener.set(listener)
    try:
        yield
    finally:
        with suppress(ValueError):  # closed in another context than it was opened in, where there is nothing to reset
            document_listener.reset(token)


@contextmanager
def listen_to_errors(listener: Listener) -> Iterator[None]:
    """Call a function with each piece that a command, started in this block, writes to standard error."""
    token = errors_listener.set(listener)
    try:
        yield
    finally:
        with suppress(ValueError):  # closed in another context than it was opened in, where there is nothing to reset
            errors_listener.reset(token)


def request_json(request: AgentRequest) -> bytes:
    """Return a request as JSON: an object with `input`, `case_id`, `turn`, `run`, `session` and `traceparent`."""
    fields = {name: getattr(request, name) for name in ("input", "case_id", "turn", "run", "session", "traceparent")}
    return json.dumps(fields, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def answer_from(body: bytes, documents: tuple[bytes, ...], max_bytes: int) -> AgentAnswer:
    """Parse what an agent wrote into an answer.

    JSON is decoded, other text is stripped, and an empty string is `None`. An object with `output`, and no other keys
    than `messages` and `spans`, has the parts of an answer: the output, a log of messages, and spans as OTLP JSON.
    """
    text = body.decode("utf-8", "replace").strip()
    if not text:
        return AgentAnswer(documents=documents)
    try:
        value = decode_json(text, Limits(text_bytes=max_bytes))
    except InputError:
        return AgentAnswer(output=text, documents=documents)
    if not isinstance(value, dict) or "output" not in value or set(value) - _ENVELOPE:
        return AgentAnswer(output=value, documents=documents)
    if value.get("spans") is not None:
        documents = (*documents, json.dumps(value["spans"]).encode())
    return AgentAnswer(output=value["output"], messages=value.get("messages"), documents=documents)


def traceparent_of(request: AgentRequest) -> str:
    """Return the trace context of a request, or a new one (W3C Trace Context, section 3.2) if it has none."""
    return request.traceparent or f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01"


def plain(value: Any, depth: int = DEFAULT_LIMITS.depth) -> Any:
    """Convert models, dataclasses, structs and enums to plain data, also inside lists and mappings.

    Other values, and what is nested deeper than `depth`, are kept.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value, depth - 1)
    if value is None or isinstance(value, (str, int, float)) or depth <= 0:
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item, depth - 1) for key, item in value.items()}
    return _fields_of(value, depth)


def _dumped(model: Any, depth: int) -> Any:
    try:
        return model.model_dump(mode="json")
    except ValueError:  # a value in it is not JSON; that is reported, with its path, when the answer is kept
        return plain(model.model_dump(), depth - 1)


def _fields_of(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, type):
        return value
    if hasattr(kind, "model_dump"):
        return _dumped(value, depth)
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name), depth - 1) for name in value.__struct_fields__}
    if hasattr(kind, "__dataclass_fields__"):
        return {name: plain(getattr(value, name), depth - 1) for name in kind.__dataclass_fields__}
    return value


Request, Answer = AgentRequest, AgentAnswer
"""Earlier names, kept for compatibility."""
