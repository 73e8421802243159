"""What is to be run, and how."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rightcall.cases.evalsets import Case

DEFAULT_TIMEOUT = 300.0
DEFAULT_MEMORY = 2 << 30
SYNC_CONCURRENCY = 1
ASYNC_CONCURRENCY = 16


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one case: what the agent is given, and nothing of what is expected of it."""

    case_id: str
    repeat: int = 0
    turns: Sequence[Any]
    """The inputs, one for each time the agent is called."""
    is_conversation: bool = False
    """Whether the turns are those of a conversation, so that calls carry the number of theirs."""
    session: Any = None
    mocks: Mapping[str, Any] = {}
    recording: Sequence[Any] | None = None
    """What the tools are to answer, as recorded; `None` where they are not to be replayed."""

    @classmethod
    def of(cls, case: Case, repeat: int = 0, recording: Sequence[Any] | None = None) -> Job:
        """The job that a case is."""
        return cls(
            case_id=case.id,
            repeat=repeat,
            turns=case.turns or (case.input,),
            is_conversation=bool(case.turns),
            session=case.session,
            mocks=case.mocks,
            recording=recording,
        )


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The agent, by name, and the jobs. Jobs are taken as they are needed, so there may be any number."""

    agent: str
    project: str
    jobs: Iterable[Job]
    total: int
    """How many jobs there are."""


class Keeping(msgspec.Struct, frozen=True):
    """What a worker hands over of each case, beside its path."""

    answers: bool = False
    """What the tools answered."""
    spans: bool = False
    """The spans, as they were recorded."""
    is_strict: bool = False
    """Nothing to judge, where the agent has opened what is expected of it."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run: how many processes, how many cases at once in each, how long, how large."""

    workers: int = 0
    """How many processes; 0 for as many as there are cores."""
    concurrency: int = 0
    """How many cases at once in a process; 0 for 1 where the agent is synchronous and 16 where it is not."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that one run of a case may take."""
    max_memory: int = DEFAULT_MEMORY
    """Bytes of memory that a process may have, with all that it started."""
    record: bool = False
    """Whether to hand over what the tools answered."""
    spans: bool = False
    """Whether to hand over the spans, as they were recorded."""
    answers: Sequence[str] = ()
    """Files and folders with what is expected of the agent: where it opens one, its case gets a warning."""
    strict_agent: bool = False
    """Whether that is an error instead."""
    agent_options: Mapping[str, Any] = {}

    @property
    def keeping(self) -> Keeping:
        """What to hand over of each case, beside its path."""
        return Keeping(self.record, self.spans, self.strict_agent)

    def process_count(self, jobs: int) -> int:
        """How many processes at most."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self.workers or cores, jobs))

    def cases_at_once(self, is_async: bool) -> int:
        """How many cases at once in one process."""
        return self.concurrency or (ASYNC_CONCURRENCY if is_async else SYNC_CONCURRENCY)
