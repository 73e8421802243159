"""An agent that stays loaded between cases, which are asked for one at a time."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator

import msgspec

from rightcall.errors import RightcallError

from ._run_plan import CaseFinished, CaseJob, Event, RunOptions, RunPlan
from ._supervisor import run


class KeptAgent:
    """An agent in a separate process, which is started with the first job and lives until `close`.

    Each job runs alone, with all that `run` does about agents that hang, crash or alter their process. Between two jobs
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
        """Yield the jobs as they are asked for: there is one whenever the supervisor asks for the next."""
        while self._asked:
            yield self._asked.pop()
