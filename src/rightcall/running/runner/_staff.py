"""The workers of a run: started, listened to, let go."""

from __future__ import annotations

import secrets
import selectors
from collections.abc import Iterator
from time import monotonic

import msgspec

from ._plan import Plan, RunOptions
from ._process import WorkerProcess
from ._system import Guard

GRACE = 1.0
"""Seconds that a cancelled case has to end, and a worker that is not needed any more."""
_TICK = 0.05


class Staff:
    """All workers of one run, and the guard that ends them if we cannot."""

    def __init__(self, plan: Plan, options: RunOptions) -> None:
        self._setup = {
            "agent": plan.agent,
            "project": plan.project,
            "keeping": msgspec.to_builtins(options.keeping),
            "concurrency": options.concurrency,
            "answers": [str(path) for path in options.answers],
            "options": dict(options.agent_options),
        }
        self._token = secrets.token_hex(16)
        self._guard: Guard | None = None
        self._selector = selectors.DefaultSelector()
        self.workers: list[WorkerProcess] = []

    def hire(self, *, is_solo: bool) -> None:
        """Start one more worker."""
        if self._guard is None:
            self._guard = Guard(self._token)
        worker = WorkerProcess(self._setup, self._token, is_solo=is_solo)
        self.workers.append(worker)
        for end in (worker.replies, worker.printed, worker.death):
            if end is not None:
                self._selector.register(end, selectors.EVENT_READ, worker)

    def soloists(self) -> int:
        """How many workers wait for a job to be run alone."""
        return sum([worker.is_solo and not worker.flights for worker in self.workers])

    def room(self, concurrency: int) -> int:
        """How many more jobs the workers take, those counted that are not ready yet."""
        return sum([concurrency - len(worker.flights) for worker in self.workers if not worker.is_solo])

    def wait(self, seconds: float) -> Iterator[tuple[WorkerProcess, int]]:
        """The workers that want something, and through which of their descriptors, waiting at most so long."""
        for key, _ in self._selector.select(seconds):
            yield key.data, key.fd

    def watch_unsent(self, worker: WorkerProcess) -> None:
        """Have `wait` say when a worker takes what waits to be sent to it, if anything does."""
        is_watched = worker.commands in self._selector.get_map()
        if worker.has_unsent and not is_watched:
            self._selector.register(worker.commands, selectors.EVENT_WRITE, worker)
        elif is_watched and not worker.has_unsent:
            self._selector.unregister(worker.commands)

    def stop_listening(self, worker: WorkerProcess) -> None:
        """Have `wait` say no more that a worker has nothing more to say."""
        if worker.replies in self._selector.get_map():
            self._selector.unregister(worker.replies)

    def remove(self, worker: WorkerProcess) -> None:
        """Kill a worker, if it lives, and forget it."""
        for end in (worker.replies, worker.printed, worker.death, worker.commands):
            if end is not None and end in self._selector.get_map():
                self._selector.unregister(end)
        self.workers.remove(worker)
        worker.close()

    def dismiss(self, workers: list[WorkerProcess]) -> None:
        """Let workers go in peace: they may close what the agent has open, but not take long over it."""
        going = list(workers)
        for worker in going:
            worker.let_go()
        until = monotonic() + GRACE
        while any([not worker.is_dead() for worker in going]) and monotonic() < until:
            for worker in going:
                worker.flush()
                worker.take_output()
            _pause(going, until)
        for worker in going:
            self.remove(worker)

    def end(self) -> None:
        """Leave nothing behind."""
        for worker in self.workers:
            worker.kill()
        for worker in list(self.workers):
            self.remove(worker)
        self._selector.close()
        if self._guard is not None:
            self._guard.end()


def _pause(going: list[WorkerProcess], until: float) -> None:
    """Wait a moment for one of them to die, or to print something."""
    with selectors.DefaultSelector() as dying:
        for worker in going:
            if not worker.is_dead():
                dying.register(worker.printed, selectors.EVENT_READ)
                if worker.death is not None:
                    dying.register(worker.death, selectors.EVENT_READ)
        if dying.get_map():
            dying.select(min(_TICK, max(0.0, until - monotonic())))
