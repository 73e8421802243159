"""The worker processes of a run: start them, wait for what they send, stop them."""

from __future__ import annotations

import secrets
import selectors
from collections.abc import Iterator
from time import monotonic

import msgspec

from ._run_plan import RunOptions, RunPlan
from ._system import Guard
from ._worker_process import WorkerProcess

GRACE = 1.0
"""Seconds that a cancelled case has to end, and a worker that is not needed any more."""
_TICK = 0.05


class WorkerPool:
    """All workers of one run, and the guard that ends them if this process is killed."""

    def __init__(self, plan: RunPlan, options: RunOptions) -> None:
        self._setup = {
            "agent": plan.agent,
            "project": plan.project,
            "capture": msgspec.to_builtins(options.capture),
            "concurrency": options.concurrency,
            "answers": [str(path) for path in options.answers],
            "options": dict(options.agent_options),
        }
        self._token = secrets.token_hex(16)
        self._guard: Guard | None = None
        self._selector = selectors.DefaultSelector()
        self.workers: list[WorkerProcess] = []

    def start(self, *, is_solo: bool) -> None:
        """Start one more worker."""
        if self._guard is None:
            self._guard = Guard(self._token)
        worker = WorkerProcess(self._setup, self._token, is_solo=is_solo)
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
        """Wait at most so long; yield the workers with something to do, and the descriptor that is ready."""
        for key, _ in self._selector.select(seconds):
            yield key.data, key.fd

    def watch_unsent(self, worker: WorkerProcess) -> None:
        """Have `wait` report when a worker can take more of its queued messages, as long as it has any."""
        is_watched = worker.commands in self._selector.get_map()
        if worker.has_unsent and not is_watched:
            self._selector.register(worker.commands, selectors.EVENT_WRITE, worker)
        elif is_watched and not worker.has_unsent:
            self._selector.unregister(worker.commands)

    def stop_listening(self, worker: WorkerProcess) -> None:
        """Ignore a channel that is closed: it is always readable, and `wait` would never wait again."""
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
        """Let workers end by themselves, so that the agent can close what it has open, for a moment at most."""
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
    """Wait a moment for one of the workers to die, or to print something."""
    with selectors.DefaultSelector() as selector:
        for worker in ending:
            if not worker.is_dead():
                selector.register(worker.printed, selectors.EVENT_READ)
                if worker.death is not None:
                    selector.register(worker.death, selectors.EVENT_READ)
        if selector.get_map():
            selector.select(min(_TICK, max(0.0, until - monotonic())))
