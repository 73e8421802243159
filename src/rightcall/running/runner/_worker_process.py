"""The parent's side of worker processes: one process with its jobs, and the pool of a run."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from time import monotonic
from typing import Any

import msgspec

from rightcall.errors import RightcallError
from rightcall.values.results import Cause
from rightcall.values.trajectory import KeptSpans, RawSpan, Trajectory, spans_by_id

from ._case_record import (
    CUT_OFF,
    CUT_OFF_REASON,
    PAGE_BYTES,
    CaseJob,
    FrameReader,
    Reply,
    RunOptions,
    RunPlan,
    Seen,
    frame,
    parse_reply,
    read_page,
    with_advice,
)
from ._process_state import PROCESS_TREE, Guard, OutputTail, exceeds_memory, kill_group, kill_tree, shared_memory
from ._process_tree import RUN_VARIABLE

_PATIENCE = 10.0
"""Seconds to wait for the end of a killed worker; it normally takes 10 ms."""
_PIECE = 1 << 18
_PIPE_SIZE = 1 << 20
"""The largest pipe that Linux allows a process without privileges (pipe(7), `/proc/sys/fs/pipe-max-size`)."""
_MOST_READS = 64
_INCOMPLETE = "the agent did not finish, so its calls are known up to that point only"
GRACE = 1.0
"""Seconds that a cancelled case, or a worker that is asked to end, has until it is killed."""
_TICK = 0.05


class RunningJob(msgspec.Struct):
    """A job that a worker has not finished."""

    job: CaseJob
    number: int
    started: float
    page: int = 0
    """The index of the page of shared memory that its spans are written to."""
    cancelled: float | None = None
    """When the worker was asked to cancel it."""

    def trajectory_so_far(self, seen: Sequence[Seen]) -> Trajectory:
        """Return the trajectory of the spans that the worker has written. It is shown, and never judged."""
        job, is_conversation = self.job, self.job.is_conversation
        begun = min(len(job.turns), 1 + max([each.turn for each in seen], default=0))
        turns = [_latest(seen, turn if is_conversation else None) for turn in range(begun if is_conversation else 1)]
        path = _read(turns, is_conversation)
        if not any([each.span for each in seen]):
            path = msgspec.structs.replace(path, calls_recorded=False)
        given = tuple(job.turns[:begun]) if is_conversation else ()
        return incomplete(msgspec.structs.replace(path, input=job.turns[0], turn_inputs=given))


def spans_so_far(seen: Sequence[Seen]) -> KeptSpans:
    """Return the spans that the worker has written."""
    kept = KeptSpans.of(_latest(seen, None))
    return KeptSpans(kept.text, kept.left_out + [each.span for each in seen].count(None))


def incomplete(path: Trajectory) -> Trajectory:
    """Return a trajectory with a warning that it may be incomplete."""
    path = with_advice(path, None)
    return msgspec.structs.replace(path, warnings=(*path.warnings, _INCOMPLETE))


def _read(turns: list[list[RawSpan]], is_conversation: bool) -> Trajectory:
    from rightcall.reading import read_raw_spans  # most runs have no unfinished case, and need no readers here

    try:
        return read_raw_spans(turns, is_conversation)
    except RightcallError as problem:
        return Trajectory(calls_recorded=False, warnings=(f"the spans seen until then cannot be read: {problem}",))


def _latest(seen: Iterable[Seen], turn: int | None) -> list[RawSpan]:
    """Return the spans of a turn, or of all turns, in the order they began, each as it was written last."""
    found, _ = spans_by_id([each.span for each in seen if turn is None or each.turn == turn])
    return list(found.values())


class WorkerProcess:
    """A process that loads the agent and runs jobs. No method waits for it, except `wait` and `close`."""

    def __init__(self, setup: dict[str, Any], variables: Mapping[str, str], pages: int, *, is_solo: bool) -> None:
        self.is_solo = is_solo
        """Whether it runs one job at a time: jobs that may have caused the death of a worker."""
        self.is_ready = False
        self.started = monotonic()
        self.running: dict[int, RunningJob] = {}
        self.served = 0
        """How many jobs it was given."""
        self.altered: str | None = None
        self.silent_since: float | None = None
        """When its end of the channel was closed: by its death, or by the agent."""
        self.kill_reason: tuple[Cause, str] | None = None
        """Why we killed it, if we did."""
        self.output = OutputTail()
        self.has_said_all = False
        """Whether its end of the output is closed. Such a pipe is always readable, so waiting for it would spin."""
        self._frames = FrameReader(parse_reply)
        self._unsent = bytearray()
        self._seen = shared_memory(pages * PAGE_BYTES)
        self._page_bytes = os.fstat(self._seen).st_size // pages
        self._start(variables)
        self.send({**setup, "page_bytes": self._page_bytes})

    def _start(self, variables: Mapping[str, str]) -> None:
        inward, self.commands = os.pipe()
        self.replies, outward = os.pipe()
        self.printed, printing = os.pipe()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
                [sys.executable, "-P", PROCESS_TREE, str(inward), str(outward), str(self._seen)],
                stdin=subprocess.DEVNULL,
                stdout=printing,
                stderr=printing,
                pass_fds=(inward, outward, self._seen),
                start_new_session=True,
                env={**os.environ, **variables},
            )
        finally:
            for end in (inward, outward, printing):
                os.close(end)
        for end in (self.commands, self.replies, self.printed):
            os.set_blocking(end, False)
        for end in (self.printed, self.replies):
            _widen(end)
        # A descriptor that becomes readable when the process ends (pidfd_open(2), Linux 5.3); elsewhere we poll.
        self.death = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None

    def send(self, message: Any) -> None:
        """Queue a message, and send as much as fits into the pipe now."""
        self._unsent += frame(message)
        self.flush()

    def flush(self) -> None:
        """Send as much of the queue as fits into the pipe."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.commands, self._unsent[:_PIECE])]
        except BlockingIOError:
            return
        except OSError:  # the other end is closed; the death of the worker and its reason are noticed elsewhere
            self._unsent.clear()

    @property
    def has_unsent(self) -> bool:
        """Whether something is queued."""
        return bool(self._unsent)

    def messages(self) -> Iterator[Reply]:
        """Yield the messages that the worker has sent. Raises `InputError` for an invalid one."""
        while data := _read_available(self.replies):
            yield from self._frames.add(data)
            if len(data) < _PIECE:
                return  # nothing more to read now; later data, or the end, will be reported by `WorkerPool.wait`
        if data is not None and self.silent_since is None:
            self.silent_since = monotonic()

    def free_page(self) -> int:
        """Return the index of the first page that no running job uses."""
        taken = {job.page for job in self.running.values()}
        return next(page for page in count() if page not in taken)

    def seen(self, running: RunningJob) -> list[Seen]:
        """Return the spans that it has written of a job."""
        return read_page(self._seen, self._page_bytes, running.page, running.number)

    def take_output(self) -> None:
        """Read what has been printed so far."""
        for _ in range(_MOST_READS):  # an agent may print faster than we read, and other workers need attention
            data = _read_available(self.printed)
            if not data:
                self.has_said_all = data is not None
                return
            self.output.add(data)

    def exceeds_memory(self, limit: int) -> bool:
        """Whether it and everything it started use more memory than this, in bytes."""
        return exceeds_memory(self.process.pid, limit)

    def is_stopped(self) -> bool:
        """Whether it is stopped by a signal (SIGSTOP), and so neither runs nor ends."""
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

    def ask_to_end(self) -> None:
        """Ask it to end by itself. `close` kills what it leaves behind."""
        self.send({"do": "end"})

    def kill(self) -> None:
        """Kill it, and everything it started."""
        if not self.is_dead():
            kill_tree(self.process.pid)

    def wait(self) -> None:
        """Wait until it has ended, after it was killed."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            kill_group(self.process.pid)
            self.process.wait()

    def close(self) -> None:
        """Kill it, wait for its end, and close its descriptors."""
        self.kill()
        self.wait()
        for end in (self.commands, self.replies, self.printed, self._seen, self.death):
            if end is not None:
                os.close(end)

    def how_it_ended(self) -> str:
        """Return how it ended, in words."""
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


def _read_available(end: int) -> bytes | None:
    """Return what can be read now: empty at the end of the stream, `None` if there is nothing yet."""
    try:
        return os.read(end, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _widen(end: int) -> None:
    """Enlarge a pipe, so that an agent that prints or sends a lot rarely waits for us."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        except OSError:
            return  # the user's limit for all pipes is reached (pipe(7)); the default of 64 KiB works, too


class WorkerPool:
    """All workers of one run, and the guard that ends them if this process is killed."""

    def __init__(self, plan: RunPlan, options: RunOptions) -> None:
        self._setup = {
            "agent": plan.agent,
            "project": plan.project,
            "capture": msgspec.to_builtins(options.capture),
            "concurrency": options.concurrency,
            "answers": [str(path) for path in options.answers],
            "stood_in": list(options.stood_in),
            "is_inspected": options.is_inspected,
            "needs_no_key": options.replay and "model" not in options.live,
            "options": dict(options.agent_options),
        }
        self._pages = options.cases_at_once(is_async=True)
        self._token = secrets.token_hex(16)
        self._variables = {**options.environment, RUN_VARIABLE: self._token}
        self._guard: Guard | None = None
        self._selector = selectors.DefaultSelector()
        self.workers: list[WorkerProcess] = []

    def start(self, *, is_solo: bool) -> None:
        """Start one more worker."""
        if self._guard is None:
            self._guard = Guard(self._token)
        worker = WorkerProcess(self._setup, self._variables, self._pages, is_solo=is_solo)
        self.workers.append(worker)
        for end in (worker.replies, worker.printed, worker.death):
            if end is not None:
                self._selector.register(end, selectors.EVENT_READ, worker)

    def idle_solo_workers(self) -> int:
        """Return how many solo workers have no job."""
        return sum([worker.is_solo and not worker.running for worker in self.workers])

    def free_slots(self, concurrency: int) -> int:
        """Return how many more jobs the workers can take, including those that are still loading."""
        return sum([concurrency - len(worker.running) for worker in self.workers if not worker.is_solo])

    def wait(self, seconds: float) -> Iterator[tuple[WorkerProcess, int]]:
        """Wait for up to some seconds; yield each worker that needs attention with its ready descriptor."""
        for key, _ in self._selector.select(seconds):
            yield key.data, key.fd

    def watch_unsent(self, worker: WorkerProcess) -> None:
        """Make `wait` report when a worker can receive more of its queued messages, as long as it has any."""
        is_watched = worker.commands in self._selector.get_map()
        if worker.has_unsent and not is_watched:
            self._selector.register(worker.commands, selectors.EVENT_WRITE, worker)
        elif is_watched and not worker.has_unsent:
            self._selector.unregister(worker.commands)

    def stop_listening(self, worker: WorkerProcess) -> None:
        """Ignore a closed channel: it is always readable, so `wait` would return at once forever."""
        if worker.replies in self._selector.get_map():
            self._selector.unregister(worker.replies)

    def remove(self, worker: WorkerProcess) -> None:
        """Kill a worker, if it is alive, and forget it."""
        for end in (worker.replies, worker.printed, worker.death, worker.commands):
            if end is not None and end in self._selector.get_map():
                self._selector.unregister(end)
        self.workers.remove(worker)
        worker.close()

    def stop(self, workers: list[WorkerProcess]) -> None:
        """Let workers end by themselves, so that the agent can close what it has open; kill them after `GRACE`."""
        ending = list(workers)
        for worker in ending:
            worker.ask_to_end()
        until = monotonic() + GRACE
        while any([not worker.is_dead() for worker in ending]) and monotonic() < until:
            for worker in ending:
                worker.flush()
                worker.take_output()
            _pause(ending, until)
        for worker in ending:
            self.remove(worker)

    def close(self) -> None:
        """Kill all workers, and leave nothing behind."""
        for worker in self.workers:
            worker.kill()
        for worker in list(self.workers):
            self.remove(worker)
        self._selector.close()
        if self._guard is not None:
            self._guard.end()


def _pause(ending: list[WorkerProcess], until: float) -> None:
    """Wait for up to `_TICK` seconds until one of the workers dies or prints something."""
    alive = [worker for worker in ending if not worker.is_dead()]
    with selectors.DefaultSelector() as selector:
        for worker in alive:
            if not worker.has_said_all:
                selector.register(worker.printed, selectors.EVENT_READ)
            if worker.death is not None:
                selector.register(worker.death, selectors.EVENT_READ)
        if alive:
            selector.select(min(_TICK, max(0.0, until - monotonic())))
