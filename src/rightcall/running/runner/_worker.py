"""A worker process: loads the agent, runs the jobs it is given, and says how each ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.running.agents import Agent, AgentOptions, load_agent
from rightcall.running.tracing import capture

from ._conversing import ask, converse
from ._frames import Frames, frame, plain
from ._plan import SYNC_CONCURRENCY, Job, Keeping
from ._printing import keep_apart, new_page, page
from ._reading import watch
from ._replies import CUT_OFF, Done, Failed, Ready, Reply
from ._surroundings import Surroundings
from ._system import die_with_parent
from ._witness import Witness

_PIECE = 1 << 16
_LONGEST_DEFECT = 500
_kept_open = ExitStack()


class Channel:
    """The private way to the parent: two descriptors that no program started from here inherits."""

    def __init__(self, commands: int, replies: int) -> None:
        for end in (commands, replies):
            os.set_inheritable(end, False)
        self._commands = commands
        self._replies = replies
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._unsent: deque[bytes] = deque()
        self._frames = Frames()

    def listen(self, hear: Callable[[Any], None]) -> None:
        """Hand over what the parent says, until there is no parent."""
        while data := os.read(self._commands, _PIECE):
            for message in self._frames.add(data):
                hear(message)

    def say(self, said: Reply) -> None:
        """Tell the parent something. A process that was forked from this one tells nothing: it is not the worker.

        Raises:
            InputError: it is longer than a message may be.
        """
        if os.getpid() != self._process:
            return
        self._unsent.append(frame(plain(said)))
        # The sender that has the lock sends this as well. It may be this thread, in the middle of a message, where a
        # span ended because an object was collected.
        while self._unsent and self._lock.acquire(blocking=False):
            try:
                self._send()
            finally:
                self._lock.release()

    def _send(self) -> None:
        try:
            while self._unsent:
                data = memoryview(self._unsent.popleft())
                while data:
                    data = data[os.write(self._replies, data) :]
        except OSError:
            os._exit(CUT_OFF)

    def conclude(self, done: Done) -> None:
        """Tell the parent how a job ended; without its spans, or also without its trajectory, if it is too large."""
        try:
            self._say_most(done)
        except InputError as problem:
            self._say_least(done, f"what the agent did is too large to be kept: {problem}")
        except Exception as problem:  # noqa: BLE001 - whatever it is, the agent is not to blame, nor the other cases
            told = f"{type(problem).__name__}: {problem}"[:_LONGEST_DEFECT]
            self._say_least(done, f"Rightcall could not keep what the agent did, a defect of Rightcall's own: {told}")

    def _say_least(self, done: Done, error: str) -> None:
        self.say(Done(number=done.number, seconds=done.seconds, cause="output", error=error, altered=done.altered))

    def _say_most(self, done: Done) -> None:
        try:
            self.say(done)
        except InputError:
            if done.spans is None:
                raise
            self.say(msgspec.structs.replace(done, spans=done.spans.without_spans()))


class Desk:
    """Where the jobs of a synchronous agent are done: in the main thread or, several at once, in threads."""

    def __init__(self, agent: Agent, channel: Channel, keeping: Keeping, concurrency: int) -> None:
        self._agent = agent
        self._channel = channel
        self._keeping = keeping
        self._jobs: SimpleQueue[tuple[int, Job] | None] = SimpleQueue()
        self._has_company = concurrency > 1
        if self._has_company:
            keep_apart()
        self._surroundings = Surroundings()
        for _ in range(concurrency - 1):
            threading.Thread(target=self._work, daemon=True).start()

    def run(self, number: int, job: Job) -> None:
        """Have a job done."""
        self._jobs.put((number, job))

    def cancel(self, number: int) -> None:
        """Nothing that runs in a thread can be cancelled: the parent kills the process instead."""

    def end(self) -> None:
        """Have no more jobs done."""
        self._jobs.put(None)

    def work(self) -> None:
        """Do jobs until there are no more."""
        self._work()

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            number, job = given
            tail = new_page() if self._has_company else None
            mine = page.set(tail)
            done = ask(self._agent, converse(number, job, self._keeping, Witness(number, self._channel.say)))
            page.reset(mine)
            _flush()
            printed = tail.text() if tail is not None else ""
            altered = self._surroundings.restore()
            self._channel.conclude(msgspec.structs.replace(done, printed=printed, altered=altered))


def main(above: int) -> None:
    """Serve the parent whose descriptors are on the command line, as long as the process above is there."""
    commands, replies = map(int, sys.argv[1:3])
    die_with_parent(above)
    channel = Channel(commands, replies)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    setup: SimpleQueue[Any] = SimpleQueue()
    hear: list[Callable[[Any], None]] = [setup.put]
    threading.Thread(target=_listen, args=(channel, hear), daemon=True).start()
    _serve(channel, setup.get(), hear)
    _flush()
    os._exit(0)  # an agent's threads, executors and handlers for the end may never end


def _listen(channel: Channel, hear: list[Callable[[Any], None]]) -> None:
    try:
        channel.listen(lambda message: hear[0](message))
    except (OSError, InputError):  # the agent has closed the descriptor, or opened something else in its place
        os._exit(CUT_OFF)
    finally:  # nobody is there any more to hear of anything
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _serve(channel: Channel, setup: dict[str, Any], hear: list[Callable[[Any], None]]) -> None:
    sys.argv = [setup["agent"]]
    watch(setup["answers"])
    try:
        agent = load_agent(setup["agent"], Path(setup["project"]), msgspec.convert(setup["options"], AgentOptions))
        _prepare_capturing()
    except RightcallError as problem:
        channel.say(Failed(str(problem)))
        return
    except BaseException as problem:  # noqa: BLE001 - importing an agent runs it
        channel.say(Failed(f"{setup['agent']} cannot be loaded: {type(problem).__name__}: {problem}"))
        return
    desk = _desk(agent, channel, setup)
    hear[0] = lambda message: _obey(desk, message)
    channel.say(Ready(agent.is_async))
    desk.work()
    agent.close()


def _prepare_capturing() -> None:
    """Have what capturing needs loaded and in place, for good: cases then need not set it up, each for itself.

    A capture that is never closed keeps it in place. It is open in a context of its own, so it sees nothing.
    """
    context = Context()
    context.run(_kept_open.enter_context, capture())


def _desk(agent: Agent, channel: Channel, setup: dict[str, Any]) -> Any:
    keeping = msgspec.convert(setup["keeping"], Keeping)
    if not agent.is_async:
        return Desk(agent, channel, keeping, setup["concurrency"] or SYNC_CONCURRENCY)
    from ._waiting import WaitingDesk

    return WaitingDesk(agent, channel, keeping)


def _obey(desk: Any, message: dict[str, Any]) -> None:
    if message["do"] == "run":
        desk.run(message["number"], msgspec.convert(message["job"], Job))
    elif message["do"] == "cancel":
        desk.cancel(message["number"])
    else:
        desk.end()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or replaced by something that is no stream: it is put right afterwards
