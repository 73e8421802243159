"""What an agent is asked, what it answers, and what all agents have in common."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

import msgspec

MAX_BYTES = 64 * 1024 * 1024


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question to an agent: a case's input, or one turn of its conversation."""

    input: Any
    case_id: str
    turn: int = 0
    session: Any = None
    """What the eval set says under `session`; the same object for all turns of one run of a case."""
    traceparent: str = ""
    """The W3C trace context that spans of this request should belong to; empty if there is none."""
    run: str = ""
    """Names one run of a case: the same for all its turns, another for each repeat.

    Conversations are kept apart by it (an ADK session, a LangGraph thread). If it is empty, every request is a
    conversation of its own.
    """


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent gave back."""

    output: Any = None
    documents: tuple[bytes, ...] = ()
    """What an agent outside this process recorded: OTLP (JSON or protobuf) or logs of messages.

    They are parts of one run: `read(list(documents), grouping="file")`.
    """
    messages: Any = None
    """A log of the messages of this turn, or of the whole conversation so far; it completes what spans show."""


class Agent(Protocol):
    """Something that answers requests; close it when there are no more."""

    is_async: bool
    """Whether `answer` has to be awaited; if not, it blocks and belongs into a thread."""

    def answer(self, request: Request) -> Answer | Coroutine[Any, Any, Answer]:
        """The agent's answer; what the agent raises comes through as it is.

        Raises:
            AgentError: the input does not fit the agent, or an agent outside this process failed.
        """
        ...

    def close(self) -> None:
        """Give back what was taken for this agent: search path, processes, sockets."""
        ...


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How agents are run; the defaults suit most."""

    timeout: float | None = None
    """The most seconds a command or an endpoint may take for one request; the runner's own limit if `None`."""
    environment: Mapping[str, str] = {}
    """Variables for commands, on top of this process's own."""
    headers: Mapping[str, str] = {}
    """Headers for HTTP endpoints, such as an authorization."""
    max_bytes: int = MAX_BYTES
    """The most bytes one answer may have, and one document of spans, as sent and inflated."""
