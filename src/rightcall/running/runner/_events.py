"""What happens while a plan is run."""

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
    """A case was handed to a process. It may be handed to another one later, if that one dies."""

    case_id: str
    repeat: int


class CaseFinished(msgspec.Struct, frozen=True):
    """A case came to an end, once and for all. Without a trajectory the outcome has an error that says why."""

    case_id: str
    repeat: int
    outcome: Outcome
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    """What the tools answered, where that was to be recorded."""
    spans: KeptSpans | None = None
    """The spans as they were recorded, where they were to be handed over and there was somebody to do it."""


class WorkerReplaced(msgspec.Struct, frozen=True):
    """A process ended before its time: it died, was killed, or an agent had altered it."""

    reason: str
    run_again: tuple[str, ...] = ()
    """The cases that are run again because of it."""
    was_altered: bool = False
    """Whether it was in good health, but not as it was before the agent ran in it."""


class Quiet(msgspec.Struct, frozen=True):
    """For a moment nothing happened: whoever listens can see to something else."""


class RunFinished(msgspec.Struct, frozen=True):
    """Nothing is left to do, or whoever listens wanted no more."""

    stopped: bool = False


Event: TypeAlias = RunStarted | CaseStarted | CaseFinished | WorkerReplaced | Quiet | RunFinished
