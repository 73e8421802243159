"""`rightcall run` keeps spans beside the results, in a real process; no result depends on them."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.projects import make_project
from tests.waiting import PATIENCE

from rightcall.reporting.store import RunFolder, open_run

AGENT = """
from opentelemetry import trace
from rightcall.running.tracing import tool

@tool
def search(query: str) -> str:
    return query.upper()

def answer(query: str) -> str:
    with trace.get_tracer("framework").start_as_current_span("model", attributes={"prompt": "x" * 10_000}):
        return search(query)
"""
CASES = "".join([f"  - {{id: c{n}, input: {{query: q{n}}}, expect: {{calls: [search]}}}}\n" for n in range(6)])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(
        tmp_path, {"agent.py": AGENT, "set.yaml": f"agent: agent.py:answer\ncases:\n{CASES}", "rightcall.toml": ""}
    )


def last(project: Path) -> RunFolder:
    return open_run("last", project / ".rightcall" / "runs")


def has_the_spans_of_its_calls(run: RunFolder) -> list[str]:
    """The cases whose calls all have their span."""
    found = []
    for result in run.results():
        spans = run.spans(result.case_id, result.repeat)
        assert result.trajectory is not None
        calls = result.trajectory.calls
        named = [spans[call.span_id].name for call in calls if call.span_id in spans and call.span_id is not None]
        if named == [call.name for call in calls] != []:
            found.append(result.case_id)
    return sorted(found)


ALL = [f"c{number}" for number in range(6)]


def test_a_run_keeps_the_spans_of_every_case_and_repeat(project: Path) -> None:
    done = rightcall("run", "set.yaml", "--repeat", "2", cwd=project)

    run = last(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert has_the_spans_of_its_calls(run) == sorted(ALL * 2)
    first, second = run.spans("c3", 0), run.spans("c3", 1)
    assert [span.name for span in first.values()] == ["model", "search"]
    assert first.keys().isdisjoint(second)
    assert (run.folder / "spans.jsonl").stat().st_mode & 0o777 == 0o600
    assert json.loads((run.folder / "spans.jsonl").read_text().splitlines()[0])["left_out"] == 0


@pytest.mark.parametrize(
    ("written", "options", "kept"),
    [("", ["--no-spans"], False), ("spans = false", [], False), ("spans = false", ["--spans"], True), ("", [], True)],
    ids=["by option", "by the project", "option wins", "by default"],
)
def test_spans_are_not_kept_where_they_are_not_wanted(
    project: Path, written: str, options: list[str], kept: bool
) -> None:
    (project / "rightcall.toml").write_text(written)

    done = rightcall("run", "set.yaml", *options, cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (last(project).folder / "spans.jsonl").exists() is kept
    assert len(last(project).spans("c1")) == (2 if kept else 0)


def test_a_run_that_was_killed_goes_on_and_has_all_spans(project: Path) -> None:
    rightcall("run", "set.yaml", cwd=project)
    run = last(project)
    for name, cut in (("cases.jsonl", 2), ("spans.jsonl", 3)):  # killed between the spans of a case and its result
        lines = (run.folder / name).read_bytes().splitlines(keepends=True)
        (run.folder / name).write_bytes(b"".join(lines[:cut]) + lines[cut][:40])

    whole = b"".join((run.folder / "cases.jsonl").read_bytes().splitlines(keepends=True)[:2])
    seal = {"length": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
    header = json.loads((run.folder / "run.json").read_text())
    (run.folder / "run.json").write_text(json.dumps({**header, "finished": None, "totals": None, "journal": seal}))

    done = rightcall("run", "--resume", "last", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert has_the_spans_of_its_calls(run) == ALL


def test_what_was_kept_of_a_case_before_it_was_run_again_is_not_taken_for_its_spans(project: Path) -> None:
    rightcall("run", "set.yaml", cwd=project)
    (project / "set.yaml").write_text((project / "set.yaml").read_text().replace("query: q3", "query: changed"))

    done = rightcall("run", "--resume", "last", "--no-spans", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert [len(last(project).spans(case)) for case in ALL] == [2, 2, 2, 0, 2, 2]


def test_a_run_that_was_begun_without_spans_goes_on_without(project: Path) -> None:
    rightcall("run", "set.yaml", "--no-spans", cwd=project)
    (project / "set.yaml").write_text((project / "set.yaml").read_text().replace("query: q3", "query: changed"))

    rightcall("run", "--resume", "last", cwd=project)

    assert not (last(project).folder / "spans.jsonl").exists()


def test_spans_that_find_no_room_are_told_of_and_cost_nothing_else(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rightcall", "run", "set.yaml"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout
    assert "note: not all spans are kept, though all results are: " in done.stdout
    assert "spans.jsonl: File too large" in done.stdout
    assert done.stderr == ""
    assert len(has_the_spans_of_its_calls(last(project))) == 2


def test_a_file_of_spans_that_cannot_be_written_is_told_of_and_costs_nothing_else(project: Path) -> None:
    rightcall("run", "set.yaml", cwd=project)
    folder = last(project).folder
    (folder / "spans.jsonl").unlink()
    (folder / "spans.jsonl").mkdir()
    (project / "set.yaml").write_text((project / "set.yaml").read_text().replace("query: q3", "query: changed"))

    done = rightcall("run", "--resume", "last", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "note: not all spans are kept, though all results are: " in done.stdout
    assert "6 passed" in done.stdout
