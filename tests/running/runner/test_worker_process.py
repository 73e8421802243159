"""A case that timed out or died keeps what it was given and the calls it made until then."""

from __future__ import annotations

import os
import selectors
import signal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.projects import make_project
from tests.running.runner.running import finished_of

from rightcall.running.runner import CaseFinished, CaseJob, RunOptions, RunPlan
from rightcall.running.runner._case_record import Seen
from rightcall.running.runner._worker_process import RunningJob, WorkerPool, spans_so_far
from rightcall.values.trajectory import KeptSpans

AGENT = """
import asyncio, ctypes, os, signal, sys, threading, time
from rightcall.running.tracing import tool

@tool
def look_up(name: str) -> dict:
    return {"found": name}

@tool
def hang(seconds: float) -> None:
    time.sleep(seconds)

def answer(deed: str) -> str:
    look_up(deed)
    globals()[deed]()
    return "done"

def hangs(): hang(60)
def kills(): os.kill(os.getpid(), signal.SIGKILL)
def exits(): os._exit(3)
def crashes(): ctypes.string_at(0)
def grows():
    held = bytearray(400_000_000)
    time.sleep(60)
def threads():
    thread = threading.Thread(target=look_up, args=("thread",))
    thread.start()
    thread.join()
    time.sleep(60)
def spawns():
    if os.fork() == 0:
        look_up("child")
        os._exit(0)
    time.sleep(60)

async def waits(deed: str) -> str:
    look_up(deed)
    await asyncio.sleep(60)

async def stays(deed: str) -> str:
    look_up(deed)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue

async def blocks(deed: str) -> str:
    look_up(deed)
    time.sleep(60)

def converses(deed: str) -> str:
    look_up(deed)
    if deed == "y":
        time.sleep(60)
    return "done"
"""
COMMAND = """
import json, os, sys, time, urllib.request
span = {
    "traceId": "0" * 31 + "1", "spanId": "0" * 15 + "2", "name": "execute_tool look_up",
    "startTimeUnixNano": "1", "endTimeUnixNano": "2",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "look_up"}},
        {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"name": "command"}'}},
    ],
}
body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
address = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
urllib.request.urlopen(urllib.request.Request(address, body, {"content-type": "application/json"})).read()
time.sleep(60)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, {"agent.py": AGENT, "command.py": COMMAND})


def names_of(event: CaseFinished) -> list[str]:
    assert event.trajectory is not None
    return [f"{call.name}({', '.join(map(str, (call.args or {}).values()))})" for call in event.trajectory.calls]


ENDS = {
    "hangs": ("timed_out", ["look_up(hangs)", "hang(60)"]),
    "kills": ("died", ["look_up(kills)"]),
    "exits": ("died", ["look_up(exits)"]),
    "crashes": ("died", ["look_up(crashes)"]),
    "grows": ("memory", ["look_up(grows)"]),
    "threads": ("timed_out", ["look_up(threads)", "look_up(thread)"]),
    "spawns": ("timed_out", ["look_up(spawns)"]),
}


@pytest.mark.parametrize("deed", ENDS)
def test_an_agent_that_is_called_keeps_what_it_did(project: Path, deed: str) -> None:
    cause, names = ENDS[deed]

    [event] = finished_of(
        "agent.py:answer", [CaseJob(case_id="a", turns=(deed,))], project, timeout=3, max_memory=300 << 20, spans=True
    ).values()

    assert event.trajectory is not None
    assert event.spans is not None
    assert event.outcome.cause == cause
    assert event.trajectory.input == deed
    assert names_of(event) == names
    assert event.trajectory.calls[0].output == {"found": deed}
    assert event.trajectory.warnings[-1] == "the agent did not finish, so its calls are known up to that point only"
    assert {call.span_id for call in event.trajectory.calls} <= event.spans.by_id().keys()


@pytest.mark.parametrize("agent", ["waits", "stays", "blocks"])
def test_an_agent_that_is_awaited_keeps_what_it_did(project: Path, agent: str) -> None:
    [event] = finished_of(f"agent.py:{agent}", [CaseJob(case_id="a", turns=("x",))], project, timeout=2).values()

    assert event.outcome.cause == "timed_out"
    assert names_of(event) == ["look_up(x)"]
    assert "the agent did not finish" in event.trajectory.warnings[-1]  # type: ignore[union-attr]


def test_a_command_keeps_what_it_had_sent(project: Path) -> None:
    jobs = [CaseJob(case_id="a", turns=("x",))]

    [event] = finished_of("cmd:python command.py", jobs, project, timeout=6).values()

    assert event.outcome.cause == "timed_out"
    assert names_of(event) == ["look_up(command)"]


def test_turns_keep_their_numbers(project: Path) -> None:
    job = CaseJob(case_id="a", turns=("x", "y", "z"), is_conversation=True)

    [event] = finished_of("agent.py:converses", [job], project, timeout=3).values()

    assert event.trajectory is not None
    assert (event.trajectory.input, event.trajectory.turn_inputs) == ("x", ("x", "y"))
    assert [(call.turn, call.args) for call in event.trajectory.calls] == [(0, {"name": "x"}), (1, {"name": "y"})]


def test_an_agent_that_did_nothing_has_no_calls_that_are_known(project: Path) -> None:
    (project / "agent.py").write_text("import os\n\ndef answer(deed):\n    os._exit(1)\n")

    [event] = finished_of("agent.py:answer", [CaseJob(case_id="a", turns=("x",))], project).values()

    assert event.trajectory is not None
    assert (event.trajectory.input, event.trajectory.calls, event.trajectory.calls_recorded) == ("x", (), False)


@pytest.mark.parametrize("span", [[], 1, None, {"name": 3}, "\ud800"], ids=ascii)
def test_what_a_worker_tells_that_is_no_span_tells_nothing(span: Any) -> None:
    seen = [Seen(1, 0, span)]

    path = RunningJob(CaseJob(case_id="a", turns=("x",)), 1, 0.0).trajectory_so_far(seen)

    assert (path.input, path.calls) == ("x", ())
    assert spans_so_far(seen) == KeptSpans(left_out=int(span is None))


def test_turns_that_a_job_does_not_have_are_not_looked_for() -> None:
    job = CaseJob(case_id="a", turns=("x", "y"), is_conversation=True)

    path = RunningJob(job, 1, 0.0).trajectory_so_far([Seen(1, 10**12, {})])

    assert path.turn_inputs == ("x", "y")


def test_jobs_that_run_at_once_have_pages_of_their_own(project: Path) -> None:
    jobs = [CaseJob(case_id=f"{number}", turns=(f"{number}",)) for number in range(3)]

    finished = finished_of("agent.py:waits", jobs, project, timeout=2, workers=1)

    assert {case: names_of(event) for case, event in finished.items()} == {
        f"{number}": [f"look_up({number})"] for number in range(3)
    }


def test_a_worker_that_has_said_all_and_does_not_end_is_not_asked_all_the_time(project: Path) -> None:
    pool = WorkerPool(RunPlan(agent="agent.py:answer", project=str(project), jobs=[], total=0), RunOptions())
    pool.start(is_solo=False)
    [worker] = pool.workers
    silent, closed = os.pipe()
    os.close(closed)
    os.dup2(silent, worker.printed)
    os.close(silent)
    os.kill(worker.process.pid, signal.SIGSTOP)  # for longer than it has time to end

    with patch("selectors.DefaultSelector", wraps=selectors.DefaultSelector) as pauses:
        pool.stop([worker])
    pool.close()

    assert worker.is_dead()
    assert 1 < pauses.call_count < 100
