"""Who answers for the tools while a case is run, and what they answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from rightcall.results import Cause

from ._plan import Job


class Tools:
    """The tools of one run of one case. Mocks answer first, then the recording; then the real tool runs."""

    def __init__(self, job: Job, record: bool) -> None:
        self._answering: list[Any] = []
        self._recorder: Any = None
        if not (job.mocks or job.recording is not None or record):
            return  # and what stands in for tools is not even loaded
        from rightcall import mocking

        if job.mocks:
            self._answering.append(mocking.Mocks.of(job.mocks))
        if job.recording is not None:
            entries = [msgspec.convert(entry, mocking.Entry) for entry in job.recording]
            self._answering.append(mocking.Replay(job.case_id, entries))
        if record:
            self._recorder = mocking.Recorder(job.case_id)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While it is open, tools are answered for, and what real ones give back is recorded."""
        if not self._answering and self._recorder is None:
            yield
            return
        from rightcall import mocking

        with ExitStack() as stack:
            if self._answering:
                stack.enter_context(mocking.standing_in(*self._answering))
            if self._recorder is not None:
                stack.enter_context(mocking.recording_to(self._recorder))
            yield

    def failure(self) -> tuple[Cause, str, str | None] | None:
        """The first call that could not be answered for, if there is one: whatever the agent made of it."""
        problems = [problem for each in self._answering for problem in each.problems]
        return ("mock", str(problems[0]), None) if problems else None

    def recorded(self) -> tuple[Any, ...]:
        """What the tools answered."""
        return () if self._recorder is None else tuple(msgspec.to_builtins(self._recorder.entries))
