"""Plans, options and events of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.running.frameworks import ToolInventory
from rightcall.values.results import Outcome
from rightcall.values.trajectory import KeptSpans, Trajectory

if TYPE_CHECKING:
    from rightcall.cases.evalsets import Case

DEFAULT_TIMEOUT = 300.0
DEFAULT_MEMORY = 2 << 30
SYNC_CONCURRENCY = 1
ASYNC_CONCURRENCY = 16


class RunStarted(msgspec.Struct, frozen=True):
    """The agent was loaded; cases are run from now on."""

    is_async: bool
    processes: int
    concurrency: int
    inventory: ToolInventory | None = None
    """The tools of the agent, if they were asked for; None for a program or an endpoint."""


class CaseStarted(msgspec.Struct, frozen=True):
    """A case was given to a process. If that dies, the case may be given to another one later."""

    case_id: str
    repeat: int


class CaseFinished(msgspec.Struct, frozen=True):
    """A case has ended, and will not be run again. Without a trajectory, the outcome has an error that says why."""

    case_id: str
    repeat: int
    outcome: Outcome
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    """What the tools answered, if that was recorded."""
    spans: KeptSpans | None = None
    """The spans as they were recorded, if they were asked for and the worker could send them."""


class WorkerReplaced(msgspec.Struct, frozen=True):
    """A process ended early: it died, was killed, or was altered by the agent."""

    reason: str
    run_again: tuple[str, ...] = ()
    """The cases that are run again because of it."""
    was_altered: bool = False
    """Whether it was alive, but no longer in the state it had before the agent ran in it."""


class Quiet(msgspec.Struct, frozen=True):
    """Nothing happened for a moment, so the listener has time for other work."""


class RunFinished(msgspec.Struct, frozen=True):
    """Nothing is left to do, or the run was stopped."""

    stopped: bool = False


Event: TypeAlias = RunStarted | CaseStarted | CaseFinished | WorkerReplaced | Quiet | RunFinished


class CaseJob(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one case: what the agent is given, and nothing of what is expected of it."""

    case_id: str
    repeat: int = 0
    turns: Sequence[Any]
    """The inputs, one for each time the agent is called."""
    is_conversation: bool = False
    """Whether the turns are those of a conversation, so that calls carry the number of their turn."""
    session: Any = None
    mocks: Mapping[str, Any] = {}
    recording: Sequence[Any] | None = None
    """What the tools answer, as recorded; `None` if nothing is replayed."""

    @classmethod
    def of(cls, case: Case, repeat: int = 0, recording: Sequence[Any] | None = None) -> CaseJob:
        """Make the job of a case."""
        return cls(
            case_id=case.id,
            repeat=repeat,
            turns=case.turns or (case.input,),
            is_conversation=bool(case.turns),
            session=case.session,
            mocks=case.mocks,
            recording=recording,
        )


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The agent, by name, and the jobs. Jobs are consumed one by one, so there may be any number."""

    agent: str
    project: str
    jobs: Iterable[CaseJob]
    total: int
    """How many jobs there are."""


class CaptureOptions(msgspec.Struct, frozen=True):
    """What a worker sends of each case, besides its trajectory."""

    tool_answers: bool = False
    """What the tools answered."""
    model_answers: bool = False
    """What the models answered."""
    live: tuple[str, ...] = ()
    """What is not replayed although there is a recording: `tools`, `model`."""
    spans: bool = False
    """The spans, as they were recorded."""
    is_strict: bool = False
    """Whether a case is an error if the agent opened a file with what is expected of it."""
    are_all_seen: bool = False
    """Whether every call of the agent's tools is noticed; the worker finds out when it has loaded the agent."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a run: processes, concurrency, limits of time and memory, what to record."""

    workers: int = 0
    """How many processes; 0 for one for each core."""
    concurrency: int = 0
    """How many cases at once in a process; 0 for 1 with a synchronous agent and 16 with an asynchronous one."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that one run of a case may take."""
    max_memory: int = DEFAULT_MEMORY
    """Bytes of memory that a process may use, with everything it started."""
    record: bool = False
    """Whether to return what the tools and the models answered."""
    replay: bool = False
    """Whether jobs have recordings: then no key of a model's provider is needed."""
    live: Sequence[str] = ()
    """What is neither recorded nor replayed: `tools`, `model`."""
    spans: bool = False
    """Whether to return the spans, as they were recorded."""
    answers: Sequence[str] = ()
    """Files and folders with what is expected of the agent: a case gets a warning if the agent opens one."""
    strict_agent: bool = False
    """Whether that is an error instead."""
    stood_in: Sequence[str] = ()
    """Names of tools that mocks or a recording stand in for: the run is refused if the agent has no such tool."""
    environment: Mapping[str, str] = {}
    """Variables for the agent, in addition to those of this process."""
    is_inspected: bool = False
    """Whether to return the tools of the agent when it is loaded."""
    agent_options: Mapping[str, Any] = {}

    @property
    def capture(self) -> CaptureOptions:
        """What to capture of each case, besides its trajectory."""
        return CaptureOptions(
            tool_answers=self.record and "tools" not in self.live,
            model_answers=self.record and "model" not in self.live,
            live=tuple(self.live),
            spans=self.spans,
            is_strict=self.strict_agent,
        )

    def process_count(self, jobs: int) -> int:
        """Return the highest number of processes."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self.workers or cores, jobs))

    def cases_at_once(self, is_async: bool) -> int:
        """Return how many cases to run at once in one process."""
        return self.concurrency or (ASYNC_CONCURRENCY if is_async else SYNC_CONCURRENCY)
