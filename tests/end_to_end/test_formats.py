"""What `run` and `score` print and write by `--format`, in a real process."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall
from tests.projects import make_project

WRITTEN = """\
cases:
  - id: trip
    input: Book a trip
    expect:
      calls:
        - search_flights: {to: AMS}
        - book_flight: {id: F1}
  - id: fine
    input: Find a flight
    expect: {calls: [search_flights]}
"""
AGENT = """
from rightcall.running.tracing import tool

@tool
def search_flights(to: str) -> list:
    return ["F1"]

@tool
def book_flight(id: str) -> bool:
    return True

def answer(question: str) -> str:
    search_flights("AMS")
    if question == "Book a trip":
        book_flight("F2")
    return "done"
"""
DIAGNOSIS = [
    'error[RC104 arguments-differ]: `book_flight` was called with id "F2", expected',
    '  "F1"',
    " --> trips.yaml:7:11  trip",
    "  |",
    "6 |   - search_flights: {to: AMS}  ✓ 1",
    '7 |   - book_flight: {id: F1}      ≠ 2  id "F1" → "F2"',
    "  |     ^^^^^^^^^^^ called with other arguments",
]
CONCISE = 'trips.yaml:7:11: RC104 trip: `book_flight` was called with id "F2", expected "F1"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_project(
        tmp_path,
        {
            "trips.yaml": WRITTEN,
            "agent.py": AGENT,
            "rightcall.toml": 'agent = "agent.py:answer"\nevalset = "trips.yaml"\n',
        },
    )
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Book a trip"}]
    for name, args in (("search_flights", {"to": "AMS"}), ("book_flight", {"id": "F2"})):
        function = {"name": name, "arguments": json.dumps(args)}
        messages.append({"role": "assistant", "tool_calls": [{"id": name, "function": function}]})
        messages.append({"role": "tool", "tool_call_id": name, "content": "done"})
    (tmp_path / "trip.json").write_text(json.dumps(messages), encoding="utf-8")
    return tmp_path


def on_a_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[int, list[str]]:
    """The exit code of a command on a real terminal of 80 columns, and the lines on it."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("GITHUB_ACTIONS", "FORCE_COLOR")}
    screen = {"TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **environment}
    command = [sys.executable, "-m", "rightcall", *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**kept, **screen},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        printed = b"".join(pieces_of(ours))
        os.close(ours)
        code = process.wait(60)
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", printed.decode()).replace("\r\n", "\n")
    return code, [line.rpartition("\r")[2] for line in text.split("\n")]


def pieces_of(terminal: int) -> Iterator[bytes]:
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # what Linux says when the other side of a terminal is closed
            return
        if not piece:
            return
        yield piece


def score(folder: Path, *arguments: str, **environment: str) -> tuple[int, list[str]]:
    done = rightcall(
        "score", "trip.json", "--evalset", "trips.yaml", "--case", "trip", *arguments, cwd=folder, **environment
    )
    return done.returncode, done.stdout.splitlines()


def without_time(line: str) -> str:
    return re.sub(r" in [\d.]+s.*", "", line)


def test_on_a_terminal_scores_are_told_in_full(folder: Path) -> None:
    code, lines = on_a_terminal(folder, "score", "trip.json", "--evalset", "trips.yaml", "--case", "trip")

    assert code == 1
    assert lines[0] == "  ✗ trip                calls 1/2                                        2 calls"
    assert lines[2:9] == DIAGNOSIS
    assert without_time(lines[10]) == "1 failed"


def test_on_a_terminal_a_run_is_told_in_full_with_the_way_to_its_path(folder: Path) -> None:
    code, lines = on_a_terminal(folder, "run", "--workers", "1")

    assert code == 1
    assert [line for line in lines if line in DIAGNOSIS] == DIAGNOSIS
    assert "  ✓ 1 more" in lines
    [help_line] = [line for line in lines if "= help:" in line]
    [run_id] = re.findall(r"show (\w+) --case trip", help_line)
    shown = rightcall("show", run_id, "--case", "trip", cwd=folder)
    assert shown.returncode == 0
    assert [line for line in shown.stdout.splitlines() if line in DIAGNOSIS] == DIAGNOSIS
    assert 'book_flight(id="F2") → true' in shown.stdout


def test_elsewhere_they_are_told_concisely(folder: Path) -> None:
    code, lines = score(folder)

    assert code == 1
    assert [without_time(line) for line in lines] == [CONCISE, "1 failed"]


def test_what_an_agent_says_begins_no_line_and_so_is_no_command_in_a_ci_log(folder: Path) -> None:
    agent = "from rightcall import tool\n\ndef answer(question):\n    tool('pay\\n::error::forged')(print)()\n"
    (folder / "agent.py").write_text(agent, encoding="utf-8")

    done = rightcall("run", "--workers", "1", cwd=folder)

    assert done.returncode == 1
    assert "`pay\\n::error::forged(" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("::")] == []


def test_several_formats_are_printed_and_written_at_once(folder: Path) -> None:
    code, lines = score(
        folder,
        "--format",
        "full=full.txt",
        "--format",
        "json=a.json",
        "--format",
        "concise=c.txt",
        "--output-file",
        "b.json",
    )

    assert code == 1
    assert lines[0] == CONCISE
    report = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    assert report["totals"]["failed"] == 1
    assert json.loads((folder / "b.json").read_text(encoding="utf-8")) == report
    assert 'id "F1" → "F2"' in (folder / "full.txt").read_text(encoding="utf-8")
    assert (folder / "c.txt").read_text(encoding="utf-8").splitlines()[0] == CONCISE


def test_a_format_asked_for_is_printed_instead_of_the_usual_one(folder: Path) -> None:
    code, lines = score(folder, "--format", "full", COLUMNS="80", PYTHONIOENCODING="ascii")

    assert code == 1
    assert '7 |   - book_flight: {id: F1}      != 2  id "F1" -> "F2"' in lines
    assert CONCISE not in lines


def test_details_beyond_the_number_asked_for_are_counted(folder: Path) -> None:
    _, lines = score(folder, "--format", "full", "--max-detail", "0")

    assert "1 case: `book_flight` id differs" in lines
    assert "--max-detail 1 explains a case of each cause, --max-detail 1 every case" in lines
    assert not [line for line in lines if line.startswith("error")]


@pytest.mark.parametrize(
    ("format", "message"), [("jsn", "did you mean 'json'?"), ("json=", "names no file"), ("=x", "no format ''")]
)
def test_a_format_that_is_none_is_refused(folder: Path, format: str, message: str) -> None:
    done = rightcall("score", "trip.json", "--evalset", "trips.yaml", "--format", format, cwd=folder)

    assert done.returncode == 2
    assert message in done.stderr


def test_formats_may_stand_in_the_configuration(folder: Path) -> None:
    with (folder / "rightcall.toml").open("a", encoding="utf-8") as file:
        file.write('format = ["full", "json=all.json"]\nmax-detail = 1\n')

    done = rightcall("run", "--workers", "1", cwd=folder)

    assert done.returncode == 1
    assert DIAGNOSIS[-2] in done.stdout
    assert json.loads((folder / "all.json").read_text(encoding="utf-8"))["totals"] == {
        "passed": 1,
        "failed": 1,
        "not_measured": 0,
        "error": 0,
    }


def test_a_format_of_the_configuration_that_is_none_is_refused(folder: Path) -> None:
    with (folder / "rightcall.toml").open("a", encoding="utf-8") as file:
        file.write('format = "jsn"\n')

    done = rightcall("run", cwd=folder)

    assert done.returncode == 2
    assert "rightcall.toml: format" in done.stderr


def test_a_run_is_shown_by_its_name_and_files_and_folders_stay_what_they_are(folder: Path) -> None:
    assert rightcall("run", "--workers", "1", cwd=folder).returncode == 1
    [run] = (folder / ".rightcall" / "runs").iterdir()

    for name in ("last", str(run), run.name[-6:]):
        shown = rightcall("show", name, cwd=folder)
        assert shown.returncode == 0
        assert shown.stdout.count("run " + run.name[-6:-2]) == 2
    assert rightcall("show", "trip.json", cwd=folder).stdout.startswith("trip.json")
    lines = rightcall("show", "last", "--case", "t*", "--json", cwd=folder).stdout.splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == ["trip"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["last", "--case", "nope"], "no case 'nope' in the run"),
        (["zzz", "--case", "trip"], "no run 'zzz'"),
        (["zzz"], "zzz: neither a file nor a run: no run 'zzz'"),
        (["trip.json", "--case", "trip"], "--case chooses cases of one run"),
    ],
)
def test_a_run_or_case_that_is_not_there_is_told(folder: Path, arguments: list[str], message: str) -> None:
    rightcall("run", "--workers", "1", cwd=folder)

    done = rightcall("show", *arguments, cwd=folder)

    assert done.returncode == 2
    assert message in done.stderr


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text("[]")

    done = rightcall("score", "traces.json", "--expect", "calls: [a]", "--format", "junit=no/j.xml", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "rightcall: no/j.xml: there is no folder no\n"
