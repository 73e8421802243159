"""Who answers for the tools while a case is run, and what they answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from rightcall.errors import shown
from rightcall.values.results import Cause
from rightcall.values.trajectory import ToolCall, Trajectory

from ._frames import plain
from ._plan import Job


class Tools:
    """The tools of one run of one case. Mocks answer first, then the recording; then the real tool runs."""

    def __init__(self, job: Job, record: bool) -> None:
        self._answering: list[Any] = []
        self._named = frozenset(job.mocks)
        self._recorder: Any = None
        if not (job.mocks or job.recording is not None or record):
            return  # and what stands in for tools is not even loaded
        from rightcall.running import mocking

        if job.mocks:
            self._answering.append(mocking.Mocks.of(job.mocks))
        if job.recording is not None:
            entries = [msgspec.convert(entry, mocking.RecordedCall) for entry in job.recording]
            self._answering.append(mocking.Replay(job.case_id, entries))
        if record:
            self._recorder = mocking.Recorder(job.case_id)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While it is open, tools are answered for, and what real ones give back is recorded."""
        if not self._answering and self._recorder is None:
            yield
            return
        from rightcall.running import mocking

        with ExitStack() as stack:
            if self._answering:
                stack.enter_context(mocking.use_mocks(*self._answering))
            if self._recorder is not None:
                stack.enter_context(mocking.recording_to(self._recorder))
            yield

    def failure(self, paths: Sequence[Trajectory]) -> tuple[Cause, str, str | None] | None:
        """The first call that could not be answered for, if there is one: whatever the agent made of it.

        A tool that ran itself though it should have been answered for is one as well.
        """
        problems = [str(problem) for each in self._answering for problem in each.problems]
        if self._answering and not problems:
            calls = [call for path in paths for call in path.calls]
            outer = {call.parent_id for call in calls} - {None}
            problems = [_escaped(call.name) for call in calls if _has_run(call) and self._is_passed_over(call, outer)]
        return ("mock", problems[0], None) if problems else None

    def _is_passed_over(self, call: ToolCall, outer: Set[str | None]) -> bool:
        """Whether somebody answers for the tool of a call, and was never asked."""
        if call.span_id in outer and call.name not in self._named:
            return False  # it is made of other calls, which are looked at themselves
        responsible = next((each for each in self._answering if each.answers_for(call.name)), None)
        return responsible is not None and not responsible.was_asked(call.name)

    def recorded(self) -> tuple[Any, ...]:
        """What the tools answered."""
        return () if self._recorder is None else tuple(plain(self._recorder.entries))


def _has_run(call: ToolCall) -> bool:
    """Whether a call was carried out, and not only asked for by a model, or refused before it began."""
    return call.error is None and not call.internal and (call.source == "span" or "output" not in call.unrecorded)


def _escaped(tool: str) -> str:
    return (
        f"the tool {shown(tool)} was to be answered for, but ran itself; mocks and recordings answer for functions "
        "that are marked with @tool or @mockable"
    )
