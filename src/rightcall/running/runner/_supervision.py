"""Runs jobs in worker processes, whatever becomes of those."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic

import msgspec

from rightcall.errors import AgentError, InputError, RightcallError
from rightcall.values.results import Cause, Outcome
from rightcall.values.trajectory import KeptSpans, Trajectory

from ._events import CaseFinished, CaseStarted, Event, Quiet, RunFinished, RunStarted, WorkerReplaced
from ._plan import Job, Plan, RunOptions
from ._process import Flight, WorkerProcess
from ._remains import path_so_far, spans_so_far, unfinished
from ._replies import CUT_OFF_REASON, Done, Failed, Ready, Reply, Seen, Stuck, reply
from ._staff import GRACE, Staff

_TICK = 0.05
_LOADING = 60.0
"""Seconds that an agent has to load, at least."""
_MOST_FAILED_STARTS = 3
_MANY = 100
"""Jobs for which all processes are worth their start, however fast the agent may turn out to be."""


def run(plan: Plan, options: RunOptions, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Run a plan and tell what happens. Every job has exactly one `CaseFinished`, unless the run is stopped.

    The agent is loaded before any case is run. `stop` is asked all the time whether to stop at once. When the
    generator ends or is closed, nothing that it started is left.

    Raises:
        AgentError: the agent cannot be loaded.
        RightcallError: the system cannot run agents in processes of their own.
    """
    if os.name != "posix":
        raise RightcallError("agents are run on Linux and macOS; on Windows, use WSL")
    return _Supervision(plan, options, stop).events()


class _Supervision:
    """One run, from the parent's side. Single-threaded: everything happens between two looks at the pipes."""

    def __init__(self, plan: Plan, options: RunOptions, stop: Callable[[], bool]) -> None:
        self._options = options
        self._stop = stop
        self._staff = Staff(plan, options)
        self._jobs = iter(plan.jobs)
        self._waiting = plan.total
        """How many jobs have not been taken."""
        self._alone: deque[tuple[Job, bool]] = deque()
        """Jobs to be run again, one at a time in a worker; and whether that has to be a new one."""
        self._processes = options.process_count(plan.total)
        self._concurrency = 1
        self._is_async = False
        self._is_loaded = False
        self._failed_starts = 0
        self._number = 0
        self._events: deque[Event] = deque()
        self._looked = 0.0

    def events(self) -> Iterator[Event]:
        """What happens."""
        try:
            while self._has_work() and not self._stop():
                self._hire()
                self._feed()
                self._wait()
                if self._is_loaded and not self._events:
                    yield Quiet()
                while self._events:
                    yield self._events.popleft()
            if not self._has_work():
                self._staff.dismiss(self._staff.workers)
            while self._events:
                yield self._events.popleft()
            yield RunFinished(stopped=self._has_work())
        finally:
            self._staff.end()

    def _has_work(self) -> bool:
        return bool(self._waiting or self._alone or any([worker.flights for worker in self._staff.workers]))

    def _hire(self) -> None:
        """Start the workers that are needed: until the agent is loaded, one alone, unless there is a lot to do."""
        staff = self._staff
        if not self._is_loaded:
            while len(staff.workers) < (self._processes if self._waiting >= _MANY else 1):
                staff.hire(is_solo=False)
            return
        self._make_room()
        while len(staff.workers) < self._processes and len(self._alone) > staff.soloists():
            staff.hire(is_solo=True)
        while len(staff.workers) < self._processes and self._waiting > staff.room(self._concurrency):
            staff.hire(is_solo=False)

    def _make_room(self) -> None:
        """Let workers go that have had their job, were altered, or have nothing left to do."""
        for worker in list(self._staff.workers):
            if worker.flights or not worker.is_ready:
                continue
            if worker.altered is not None:
                reason = f"a process was replaced because the agent altered it: {worker.altered}"
                self._events.append(WorkerReplaced(reason, was_altered=True))
                self._staff.dismiss([worker])
            elif self._is_idle(worker):
                self._staff.dismiss([worker])

    def _is_idle(self, worker: WorkerProcess) -> bool:
        """Whether there is nothing left for a worker, but something for another in its place."""
        if worker.is_solo:
            return bool(worker.served) and (bool(self._waiting) or self._needs_new_one())
        return bool(self._alone) and not self._waiting

    def _needs_new_one(self) -> bool:
        return bool(self._alone) and self._alone[0][1]

    def _feed(self) -> None:
        """Give jobs to workers, one each in turn, until they have enough."""
        while hungry := [worker for worker in self._staff.workers if worker.is_ready and self._appetite(worker)]:
            for worker in hungry:
                job = self._next_job(worker) if self._appetite(worker) else None
                if job is not None:
                    self._give(worker, job)

    def _appetite(self, worker: WorkerProcess) -> bool:
        if worker.is_solo:
            return not worker.flights and bool(self._alone) and not (worker.served and self._needs_new_one())
        return worker.altered is None and len(worker.flights) < self._concurrency and self._waiting > 0

    def _next_job(self, worker: WorkerProcess) -> Job | None:
        if worker.is_solo:
            return self._alone.popleft()[0]
        job = next(self._jobs, None)
        self._waiting = self._waiting - 1 if job is not None else 0
        return job

    def _give(self, worker: WorkerProcess, job: Job) -> None:
        self._number += 1
        if not worker.flights:
            worker.take_output()
            worker.output.clear()
        worker.flights[self._number] = Flight(job, self._number, monotonic())
        worker.served += 1
        self._events.append(CaseStarted(job.case_id, job.repeat))
        try:
            worker.send({"do": "run", "number": self._number, "job": msgspec.structs.asdict(job)})
        except InputError as problem:
            self._finish(worker, self._number, "output", f"the case is too large to be handed over: {problem}")
        self._staff.watch_unsent(worker)

    def _wait(self) -> None:
        """Take what workers say, and look after those that say nothing."""
        if self._events:
            return
        for worker, end in self._staff.wait(_TICK):
            if worker in self._staff.workers:
                self._take(worker, end)
        if monotonic() - self._looked >= _TICK:
            self._look_after()
            self._looked = monotonic()

    def _take(self, worker: WorkerProcess, end: int) -> None:
        if end == worker.printed:
            worker.take_output()
        elif end == worker.commands:
            worker.flush()
            self._staff.watch_unsent(worker)
        elif end == worker.replies:
            self._take_replies(worker)
        elif worker.is_dead():
            self._lose(worker)

    def _take_replies(self, worker: WorkerProcess) -> None:
        try:
            for message in worker.messages():
                self._hear(worker, reply(message))
                if worker not in self._staff.workers:
                    return
        except InputError as problem:
            self._condemn(worker, "died", f"the agent's process sent what is no message: {problem}")
            return
        if worker.is_dead() and worker in self._staff.workers:
            self._lose(worker)
        elif worker.silent_since is not None:
            self._staff.stop_listening(worker)

    def _hear(self, worker: WorkerProcess, said: Reply) -> None:
        if isinstance(said, Ready) and not worker.is_ready:
            self._welcome(worker, said)
        elif isinstance(said, Failed) and not worker.is_ready:
            raise AgentError(said.message)
        elif isinstance(said, Stuck) and said.number in worker.flights:
            self._unblock(worker, said.number)
        elif isinstance(said, Seen):
            worker.note(said)
        elif isinstance(said, Done) and said.number in worker.flights:
            worker.altered = said.altered
            self._conclude(worker, said)
        else:
            raise InputError(f"a {type(said).__name__} that nobody waits for")

    def _unblock(self, worker: WorkerProcess, number: int) -> None:
        """End a worker whose loop is kept by one job: that one is to blame, and the others are run elsewhere."""
        reason = f"the agent took longer than {self._options.timeout:g} s, and kept the event loop all the time"
        if monotonic() - worker.flights[number].started >= self._options.timeout:
            self._finish(worker, number, "timed_out", reason)
            self._condemn(worker, "timed_out", reason)

    def _welcome(self, worker: WorkerProcess, said: Ready) -> None:
        worker.is_ready = True
        self._failed_starts = 0
        if not self._is_loaded:
            self._is_loaded, self._is_async = True, said.is_async
            self._concurrency = self._options.cases_at_once(said.is_async)
            self._events.append(RunStarted(said.is_async, self._processes, self._concurrency))

    def _conclude(self, worker: WorkerProcess, said: Done) -> None:
        flight = worker.flights[said.number]
        if flight.cancelled is not None:
            reason = f"the agent took longer than {self._options.timeout:g} s"
            self._finish(worker, said.number, "timed_out", reason, said)
            return
        worker.take_output()
        printed = worker.output.text() if len(worker.flights) == 1 else ""
        del worker.flights[said.number]
        outcome = Outcome(
            seconds=said.seconds,
            cause=said.cause,
            error=said.error,
            traceback=said.traceback,
            stdout=said.printed + printed,
        )
        job = flight.job
        self._events.append(CaseFinished(job.case_id, job.repeat, outcome, said.trajectory, said.recorded, said.spans))

    def _finish(self, worker: WorkerProcess, number: int, cause: Cause, error: str, said: Done | None = None) -> None:
        """End a flight from here, whatever its worker says; what it has `said` the agent did is kept."""
        worker.take_output()
        flight = worker.flights.pop(number)
        seconds = monotonic() - flight.started
        outcome = Outcome(seconds=seconds, cause=cause, error=error, stdout=worker.output.text())
        path, spans = self._remains(flight, said)
        job = flight.job
        self._events.append(CaseFinished(job.case_id, job.repeat, outcome, path, spans=spans))

    def _remains(self, flight: Flight, said: Done | None) -> tuple[Trajectory, KeptSpans | None]:
        """What an agent did that was ended from here, by what its worker says or else has told of it."""
        if said is not None and said.trajectory is not None:
            return unfinished(said.trajectory), said.spans
        return path_so_far(flight.job, flight.seen), spans_so_far(flight.seen) if self._options.spans else None

    def _look_after(self) -> None:
        """See to workers that hang, are stopped, are too large or died unnoticed."""
        now = monotonic()
        for worker in list(self._staff.workers):
            if worker.is_dead():
                self._lose(worker)
            elif worker.takes_more(self._options.max_memory):
                size = f"{self._options.max_memory / (1 << 20):,.0f} MiB"
                self._condemn(worker, "memory", f"the agent took more than {size} of memory")
            elif worker.silent_since is not None and now - worker.silent_since > GRACE:
                self._condemn(worker, "died", CUT_OFF_REASON)
            elif worker.is_stopped():
                self._condemn(worker, "died", "the agent's process was stopped by a signal")
            elif not worker.is_ready and now - worker.started > max(_LOADING, self._options.timeout):
                self._condemn(worker, "timed_out", "loading took too long")
            else:
                self._look_at_clock(worker, now)

    def _look_at_clock(self, worker: WorkerProcess, now: float) -> None:
        for flight in list(worker.flights.values()):
            late = now - flight.started - self._options.timeout
            if late < 0:
                continue
            limit = f"{self._options.timeout:g} s"
            if not self._is_async:
                self._condemn(worker, "timed_out", f"the agent took longer than {limit}")
            elif flight.cancelled is None:
                flight.cancelled = now
                worker.send({"do": "cancel", "number": flight.number})
                self._staff.watch_unsent(worker)
                continue
            elif now - flight.cancelled > GRACE:
                reason = f"the agent took longer than {limit} and did not stop when it was cancelled"
                self._condemn(worker, "timed_out", reason)
            else:
                continue
            return

    def _condemn(self, worker: WorkerProcess, cause: Cause, reason: str) -> None:
        """Kill a worker, and say why."""
        worker.verdict = cause, reason
        worker.kill()
        worker.wait()
        self._lose(worker)

    def _lose(self, worker: WorkerProcess) -> None:
        """See off a worker that is dead. What it said before it died counts."""
        if worker.verdict is None or worker.verdict[0] != "died":
            self._last_words(worker)
        died: tuple[Cause, str] = "died", worker.ending()
        cause, reason = worker.verdict or died
        if not worker.is_ready:
            self._start_failed(worker, reason)
        # Alone, and the first in its process: nobody else can be to blame. A time limit is always one's own.
        # Otherwise it may be somebody before or beside it, so that all are run again, on their own.
        is_to_blame = len(worker.flights) == 1 and (worker.served == 1 or self._is_late(worker, cause))
        if is_to_blame:
            self._finish(worker, next(iter(worker.flights)), cause, reason)
        again = [flight.job for flight in worker.flights.values()]
        self._alone.extend([(job, worker.is_solo) for job in again])
        worker.flights.clear()
        self._staff.remove(worker)
        self._events.append(WorkerReplaced(reason, tuple([job.case_id for job in again])))

    def _is_late(self, worker: WorkerProcess, cause: Cause) -> bool:
        [flight] = worker.flights.values()
        return cause == "timed_out" and monotonic() - flight.started >= self._options.timeout

    def _last_words(self, worker: WorkerProcess) -> None:
        try:
            for message in worker.messages():
                said = reply(message)
                if not isinstance(said, Stuck):
                    self._hear(worker, said)
        except InputError:
            return  # cut off in the middle, or garbage: either way there is no more

    def _start_failed(self, worker: WorkerProcess, reason: str) -> None:
        self._failed_starts += 1
        if not self._is_loaded or self._failed_starts >= _MOST_FAILED_STARTS:
            worker.take_output()
            printed = worker.output.text().strip()[-500:]
            raise AgentError(f"while the agent was loaded: {reason}" + (f"; it printed {printed!r}" if printed else ""))
