"""Runs that are killed, interrupted, or find no room: nothing is lost, nothing is doubled, and they can go on."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall
from tests.running.runner.running import none_left
from tests.sampling import randomness, sample
from tests.waiting import PATIENCE, until

AGENT = """
import os, time
from pathlib import Path
from rightcall.running.tracing import tool

HERE = Path(__file__).parent

@tool
def search(query: str) -> str:
    return query.upper()

def answer(query: str) -> str:
    time.sleep(float(os.environ.get("PAUSE", "0.002")))
    return search(query)

def limited(query: str) -> str:
    '''Wait where as many results are written as the file `most` allows.'''
    while True:
        [journal] = HERE.glob(".rightcall/runs/*/cases.jsonl")
        if journal.read_bytes().count(b"\\n") < int((HERE / "most").read_text()):
            return answer(query)
        time.sleep(0.002)

def forks(query: str) -> str:
    if os.fork() == 0:
        time.sleep(1000)
    (HERE / "begun").touch()
    time.sleep(1000)
"""
CASES = 200
REPEATS = 2


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    write_evalset(tmp_path)
    return tmp_path


def write_evalset(folder: Path, cases: int = CASES, changed: int | None = None) -> None:
    lines = [
        f"  - {{id: c{number}, input: {{query: q{number if number != changed else 'x'}}}, "
        f"expect: {{calls: [{{search: {{query: {'q' if number % 10 else 'p'}{number}}}}}]}}}}\n"
        for number in range(cases)
    ]
    (folder / "set.yaml").write_text("cases:\n" + "".join(lines))


def start(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rightcall", "run", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more
    )


def lines_of(folder: Path) -> list[dict[str, Any]]:
    [run] = (folder / ".rightcall" / "runs").glob("*")
    whole, _, _ = (run / "cases.jsonl").read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def verdicts(lines: list[dict[str, Any]]) -> dict[tuple[str, int], Any]:
    return {
        (line["case_id"], line["repeat"]): (
            line["verdict"],
            line["score"],
            [call["args"] for call in line["trajectory"]["calls"]],
        )
        for line in lines
    }


def wait_for_lines(folder: Path, number: int, process: subprocess.Popen[str]) -> None:
    def are_there() -> bool:
        assert process.poll() is None, process.communicate()
        files = list((folder / ".rightcall" / "runs").glob("*/cases.jsonl"))
        return bool(files) and files[0].read_bytes().count(b"\n") >= number

    until(are_there)


def wait_for_agent(folder: Path, process: subprocess.Popen[str]) -> None:
    def has_begun() -> bool:
        assert process.poll() is None, process.communicate()
        return (folder / "begun").exists()

    until(has_begun)


def allow(folder: Path, results: int) -> None:
    """Let the agent `limited` go on until so many results are written."""
    (folder / "next").write_text(str(results))
    (folder / "next").replace(folder / "most")


@pytest.mark.corpus
def test_a_runner_that_is_killed_at_any_moment_loses_and_doubles_nothing(project: Path, tmp_path_factory: Any) -> None:
    chance = randomness("moments to be killed at")
    other = tmp_path_factory.mktemp("undisturbed")
    (other / "agent.py").write_text(AGENT)
    write_evalset(other)
    undisturbed = rightcall("run", "agent.py:answer", "set.yaml", "--repeat", str(REPEATS), cwd=other)
    arguments = ["agent.py:limited", "set.yaml", "--repeat", str(REPEATS), "--workers", "2"]
    slowly = {**os.environ, "PAUSE": "0.02"}
    allow(project, 2)
    process = start(project, *arguments, env=slowly)
    wait_for_lines(project, 1, process)

    for kill in sample(range(20), "kills", 8):
        done, more = len(lines_of(project)), chance.randint(1, 10)
        allow(project, done + more + 3)  # however late we look, it is not over
        if kill % 4:  # in the middle of the work
            wait_for_lines(project, done + more, process)
            time.sleep(chance.random() * 0.01)
        else:  # anywhere, also while it starts
            time.sleep(chance.random() * 0.5)
        assert process.poll() is None, "it came to its end before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert none_left()
        process = start(project, "--resume", "last", env=slowly)
    allow(project, CASES * REPEATS)
    out, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == undisturbed.returncode == 1, err
    lines = lines_of(project)
    assert max(Counter([(line["case_id"], line["repeat"]) for line in lines]).values()) == 1
    assert verdicts(lines) == verdicts(lines_of(other))
    assert len(lines) == CASES * REPEATS
    assert out.splitlines()[-1].split(" in ")[0] == undisturbed.stdout.splitlines()[-1].split(" in ")[0]


def test_a_resumed_run_runs_again_what_has_changed_and_says_so(project: Path) -> None:
    write_evalset(project, cases=10)
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)
    write_evalset(project, cases=11, changed=4)

    done = rightcall("run", "--resume", "last", "--format", "json", cwd=project)

    assert "1 finished result not used, because the agent or the eval set has changed" in done.stderr
    lines = lines_of(project)
    assert [line["case_id"] for line in lines[10:]] == ["c4", "c10"] or {"c4", "c10"} == {
        line["case_id"] for line in lines[10:]
    }
    [case] = [case for case in json.loads(done.stdout)["cases"] if case["case_id"] == "c4"]
    assert case["trajectory"]["input"] == {"query": "qx"}


def test_a_resumed_run_with_another_agent_mixes_nothing(project: Path) -> None:
    write_evalset(project, cases=5)
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)
    (project / "agent.py").write_text(AGENT.replace("query.upper()", "query.lower()"))

    done = rightcall("run", "--resume", "last", "--format", "json", cwd=project)

    assert "5 finished results not used" in done.stderr
    assert {case["trajectory"]["output"] for case in json.loads(done.stdout)["cases"]} == {f"q{n}" for n in range(5)}


def as_module(project: Path) -> tuple[str, Path]:
    (project / "agent.py").write_text("from tools import answer\n")
    (project / "tools.py").write_text(AGENT)
    (project / ".#tools.py").symlink_to("nowhere")
    return "agent:answer", project / "tools.py"


def as_folder(project: Path) -> tuple[str, Path]:
    (project / "shop").mkdir()
    (project / "shop" / "main.py").write_text("from tools import answer as main\n")
    (project / "shop" / "tools.py").write_text(AGENT)
    return "shop", project / "shop" / "tools.py"


def as_command(project: Path) -> tuple[str, Path]:
    (project / "program.py").write_text("print(1)")
    return f"cmd:{sys.executable} program.py", project / "program.py"


@pytest.mark.parametrize("made", [as_module, as_folder, as_command])
def test_what_an_agent_is_made_of_counts_too_when_a_run_is_resumed(project: Path, made: Any) -> None:
    write_evalset(project, cases=3)
    agent, source = made(project)
    rightcall("run", agent, "set.yaml", cwd=project)
    source.write_text(source.read_text() + "\n# changed")

    done = rightcall("run", agent, "set.yaml", "--resume", "last", cwd=project)

    assert "3 finished results not used" in done.stderr


def test_another_recording_is_not_mixed_in_when_a_run_is_resumed(project: Path) -> None:
    write_evalset(project, cases=3)
    rightcall("run", "agent.py:answer", "set.yaml", "--record", cwd=project)
    shutil.rmtree(project / ".rightcall")
    rightcall("run", "agent.py:answer", "set.yaml", "--replay", cwd=project)
    recording = project / "set.recording.jsonl"
    recording.write_text(recording.read_text().replace('"Q1"', '"other"'))

    done = rightcall("run", "--resume", "last", cwd=project)

    assert "1 finished result not used, because the agent or the eval set has changed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_in_good_order_and_says_how_to_go_on(project: Path, number: int) -> None:
    allow(project, 10)
    process = start(project, "agent.py:limited", "set.yaml", env={**os.environ, "PAUSE": "0.02"})
    wait_for_lines(project, 5, process)
    process.send_signal(number)
    allow(project, CASES)

    out, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert re.search(r"\d+ passed.*, not complete in \d+\.\d\ds  run ", out)
    found = re.search(r"stopped; go on with: rightcall (run agent.py:limited set.yaml --resume \w+)", err)
    assert found is not None
    assert none_left()
    done = rightcall(*found[1].split(), cwd=project)
    assert done.returncode == 1
    assert len(lines_of(project)) == CASES
    assert max(Counter([line["case_id"] for line in lines_of(project)]).values()) == 1


def test_a_second_signal_ends_a_run_at_once(project: Path) -> None:
    process = start(project, "agent.py:forks", "set.yaml")
    wait_for_agent(project, process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # a second of the same kind could be lost while the first is not seen yet

    process.communicate(timeout=PATIENCE)

    assert process.returncode == 130
    assert none_left()


def test_agents_and_what_they_forked_end_when_the_runner_is_killed(project: Path) -> None:
    process = start(project, "agent.py:forks", "set.yaml")
    wait_for_agent(project, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    assert none_left()


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_a_full_disk_is_one_clear_line_and_what_was_written_stays(project: Path) -> None:
    process = start(project, "agent.py:answer", "set.yaml", preexec_fn=small_files)

    _, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == 2
    assert len(err.splitlines()) == 1
    assert "cases.jsonl: File too large; make room, then resume the run" in err
    assert 0 < len(lines_of(project)) < CASES
    assert none_left()
    assert rightcall("run", "--resume", "last", cwd=project).returncode == 1
    assert len(lines_of(project)) == CASES


def test_a_folder_that_cannot_be_written_is_one_clear_line(project: Path) -> None:
    closed = project / "closed"
    closed.mkdir(mode=0o500)
    runs = "/sys/kernel/runs" if os.geteuid() == 0 else str(closed / "runs")

    done = rightcall("run", "agent.py:answer", "set.yaml", "--runs", runs, cwd=project)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "choose another folder for runs with --runs" in done.stderr


def test_two_runs_at_once_do_not_disturb_each_other(project: Path) -> None:
    write_evalset(project, cases=40)
    processes = [start(project, "agent.py:answer", "set.yaml", "--workers", "1") for _ in range(2)]

    ended = [process.communicate(timeout=PATIENCE) for process in processes]

    assert [process.returncode for process in processes] == [1, 1]
    assert all("36 passed, 4 failed" in out for out, _ in ended)
    for run in (project / ".rightcall" / "runs").iterdir():
        assert len((run / "cases.jsonl").read_text().splitlines()) == 40


def test_a_run_that_is_being_written_is_not_resumed(project: Path) -> None:
    process = start(project, "agent.py:forks", "set.yaml")
    wait_for_agent(project, process)

    second = rightcall("run", "--resume", "last", cwd=project)
    process.kill()
    process.communicate()

    assert second.returncode == 2
    assert "another process is writing to this run" in second.stderr


def test_of_two_that_resume_a_run_at_once_one_does_it(project: Path) -> None:
    write_evalset(project, cases=4)
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)
    write_evalset(project, cases=12)
    late_one = 'if "LATE" in os.environ:\n    (HERE / "begun").touch()\n    while not (HERE / "over").exists():\n'
    (project / "slow.py").write_text(f"{AGENT}\n{late_one}        time.sleep(0.01)\n")
    arguments = ["slow.py:answer", "set.yaml", "--resume", "last"]
    late = start(project, *arguments, env={**os.environ, "LATE": "yes"})
    wait_for_agent(project, late)

    rightcall("run", *arguments, cwd=project)
    (project / "over").touch()
    late.communicate(timeout=PATIENCE)

    assert max(Counter([line["case_id"] for line in lines_of(project)[4:]]).values()) == 1


@pytest.mark.parametrize("options", [{"repeat": "x"}, {"workers": -4}, {"min_pass": -1.0}, {"timeout": 0}])
def test_options_of_a_run_that_nobody_can_have_given_are_told(project: Path, options: dict[str, Any]) -> None:
    write_evalset(project, cases=3)
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)
    [run] = (project / ".rightcall" / "runs").glob("*")
    header = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**header, "options": options}))

    done = rightcall("run", "--resume", "last", cwd=project)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "run.json: not the options of a run" in done.stderr


def test_a_run_from_elsewhere_names_no_agent_that_is_run(project: Path) -> None:
    write_evalset(project, cases=3)
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)
    [run] = (project / ".rightcall" / "runs").glob("*")
    header = json.loads((run / "run.json").read_text())
    outside = project.parent / "outside.py"
    outside.write_text("raise SystemExit('run')")
    for agent in (str(outside), "../outside.py:answer", "cmd:touch made", "os:getcwd"):
        (run / "run.json").write_text(json.dumps({**header, "agent": agent, "options": {"trust": True}}))

        done = rightcall("run", "--resume", "last", cwd=project)

        assert done.returncode == 2
        assert "which is not inside the project of the current folder" in done.stderr
    assert not (project / "made").exists()
