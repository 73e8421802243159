"""Messages between a worker and its parent: JSON, each after its length. A verdict is not among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.decoding import admit, dump_json, load_json
from rightcall.values.results import Cause
from rightcall.values.trajectory import KeptSpans, Trajectory

MAX_MESSAGE = DEFAULT_LIMITS.text_bytes
_LENGTH_BYTES = 4
CUT_OFF = 187
"""The exit code of a worker whose channel to the parent is closed."""
CUT_OFF_REASON = "the agent closed descriptors that its process needs"


class Ready(msgspec.Struct, frozen=True, tag="ready", tag_field="is", forbid_unknown_fields=True):
    """The agent is loaded."""

    is_async: bool


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="is", forbid_unknown_fields=True):
    """The agent cannot be loaded."""

    message: str


class Stuck(msgspec.Struct, frozen=True, tag="stuck", tag_field="is", forbid_unknown_fields=True):
    """The event loop is blocked by this job."""

    number: int


class Seen(msgspec.Struct, frozen=True, tag="seen", tag_field="is", forbid_unknown_fields=True):
    """Spans of a job that have just begun or ended. The later of two with the same id counts.

    They are read only if the job is killed or dies, which is rare.
    """

    number: int
    turn: int
    spans: KeptSpans


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done", tag_field="is", forbid_unknown_fields=True):
    """A job has ended."""

    number: int
    seconds: float
    cause: Cause = ""
    error: str | None = None
    traceback: str | None = None
    printed: str = ""
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    spans: KeptSpans | None = None
    altered: str | None = None
    """What the agent changed in the process that cannot be undone."""


Reply: TypeAlias = Ready | Failed | Stuck | Seen | Done


def parse_reply(message: Any) -> Reply:
    """Validate a message from a worker.

    Raises:
        InputError: it is not something that a worker may send. The agent runs in the same process, and may write
            anything into the channel.
    """
    try:
        reply: Reply = msgspec.convert(message, Reply, strict=True)
    except msgspec.ValidationError as problem:
        raise InputError(str(problem)) from None
    if isinstance(reply, Done) and (reply.error is None) == bool(reply.cause):
        raise InputError("an error without a cause, or a cause without an error")
    if isinstance(reply, Done) and reply.error is None and reply.trajectory is None:
        raise InputError("neither an error nor what the agent did")
    if isinstance(reply, Done) and reply.spans is not None:
        reply.spans.check()
    return reply


def plain(message: Any) -> Any:
    """Return a message as plain data, whatever an agent left in it.

    Values of subclasses, such as a subclass of `str`, become the plain type; a value that JSON cannot represent becomes
    the name of its class.
    """
    return msgspec.to_builtins(message, enc_hook=_plain_value)


def _plain_value(value: Any) -> Any:
    try:
        return admit(value, opened=True)
    except RightcallError:
        return f"<{type(value).__name__}>"


def frame(message: Any) -> bytes:
    """Return a message as the bytes to send.

    Raises:
        InputError: it is longer than a message may be.
    """
    body = dump_json(message).encode()
    if len(body) > MAX_MESSAGE:
        raise InputError(f"{len(body):,} bytes, and the limit is {MAX_MESSAGE:,}")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class FrameReader:
    """Puts messages together from pieces of any size."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete with this piece.

        Raises:
            InputError: the bytes are not a message.
        """
        self._held += data
        while len(self._held) >= _LENGTH_BYTES:
            length = int.from_bytes(self._held[:_LENGTH_BYTES], "big")
            if length > MAX_MESSAGE:
                raise InputError(f"a message of {length:,} bytes")
            if len(self._held) < _LENGTH_BYTES + length:
                return
            body = bytes(self._held[_LENGTH_BYTES : _LENGTH_BYTES + length])
            del self._held[: _LENGTH_BYTES + length]
            yield load_json(body)
