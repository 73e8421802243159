"""A worker process: load the agent, run each job turn by turn, and send the result.

A conversation is a generator that yields requests and receives answers, so that the same code serves synchronous and
asynchronous agents.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from contextvars import Context
from functools import partial
from mmap import mmap
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import AgentError, InputError, RightcallError, shown
from rightcall.running.agents import (
    Agent,
    AgentAnswer,
    AgentOptions,
    AgentRequest,
    listen_to_documents,
    listen_to_errors,
    load_agent,
    traceback_of,
)
from rightcall.running.frameworks import DispatchedCall, ToolInventory, find_tools, logging_calls, unreached_names
from rightcall.running.tracing import Captured, capture
from rightcall.values.decoding import admit, load_json
from rightcall.values.results import Cause
from rightcall.values.trajectory import ToolCall, Trajectory, Usage, summed_usage

from ._case_record import (
    CUT_OFF,
    SEND_CALLS,
    SYNC_CONCURRENCY,
    CaptureOptions,
    CaseJob,
    CaseSpans,
    CaseTrajectory,
    Done,
    Failed,
    FrameReader,
    Outbox,
    Page,
    Ready,
    Reply,
    Witness,
    frame,
    map_pages,
    plain,
    with_advice,
)
from ._process_state import (
    OutputTail,
    ProcessState,
    case_output,
    describe_opened,
    die_with_parent,
    new_case_output,
    note_opened,
    processes_started,
    separate_output,
    watch_files,
)
from ._process_tree import IS_LINUX

_PIECE = 1 << 16
_LONGEST_DEFECT = 500
_kept_open = ExitStack()

Receive: TypeAlias = Callable[[], Any]
"""Returns the next message of the parent."""
_LONGEST_TRACEBACK = 64 * 1024
_LONGEST_MESSAGE = 500
_SECOND = 1_000_000_000

Conversation: TypeAlias = Generator[AgentRequest, AgentAnswer, Done]
"""Yields requests, receives answers or the agent's exception, and returns the result of the job."""
Failure: TypeAlias = tuple[Cause, str, str | None]
"""Why a case has an error: the cause, the message, the traceback if there is one."""


class Channel:
    """The private channel to the parent: two descriptors that programs started from here do not inherit."""

    def __init__(self, commands: int, replies: int) -> None:
        for end in (commands, replies):
            os.set_inheritable(end, False)
        self._commands = commands
        self._replies = replies
        self._process = os.getpid()
        self._outbox = Outbox(self._write)
        self._frames = FrameReader(load_json)
        self._received: deque[Any] = deque()

    def receive(self) -> Any:
        """Return the next message of the parent. If the parent is gone, kill this process and all that it started."""
        while not self._received:
            try:
                data = os.read(self._commands, _PIECE)
                self._received.extend(self._frames.add(data))
            except (OSError, InputError):  # the agent has closed the descriptor, or opened something else in its place
                os._exit(CUT_OFF)
            if not data:
                _end_group()
        return self._received.popleft()

    def send(self, reply: Reply) -> None:
        """Send a message to the parent. In a fork of the worker, do nothing.

        Raises:
            InputError: it is longer than a message may be.
        """
        if os.getpid() != self._process:
            return
        self._outbox.put(frame(plain(reply)))

    def _write(self, message: bytes) -> None:
        data = memoryview(message)
        try:
            while data:
                data = data[os.write(self._replies, data) :]
        except OSError:
            os._exit(CUT_OFF)

    def finish(self, done: Done) -> None:
        """Send the result of a job; if it is too large, without its spans; if still too large, an error instead."""
        try:
            self._send_with_spans_if_possible(done)
        except InputError as problem:
            self._send_error(done, f"what the agent did is too large to be kept: {problem}")
        except Exception as problem:  # noqa: BLE001 - neither the agent nor other cases are to blame for a defect of ours
            defect = f"{type(problem).__name__}: {problem}"[:_LONGEST_DEFECT]
            self._send_error(
                done, f"Rightcall could not keep what the agent did, which is a bug in Rightcall: {defect}"
            )

    def _send_error(self, done: Done, error: str) -> None:
        self.send(Done(number=done.number, seconds=done.seconds, cause="output", error=error, altered=done.altered))

    def _send_with_spans_if_possible(self, done: Done) -> None:
        try:
            self.send(done)
        except InputError:
            if done.spans is None:
                raise
            self.send(msgspec.structs.replace(done, spans=done.spans.without_spans()))


class SyncWorker:
    """Runs the jobs of a synchronous agent one after the other, in the thread that receives them."""

    is_concurrent = False

    def __init__(self, agent: Agent, channel: Channel, options: CaptureOptions) -> None:
        self._agent = agent
        self._channel = channel
        self._options = options
        self._state = ProcessState()

    def run(self, number: int, job: CaseJob, page: Page) -> None:
        """Run a job."""
        self._run(number, job, page, None)

    def cancel(self, number: int) -> None:
        """Do nothing: a thread cannot be cancelled, so the parent kills the process instead."""

    def end(self) -> None:
        """Do nothing: there is no job left."""

    def _run(self, number: int, job: CaseJob, page: Page, output: OutputTail | None) -> None:
        token = case_output.set(output)
        done = run_sync(self._agent, converse(number, job, self._options, Witness(page)))
        case_output.reset(token)
        _flush()
        printed = output.text() if output is not None else ""
        altered = self._state.restore()
        self._channel.finish(msgspec.structs.replace(done, printed=printed, altered=altered))


class ThreadedWorker(SyncWorker):
    """Runs several jobs of a synchronous agent at once: in the main thread, and in others."""

    is_concurrent = True

    def __init__(self, agent: Agent, channel: Channel, options: CaptureOptions, concurrency: int) -> None:
        separate_output()
        super().__init__(agent, channel, options)
        self._jobs: SimpleQueue[tuple[int, CaseJob, Page] | None] = SimpleQueue()
        for _ in range(concurrency - 1):
            threading.Thread(target=self.work, daemon=True).start()

    def run(self, number: int, job: CaseJob, page: Page) -> None:
        """Queue a job."""
        self._jobs.put((number, job, page))

    def end(self) -> None:
        """Accept no more jobs."""
        self._jobs.put(None)

    def work(self) -> None:
        """Run jobs until there are no more."""
        while (given := self._jobs.get()) is not None:
            self._run(*given, new_case_output())


def main(above: int, commands: int, replies: int, seen: int) -> None:
    """Run the jobs that the parent sends, until it sends no more or the process `above` (the keeper) ends.

    `commands` and `replies` are the descriptors of the channel, `seen` that of the shared memory for spans.
    """
    die_with_parent(above)
    channel, pages = Channel(commands, replies), map_pages(seen)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    # Linux kills this process with its parent (`die_with_parent`); elsewhere a thread has to watch the channel.
    receive = channel.receive if IS_LINUX else _listened_to(channel)
    _serve(channel, pages, receive)
    _flush()
    os._exit(0)  # not `sys.exit`: an agent's threads, executors and exit handlers may never end


def _listened_to(channel: Channel) -> Receive:
    """Receive messages in another thread, which notices at any time that the parent is gone."""
    received: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        while True:
            received.put(channel.receive())

    threading.Thread(target=listen, daemon=True).start()
    return received.get


def _end_group() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _serve(channel: Channel, pages: mmap, receive: Receive) -> None:
    setup = receive()
    sys.argv = [setup["agent"]]
    watch_files(setup["answers"])
    if setup["needs_no_key"]:
        from rightcall.running.mocking import KEY_VARIABLES

        for name in KEY_VARIABLES:  # SDKs refuse to create a client without a key, even if no request will be sent
            os.environ.setdefault(name, "not-needed")
    try:
        agent = load_agent(setup["agent"], Path(setup["project"]), msgspec.convert(setup["options"], AgentOptions))
        inventory = _inventory(agent, setup)
        _prepare_capture()
    except RightcallError as problem:
        channel.send(Failed(str(problem)))
        return
    except BaseException as problem:  # noqa: BLE001 - importing an agent runs its code
        channel.send(Failed(f"{setup['agent']} cannot be loaded: {type(problem).__name__}: {problem}"))
        return
    worker = _make_worker(agent, channel, setup, inventory)
    feed = partial(_feed, worker, receive, partial(Page, pages, setup["page_bytes"]))
    channel.send(Ready(agent.is_async, inventory if setup["is_inspected"] else None))
    if worker.is_concurrent:
        threading.Thread(target=_feed_to_the_end, args=(feed,), daemon=True).start()
        worker.work()
    else:
        feed()
    agent.close()


def _inventory(agent: Agent, setup: dict[str, Any]) -> ToolInventory | None:
    """Return the tools of an agent in this process, and patch their frameworks to dispatch calls through us.

    Raises:
        AgentError: mocks or a recording replace a tool that the agent does not have, or that they cannot reach.
    """
    if agent.target is None:
        return None
    inventory = find_tools(agent.target, Path(setup["project"]).resolve())
    problem = unreached_names(inventory, setup["stood_in"])
    if problem is not None:
        raise AgentError(problem)
    return inventory


def _prepare_capture() -> None:
    """Load the OpenTelemetry SDK and apply all patches for good, so that no case spends time on that.

    A capture that is never closed keeps the patches in place. It is opened in a context of its own, so it captures
    nothing.
    """
    context = Context()
    context.run(_kept_open.enter_context, capture())


def _make_worker(agent: Agent, channel: Channel, setup: dict[str, Any], inventory: ToolInventory | None) -> Any:
    options = msgspec.convert(setup["capture"], CaptureOptions)
    options = msgspec.structs.replace(options, is_external=agent.target is None)
    if inventory is not None and inventory.are_all_seen:
        options = msgspec.structs.replace(options, are_all_seen=True)
    if not agent.is_async:
        concurrency = setup["concurrency"] or SYNC_CONCURRENCY
        if concurrency > 1:
            return ThreadedWorker(agent, channel, options, concurrency)
        return SyncWorker(agent, channel, options)
    from ._async_worker import AsyncWorker  # a synchronous agent does not pay for importing asyncio

    return AsyncWorker(agent, channel, options)


def _feed_to_the_end(feed: Callable[[], None]) -> None:
    try:
        feed()
    except BaseException:  # without messages, the main thread would wait forever
        _end_group()
        raise


def _feed(worker: Any, receive: Receive, page_of: Callable[[int, int], Page]) -> None:
    """Pass the parent's messages to the worker, until there are no more jobs."""
    while (message := receive())["do"] != "end":
        number = message["number"]
        if message["do"] == "run":
            worker.run(number, msgspec.convert(message["job"], CaseJob), page_of(message["page"], number))
        else:
            worker.cancel(number)
    worker.end()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or replaced by something that is not a stream; `ProcessState` restores it


def converse(number: int, job: CaseJob, options: CaptureOptions, witness: Witness) -> Conversation:
    """Run the turns of a case until the last, or the first that fails, and report files with expectations it opened."""
    with note_opened() as opened:
        done = yield from _take_turns(number, job, options, witness)
    if not opened or done.trajectory is None:
        return done
    if options.is_strict and done.error is None:
        return msgspec.structs.replace(done, cause="read", error=describe_opened(opened))
    warnings = (*done.trajectory.warnings, f"RC507 agent-read-answers: {describe_opened(opened)}")
    return msgspec.structs.replace(done, trajectory=msgspec.structs.replace(done.trajectory, warnings=warnings))


def _take_turns(number: int, job: CaseJob, options: CaptureOptions, witness: Witness) -> Conversation:
    began = monotonic()
    path = CaseTrajectory(job.is_conversation, options.are_all_seen, keeps_messages=options.spans)
    failure: Failure | None = None
    outputs: list[Any] = []
    usages: list[Usage | None] = []
    memory: dict[str, Any] = {}
    tools, complaints = _Tools(job, options), new_case_output()
    spans = CaseSpans() if options.spans else None
    for turn, given in enumerate(job.turns):
        answer: AgentAnswer | None = None
        before = processes_started()
        witness.begin(turn)
        log: list[DispatchedCall] = []
        with _watched(tools, log, witness) as captured, listen_to_errors(complaints.add):
            try:
                answer = yield _request(job, number, turn, memory)
            except BaseException as raised:  # noqa: BLE001 - what an agent raises fails its case, not the worker
                failure = "raised", _told(raised), _lines_of(raised)
        seconds = monotonic() - began
        seen = witness.answer() if answer is None else answer
        shown = Trajectory()
        try:
            after = processes_started()
            has_others = after != before or after[1] or witness.has_forks
            shown = path.add(captured, seen, given, has_others, log)
            # A result counts the tokens of its own run only, which are too few if there were others.
            usages.append(None if answer is None or path.is_result_partial else answer.usage)
            outputs.append(None if answer is None else admit(answer.output, where="its output"))
        except RightcallError as problem:
            failure = failure or ("output", f"what the agent returned cannot be kept: {problem}", None)
        if spans is not None:
            spans.add(captured, seen, witness)
        failure = tools.failure(shown) or failure
        if failure is not None:
            break
    whole = _completed(_with_tokens(path.trajectory(), usages), job, outputs, seconds)
    if failure is not None or options.is_external:
        whole = with_advice(whole, SEND_CALLS if failure is None else None)
    kept = None if spans is None else spans.kept(whole)
    done = _done(failure, number=number, seconds=seconds, trajectory=whole, recorded=tools.recorded(), spans=kept)
    return msgspec.structs.replace(done, complaints=complaints.text())


def _request(job: CaseJob, number: int, turn: int, memory: dict[str, Any]) -> AgentRequest:
    return AgentRequest(
        input=job.turns[turn],
        case_id=job.case_id,
        turn=turn,
        turns=len(job.turns),
        session=job.session,
        memory=memory,
        run=f"{job.case_id}#{number}",
    )


@contextmanager
def _watched(tools: _Tools, log: list[DispatchedCall], witness: Witness) -> Iterator[Captured]:
    """Use mocks, and capture all that the agent does, for one turn."""
    with (
        tools.mocked(),
        logging_calls(log),
        listen_to_documents(witness.see_document),
        capture(watch=witness.see) as captured,
    ):
        yield captured


def _done(failure: Failure | None, **known: Any) -> Done:
    cause, error, traceback = failure or ("", None, None)
    return Done(cause=cause, error=error, traceback=traceback, **known)


def _with_tokens(path: Trajectory, usages: list[Usage | None]) -> Trajectory:
    """Use the token counts in a framework's results if spans have none, or fewer.

    Spans may lack a run that resumes another one, and results lack agents called by a tool: the larger count is right.
    """
    known = path.usage or Usage()
    reported = summed_usage(usages)
    if reported is None or reported.total_tokens is None or reported.total_tokens <= (known.total_tokens or 0):
        return path
    if known.total_tokens is None and (known.input_tokens is not None or known.output_tokens is not None):
        return path
    tokens = {"input_tokens": reported.input_tokens, "output_tokens": reported.output_tokens}
    return msgspec.structs.replace(path, usage=msgspec.structs.replace(known, **tokens))


def _completed(path: Trajectory, job: CaseJob, outputs: list[Any], seconds: float) -> Trajectory:
    """Add the inputs, the outputs and the duration to a trajectory."""
    usage = msgspec.structs.replace(path.usage or Usage(), duration_ns=round(seconds * _SECOND))
    whole = msgspec.structs.replace(path, input=job.turns[0], output=outputs[-1] if outputs else None, usage=usage)
    if not job.is_conversation:
        return whole
    return msgspec.structs.replace(whole, turn_inputs=tuple(job.turns[: len(outputs)]), turn_outputs=tuple(outputs))


def run_sync(agent: Agent, conversation: Conversation) -> Done:
    """Run a conversation with a synchronous agent."""
    try:
        request = next(conversation)
        while True:
            try:
                answer: Any = agent.answer(request)
            except BaseException as raised:  # noqa: BLE001 - the conversation handles it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


async def run_async(agent: Agent, conversation: Conversation) -> Done:
    """Run a conversation with an asynchronous agent."""
    try:
        request = next(conversation)
        while True:
            try:
                awaitable: Any = agent.answer(request)
                answer = await awaitable
            except BaseException as raised:  # noqa: BLE001 - the conversation handles it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


def _lines_of(raised: BaseException) -> str | None:
    """Return the traceback of an exception; for an agent in another process, the one that it wrote, if any."""
    if isinstance(raised, AgentError):
        return raised.traceback[-_LONGEST_TRACEBACK:] or None
    return traceback_of(raised)[-_LONGEST_TRACEBACK:]


def _told(raised: BaseException) -> str:
    """Return what went wrong. An `AgentError` is ours, about the input or about an agent in another process."""
    return str(raised) if isinstance(raised, AgentError) else f"the agent raised {_one_line(raised)}"


def _one_line(raised: BaseException) -> str:
    """Return an exception in one line, even if its `__str__` fails. Unwrap an exception group of one."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]  # task groups wrap what their tasks raise, such as around an MCP session
    try:
        text = str(raised)
    except Exception:  # noqa: BLE001 - a message that cannot be made must not hide what was raised
        text = ""
    if isinstance(raised, RightcallError):
        return f"{type(raised).__name__}: {text}"
    if isinstance(raised, SystemExit):
        return f"SystemExit({shown(raised.code)})"
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


class _Tools:
    """What answers tool and model calls in one run of a case: mocks first, then the recording, then the real ones."""

    def __init__(self, job: CaseJob, options: CaptureOptions) -> None:
        self._mocks: list[Any] = []
        self._mocked_names = frozenset(job.mocks)
        self._recorder: Any = None
        self._tap: Any = None
        is_replayed = job.recording is not None
        if not (job.mocks or is_replayed or options.tool_answers or options.model_answers):
            return  # most runs need no mocks, and should not import them
        from rightcall.running import mocking

        if job.mocks:
            self._mocks.append(mocking.Mocks.of(job.mocks))
        if job.recording is not None:
            recording = mocking.Recording.of_values(job.recording)
            if "tools" not in options.live:
                self._mocks.append(recording.replay(job.case_id))
            if "model" not in options.live:
                self._tap = recording.model_replay(job.case_id)
        if options.tool_answers:
            self._recorder = mocking.Recorder(job.case_id)
        if options.model_answers:
            self._tap = mocking.ModelRecorder(job.case_id)

    @contextmanager
    def mocked(self) -> Iterator[None]:
        """Let mocks and the recording answer, and record real answers, inside the `with` block."""
        if not self._mocks and self._recorder is None and self._tap is None:
            yield
            return
        from rightcall.running import mocking

        with ExitStack() as stack:
            if self._mocks:
                stack.enter_context(mocking.use_mocks(*self._mocks))
            if self._recorder is not None:
                stack.enter_context(mocking.recording_to(self._recorder))
            if self._tap is not None:
                stack.enter_context(mocking.tapping_models(self._tap))
            yield

    def failure(self, path: Trajectory) -> Failure | None:
        """Return the first call that mocks or the recording did not answer, even if the agent caught the error."""
        unanswered = [str(problem) for problem in getattr(self._tap, "problems", ())]
        if unanswered:
            return "model", unanswered[0], None
        problems = [str(problem) for each in self._mocks for problem in each.problems]
        if self._mocks and not problems:
            problems = self._unmocked(path.calls)
        return ("mock", problems[0], None) if problems else None

    def _unmocked(self, calls: Sequence[ToolCall]) -> list[str]:
        """Return a message for each call of a mocked tool that ran for real."""
        outer = {call.parent_id for call in calls} - {None}
        return [_unmocked_message(call.name) for call in calls if _has_run(call) and self._is_passed_over(call, outer)]

    def _is_passed_over(self, call: ToolCall, outer: Set[str | None]) -> bool:
        """Whether there is a mock for the tool of a call that was never asked."""
        if call.span_id in outer and call.name not in self._mocked_names:
            return False  # its inner calls are checked instead
        responsible = next((each for each in self._mocks if each.answers_for(call.name)), None)
        return responsible is not None and not responsible.was_asked(call.name)

    def recorded(self) -> tuple[Any, ...]:
        """Return what the real tools and models answered, as plain data."""
        made = [*getattr(self._recorder, "entries", ()), *getattr(self._tap, "entries", ())]
        return tuple(plain(made))


def _has_run(call: ToolCall) -> bool:
    """Whether a call was executed, not only requested by a model or refused before it began."""
    return call.error is None and not call.internal and (call.source == "span" or "output" not in call.unrecorded)


def _unmocked_message(tool: str) -> str:
    return (
        f"the tool {shown(tool)} is mocked, but ran for real; mark its function with @tool or @mockable, or call it "
        "through its framework (`rightcall run --dry-run` lists the tools that can be mocked)"
    )
