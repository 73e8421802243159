"""The record of one run of a case, made turn by turn in a worker, and the messages that carry it to the parent.

Messages are JSON, each after its length. A verdict is not among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.limits import DEFAULT_LIMITS, KEEPING_MESSAGES
from rightcall.reading import Turn, raw_span, raw_spans
from rightcall.running.agents import AgentAnswer
from rightcall.running.frameworks import DispatchedCall, ToolInventory, log_document
from rightcall.running.tracing import Captured, captured_trajectory, tools_are_marked
from rightcall.values.decoding import admit, dump_line, load_as
from rightcall.values.results import Cause
from rightcall.values.trajectory import KeptSpans, RawSpan, Trajectory

from ._witness import Witness

MessageT = TypeVar("MessageT")
MAX_MESSAGE = DEFAULT_LIMITS.text_bytes
_LENGTH_BYTES = 4
CUT_OFF = 187
"""The exit code of a worker whose channel to the parent is closed."""
CUT_OFF_REASON = "the agent closed descriptors that its process needs"
_OTHER_PROCESSES = "the agent started Python processes of its own: calls of tools inside them were not seen"


class Ready(msgspec.Struct, frozen=True, tag="ready", tag_field="is", forbid_unknown_fields=True):
    """The agent is loaded."""

    is_async: bool
    inventory: ToolInventory | None = None


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="is", forbid_unknown_fields=True):
    """The agent cannot be loaded."""

    message: str


class Stuck(msgspec.Struct, frozen=True, tag="stuck", tag_field="is", forbid_unknown_fields=True):
    """The event loop is blocked by this job."""

    number: int


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done", tag_field="is", forbid_unknown_fields=True):
    """A job has ended."""

    number: int
    seconds: float
    cause: Cause = ""
    error: str | None = None
    traceback: str | None = None
    printed: str = ""
    complaints: str = ""
    """What a command wrote to standard error."""
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    spans: KeptSpans | None = None
    altered: str | None = None
    """What the agent changed in the process that cannot be undone."""


Reply: TypeAlias = Ready | Failed | Stuck | Done


_REPLIES: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply, strict=True)


def parse_reply(message: bytes) -> Reply:
    """Decode and validate a message from a worker.

    Raises:
        InputError: it is not something that a worker may send. The agent runs in the same process, and may write
            anything into the channel.
    """
    reply: Reply = load_as(_REPLIES, message)
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
    body = dump_line(message)
    if len(body) > MAX_MESSAGE:
        raise InputError(f"{len(body):,} bytes, and the limit is {MAX_MESSAGE:,}")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class FrameReader(Generic[MessageT]):
    """Puts messages together from pieces of any size."""

    def __init__(self, decode: Callable[[bytes], MessageT]) -> None:
        self._decode = decode
        self._held = bytearray()

    def add(self, data: bytes) -> Iterator[MessageT]:
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
            yield self._decode(body)


class CaseTrajectory:
    """The trajectory of one run of a case: from the spans of this process, the messages, and what the agent sent."""

    def __init__(self, is_conversation: bool, are_all_seen: bool = False, *, keeps_messages: bool = False) -> None:
        self._is_conversation = is_conversation
        self._limits = KEEPING_MESSAGES if keeps_messages else DEFAULT_LIMITS
        self._are_all_seen = are_all_seen
        self._turns: list[Turn] = []
        self._latest = Trajectory()
        self._has_others = False
        self.is_result_partial = False
        """Whether the last turn made calls that its result does not show, in a run before the one it is of."""

    def add(
        self,
        captured: Captured,
        answer: AgentAnswer | None,
        asked: Any,
        has_others: bool,
        log: Sequence[DispatchedCall] = (),
    ) -> Trajectory:
        """Add a turn, and return its own trajectory.

        Calls that frameworks dispatched are in the `log`. They count where neither spans nor messages have them: an
        agent that returns a text, or raises, leaves no other record, and a result shows only the run that it is of,
        not those before it, nor those of agents that a tool asked.

        If the agent `has_others`, Python processes that it started meanwhile, tools may have been called there. Then
        no calls seen here does not mean that none were made.

        Raises:
            InputError: what the agent sent cannot be read; the turn is not added.
            LimitError: there were more spans than the limit; the turn is not added.
        """
        result = AgentAnswer() if answer is None else answer
        turn = captured.turn(messages=result.messages, documents=result.documents, asked=asked)
        latest = self._read([turn], has_others)
        more = _lacking(log, latest)
        unshown = [call for call in more if call.parent is None and not call.is_deferred]
        self.is_result_partial = result.messages is not None and bool(unshown)
        if more:
            documents = (*result.documents, log_document(log))
            turn = captured.turn(messages=result.messages, documents=documents, asked=asked)
            latest = self._read([turn], has_others)
        self._turns.append(turn)
        self._has_others = self._has_others or has_others
        self._latest = latest
        return latest

    def trajectory(self) -> Trajectory:
        """Return all turns as one trajectory: calls that a later turn shows again are counted once."""
        path = self._read(self._turns, self._has_others) if len(self._turns) > 1 else self._latest
        return msgspec.structs.replace(path, warnings=(*path.warnings, _OTHER_PROCESSES)) if self._has_others else path

    def _read(self, turns: list[Turn], has_others: bool) -> Trajectory:
        seen = (self._are_all_seen or tools_are_marked()) and not has_others
        return captured_trajectory(
            turns, is_conversation=self._is_conversation, tools_are_seen=seen, limits=self._limits
        )


def _lacking(log: Sequence[DispatchedCall], path: Trajectory) -> list[DispatchedCall]:
    """Return the calls of a log that a trajectory does not show: of a tool that it shows less often, or put off.

    A call without arguments is not shown enough: the spans of an MCP client have none.
    """
    if not log:
        return []
    shown = Counter([call.name for call in path.calls if "args" not in call.unrecorded])
    lacking = Counter([call.tool for call in log if not call.is_deferred]) - shown
    return [call for call in log if call.is_deferred or lacking[call.tool]]


class CaseSpans:
    """The spans of one run of a case; of two with the same id, the one with more attributes.

    They are kept for people to look at. A span that cannot be read is left out, and never costs a result.
    """

    def __init__(self) -> None:
        self._spans: dict[str, RawSpan] = {}
        self._left_out = 0

    def add(self, captured: Captured, answer: AgentAnswer | None, witness: Witness) -> None:
        """Add the spans of one turn: those of this process, and those that an external agent sent."""
        self._left_out += captured.left_out
        for span in captured.spans:
            try:
                self._add(witness.ended(span) or raw_span(span))
            except Exception:  # noqa: BLE001 - an agent may have put anything into its spans
                self._left_out += 1
        for document in answer.documents if answer is not None else ():
            self._add_document(document)

    def kept(self, path: Trajectory) -> KeptSpans:
        """Return as many spans as there is room for, those of calls first."""
        kept = KeptSpans.of(self._spans.values(), {call.span_id for call in path.calls})
        return KeptSpans(kept.text, kept.left_out + self._left_out)

    def _add_document(self, document: bytes) -> None:
        try:
            for span in raw_spans(document):
                self._add(span)
        except Exception:  # noqa: BLE001 - an agent may send anything; the trajectory has reported it
            self._left_out += 1

    def _add(self, span: RawSpan) -> None:
        known = self._spans.get(span.span_id)
        if known is None or len(span.attributes) > len(known.attributes):
            self._spans[span.span_id] = span
