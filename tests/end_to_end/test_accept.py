"""`rightcall accept`, in a real process, on recorded traces."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("trip.json", "trip-names-only.json", "trips.yaml", "trip.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def test_a_failing_expectation_is_edited_in_place_and_passes_afterwards(folder: Path) -> None:
    before = (folder / "trip.yaml").read_text()

    done = rightcall("accept", "trip.json", "--evalset", "trip.yaml", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "--- trip.yaml"
    assert done.stdout.splitlines()[-1] == "1 case updated"
    assert (folder / "trip.yaml").read_text() == before.replace("charge_card: 1", "charge_card: 2")
    assert rightcall("score", "trip.json", "--evalset", "trip.yaml", cwd=folder).returncode == 0


def test_a_second_time_there_is_nothing_to_change(folder: Path) -> None:
    rightcall("accept", "trip.json", "--evalset", "trip.yaml", cwd=folder)

    done = rightcall("accept", "trip.json", "--evalset", "trip.yaml", cwd=folder)

    assert done.returncode == 0
    assert done.stdout == "nothing to change, 1 already passes\n"


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    before = (folder / "trip.yaml").read_bytes()

    done = rightcall("accept", "trip.json", "--evalset", "trip.yaml", "--dry-run", cwd=folder)

    assert done.stdout.splitlines()[-1] == "1 case would be updated"
    assert (folder / "trip.yaml").read_bytes() == before


def test_cases_that_cannot_be_measured_are_left_alone_and_named(folder: Path) -> None:
    done = rightcall("accept", "trip.json", "trip-names-only.json", "--evalset", "trips.yaml", cwd=folder)

    assert done.returncode == 2
    assert "trips.yaml:17:5: RC303 oslo-rome: left alone: no trace belongs to this case" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 case updated, 2 left alone (RC301, RC303)"


def test_chosen_cases_alone_are_looked_at(folder: Path) -> None:
    done = rightcall("accept", "trip.json", "--evalset", "trips.yaml", "--tag", "smoke", cwd=folder)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 case updated"


def test_traces_that_disagree_are_left_alone(folder: Path) -> None:
    (folder / "evals.yaml").write_text("cases: [{id: x, expect: {calls: [c]}}]\n")
    (folder / "both.jsonl").write_text("".join(json.dumps(_spans(tool, n)) + "\n" for n, tool in enumerate("ab")))

    done = rightcall("accept", "both.jsonl", "--evalset", "evals.yaml", "--group-by", "trace", cwd=folder)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "left alone: its 2 traces disagree" in done.stdout


def test_the_folder_of_a_new_eval_set_is_made(folder: Path) -> None:
    done = rightcall("accept", "trip.json", "--evalset", "evals/deep/new.yaml", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert rightcall("score", "trip.json", "--evalset", "evals/deep/new.yaml", cwd=folder).returncode == 0


def test_a_new_eval_set_is_written_and_passes(folder: Path) -> None:
    done = rightcall("accept", "trip.json", "--evalset", "new.yaml", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 case written"
    assert rightcall("score", "trip.json", "--evalset", "new.yaml", cwd=folder).returncode == 0


@pytest.mark.parametrize("content", ["remember the milk\n", '{"evalSetId": "x", "evalCases": []}', "cases: []\n"])
def test_a_file_that_is_no_eval_set_is_not_overwritten(folder: Path, content: str) -> None:
    (folder / "notes.txt").write_text(content)

    done = rightcall("accept", "trip.json", "--evalset", "notes.txt", cwd=folder)

    assert done.returncode == 2
    assert (folder / "notes.txt").read_text() == content


def test_symbolic_links_and_read_only_files_are_refused(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("trip.yaml")
    linked = rightcall("accept", "trip.json", "--evalset", "link.yaml", cwd=folder)
    (folder / "trip.yaml").chmod(0o444)
    read_only = rightcall("accept", "trip.json", "--evalset", "trip.yaml", cwd=folder)

    assert (linked.returncode, read_only.returncode) == (2, 2)
    assert "is a symbolic link to trip.yaml; name that file itself" in linked.stderr
    assert "trip.yaml: is read-only" in read_only.stderr


def test_a_file_keeps_its_line_ends_and_its_mode(folder: Path) -> None:
    path = folder / "trip.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    path.chmod(0o640)
    before = path.read_bytes()

    done = rightcall("accept", "trip.json", "--evalset", "trip.yaml", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before.replace(b"charge_card: 1", b"charge_card: 2")
    assert path.stat().st_mode & 0o777 == 0o640


AGENT = """\
from rightcall import tool

@tool
def search(q):
    return 1

def answer(text):
    search(q=text)
    if text == "bad":
        raise ValueError("no")
    return "ok"
"""


def test_a_run_is_accepted_into_the_eval_set_it_was_made_with(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    evalset = "# mine\ncases:\n  - {id: a, input: hi, expect: {calls: [{search: {q: ho}}]}}\n  - {id: b, input: bad}\n"
    (tmp_path / "evals.yaml").write_text(evalset)
    assert rightcall("run", "agent.py:answer", "evals.yaml", cwd=tmp_path).returncode == 1

    done = rightcall("accept", "last", cwd=tmp_path)

    assert done.returncode == 2, done.stderr
    assert "RC501 b: left alone: the agent raised ValueError: no" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 case updated, 1 left alone (RC501)"
    assert (tmp_path / "evals.yaml").read_text() == evalset.replace("q: ho", "q: hi")


def _spans(tool: str, number: int) -> dict[str, Any]:
    attributes = [
        {"key": "tool.name", "value": {"stringValue": tool}},
        {"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}},
        {"key": "input.value", "value": {"stringValue": "{}"}},
        {"key": "rightcall.case.id", "value": {"stringValue": "x"}},
    ]
    span = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": tool,
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": attributes,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
