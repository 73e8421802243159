"""Short ways to run agents in tests."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rightcall.running.runner import CaseFinished, CaseJob, Event, RunOptions, RunPlan, run

# Whoever runs these tests beside us, in another process of pytest's or in another folder, has runs of its own.
_VARIABLE, _VALUE = "RIGHTCALL_TESTS_OF", f"{os.getpid()}-{time.time_ns()}"
os.environ[_VARIABLE] = _VALUE
_MINE = f"{_VARIABLE}={_VALUE}".encode()

HOSTILE = Path(__file__).with_name("hostile_agent.py")


def job(case_id: str, deed: str = "nothing") -> CaseJob:
    return CaseJob(case_id=case_id, turns=({"word": case_id, "deed": deed},))


def events_of(agent: str, jobs: Sequence[CaseJob], project: Path, **options: Any) -> list[Event]:
    plan = RunPlan(agent=agent, project=str(project), jobs=jobs, total=len(jobs))
    return list(run(plan, RunOptions(**options)))


def finished_of(agent: str, jobs: Sequence[CaseJob], project: Path, **options: Any) -> dict[str, CaseFinished]:
    """How each case ended, by id; a case that ends twice, or not at all, is a mistake."""
    finished = [event for event in events_of(agent, jobs, project, **options) if isinstance(event, CaseFinished)]
    assert sorted([event.case_id for event in finished]) == sorted([each.case_id for each in jobs])
    return {event.case_id: event for event in finished}


def essence(event: CaseFinished) -> Any:
    """What of a case does not differ from run to run."""
    assert event.trajectory is not None
    calls = [msgspec.structs.replace(call, start_ns=None, end_ns=None, span_id=None) for call in event.trajectory.calls]
    return calls, event.trajectory.output, event.outcome.error, event.outcome.stdout


def processes_of_runs() -> list[int]:
    """Every process that belongs to a run of this process's tests."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if _MINE in variables and any(variable.startswith(b"RIGHTCALL_RUN=") for variable in variables):
                found.append(int(entry.name))
    return found


def none_left(within: float = 60.0) -> bool:
    """Whether every process of a run ends. The limit is for those that never do."""
    until = time.monotonic() + within
    while processes_of_runs() and time.monotonic() < until:
        time.sleep(0.02)
    return not processes_of_runs()
