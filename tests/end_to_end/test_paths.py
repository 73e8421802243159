"""`rightcall paths`, as a user gives it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.processes import rightcall

AGENT = """
from rightcall import tool

@tool
def search(query):
    return [1]

@tool
def reserve(quantity):
    return "ok"

def answer(text):
    from pathlib import Path
    counter = Path("count")
    number = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(number + 1))
    search(query=text)
    if number % 4:
        reserve(quantity=1 + (number % 4 == 3))
    return "done"
"""
CASES = """
cases:
  - {id: two, input: laptop, expect: {calls: [search, {reserve: {quantity: 1}}]}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "agent.py").write_text(AGENT)
    (folder / "e.yaml").write_text(CASES)
    rightcall("run", "agent.py:answer", "e.yaml", "--workers", "1", "--repeat", "8", cwd=folder)
    return folder


def write_runs(file: Path, runs: Sequence[str]) -> Path:
    file.write_text("".join([json.dumps({"calls": [{"name": name} for name in names]}) + "\n" for names in runs]))
    return file


def test_the_paths_of_a_run_with_how_they_ended(project: Path) -> None:
    shown = rightcall("paths", "last", cwd=project)

    assert shown.returncode == 0, shown.stderr
    assert "8 runs, 2 paths, 2 tools, 1.8 calls each (median 2, p95 2)" in shown.stdout
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "6 search → reserve 4/6" in lines
    assert "2 search 0/2" in lines
    assert "search → reserve 6 67 %" in lines
    assert "where passed and failed runs diverge" in lines


def test_arguments_are_told_apart_on_request(project: Path) -> None:
    shown = json.loads(rightcall("paths", "last", "--args", "--format", "json", cwd=project).stdout)

    assert [(path["calls"], path["passed"], path["failed"]) for path in shown["paths"]] == [
        (['search(query="laptop")', "reserve(quantity=1)"], 4, 0),
        (['search(query="laptop")'], 0, 2),
        (['search(query="laptop")', "reserve(quantity=2)"], 0, 2),
    ]


def test_each_case_names_where_its_runs_part(project: Path) -> None:
    shown = rightcall("paths", "last", "--by-case", cwd=project)

    assert "two  4/8 passed, 3 paths" in shown.stdout
    assert 'after search(query="laptop")' in shown.stdout
    assert "reserve(quantity=2)" in shown.stdout


def test_a_case_without_a_trace_has_no_path_and_one_with_a_single_run_no_others(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "set.yaml").write_text(
        "cases:\n  - {id: one, when: {calls: [a]}, expect: {calls: [a, b]}}\n  - {id: lost, expect: {calls: [a]}}\n"
    )
    write_runs(tmp_path / "t.jsonl", ["ab"])
    rightcall("score", "t.jsonl", "--evalset", "evals/set.yaml", "--keep", cwd=tmp_path)

    shown = rightcall("paths", "last", "--by-case", cwd=tmp_path)
    state = rightcall(cwd=tmp_path)

    assert shown.stdout == "one  1/1 passed, 1 path\n  there is one run of it\n\nlost  no path was recorded\n"
    assert "rightcall show last --case lost" in state.stdout
    assert "rightcall run" not in state.stdout


def test_runs_that_all_passed_are_not_compared_with_failed_ones(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("cases: [{id: any, when: {calls: [a]}, expect: {order: [a]}}]")
    write_runs(tmp_path / "t.jsonl", ["ab", "ab", "ac"])
    rightcall("score", "t.jsonl", "--evalset", "set.yaml", "--keep", cwd=tmp_path)

    shown = rightcall("paths", "last", cwd=tmp_path)
    page = rightcall("paths", "last", "--format", "html", cwd=tmp_path)

    assert "failed runs" not in shown.stdout + page.stdout
    assert "Where most runs leave the commonest path" in page.stdout
    assert "where most runs leave the commonest path" in shown.stdout
    assert "2 runs  2 passed" in shown.stdout


def test_drift_is_told_and_decides_the_exit_code_on_request(tmp_path: Path) -> None:
    before = write_runs(tmp_path / "mon.jsonl", ["ab"] * 300)
    after = write_runs(tmp_path / "tue.jsonl", ["ab"] * 240 + ["abc"] * 60)

    told = rightcall("paths", str(after), "--against", str(before))
    failed = rightcall("paths", str(after), "--against", str(before), "--fail-on-drift")
    same = rightcall("paths", str(before), "--against", str(before), "--fail-on-drift")

    assert (told.returncode, failed.returncode, same.returncode) == (0, 1, 0)
    assert "+ c  0.0 % → 20.0 %   of runs" in told.stdout
    assert "no change" in same.stdout


def test_csv_has_a_row_for_each_path_tool_and_edge_and_no_formula(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps({"calls": ["=cmd()", "b"]}) + "\n")

    rows = list(csv.reader(rightcall("paths", str(file), "--format", "csv").stdout.splitlines()))

    assert [row[:4] for row in rows[1:]] == [
        ["path", "'=cmd() → b", "", "1"],
        ["tool", "'=cmd()", "", "1"],
        ["tool", "b", "", "1"],
        ["edge", "(start)", "'=cmd()", "1"],
        ["edge", "'=cmd()", "b", "1"],
        ["edge", "b", "(end)", "1"],
    ]


def test_html_is_one_file_with_the_list_and_the_graph(tmp_path: Path) -> None:
    file = write_runs(tmp_path / "t.jsonl", ["ab"] * 6 + ["a"] * 4)

    done = rightcall("paths", str(file), "--format", "html=p.html", cwd=tmp_path)

    page = (tmp_path / "p.html").read_text()
    assert done.returncode == 0
    assert "10 runs took 2 paths, 1.6 calls each" in page
    assert page.count('<g class="count">') == 4
    assert "http-equiv" in page


def test_a_folder_of_scores_has_its_paths(tmp_path: Path) -> None:
    file = write_runs(tmp_path / "t.jsonl", ["ab"] * 6 + ["a"] * 4)

    scored = rightcall("score", str(file), "--expect", "order: [a, b]", "--out", "out", "--paths", cwd=tmp_path)
    shown = json.loads(rightcall("paths", "out", "--format", "json", cwd=tmp_path).stdout)

    assert scored.returncode == 1, scored.stderr
    assert [(path["calls"], path["passed"], path["failed"]) for path in shown["paths"]] == [
        (["a", "b"], 6, 0),
        (["a"], 0, 4),
    ]
    assert shown["paths"] == json.loads((tmp_path / "out" / "_paths.json").read_text())["paths"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere",), "nowhere: neither a file nor a run"),
        (("t.jsonl", "--fail-on-drift"), "needs --against"),
        (("t.jsonl", "--format", "xml"), "no format 'xml'"),
        (("t.jsonl", "--tool", "zzz"), "no runs that call 'zzz'"),
        (("t.jsonl", "--by-case"), "--by-case is about the cases of a run"),
        (("broken.json",), "broken.json"),
    ],
    ids=["nothing", "no base", "format", "tool", "no run", "unreadable"],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(tmp_path: Path, arguments: Sequence[str], told: str) -> None:
    write_runs(tmp_path / "t.jsonl", ["ab"])
    (tmp_path / "broken.json").write_text("{")

    done = rightcall("paths", *arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert told in done.stderr
