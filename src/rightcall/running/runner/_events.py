"""Events of a run, in the order in which they happen."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from rightcall.values.results import Outcome
from rightcall.values.trajectory import KeptSpans, Trajectory


class RunStarted(msgspec.Struct, frozen=True):
    """The agent was loaded; cases are run from now on."""

    is_async: bool
    processes: int
    concurrency: int


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
