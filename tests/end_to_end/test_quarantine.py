"""Cases in quarantine, in whole commands: they run, are shown, and count in nothing."""

import json
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.projects import make_project
from tests.testing.pytest_plugin.sessions import counts, session

from rightcall import evaluate, gate

AGENT = """
from pathlib import Path
from rightcall import tool

@tool
def search(query: str) -> str:
    return query

def answer(query: str) -> str:
    if query != "bad" or Path("mended").exists():
        search(query)
    return query
"""
CASES = """\
agent: agent.py:answer
cases:
  - {id: good, input: {query: good}, expect: {calls: [search]}}
  - id: bad
    quarantine: {reason: the stock is unreliable, until: 2999-12-31}
    input: {query: bad}
    expect: {calls: [search]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_project(tmp_path, {"agent.py": AGENT, "shop.yaml": CASES, "rightcall.toml": ""})
    monkeypatch.chdir(folder)
    return folder


def test_it_is_shown_with_its_reason_and_fails_nothing(project: Path) -> None:
    done = rightcall("run", "shop.yaml", "--repeat", "2", "--fail-fast", "--format", "full", cwd=project)

    assert done.returncode == 0
    assert "  q bad                 ✗✗  0/2 passed\n" in done.stdout
    assert "note: bad is in quarantine until 2999-12-31: the stock is unreliable\n" in done.stdout
    assert "  q bad    0/2     ✗✗     0 %" in done.stdout
    assert "pass rate   100 %" in done.stdout
    assert "1 passed, 1 in quarantine in" in done.stdout


def test_stats_name_what_may_leave(project: Path) -> None:
    (project / "mended").touch()
    rightcall("run", "shop.yaml", "--repeat", "20", cwd=project)

    done = rightcall("stats", "last", cwd=project)

    assert "steady in 20 trials, may leave quarantine: bad" in done.stdout


def test_check_says_when_it_ends(project: Path) -> None:
    (project / "shop.yaml").write_text(CASES.replace("2999", "2020"))
    ended = rightcall("check", "shop.yaml", cwd=project)
    (project / "shop.yaml").write_text(CASES.replace(", until: 2999-12-31", ""))
    endless = rightcall("check", "shop.yaml", cwd=project)

    assert "note: shop.yaml:4:5: the quarantine of 'bad' ended on 2020-12-31: the case counts again" in ended.stdout
    assert "the quarantine of 'bad' has no end" in endless.stdout


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{until: 2026-12-31}", "quarantine.reason' is missing"),
        ("{reason: ' '}", "a quarantine has a reason, in words"),
        ("{reason: x, until: soon}", "a day is written as 2026-12-31"),
        ("{reason: x, till: 2026-12-31}", "'until'"),
    ],
)
def test_a_mistake_is_told_at_its_place(project: Path, written: str, message: str) -> None:
    (project / "shop.yaml").write_text(CASES.replace("{reason: the stock is unreliable, until: 2999-12-31}", written))

    done = rightcall("check", "shop.yaml", cwd=project)

    assert done.returncode == 2
    assert done.stderr.startswith("rightcall: shop.yaml:5:")
    assert message in done.stderr


def test_it_is_in_no_baseline_and_flips_nothing(project: Path) -> None:
    (project / "mended").touch()
    rightcall("run", "shop.yaml", cwd=project)
    first = sorted((project / ".rightcall" / "runs").iterdir())[-1].name
    (project / "mended").unlink()
    rightcall("run", "shop.yaml", cwd=project)
    rightcall("baseline", "last", "--to", "base.json", cwd=project)

    flips = rightcall("diff", first, "last", "--fail-on-flip", cwd=project)

    assert list(json.loads((project / "base.json").read_text())["cases"]) == ["good"]
    assert flips.returncode == 0
    assert "bad" in flips.stdout


def test_evaluate_and_gate_leave_it_out(project: Path) -> None:
    results = evaluate("shop.yaml", repeat=2, runs=".rightcall/runs", workers=1)

    said = gate(results, "last", rule_out=1.0)

    assert {result.case_id: result.passed for result in results} == {"good": True, "bad": False}
    assert [case.case_id for case in said.cases] == ["good"]


def test_pytest_reports_it_as_an_expected_failure(project: Path) -> None:
    done = session(project, "-p", "no:asyncio", "shop.yaml", "--rightcall-report=report.json")

    assert done.returncode == 0
    assert counts(done) == {"passed": 1, "xfailed": 1}
    assert "rightcall: shop.yaml: 1 passed, 1 in quarantine" in done.stdout
    assert json.loads((project / "report.json").read_text())["totals"]["failed"] == 0


def test_a_recorded_trace_of_such_a_case_says_nothing_to_evaluators_of_all_cases(tmp_path: Path) -> None:
    written = """\
overall: {kinds: {type: classification}}
cases:
  - {id: a, metadata: {class: spam}, expect: {calls: [look]}, quarantine: {reason: flaky}}
  - {id: b, metadata: {class: ham}, expect: {calls: [look]}}
"""
    runs = [{"calls": [{"name": "look"}], "output": "ham", "metadata": {"rightcall.case.id": each}} for each in "ab"]
    (tmp_path / "shop.yaml").write_text(written)
    (tmp_path / "runs.jsonl").write_text("".join([json.dumps(run) + "\n" for run in runs]))

    done = rightcall("score", "runs.jsonl", "--evalset", "shop.yaml", cwd=tmp_path)

    assert "overall kinds: passed: accuracy 1 over 1 cases" in done.stdout
    assert done.returncode == 0
