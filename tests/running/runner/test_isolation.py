"""Whatever an agent does to its process costs its own case, and no other."""

import os
import resource
import time
from pathlib import Path

import pytest
from tests.running.runner.running import HOSTILE, essence, events_of, finished_of, job, none_left, processes_of_runs

from rightcall.running.runner import CaseFinished, RunOptions, RunPlan, WorkerReplaced, run

TIMEOUT = 5.0
"""Long enough for a hundred megabytes of output on a busy machine."""

BAD = {
    "hang": ("timed_out", "took longer than 5 s"),
    "hold": ("timed_out", "took longer than 5 s"),
    "raise": ("raised", "ValueError: so be it"),
    "doom": ("raised", "Doom: the end"),
    "interrupt": ("raised", "KeyboardInterrupt"),
    "exit": ("raised", "SystemExit(3)"),
    "exit at once": ("died", "exit code 4"),
    "abort": ("died", "SIGABRT"),
    "segfault": ("died", "SIGSEGV"),
    "stop": ("died", "stopped by a signal"),
    "allocate": ("memory", "more than 300 MiB"),
    "close everything": ("died", ""),
}
ODD = (
    *("fork", "start programs", "close streams", "close python streams", "print much", "leave", "alter"),
    *("leak threads", "leave executor", "patch"),
)
"""What does not keep a case from being judged, but must not show in the others."""
WAITING_BAD = {
    "wait for ever": ("timed_out", "took longer than 5 s"),
    "swallow": ("timed_out", "did not stop when it was cancelled"),
    "exit in task": ("raised", "SystemExit(5)"),
    **{deed: BAD[deed] for deed in ("hang", "hold", "raise", "doom", "interrupt", "exit", "exit at once", "stop")},
}
WAITING_ODD = ("fork", "close streams", "close python streams", "leave", "alter", "leak threads", "leave executor")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here.txt").write_text("here")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("entry", "bad", "odd", "concurrency"),
    [("answer", BAD, ODD, 0), ("answer_waiting", WAITING_BAD, WAITING_ODD, 0)],
    ids=["called", "awaited"],
)
def test_a_run_with_hostile_cases_is_for_the_others_as_if_they_were_not_there(
    project: Path, entry: str, bad: dict[str, tuple[str, str]], odd: tuple[str, ...], concurrency: int
) -> None:
    agent = f"{HOSTILE}:{entry}"
    good = [job(f"good {number}") for number in range(20)]
    hostile = [job(deed, deed) for deed in (*bad, *odd)]
    mixed = [each for pair in zip(hostile, good, strict=False) for each in pair]
    mixed += [each for each in (*hostile, *good) if each not in mixed]
    clean = finished_of(agent, good, project, concurrency=concurrency)
    began = time.monotonic()

    finished = finished_of(
        agent, mixed, project, concurrency=concurrency, workers=2, timeout=TIMEOUT, max_memory=300 << 20, spans=True
    )

    assert {name: essence(finished[name]) for name in clean} == {name: essence(clean[name]) for name in clean}
    for deed, (cause, said) in bad.items():
        assert finished[deed].outcome.cause == cause, finished[deed]
        assert said in (finished[deed].outcome.error or "")
    for deed in odd:
        assert essence(finished[deed])[2] is None
        assert essence(finished[deed])[:2] != ()
    assert time.monotonic() - began < 300
    assert none_left()


def test_much_output_is_kept_in_part_and_takes_no_memory_here(project: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    finished = finished_of(f"{HOSTILE}:answer", [job("loud", "print much"), job("good")], project)

    kept = finished["loud"].outcome.stdout
    assert 500_000 < len(kept) < 1_100_000
    assert kept.startswith("[9")
    assert "bytes left out]" in kept[:40]
    assert finished["good"].outcome.stdout == "looked up good\n"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_what_cannot_be_serialised_is_an_error_that_names_its_place(project: Path) -> None:
    finished = finished_of(f"{HOSTILE}:give_back_socket", [job("bad", "yes"), job("good", "")], project)

    assert finished["bad"].outcome.cause == "output"
    assert "a socket at its output.open[0] is not a JSON value" in (finished["bad"].outcome.error or "")
    assert finished["good"].trajectory is not None
    assert finished["good"].trajectory.output == "text"


@pytest.mark.parametrize("deed", ["patch", "delete"])
def test_an_altered_process_is_replaced_and_it_is_said_why(project: Path, deed: str) -> None:
    events = events_of(f"{HOSTILE}:answer", [job("bad", deed), job("good")], project, workers=1)

    [replaced] = [event for event in events if isinstance(event, WorkerReplaced)]
    assert replaced.was_altered
    assert "was replaced" in replaced.reason
    assert [event.outcome.error for event in events if isinstance(event, CaseFinished)] == [None, None]


def test_only_the_case_that_kills_is_an_error_though_many_ran_with_it(project: Path) -> None:
    jobs = [job(f"good {number}") for number in range(7)] + [job("killer", "exit at once")]
    jobs = jobs[3:] + jobs[:3]

    finished = finished_of(f"{HOSTILE}:answer_waiting", jobs, project, workers=2, concurrency=8)

    assert {name for name, event in finished.items() if event.outcome.error is not None} == {"killer"}


def test_a_worker_that_is_killed_from_outside_costs_no_more_than_the_case_it_had_begun_with(project: Path) -> None:
    jobs = [job(f"good {number}") for number in range(300)]
    finished: list[str] = []
    blamed: list[str] = []
    killed = 0
    for event in run(
        RunPlan(agent=f"{HOSTILE}:answer", project=str(project), jobs=jobs, total=300), RunOptions(workers=2)
    ):
        if isinstance(event, CaseFinished):
            finished.append(event.case_id)
            if event.outcome.error is not None:
                blamed.append(event.outcome.error)
            if len(finished) % 60 == 0:
                for process in processes_of_runs()[:1]:
                    os.kill(process, 9)
                    killed += 1

    assert killed >= 3
    assert len(blamed) <= killed
    assert set(blamed) <= {"the agent's process was killed by SIGKILL"}
    assert sorted(finished) == sorted([each.case_id for each in jobs])


def test_the_case_that_keeps_the_event_loop_is_found_among_many(project: Path) -> None:
    jobs = [job("keeper", "hang"), *[job(f"good {number}") for number in range(9)], job("late", "wait for ever")]
    began = time.monotonic()

    finished = finished_of(f"{HOSTILE}:answer_waiting", jobs, project, workers=1, timeout=3)

    assert finished["keeper"].outcome.cause == "timed_out"
    assert "blocked the event loop" in (finished["keeper"].outcome.error or "")
    assert finished["late"].outcome.error == "the agent took longer than 3 s"
    assert [event.outcome.error for name, event in finished.items() if name.startswith("good")] == [None] * 9
    assert time.monotonic() - began < 300


def test_what_many_cases_print_at_once_is_kept_with_each(project: Path) -> None:
    jobs = [job(f"good {number}") for number in range(20)]

    finished = finished_of(f"{HOSTILE}:answer_waiting", jobs, project, workers=1, concurrency=20)

    assert {name: event.outcome.stdout for name, event in finished.items()} == {
        each.case_id: f"looked up {each.case_id}\n" for each in jobs
    }
