"""A worker process: load the agent, run the jobs it is given, and report how each ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context
from functools import partial
from mmap import mmap
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import AgentError, InputError, RightcallError
from rightcall.running.agents import Agent, AgentOptions, load_agent
from rightcall.running.frameworks import ToolInventory, find_tools, unreached_names
from rightcall.running.tracing import capture
from rightcall.values.decoding import load_json

from ._case_record import CUT_OFF, Done, Failed, FrameReader, Ready, Reply, frame, plain
from ._conversation import converse, run_sync
from ._process_state import OutputTail, ProcessState, case_output, new_case_output, separate_output, watch_files
from ._process_tree import IS_LINUX
from ._run_plan import SYNC_CONCURRENCY, CaptureOptions, CaseJob
from ._system import die_with_parent
from ._witness import Outbox, Page, Witness, map_pages

_PIECE = 1 << 16
_LONGEST_DEFECT = 500
_kept_open = ExitStack()

Receive: TypeAlias = Callable[[], Any]
"""Returns the next message of the parent."""


class Channel:
    """The private channel to the parent: two descriptors that no program started from here inherits."""

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
        """Return the next message of the parent. If the parent is gone, end everything: no one needs the results."""
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
        """Send a message to the parent. A fork of this process sends nothing: it is not the worker.

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
        """Report how a job ended; without its spans, or also without its trajectory, if it is too large."""
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
    """Runs the jobs of a synchronous agent one after the other, in the thread that hands them over."""

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
    """Serve the parent at the other end of two descriptors, for as long as the process above is there.

    `seen` is the descriptor of the memory for what is seen of jobs.
    """
    die_with_parent(above)
    channel, pages = Channel(commands, replies), map_pages(seen)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    # Where the system ends this process with the parent, nobody has to listen for that while the agent is at work.
    receive = channel.receive if IS_LINUX else _listened_to(channel)
    _serve(channel, pages, receive)
    _flush()
    os._exit(0)  # not `sys.exit`: an agent's threads, executors and exit handlers may never end


def _listened_to(channel: Channel) -> Receive:
    """Receive messages in another thread, and so notice at any time that the parent is gone."""
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

        for name in KEY_VARIABLES:  # an SDK without a key refuses to be made, though none will be sent
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
    """Return the tools of an agent in this process, which the frameworks dispatch through us from now on.

    Raises:
        AgentError: mocks or a recording stand in for a tool that the agent does not have, or that is out of reach.
    """
    if agent.target is None:
        return None
    inventory = find_tools(agent.target, Path(setup["project"]).resolve())
    problem = unreached_names(inventory, setup["stood_in"])
    if problem is not None:
        raise AgentError(problem)
    return inventory


def _prepare_capture() -> None:
    """Load the SDK and put the patches in place for good, so that no case has to pay for it.

    A capture that is never closed keeps the patches in place. It is open in a context of its own, so it sees nothing.
    """
    context = Context()
    context.run(_kept_open.enter_context, capture())


def _make_worker(agent: Agent, channel: Channel, setup: dict[str, Any], inventory: ToolInventory | None) -> Any:
    options = msgspec.convert(setup["capture"], CaptureOptions)
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
    except BaseException:  # without its messages, the process would wait for ever
        _end_group()
        raise


def _feed(worker: Any, receive: Receive, page_of: Callable[[int, int], Page]) -> None:
    """Hand messages of the parent over to the worker, until it says that there are no more jobs."""
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
