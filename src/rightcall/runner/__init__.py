"""Runs an agent over cases, in processes of its own, and tells what happens."""

from ._events import CaseFinished, CaseStarted, Event, Quiet, RunFinished, RunStarted, WorkerReplaced
from ._keeping import KeptAgent
from ._plan import DEFAULT_MEMORY, DEFAULT_TIMEOUT, Job, Plan, RunOptions
from ._supervision import run
from ._system import hide_memory

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_TIMEOUT",
    "CaseFinished",
    "CaseStarted",
    "Event",
    "Job",
    "KeptAgent",
    "Plan",
    "Quiet",
    "RunFinished",
    "RunOptions",
    "RunStarted",
    "WorkerReplaced",
    "hide_memory",
    "run",
]
