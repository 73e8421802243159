"""Plans are run: everything once, in any number of processes, and nothing is known that should not be."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.running.runner.running import events_of, finished_of, none_left
from tests.waiting import until

from rightcall.errors import AgentError
from rightcall.running.runner import (
    CaseFinished,
    CaseJob,
    CaseStarted,
    RunFinished,
    RunOptions,
    RunPlan,
    RunStarted,
    run,
)
from rightcall.running.runner._case_record import MAX_MESSAGE, FrameReader, frame, parse_reply
from rightcall.running.runner._process_state import OutputTail
from rightcall.values.decoding import dump_line, load_json
from rightcall.values.trajectory import Usage

AGENT = """
import asyncio, gc, os, time
from rightcall.running.tracing import tool

@tool
def note(text: str) -> str:
    return text

def echo(input):
    return note(str(input)) and input

def process(input):
    time.sleep(0.05)
    return os.getpid()

def meeting(input):
    # Wait until another process has begun, too.
    met = os.path.join(os.path.dirname(__file__), "met")
    os.makedirs(met, exist_ok=True)
    open(os.path.join(met, str(os.getpid())), "w").close()
    while len(os.listdir(met)) < 2:
        time.sleep(0.01)
    return os.getpid()

def hold(input):
    return "x" * input

def traitor(input):
    import msgspec
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, (20).to_bytes(4, "big") + b'{"is": "verdict!!!"}')
        except OSError:
            pass
    time.sleep(1)

def forger(input):
    body = b'{"is": "done", "number": 9999, "seconds": 0.0}'
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, len(body).to_bytes(4, "big") + body)
        except OSError:
            pass
    time.sleep(1)

async def forgetter(input):
    async def later():
        await asyncio.sleep(0.1)
        note("too late")

    tasks = [asyncio.ensure_future(later()) for _ in range(input)]
    await asyncio.gather(asyncio.sleep(0), *tasks[1:])
    return "answered"

def detacher(input):
    import subprocess
    started = subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True).pid
    with open(os.path.join(os.path.dirname(__file__), "started"), "a") as file:
        file.write(f"{started} ")
    time.sleep(input)

def closer(input):
    os.closerange(3, 64)
    time.sleep(input)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def jobs(count: int, **fields: object) -> list[CaseJob]:
    return [CaseJob(case_id=f"c{number}", turns=(number,), **fields) for number in range(count)]  # type: ignore[arg-type]


def test_every_job_has_one_end_and_events_come_in_order(project: Path) -> None:
    events = events_of("agent.py:echo", jobs(20), project, workers=2)

    assert isinstance(events[0], RunStarted)
    assert events[-1] == RunFinished(stopped=False)
    assert [event.case_id for event in events if isinstance(event, CaseStarted)] == [f"c{n}" for n in range(20)]
    assert sorted([event.case_id for event in events if isinstance(event, CaseFinished)]) == sorted(
        [f"c{n}" for n in range(20)]
    )


def test_a_run_knows_how_long_its_agent_took(project: Path) -> None:
    [event] = finished_of("agent.py:echo", jobs(1), project).values()

    assert event.trajectory is not None
    assert event.trajectory.usage == Usage(duration_ns=round(event.outcome.seconds * 1_000_000_000))


def test_work_is_shared_among_the_processes(project: Path) -> None:
    finished = finished_of("agent.py:meeting", jobs(40), project, workers=2, timeout=120)

    used = {event.trajectory.output for event in finished.values() if event.trajectory is not None}
    assert len(used) == 2
    assert os.getpid() not in used


def test_an_input_larger_than_any_pipe_arrives_whole(project: Path) -> None:
    large = [CaseJob(case_id="large", turns=({"text": "x" * 5_000_000},)), CaseJob(case_id="small", turns=(1,))]

    finished = finished_of("agent.py:echo", large, project)

    assert finished["large"].trajectory is not None
    assert finished["large"].trajectory.output == {"text": "x" * 5_000_000}


def test_what_is_too_large_to_be_kept_is_an_error_of_the_case(project: Path) -> None:
    finished = finished_of(
        "agent.py:hold",
        [CaseJob(case_id="huge", turns=(MAX_MESSAGE + 10,)), CaseJob(case_id="small", turns=(3,))],
        project,
    )

    assert finished["huge"].outcome.cause == "output"
    assert "too large to be kept" in (finished["huge"].outcome.error or "")
    assert finished["small"].outcome.error is None


@pytest.mark.parametrize("entry", ["traitor", "forger"])
def test_a_worker_that_says_what_no_worker_may_say_is_replaced(project: Path, entry: str) -> None:
    finished = finished_of(f"agent.py:{entry}", jobs(1), project)

    assert finished["c0"].outcome.cause == "died"
    assert "sent an invalid message" in (finished["c0"].outcome.error or "")
    # What was seen until then is kept; nothing that the worker claimed is in it.
    left = finished["c0"].trajectory
    assert left is not None
    assert (left.calls, left.output, left.calls_recorded) == ((), None, False)


@pytest.mark.parametrize("seconds", [0, 600], ids=["that speaks", "that is silent"])
def test_a_worker_that_can_say_nothing_any_more_is_not_waited_for(project: Path, seconds: int) -> None:
    began, busy = time.monotonic(), time.process_time()

    finished = finished_of("agent.py:closer", [CaseJob(case_id="c0", turns=(seconds,))], project, timeout=300)

    assert finished["c0"].outcome.cause == "died"
    assert finished["c0"].outcome.error == "the agent closed descriptors that its process needs"
    assert time.monotonic() - began < 120
    assert time.process_time() - busy < 5  # of the 300 s that it would wait for


@pytest.mark.parametrize(("seconds", "timeout"), [(0, 120), (600, 3)], ids=["that ends", "that is killed"])
def test_what_an_agent_started_and_hid_ends_with_it(project: Path, seconds: int, timeout: int) -> None:
    agent = f"{project}/agent.py:detacher"
    finished_of(agent, [CaseJob(case_id="c0", turns=({"input": seconds},))], project, timeout=timeout)

    [started] = map(int, (project / "started").read_text().split())
    assert until(lambda: not _lives(started))


def _lives(process: int) -> bool:
    try:
        return b"sleep" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def test_tasks_that_go_on_after_the_answer_are_told_of(project: Path) -> None:
    finished = finished_of("agent.py:forgetter", jobs(2), project)

    warnings = {case: event.trajectory.warnings for case, event in finished.items() if event.trajectory is not None}
    told = "tasks of the agent went on after it had answered; what they called after that was not recorded"
    assert (told in warnings["c1"], told in warnings["c0"]) == (True, False)


def test_closing_the_events_ends_everything(project: Path) -> None:
    plan = RunPlan(agent="agent.py:process", project=str(project), jobs=jobs(100), total=100)
    events: Iterator[object] = run(plan, RunOptions(workers=2))
    while not isinstance(next(events), CaseFinished):
        continue

    events.close()  # type: ignore[attr-defined]

    assert none_left()


def test_a_run_that_is_stopped_says_so(project: Path) -> None:
    seen: list[object] = []
    plan = RunPlan(agent="agent.py:process", project=str(project), jobs=jobs(100), total=100)

    for event in run(plan, RunOptions(workers=1), lambda: len(seen) > 10):
        seen.append(event)  # noqa: PERF402 - `stop` looks at what has been seen so far

    assert seen[-1] == RunFinished(stopped=True)
    assert len(seen) < 30


def test_an_agent_that_cannot_be_loaded_is_an_exception(project: Path) -> None:
    with pytest.raises(AgentError, match=r"no file nowhere\.py"):
        events_of("nowhere.py:answer", jobs(1), project)
    assert none_left()


def test_the_parent_starts_no_thread(project: Path) -> None:
    before = set(threading.enumerate())

    events_of("agent.py:echo", jobs(5), project)

    assert not set(threading.enumerate()) - before


def test_messages_arrive_in_pieces_of_any_size() -> None:
    data = frame({"a": [1, float("nan"), "\ud800"]}) + frame([])
    for size in (1, 3, 7, len(data)):
        frames = FrameReader(load_json)
        pieces = [data[start : start + size] for start in range(0, len(data), size)]

        found = [message for piece in pieces for message in frames.add(piece)]

        assert repr(found) == repr([{"a": [1, float("nan"), "\ud800"]}, []])


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\0\0\0\3{}}", b"\0\0\0\1\xff"])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    from rightcall import InputError

    with pytest.raises(InputError):
        list(FrameReader(load_json).add(data))


@pytest.mark.parametrize(
    "message",
    [
        {"is": "verdict", "passed": True},
        {"is": "done", "number": 1, "seconds": 0.0, "verdict": "passed"},
        {"is": "done", "number": 1, "seconds": 0.0, "cause": "died"},
        {"is": "done", "number": 1, "seconds": 0.0, "error": "no cause"},
        {"is": "done", "number": "1", "seconds": 0.0},
        {"is": "done", "number": 1, "seconds": 0.0, "trajectory": None},
        [],
        None,
    ],
)
def test_a_worker_has_no_word_for_a_verdict(message: object) -> None:
    from rightcall import InputError

    with pytest.raises(InputError):
        parse_reply(dump_line(message))


def test_the_end_of_a_long_output_is_kept_and_the_rest_is_counted() -> None:
    tail = OutputTail(10)
    for piece in (b"abc", b"defghij", b"klm", b"\xff"):
        tail.add(piece)

    assert tail.text() == "[4 bytes left out]\nefghijklm\ufffd"
    tail.clear()
    assert tail.text() == ""


def test_what_one_task_of_a_group_raised_is_told_instead_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "grouped.py").write_text(
        "def answer(question):\n    raise ExceptionGroup('unhandled', [ExceptionGroup('inner', [KeyError('order')])])\n"
    )

    finished = finished_of("grouped.py:answer", [CaseJob(case_id="a", turns=("hi",))], tmp_path)["a"]

    assert finished.outcome.error == "the agent raised KeyError: 'order'"
