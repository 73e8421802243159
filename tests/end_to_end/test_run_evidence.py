"""Agents that change the journal, read the answers, leave something behind: evidence is what they did not write."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.processes import rightcall
from tests.reporting.viewer.viewing import Browser

AGENT = """
import glob, json, os, shutil, subprocess, sys, threading, time
from pathlib import Path
from rightcall.running.tracing import tool

@tool
def search(query: str) -> str:
    return query

def journal() -> str:
    return max(glob.glob(".rightcall/runs/*/cases.jsonl"))

def lines() -> list:
    while not (found := open(journal()).readlines()):  # the first case is judged while the next one is run
        time.sleep(0.01)
    return found

def append() -> None:
    line = json.loads(lines()[0])
    line |= {"verdict": "passed", "findings": []}
    with open(journal(), "a") as file:
        file.write(json.dumps(line) + "\\n")

def edit() -> None:
    text = "".join(lines())
    with open(journal(), "r+") as file:
        file.write(text.replace('"verdict":"failed"', '"verdict":"passed"'))

def edit_header() -> None:
    path = journal().replace("cases.jsonl", "run.json")
    header = json.loads(open(path).read())
    append()
    header["journal"] = None
    header["agent"] = "forged"
    Path(path).write_text(json.dumps(header))

def remove() -> None:
    # The run may write a file while its folder is removed: "Directory not empty", for one try.
    while os.path.exists(".rightcall"):
        shutil.rmtree(".rightcall", ignore_errors=True)

def remove_all_the_time() -> None:
    remove()
    def go_on() -> None:
        while True:
            shutil.rmtree(".rightcall", ignore_errors=True)
            time.sleep(0.01)
    threading.Thread(target=go_on, daemon=True).start()

def read() -> None:
    Path("set.yaml").read_text()

def read_by_number() -> None:
    os.close(os.open("set.yaml", os.O_RDONLY))

def read_in_thread() -> None:
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()

def read_by_link() -> None:
    if not os.path.exists("link.yaml"):
        os.symlink("set.yaml", "link.yaml")
    open(b"link.yaml").close()

def read_runs() -> None:
    open(journal()).close()

def read_recording() -> None:
    open("set.recording.jsonl").close()

def leave_daemon() -> None:
    subprocess.run(["sh", "-c", "setsid env -i sleep 321 & echo $! > daemon"], check=True)

def grow() -> None:
    subprocess.run([sys.executable, "-c", "x = bytearray(300_000_000); import time; time.sleep(60)"])

def answer(query: str) -> str:
    search(query)
    if query in globals():
        globals()[query]()
    return "done"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def cases(folder: Path, *deeds: str) -> None:
    """An eval set whose first case fails, with a case for each deed after it, and one that does nothing."""
    lines = [
        f"  - {{id: {deed}, input: {{query: {deed}}}, expect: {{calls: [search]}}}}\n" for deed in (*deeds, "last")
    ]
    first = "  - {id: first, input: {query: q}, expect: {calls: [pay]}}\n"
    (folder / "set.yaml").write_text("agent: agent.py\ncases:\n" + first + "".join(lines))


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return rightcall("run", "agent.py", "set.yaml", "--workers", "1", *options, cwd=folder)


def folder_of(project: Path) -> Path:
    [found] = (project / ".rightcall" / "runs").iterdir()
    return found


READERS: list[list[str]] = [
    ["report", "last"],
    ["report", "last", "--format", "junit"],
    ["report", "last", "--format", "json"],
    ["show", "last"],
    ["diff", "last", "last"],
    ["accept", "last"],
    ["run", "agent.py", "set.yaml", "--failed"],
    ["run", "agent.py", "set.yaml", "--resume", "last"],
    [],
]


@pytest.mark.parametrize("deed", ["append", "edit", "edit_header"])
def test_an_agent_that_rewrites_the_journal_changes_no_verdict(project: Path, deed: str) -> None:
    cases(project, deed)

    done = run(project)

    assert "RC101 first: `pay` was never called" in done.stdout
    assert "2 passed, 1 failed" in done.stdout
    assert done.returncode == 1
    assert "cases.jsonl: changed by another program" in done.stderr
    for reader in READERS:
        read = rightcall(*reader, cwd=project)
        assert (read.returncode, "changed by another program" in read.stdout + read.stderr) == (2, True), reader
        assert "2 passed, 1 failed" not in read.stdout
    assert json.loads((folder_of(project) / "run.json").read_text())["agent"] == "agent.py"


def test_the_viewer_has_a_page_that_says_so(project: Path) -> None:
    cases(project, "append")
    run(project)

    answer = Browser(project / ".rightcall" / "runs").get(f"/runs/{folder_of(project).name}")

    assert answer.status == 422
    assert "changed by another program" in answer.text


def test_a_page_that_was_read_before_says_so_as_well(project: Path) -> None:
    cases(project)
    run(project)
    browser, address = Browser(project / ".rightcall" / "runs"), f"/runs/{folder_of(project).name}"
    before = browser.get(address)
    journal = folder_of(project) / "cases.jsonl"
    journal.write_text(journal.read_text().replace('"verdict":"failed"', '"verdict":"passed"'))

    assert (before.status, browser.get(address).status) == (200, 422)


def test_the_report_of_a_run_counts_what_the_run_has_seen(project: Path) -> None:
    cases(project, "append")

    run(project, "--format", "junit=report.xml")

    assert ElementTree.parse(project / "report.xml").getroot().get("failures") == "1"


def test_totals_that_the_journal_does_not_have_are_told(project: Path) -> None:
    cases(project)
    run(project)
    header = folder_of(project) / "run.json"
    header.write_text(header.read_text().replace('"passed": 1', '"passed": 2'))

    done = rightcall("report", "last", cwd=project)

    assert done.returncode == 2
    assert "changed by another program: run.json counts 2 passed, 1 failed, and the journal has 1 passed" in done.stderr


def test_the_tail_of_a_run_that_was_killed_does_not_count(project: Path) -> None:
    cases(project)
    run(project)
    journal, header = folder_of(project) / "cases.jsonl", folder_of(project) / "run.json"
    [failed, passed] = journal.read_bytes().splitlines(keepends=True)
    seal = {"length": len(passed), "sha256": hashlib.sha256(passed).hexdigest()}
    header.write_text(json.dumps({**json.loads(header.read_text()), "finished": None, "totals": None, "journal": seal}))
    journal.write_bytes(passed + failed.replace(b'"verdict":"failed"', b'"verdict":"passed"'))

    shown = rightcall("report", "last", cwd=project)
    resumed = run(project, "--resume", "last")

    assert shown.stdout.startswith("### ⚠️ Rightcall: 1 passed, not complete\n")
    assert "1 passed, 1 failed" in resumed.stdout
    assert resumed.returncode == 1


@pytest.mark.parametrize("deed", ["remove", "remove_all_the_time"])
def test_a_removed_run_folder_costs_no_verdict(project: Path, deed: str) -> None:
    cases(project, deed)

    done = run(project, "--format", "concise", "--format", "json=report.json")

    assert "RC101 first: `pay` was never called" in done.stdout
    assert "2 passed, 1 failed" in done.stdout
    assert "another program removed this folder while the run lasted; nothing of the run is kept" in done.stderr
    assert done.returncode == 1
    assert [case["case_id"] for case in json.loads((project / "report.json").read_text())["cases"]] == [
        "first",
        deed,
        "last",
    ]


def test_a_run_that_passes_and_is_not_kept_is_not_green(project: Path) -> None:
    cases(project, "remove")

    done = run(project, "--case", "remove")

    assert "1 passed" in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize("deed", ["read", "read_by_number", "read_in_thread", "read_by_link"])
def test_an_agent_that_reads_the_eval_set_is_told_of(project: Path, deed: str) -> None:
    cases(project, deed)

    done = run(project, "--case", deed, "--case", "last")
    strict = run(project, "--case", deed, "--case", "last", "--strict-agent")

    told = "the agent opened set.yaml, where it can read what is expected of it"
    assert done.returncode == 0
    assert f"note: RC507 agent-read-answers: {told}\n2 passed" in done.stdout
    assert f"RC507 {deed}: {told}" in strict.stdout
    assert "1 passed, 1 in error" in strict.stdout
    assert strict.returncode == 2


def test_run_folders_and_recordings_are_answers_as_well(project: Path) -> None:
    (project / "set.recording.jsonl").touch()
    cases(project, "read_runs", "read_recording")

    done = run(project)

    assert "RC507 agent-read-answers: the agent opened .rightcall/runs/, where" in done.stdout
    assert "RC507 agent-read-answers: the agent opened set.recording.jsonl, where" in done.stdout


def test_what_is_read_while_the_agent_is_loaded_counts_for_every_case(project: Path) -> None:
    (project / "agent.py").write_text(AGENT + "\nread()\n")
    cases(project)

    done = run(project)

    assert "RC507 agent-read-answers: the agent opened set.yaml" in done.stdout
    assert "(2 cases)" in done.stdout


def test_an_agent_that_opens_other_files_is_not_told_of(project: Path) -> None:
    (project / "agent.py").write_text(AGENT.replace('Path("set.yaml")', 'Path("other.yaml")'))
    (project / "other.yaml").touch()
    cases(project, "read")

    assert "RC507" not in run(project).stdout


def lives(process: int) -> bool:
    """Whether a process is there that is not a zombie: one that nobody reaped would be."""
    return Path(f"/proc/{process}").exists()


def gone(process: int, within: float = 5.0) -> bool:
    until = time.monotonic() + within
    while lives(process) and time.monotonic() < until:
        time.sleep(0.01)
    return not lives(process)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to those who ask for them")
def test_a_daemon_without_variables_session_or_parent_ends_with_the_run(project: Path) -> None:
    cases(project, "leave_daemon")

    done = run(project)

    assert "2 passed, 1 failed" in done.stdout
    assert not lives(int((project / "daemon").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to those who ask for them")
def test_such_a_daemon_ends_when_the_run_is_killed(project: Path) -> None:
    (project / "agent.py").write_text(AGENT + "\ndef stay() -> None:\n    leave_daemon()\n    time.sleep(60)\n")
    cases(project, "stay")
    command = [sys.executable, "-m", "rightcall", "run", "agent.py", "set.yaml", "--case", "stay"]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    daemon = project / "daemon"
    while process.poll() is None and not (daemon.exists() and daemon.read_text().strip()):
        time.sleep(0.01)

    process.send_signal(signal.SIGKILL)
    process.wait()

    assert gone(int(daemon.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process has")
@pytest.mark.parametrize("is_command", [False, True], ids=["a Python agent", "a command"])
def test_the_memory_of_what_an_agent_starts_counts(project: Path, is_command: bool) -> None:
    cases(project, "grow")
    (project / "grow.py").write_text("x = bytearray(300_000_000)\nimport time\ntime.sleep(60)\n")
    agent = f"cmd:{sys.executable} grow.py" if is_command else "agent.py"

    done = rightcall("run", agent, "set.yaml", "--case", "grow", "--max-memory", "200MB", cwd=project)

    assert "RC504 grow: the agent used more than" in done.stdout
    assert done.returncode == 2


CHECK = """
import ctypes
from rightcall import evaluator

@evaluator
def hidden(output):
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0  # PR_GET_DUMPABLE
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a setting")
def test_the_memory_of_the_process_that_judges_cannot_be_dumped(project: Path) -> None:
    (project / "checks.py").write_text(CHECK)
    (project / "rightcall.toml").touch()
    (project / "set.yaml").write_text(
        "agent: agent.py\nevaluators: {hidden: {type: 'checks.py:hidden'}}\n"
        "cases: [{id: a, input: {query: q}, expect: {hidden: true}}]\n"
    )

    assert run(project).returncode == 0
