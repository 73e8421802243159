"""A worker process, as its parent sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from rightcall.values.results import Cause

from ._frames import Frames, frame
from ._guard import RUN_VARIABLE
from ._output import Tail
from ._plan import Job
from ._replies import CUT_OFF, CUT_OFF_REASON, Seen
from ._system import end_tree, kill_group, takes_more

_PROGRAM = str(Path(__file__).with_name("_keeper.py"))
_PATIENCE = 10.0
"""Seconds that a worker has to be gone after it was killed; it needs a hundredth of one."""
_PIECE = 1 << 18
_PIPE_SIZE = 1 << 20
_MOST_SEEN = 8 << 20


class Flight(msgspec.Struct):
    """A job that a worker has been given and has not finished."""

    job: Job
    number: int
    started: float
    cancelled: float | None = None
    """When the worker was asked to cancel it."""
    seen: list[Seen] = []
    """What the worker has told of it so far."""
    told: int = 0
    """How many characters of spans that is."""


class WorkerProcess:
    """A process that loads the agent and runs jobs. Nothing here waits for it."""

    def __init__(self, setup: dict[str, Any], token: str, *, is_solo: bool) -> None:
        self.is_solo = is_solo
        """Whether it is for one job alone."""
        self.is_ready = False
        self.started = monotonic()
        self.flights: dict[int, Flight] = {}
        self.served = 0
        """How many jobs it was given."""
        self.altered: str | None = None
        self.silent_since: float | None = None
        """When its end of the channel was closed: by its death or, if it lives on, by the agent."""
        self.verdict: tuple[Cause, str] | None = None
        """Cause and reason, where we killed it."""
        self.output = Tail()
        self._frames = Frames()
        self._unsent = bytearray()
        self._start(token)
        self.send(setup)

    def _start(self, token: str) -> None:
        inward, self.commands = os.pipe()
        self.replies, outward = os.pipe()
        self.printed, printing = os.pipe()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
                [sys.executable, "-P", _PROGRAM, str(inward), str(outward)],
                stdin=subprocess.DEVNULL,
                stdout=printing,
                stderr=printing,
                pass_fds=(inward, outward),
                start_new_session=True,
                env={**os.environ, RUN_VARIABLE: token},
            )
        finally:
            for end in (inward, outward, printing):
                os.close(end)
        for end in (self.commands, self.replies, self.printed):
            os.set_blocking(end, False)
        for end in (self.printed, self.replies):
            _widen(end)
        self.death = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None

    def send(self, message: Any) -> None:
        """Have a message sent, as soon as the worker takes it."""
        self._unsent += frame(message)
        self.flush()

    def flush(self) -> None:
        """Send what waits to be sent, as far as the worker takes it."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.commands, self._unsent[:_PIECE])]
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more: that the worker is dead will be seen, and why
            self._unsent.clear()

    @property
    def has_unsent(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._unsent)

    def messages(self) -> Iterator[Any]:
        """What the worker has said. Raises `InputError` for what is no message."""
        while data := _read(self.replies):
            yield from self._frames.add(data)
        if data is not None and self.silent_since is None:
            self.silent_since = monotonic()

    def note(self, seen: Seen) -> None:
        """Hold what it tells of a job, as far as there is room, until the job ends."""
        flight = self.flights.get(seen.number)
        if flight is not None and flight.told < _MOST_SEEN:
            flight.seen.append(seen)
            flight.told += len(seen.spans.text)

    def take_output(self) -> None:
        """Take note of what has been printed so far."""
        for _ in range(64):  # an agent may print faster than we read; others have to be served as well
            data = _read(self.printed)
            if not data:
                return
            self.output.add(data)

    def takes_more(self, limit: int) -> bool:
        """Whether it and all that it started have more memory than this, in bytes."""
        return takes_more(self.process.pid, limit)

    def is_stopped(self) -> bool:
        """Whether a signal has stopped it, so that it neither runs nor ends."""
        if not hasattr(os, "waitid"):
            return False
        try:
            found = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return found is not None and found.si_code == os.CLD_STOPPED

    def is_dead(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def let_go(self) -> None:
        """Have it end by itself, in peace. What it leaves behind is killed when it is closed."""
        self.send({"do": "end"})

    def kill(self) -> None:
        """Have it end, and everything it started."""
        if not self.is_dead():
            end_tree(self.process.pid)

    def wait(self) -> None:
        """Wait until it has ended, when it was killed."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            kill_group(self.process.pid)
            self.process.wait()

    def close(self) -> None:
        """Kill it, see it off, and give back what belonged to it."""
        self.kill()
        self.wait()
        for end in (self.commands, self.replies, self.printed, self.death):
            if end is not None:
                os.close(end)

    def ending(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        if code == CUT_OFF:
            return CUT_OFF_REASON
        if code is None or code >= 0:
            return f"the agent ended its process with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the agent's process was killed by {name}"


def _read(end: int) -> bytes | None:
    """What there is to read: nothing at the end, `None` if there is nothing yet."""
    try:
        return os.read(end, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _widen(end: int) -> None:
    """Give a pipe more room, so that an agent that prints or does a lot seldom waits for us."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        except OSError:
            return  # the system's limit for pipes is reached; the usual size does as well
