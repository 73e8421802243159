"""Run jobs in worker processes that may hang, crash or leak; or run single jobs on an agent that stays loaded."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator
from time import monotonic

import msgspec

from rightcall.errors import AgentError, InputError, RightcallError, kind_of
from rightcall.values.results import Cause, Outcome
from rightcall.values.trajectory import KeptSpans, Trajectory

from ._case_record import (
    CUT_OFF_REASON,
    CaseFinished,
    CaseJob,
    CaseStarted,
    Done,
    Event,
    Failed,
    Quiet,
    Ready,
    Reply,
    RunFinished,
    RunOptions,
    RunPlan,
    RunStarted,
    Stuck,
    WorkerReplaced,
)
from ._worker_process import GRACE, RunningJob, WorkerPool, WorkerProcess, incomplete, spans_so_far

_TICK = 0.05
"""Seconds between two checks of time and memory, which take 0.2 ms of CPU for a worker with three children."""
_LOAD_SECONDS = 60.0
"""The least time that an agent has to load: importing a framework takes seconds, or tens of them on a busy machine."""
_MOST_FAILED_STARTS = 3
_MANY_JOBS = 100
"""From this many jobs on, it pays to start all processes at once, however fast the agent turns out to be."""
_ALONE_SECONDS = 0.25
_QUICK_SECONDS = 0.05
"""The first process works alone for `_ALONE_SECONDS`, unless a job takes longer than `_QUICK_SECONDS`: starting another
process takes 0.12 s of CPU, and a few quick jobs are done before it is ready."""


def run(plan: RunPlan, options: RunOptions, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Run a plan and yield what happens. Every job gets exactly one `CaseFinished`, unless the run is stopped.

    The agent is loaded before any case is run. `stop` is called often, and ends the run when it returns true. When the
    generator ends or is closed, nothing that it started is left.

    Raises:
        AgentError: the agent cannot be loaded.
        RightcallError: the system cannot run agents in separate processes.
    """
    if os.name != "posix":
        raise RightcallError("agents are run on Linux and macOS; on Windows, use WSL")
    return _Supervisor(plan, options, stop).events()


class _Supervisor:
    """The parent's side of a run: one thread, and one loop that waits for the workers' pipes."""

    def __init__(self, plan: RunPlan, options: RunOptions, stop: Callable[[], bool]) -> None:
        self._options = options
        self._stop = stop
        self._pool = WorkerPool(plan, options)
        self._jobs = iter(plan.jobs)
        self._pending = plan.total
        """How many jobs have not been taken from the plan."""
        self._solo_jobs: deque[tuple[CaseJob, bool]] = deque()
        """Jobs to run again, each alone in a worker, and whether that worker has to be a new one."""
        self._processes = options.process_count(plan.total)
        self._concurrency = 1
        self._is_async = False
        self._is_loaded = False
        self._alone_until = 0.0
        self._failed_starts = 0
        self._number = 0
        self._events: deque[Event] = deque()
        self._checked = 0.0

    def events(self) -> Iterator[Event]:
        """Run the jobs, and yield what happens."""
        try:
            while self._has_work() and not self._stop():
                self._start()
                self._assign()
                self._wait()
                if self._is_loaded and not self._events:
                    yield Quiet()
                while self._events:
                    yield self._events.popleft()
            if not self._has_work():
                self._pool.stop(self._pool.workers)
            while self._events:
                yield self._events.popleft()
            yield RunFinished(stopped=self._has_work())
        finally:
            self._pool.close()

    def _has_work(self) -> bool:
        return bool(self._pending or self._solo_jobs or any([worker.running for worker in self._pool.workers]))

    def _start(self) -> None:
        """Start the workers that are needed: only one until a job takes time, unless there are many jobs."""
        pool = self._pool
        if not self._is_loaded:
            while len(pool.workers) < (self._processes if self._pending >= _MANY_JOBS else 1):
                pool.start(is_solo=False)
            return
        self._stop_idle()
        while len(pool.workers) < self._processes and len(self._solo_jobs) > pool.idle_solo_workers():
            pool.start(is_solo=True)
        if pool.workers and self._is_quick():
            return
        while len(pool.workers) < self._processes and self._pending > pool.free_slots(self._concurrency):
            pool.start(is_solo=False)

    def _is_quick(self) -> bool:
        """Whether the first process may finish all jobs before another one is ready."""
        now = monotonic()
        jobs = [job for worker in self._pool.workers for job in worker.running.values()]
        return now < self._alone_until and all([now - job.started < _QUICK_SECONDS for job in jobs])

    def _stop_idle(self) -> None:
        """Stop idle workers that were altered by the agent, or that have nothing left to do."""
        for worker in list(self._pool.workers):
            if worker.running or not worker.is_ready:
                continue
            if worker.altered is not None:
                reason = f"a process was replaced because the agent altered it: {worker.altered}"
                self._events.append(WorkerReplaced(reason, was_altered=True))
                self._pool.stop([worker])
            elif self._is_superfluous(worker):
                self._pool.stop([worker])

    def _is_superfluous(self, worker: WorkerProcess) -> bool:
        """Whether no job is left for this worker, but there are jobs for a worker of the other kind, or a new one."""
        if worker.is_solo:
            return bool(worker.served) and (bool(self._pending) or self._needs_new_worker())
        return bool(self._solo_jobs) and not self._pending

    def _needs_new_worker(self) -> bool:
        return bool(self._solo_jobs) and self._solo_jobs[0][1]

    def _assign(self) -> None:
        """Give jobs to workers, one each in turn, until none can take more."""
        while ready := [worker for worker in self._pool.workers if worker.is_ready and self._can_take(worker)]:
            for worker in ready:
                job = self._next_job(worker) if self._can_take(worker) else None
                if job is not None:
                    self._give(worker, job)

    def _can_take(self, worker: WorkerProcess) -> bool:
        if worker.is_solo:
            return not worker.running and bool(self._solo_jobs) and not (worker.served and self._needs_new_worker())
        return worker.altered is None and len(worker.running) < self._concurrency and self._pending > 0

    def _next_job(self, worker: WorkerProcess) -> CaseJob | None:
        if worker.is_solo:
            return self._solo_jobs.popleft()[0]
        job = next(self._jobs, None)
        self._pending = self._pending - 1 if job is not None else 0
        return job

    def _give(self, worker: WorkerProcess, job: CaseJob) -> None:
        self._number += 1
        if not worker.running:
            worker.take_output()
            worker.output.clear()
        page = worker.free_page()
        worker.running[self._number] = RunningJob(job, self._number, monotonic(), page)
        worker.served += 1
        self._events.append(CaseStarted(job.case_id, job.repeat))
        try:
            worker.send({"do": "run", "number": self._number, "page": page, "job": msgspec.structs.asdict(job)})
        except InputError as problem:
            self._abort(worker, self._number, "output", f"the case is too large to be handed over: {problem}")
        self._pool.watch_unsent(worker)

    def _wait(self) -> None:
        """Handle what workers send, and check on those that send nothing."""
        if self._events:
            return
        for worker, end in self._pool.wait(_TICK):
            if worker in self._pool.workers:
                self._handle_ready(worker, end)
        if monotonic() - self._checked >= _TICK:
            self._check_workers()
            self._checked = monotonic()

    def _handle_ready(self, worker: WorkerProcess, end: int) -> None:
        if end == worker.printed:
            worker.take_output()
        elif end == worker.commands:
            worker.flush()
            self._pool.watch_unsent(worker)
        elif end == worker.replies:
            self._handle_replies(worker)
        elif worker.is_dead():
            self._remove_dead(worker)

    def _handle_replies(self, worker: WorkerProcess) -> None:
        try:
            for reply in worker.messages():
                self._handle(worker, reply)
                if worker not in self._pool.workers:
                    return
        except InputError as problem:
            self._kill(worker, "died", f"the agent's process sent an invalid message: {problem}")
            return
        if worker.is_dead() and worker in self._pool.workers:
            self._remove_dead(worker)
        elif worker.silent_since is not None:
            self._pool.stop_listening(worker)

    def _handle(self, worker: WorkerProcess, reply: Reply) -> None:
        if isinstance(reply, Ready) and not worker.is_ready:
            self._mark_ready(worker, reply)
        elif isinstance(reply, Failed) and not worker.is_ready:
            raise AgentError(reply.message)
        elif isinstance(reply, Stuck) and reply.number in worker.running:
            self._handle_stuck(worker, reply.number)
        elif isinstance(reply, Done) and reply.number in worker.running:
            worker.altered = reply.altered
            self._finish(worker, reply)
        else:
            raise InputError(f"{kind_of(reply)} that is not expected now")

    def _handle_stuck(self, worker: WorkerProcess, number: int) -> None:
        """Kill a worker whose event loop is blocked by one job: that one is to blame, the others run again."""
        reason = f"the agent took longer than {self._options.timeout:g} s, and blocked the event loop all the time"
        if monotonic() - worker.running[number].started >= self._options.timeout:
            self._abort(worker, number, "timed_out", reason)
            self._kill(worker, "timed_out", reason)

    def _mark_ready(self, worker: WorkerProcess, reply: Ready) -> None:
        worker.is_ready = True
        self._failed_starts = 0
        if not self._is_loaded:
            self._is_loaded, self._is_async = True, reply.is_async
            self._alone_until = monotonic() + _ALONE_SECONDS
            self._concurrency = self._options.cases_at_once(reply.is_async)
            self._events.append(RunStarted(reply.is_async, self._processes, self._concurrency, reply.inventory))

    def _finish(self, worker: WorkerProcess, done: Done) -> None:
        """Finish a job as its worker reports it."""
        running = worker.running[done.number]
        if running.cancelled is not None:
            reason = f"the agent took longer than {self._options.timeout:g} s"
            self._abort(worker, done.number, "timed_out", reason, done)
            return
        worker.take_output()
        printed = worker.output.text() if len(worker.running) == 1 else ""
        del worker.running[done.number]
        outcome = Outcome(
            seconds=done.seconds,
            cause=done.cause,
            error=done.error,
            traceback=done.traceback,
            stdout=done.printed + printed,
            stderr=done.complaints,
        )
        job = running.job
        self._events.append(CaseFinished(job.case_id, job.repeat, outcome, done.trajectory, done.recorded, done.spans))

    def _abort(self, worker: WorkerProcess, number: int, cause: Cause, error: str, done: Done | None = None) -> None:
        """Finish a job with an error. What the agent did until then is kept, as far as its worker reported it."""
        worker.take_output()
        running = worker.running.pop(number)
        seconds = monotonic() - running.started
        outcome = Outcome(
            seconds=seconds,
            cause=cause,
            error=error,
            stdout=("" if done is None else done.printed) + worker.output.text(),
            stderr="" if done is None else done.complaints,
        )
        trajectory, spans = self._so_far(worker, running, done)
        job = running.job
        self._events.append(CaseFinished(job.case_id, job.repeat, outcome, trajectory, spans=spans))

    def _so_far(
        self, worker: WorkerProcess, running: RunningJob, done: Done | None
    ) -> tuple[Trajectory, KeptSpans | None]:
        """Return what a job that did not finish did until then, and its spans, if they are kept."""
        if done is not None and done.trajectory is not None:
            return incomplete(done.trajectory), done.spans
        seen = worker.seen(running)
        return running.trajectory_so_far(seen), spans_so_far(seen) if self._options.spans else None

    def _check_workers(self) -> None:
        """Kill workers that hang, are stopped or use too much memory, and remove those that died unnoticed."""
        now = monotonic()
        for worker in list(self._pool.workers):
            if worker.is_dead():
                self._remove_dead(worker)
            elif worker.exceeds_memory(self._options.max_memory):
                size = f"{self._options.max_memory / (1 << 20):,.0f} MiB"
                self._kill(worker, "memory", f"the agent used more than {size} of memory")
            elif worker.silent_since is not None and now - worker.silent_since > GRACE:
                self._kill(worker, "died", CUT_OFF_REASON)
            elif worker.is_stopped():
                self._kill(worker, "died", "the agent's process was stopped by a signal")
            elif not worker.is_ready and now - worker.started > max(_LOAD_SECONDS, self._options.timeout):
                self._kill(worker, "timed_out", "loading took too long")
            else:
                self._check_timeouts(worker, now)

    def _check_timeouts(self, worker: WorkerProcess, now: float) -> None:
        for running in list(worker.running.values()):
            late = now - running.started - self._options.timeout
            if late < 0:
                continue
            limit = f"{self._options.timeout:g} s"
            if not self._is_async:
                # Python cannot cancel what runs in a thread, so the whole process has to be killed.
                self._kill(worker, "timed_out", f"the agent took longer than {limit}")
            elif running.cancelled is None:
                running.cancelled = now
                worker.send({"do": "cancel", "number": running.number})
                self._pool.watch_unsent(worker)
                continue
            elif now - running.cancelled > GRACE:
                reason = f"the agent took longer than {limit} and did not stop when it was cancelled"
                self._kill(worker, "timed_out", reason)
            else:
                continue
            return

    def _kill(self, worker: WorkerProcess, cause: Cause, reason: str) -> None:
        worker.kill_reason = cause, reason
        worker.kill()
        worker.wait()
        self._remove_dead(worker)

    def _remove_dead(self, worker: WorkerProcess) -> None:
        """Remove a dead worker, after handling what it had sent, and decide which of its jobs are run again."""
        if worker.kill_reason is None or worker.kill_reason[0] != "died":
            self._drain(worker)
        died: tuple[Cause, str] = "died", worker.how_it_ended()
        cause, reason = worker.kill_reason or died
        if not worker.is_ready:
            self._handle_failed_start(worker, reason)
        # A job that was alone, and the first in its process, is to blame: nothing else ran there. A job that is over
        # its own time limit is, too. Otherwise an earlier job or one beside it may have caused the death (a leak, a
        # broken extension), so all of them are run again, each alone.
        is_to_blame = len(worker.running) == 1 and (worker.served == 1 or self._is_late(worker, cause))
        if is_to_blame:
            self._abort(worker, next(iter(worker.running)), cause, reason)
        again = [running.job for running in worker.running.values()]
        self._solo_jobs.extend([(job, worker.is_solo) for job in again])
        worker.running.clear()
        self._pool.remove(worker)
        self._events.append(WorkerReplaced(reason, tuple([job.case_id for job in again])))

    def _is_late(self, worker: WorkerProcess, cause: Cause) -> bool:
        [running] = worker.running.values()
        return cause == "timed_out" and monotonic() - running.started >= self._options.timeout

    def _drain(self, worker: WorkerProcess) -> None:
        """Handle what a dead worker had sent: a result that is still in the pipe counts."""
        try:
            for reply in worker.messages():
                if not isinstance(reply, Stuck):
                    self._handle(worker, reply)
        except InputError:
            return  # an incomplete or invalid message: what follows cannot be read either

    def _handle_failed_start(self, worker: WorkerProcess, reason: str) -> None:
        self._failed_starts += 1
        if not self._is_loaded or self._failed_starts >= _MOST_FAILED_STARTS:
            worker.take_output()
            printed = worker.output.text().strip()[-500:]
            raise AgentError(f"while the agent was loaded: {reason}" + (f"; it printed {printed!r}" if printed else ""))


class KeptAgent:
    """An agent in a separate process, which is started with the first job and kept until `close`.

    Each job runs alone, and agents that hang, crash or alter their process are handled as in `run`. Between two jobs
    the process is idle, and is not supervised.
    """

    def __init__(self, agent: str, project: str, options: RunOptions) -> None:
        self._agent = agent
        self._project = project
        self._options = msgspec.structs.replace(options, workers=1, concurrency=1)
        self._asked: list[CaseJob] = []
        self._events: Iterator[Event] | None = None

    def run(self, job: CaseJob) -> CaseFinished:
        """Run one job.

        Raises:
            AgentError: the agent cannot be loaded.
            RightcallError: the system cannot run agents in separate processes.
        """
        if self._events is None:
            plan = RunPlan(agent=self._agent, project=self._project, jobs=self._jobs(), total=sys.maxsize)
            self._events = run(plan, self._options)
        self._asked.append(job)
        try:
            for event in self._events:
                if isinstance(event, CaseFinished):
                    return event
        except BaseException:  # Ctrl-C too: the worker must not outlive the loop that feeds it
            self.close()
            raise
        self.close()
        raise RightcallError(f"the agent {self._agent!r:.80} was stopped before the case {job.case_id!r:.80} was run")

    def close(self) -> None:
        """End the process, and everything it started. The next job starts a new one."""
        events, self._events = self._events, None
        self._asked.clear()
        if isinstance(events, Generator):
            events.close()

    def _jobs(self) -> Iterator[CaseJob]:
        """Yield the job of the current `run`: there is one whenever the supervisor asks for the next."""
        while self._asked:
            yield self._asked.pop()
