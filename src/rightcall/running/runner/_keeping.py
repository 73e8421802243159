"""An agent that is kept ready between cases which somebody else asks for, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator

import msgspec

from rightcall.errors import RightcallError

from ._events import CaseFinished, Event
from ._plan import Job, Plan, RunOptions
from ._supervision import run


class KeptAgent:
    """An agent in a process of its own, which is started with the first job and lives until `close`.

    Each job is run alone, with all that `run` does about agents that hang, crash or alter their process. Nothing here
    is run by itself: between two jobs nobody looks after the process, which then has nothing to do.
    """

    def __init__(self, agent: str, project: str, options: RunOptions) -> None:
        self._agent = agent
        self._project = project
        self._options = msgspec.structs.replace(options, workers=1, concurrency=1)
        self._asked: list[Job] = []
        self._events: Iterator[Event] | None = None

    def run(self, job: Job) -> CaseFinished:
        """What comes of one job.

        Raises:
            AgentError: the agent cannot be loaded.
            RightcallError: the system cannot run agents in processes of their own.
        """
        if self._events is None:
            plan = Plan(agent=self._agent, project=self._project, jobs=self._jobs(), total=sys.maxsize)
            self._events = run(plan, self._options)
        self._asked.append(job)
        try:
            for event in self._events:
                if isinstance(event, CaseFinished):
                    return event
        except BaseException:
            self.close()
            raise
        self.close()
        raise RightcallError(f"the agent {self._agent!r:.80} was stopped before the case {job.case_id!r:.80} was run")

    def close(self) -> None:
        """End the process, and everything that it started. The next job starts another."""
        events, self._events = self._events, None
        self._asked.clear()
        if isinstance(events, Generator):
            events.close()

    def _jobs(self) -> Iterator[Job]:
        """The jobs as they are asked for: one is there whenever the process is given leave to take one."""
        while self._asked:
            yield self._asked.pop()
