"""Plans, jobs, results and events of a run, and shared memory for the spans of a case, which outlives its worker.

Messages between parent and worker are JSON, each preceded by its length. No verdict is sent: workers do not judge.

The worker writes each span to the shared memory when it begins and when it ends, without a system call. The parent
creates the memory but does not map it, and reads the page of a job only if its worker dies or is killed.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.limits import DEFAULT_LIMITS, KEEPING_MESSAGES
from rightcall.reading import Turn, raw_span, raw_spans
from rightcall.running.agents import AgentAnswer
from rightcall.running.frameworks import DispatchedCall, ToolInventory, log_document
from rightcall.running.tracing import Captured, captured_trajectory, tools_are_marked
from rightcall.values.decoding import admit, dump_line, load_as, load_json
from rightcall.values.results import Cause, Outcome
from rightcall.values.trajectory import KeptSpans, RawSpan, ToolCall, Trajectory, span_text

if TYPE_CHECKING:
    from mmap import mmap

    from rightcall.cases.evalsets import Case


MessageT = TypeVar("MessageT")
MAX_MESSAGE = DEFAULT_LIMITS.text_bytes
_LENGTH_BYTES = 4
CUT_OFF = 187
"""The exit code of a worker that can no longer use its channel to the parent."""
CUT_OFF_REASON = "the agent closed descriptors that its process needs"
_OTHER_PROCESSES = "the agent started Python processes of its own: calls of tools inside them were not seen"
SEND_CALLS = (
    "the agent sent neither spans nor messages, so its calls are not known; have it send spans to the receiver of its "
    'request, or answer with its messages: {"output": …, "messages": […]}'
)
DEFAULT_TIMEOUT = 300.0
DEFAULT_MEMORY = 2 << 30
SYNC_CONCURRENCY = 1
ASYNC_CONCURRENCY = 16
PAGE_BYTES = 4 << 20
"""Bytes of spans that are written of one run of a case while it runs; further spans are in its result only."""
_MOST_LINES = PAGE_BYTES // 64
"""Lines of a page that are read. A span takes more than 64 bytes, but an agent could write millions of short lines."""
_END = b"\0"
"""Marks the end of a page. It does not occur in JSON."""

Item = TypeVar("Item")


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
    """What the agent changed in its process and cannot be restored, if anything."""


Reply: TypeAlias = Ready | Failed | Stuck | Done


_REPLIES: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply, strict=True)


def parse_reply(message: bytes) -> Reply:
    """Decode and validate a message from a worker.

    Raises:
        InputError: it is not a valid message. The agent runs in the same process, and could write anything into the
            channel.
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
    """Assembles messages from pieces of any size."""

    def __init__(self, decode: Callable[[bytes], MessageT]) -> None:
        self._decode = decode
        self._pending = bytearray()

    def add(self, data: bytes) -> Iterator[MessageT]:
        """Add a piece, and yield the messages that it completes.

        Raises:
            InputError: the bytes are not a message.
        """
        self._pending += data
        while len(self._pending) >= _LENGTH_BYTES:
            length = int.from_bytes(self._pending[:_LENGTH_BYTES], "big")
            if length > MAX_MESSAGE:
                raise InputError(f"a message of {length:,} bytes")
            if len(self._pending) < _LENGTH_BYTES + length:
                return
            body = bytes(self._pending[_LENGTH_BYTES : _LENGTH_BYTES + length])
            del self._pending[: _LENGTH_BYTES + length]
            yield self._decode(body)


def with_advice(path: Trajectory, advice: str | None) -> Trajectory:
    """Return a trajectory without tool data with other advice on how to record it, or with none."""
    from rightcall.reading import NO_TOOL_DATA  # most runs have no such trajectory

    warnings = [advice if each == NO_TOOL_DATA else each for each in path.warnings]
    return msgspec.structs.replace(path, warnings=tuple([each for each in warnings if each is not None]))


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
        """Whether the agent made calls in the last turn that its result does not show, such as in an earlier run."""

    def add(
        self,
        captured: Captured,
        answer: AgentAnswer | None,
        asked: Any,
        has_others: bool,
        log: Sequence[DispatchedCall] = (),
    ) -> Trajectory:
        """Add a turn, and return its own trajectory.

        The `log` has the calls that frameworks dispatched. It is used if neither spans nor messages show them all: an
        agent that returns a string or raises leaves no other record, and a result shows only one run of the framework,
        not earlier runs of the same turn or those of agents called by a tool.

        `has_others` means that the agent started Python processes, in which tools may have been called. Then seeing no
        calls here does not mean that none were made.

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
        if more or _has_unshown_failure(log, latest):
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
        if not self._has_others:
            return path
        return msgspec.structs.replace(path, warnings=(*with_advice(path, None).warnings, _OTHER_PROCESSES))

    def _read(self, turns: list[Turn], has_others: bool) -> Trajectory:
        seen = (self._are_all_seen or tools_are_marked()) and not has_others
        return captured_trajectory(
            turns, is_conversation=self._is_conversation, tools_are_seen=seen, limits=self._limits
        )


def _lacking(log: Sequence[DispatchedCall], path: Trajectory) -> list[DispatchedCall]:
    """Return the calls of tools that the log has more often than the trajectory, and all deferred calls of the log.

    A call in the trajectory whose arguments were not recorded does not count: the log has them. Spans of MCP clients
    are such calls.
    """
    if not log:
        return []
    shown = Counter([call.name for call in path.calls if "args" not in call.unrecorded])
    lacking = Counter([call.tool for call in log if not call.is_deferred]) - shown
    return [call for call in log if call.is_deferred or lacking[call.tool]]


def _has_unshown_failure(log: Sequence[DispatchedCall], path: Trajectory) -> bool:
    """Return whether a tool raised, and the same call has no error in the trajectory.

    A middleware may give the model a text of its own instead of the exception (LangChain's `wrap_tool_call`).
    """
    raised = [call for call in log if call.answer is not None and call.answer.error is not None]
    if not raised:
        return False
    known = [call for call in path.calls if "args" not in call.unrecorded]
    shown, failed = Counter(map(_name_args, known)), Counter([_name_args(call) for call in known if call.error])
    made = Counter([_key(call.tool, call.args) for call in log])
    more = Counter([_key(call.tool, call.args) for call in raised]) - failed
    # A middleware may also change the arguments, and then it is not known which call of the trajectory this is.
    return any([shown[key] == made[key] for key in more])


def _name_args(call: ToolCall) -> tuple[str, str]:
    return _key(call.name, call.args or {})


def _key(name: str, args: Mapping[str, Any]) -> tuple[str, str]:
    return name, repr(sorted(args.items()))


class CaseSpans:
    """The spans of one run of a case; of two with the same id, the one with more attributes.

    They are kept for people to look at. A span that cannot be read is left out, and does not fail the case.
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
        """Return as many spans as fit, those of calls first."""
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


class RunStarted(msgspec.Struct, frozen=True):
    """The agent was loaded; cases are run from now on."""

    is_async: bool
    processes: int
    concurrency: int
    inventory: ToolInventory | None = None
    """The tools of the agent, if requested; None for a command or an endpoint."""


class CaseStarted(msgspec.Struct, frozen=True):
    """A case was given to a process. If that process dies, the case may be given to another one later."""

    case_id: str
    repeat: int


class CaseFinished(msgspec.Struct, frozen=True):
    """A case has ended, and will not be run again. Without a trajectory, the outcome has an error that says why."""

    case_id: str
    repeat: int
    outcome: Outcome
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    """What the tools and models answered, if that was recorded."""
    spans: KeptSpans | None = None
    """The spans as they were recorded, if they were asked for and the worker could send them."""


class WorkerReplaced(msgspec.Struct, frozen=True):
    """A process ended early: it died, was killed, or was altered by the agent."""

    reason: str
    run_again: tuple[str, ...] = ()
    """The cases that are run again because of it."""
    was_altered: bool = False
    """Whether it was alive, but no longer in the state it had before the agent ran in it."""


class Quiet(msgspec.Struct, frozen=True):
    """Nothing happened for a moment: the consumer of events may do other work."""


class RunFinished(msgspec.Struct, frozen=True):
    """All cases have ended, or the run was stopped."""

    stopped: bool = False


Event: TypeAlias = RunStarted | CaseStarted | CaseFinished | WorkerReplaced | Quiet | RunFinished


class CaseJob(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one case: what the agent is given, without what is expected of it."""

    case_id: str
    repeat: int = 0
    turns: Sequence[Any]
    """The inputs, one for each time the agent is called."""
    is_conversation: bool = False
    """Whether the turns are those of a conversation, so that calls carry the number of their turn."""
    session: Any = None
    mocks: Mapping[str, Any] = {}
    recording: Sequence[Any] | None = None
    """The recording to replay; `None` if nothing is replayed."""

    @classmethod
    def of(cls, case: Case, repeat: int = 0, recording: Sequence[Any] | None = None) -> CaseJob:
        """Make the job of a case."""
        return cls(
            case_id=case.id,
            repeat=repeat,
            turns=case.turns or (case.input,),
            is_conversation=bool(case.turns),
            session=case.session,
            mocks=case.mocks,
            recording=recording,
        )


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The agent, by name, and the jobs. Jobs are consumed one by one, so there may be any number."""

    agent: str
    project: str
    jobs: Iterable[CaseJob]
    total: int
    """How many jobs there are."""


class CaptureOptions(msgspec.Struct, frozen=True):
    """What a worker sends of each case in addition to its trajectory."""

    tool_answers: bool = False
    """What the tools answered."""
    model_answers: bool = False
    """What the models answered."""
    live: tuple[str, ...] = ()
    """What runs for real although there is a recording: `tools`, `model`."""
    spans: bool = False
    """The spans, as they were recorded."""
    is_strict: bool = False
    """Whether opening a file with expectations makes the case an error."""
    are_all_seen: bool = False
    """Whether every call of the agent's tools is observed; the worker sets this after it has loaded the agent."""
    is_external: bool = False
    """Whether the agent is a command or an endpoint; the worker sets this, too."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a run: processes, concurrency, limits of time and memory, what to record."""

    workers: int = 0
    """How many processes; 0 means one for each core."""
    concurrency: int = 0
    """How many cases at once in a process; 0 means 1 for a synchronous agent and 16 for an asynchronous one."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that one run of a case may take."""
    max_memory: int = DEFAULT_MEMORY
    """Bytes of memory that a process may use, including everything it started."""
    record: bool = False
    """Whether to return what the tools and the models answered."""
    replay: bool = False
    """Whether recordings are replayed: then the agent needs no API key of a model provider."""
    live: Sequence[str] = ()
    """What is neither recorded nor replayed: `tools`, `model`."""
    spans: bool = False
    """Whether to return the spans, as they were recorded."""
    answers: Sequence[str] = ()
    """Files and folders with expectations: a case gets a warning if the agent opens one."""
    strict_agent: bool = False
    """Whether that is an error instead."""
    stood_in: Sequence[str] = ()
    """Names of tools that mocks or a recording replace: the run is refused if the agent has no such tool."""
    environment: Mapping[str, str] = {}
    """Variables for the agent, in addition to those of this process."""
    is_inspected: bool = False
    """Whether to return the tools of the agent when it is loaded."""
    agent_options: Mapping[str, Any] = {}

    @property
    def capture(self) -> CaptureOptions:
        """What to capture of each case in addition to its trajectory."""
        return CaptureOptions(
            tool_answers=self.record and "tools" not in self.live,
            model_answers=self.record and "model" not in self.live,
            live=tuple(self.live),
            spans=self.spans,
            is_strict=self.strict_agent,
        )

    def process_count(self, jobs: int) -> int:
        """Return the highest number of processes."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self.workers or cores, jobs))

    def cases_at_once(self, is_async: bool) -> int:
        """Return how many cases to run at once in one process."""
        return self.concurrency or (ASYNC_CONCURRENCY if is_async else SYNC_CONCURRENCY)


class Seen(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One line of a page: a span that has just begun or ended. The last line with a span id counts."""

    number: int
    turn: Annotated[int, msgspec.Meta(ge=0)]
    span: Any
    """`None` for a span that cannot be written as JSON."""


class Outbox(Generic[Item]):
    """Passes items to a function one after the other, from any thread, without ever blocking.

    A thread that finds another one passing an item leaves its own item to that thread. It must not wait: the other
    one may be itself, in the middle of an item, if garbage collection ends a span.
    """

    def __init__(self, hand_over: Callable[[Item], None]) -> None:
        self._hand_over = hand_over
        self._lock = threading.Lock()
        self._left: deque[Item] = deque()

    def put(self, item: Item) -> None:
        """Pass on an item, now or after those before it."""
        self._left.append(item)
        while self._left and self._lock.acquire(blocking=False):
            try:
                while self._left:
                    self._hand_over(self._left.popleft())
            finally:
                self._lock.release()


def map_pages(descriptor: int) -> mmap:
    """Map the parent's pages into this process, and close their descriptor, so that the agent cannot replace it."""
    from mmap import mmap  # only a worker maps them

    pages = mmap(descriptor, 0)
    os.close(descriptor)
    return pages


class Page:
    """The shared memory of one job, in which its worker writes spans."""

    def __init__(self, pages: mmap, size: int, index: int, number: int) -> None:
        from mmap import mmap  # only a worker maps memory

        self._pages = pages
        self._head = f"[{number},".encode()
        self._place = index * size
        self._until = self._place + size
        self._process = os.getpid()
        self._outbox = Outbox(self._write)
        self._seen_in_fork = mmap(-1, 1)

    @property
    def has_forks(self) -> bool:
        """Whether a fork of the worker had spans. A fork that starts a program, as a terminal does, has none."""
        return self._seen_in_fork[0] != 0

    def add(self, turn: int, span: RawSpan) -> None:
        """Add a span, unless the page is full. In a fork of the worker, only note that there was one."""
        if os.getpid() == self._process:
            self._outbox.put(b"%b%d,%b]\n" % (self._head, turn, span_text(span) or b"null"))
        else:
            self._seen_in_fork[0] = 1

    def _write(self, line: bytes) -> None:
        end = self._place + len(line)
        if end >= self._until:
            return
        # The first byte, which replaces the end mark, is written last: if the process dies before, the page is valid.
        self._pages[self._place + 1 : end + 1] = line[1:] + _END
        self._pages[self._place] = line[0]
        self._place = end


def read_page(descriptor: int, size: int, index: int, number: int) -> list[Seen]:
    """Return what a worker has written of a job. Lines of an earlier job and invalid lines are skipped."""
    text = os.pread(descriptor, size, index * size).partition(_END)[0]
    found = []
    for line in text.split(b"\n", _MOST_LINES)[:_MOST_LINES]:
        # The agent may write anything into the memory of its worker.
        with suppress(InputError, msgspec.ValidationError):
            seen = msgspec.convert(load_json(line), Seen)
            if seen.number == number:
                found.append(seen)
    return found


class Witness:
    """Writes the spans of one run of a case to its page as they begin and end.

    A process that dies or is killed sends no result, so this is all that is known of its case. A span that cannot be
    read is left out, and does not fail the case.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._turn = 0
        self._documents: list[bytes] = []
        self._ended: dict[int, tuple[Any, RawSpan]] = {}

    def begin(self, turn: int) -> None:
        """Start a turn: spans from now on belong to it."""
        self._turn = turn
        self._documents = []
        self._ended = {}

    def answer(self) -> AgentAnswer:
        """Return what an external agent has sent in this turn so far, for a turn that ends without an answer."""
        return AgentAnswer(documents=tuple(self._documents))

    @property
    def has_forks(self) -> bool:
        """Whether spans were seen in a process that the agent made with `os.fork`."""
        return self._page.has_forks

    def see(self, span: Any) -> None:
        """Write a span that has begun or ended in this process."""
        try:
            seen = raw_span(span)
            if seen.end_ns is not None:
                self._ended[id(span)] = span, seen
            self._page.add(self._turn, seen)
        except Exception:  # noqa: BLE001 - an agent may have put anything into its spans
            return

    def ended(self, span: Any) -> RawSpan | None:
        """Return a span as it was read when it ended in this turn, if it did: a span does not change after its end."""
        ended, seen = self._ended.get(id(span), (None, None))
        return seen if ended is span else None

    def see_document(self, document: bytes) -> None:
        """Write the spans of a document that an external agent sent."""
        self._documents.append(document)
        try:
            for span in raw_spans(document):
                self._page.add(self._turn, span)
        except Exception:  # noqa: BLE001 - an agent may send anything; the trajectory will report it
            return
