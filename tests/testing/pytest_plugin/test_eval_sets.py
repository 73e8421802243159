"""Eval sets as tests: collected, run, reported and kept."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.running.runner.running import none_left
from tests.testing.pytest_plugin.sessions import (
    SHOP,
    counts,
    error_lines,
    failures,
    make_project,
    runs_in,
    session,
    true_session,
)

from rightcall import CaseResult

Done = subprocess.CompletedProcess[str]
NO_ASYNCIO = ("-p", "no:asyncio")
"""It warns where its options are not set, and these projects have no use for it."""


def run(folder: Path, *arguments: str, **environment: str) -> Done:
    return session(folder, *NO_ASYNCIO, *arguments, **environment)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A session over the whole eval set, with everything that can be asked for."""
    folder = make_project(tmp_path_factory.mktemp("whole"))
    reports = [f"--rightcall-report=report.{ending}" for ending in ("html", "json", "xml", "md", "txt")]
    options = ("--strict-markers", "--junitxml=junit.xml", *reports)
    return folder, true_session(folder, *NO_ASYNCIO, "evals/shop.yaml", *options)


def test_a_rule_that_applies_to_no_case_is_noted_in_the_summary(project: Path) -> None:
    rules = "rules: [{call: refund, only_after: search}]\n"
    cases = "cases: [{id: a, input: {query: laptop}}, {id: b, input: {query: phone}}]\n"
    (project / "evals" / "policy.yaml").write_text("agent: agent.py:answer\n" + rules + cases)

    done = run(project, "evals/policy.yaml", "--rightcall-report=report.json")

    note = "note: the rule `refund` only after `search` never applied in 2 cases: no `refund` was called"
    assert f"rightcall: {note}" in done.stdout.splitlines()
    assert json.loads((project / "report.json").read_text())["notes"] == [note]


def test_the_entry_point_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"rightcall": "rightcall.testing.pytest_plugin"}


def test_each_case_is_a_test_that_says_in_one_line_what_is_wrong(whole: tuple[Path, Done]) -> None:
    _, done = whole

    assert done.returncode == 1, done.stdout
    assert counts(done) == {"passed": 1, "failed": 4}
    assert failures(done) == {
        "evals/shop.yaml::phone": '`search` was called with query "phone", expected "tablet" (and 1 more; calls 1/3)',
        "evals/shop.yaml::crash": "error: the agent ended its process with exit code 7",
        "evals/shop.yaml::raise": "error: the agent raised ValueError: no such thing",
        "evals/shop.yaml::nothing": "not measured: nothing is expected of this case",
    }


def test_a_failure_shows_expected_beside_actual_and_no_frame_of_ours(whole: tuple[Path, Done]) -> None:
    _, done = whole

    assert error_lines(done)[:5] == [
        'rightcall: phone: `search` was called with query "phone", expected "tablet" (and 1 more; calls 1/3)',
        "expected                   actual",
        '≠ 1 search(query="tablet")   1 search(query="phone")',
        "2 book(id=7)               2 book(id=7)",
        "− 3 pay",
    ]
    assert "evals/shop.yaml:13: CheckFailedError" in done.stdout
    assert "asked for phone" in done.stdout
    assert "raise problem" not in done.stdout
    assert "_collecting.py" not in done.stdout


def test_a_traceback_is_the_agents_own(whole: tuple[Path, Done]) -> None:
    _, done = whole

    assert 'raise ValueError("no such thing")' in error_lines(done)
    assert "runner" not in "".join(error_lines(done))


def test_the_session_leaves_a_run(whole: tuple[Path, Done]) -> None:
    folder, done = whole
    [(header, lines)] = runs_in(folder)

    assert header["evalset"] == "evals/shop.yaml"
    assert header["agent"] == "agent.py:answer"
    assert header["agent_hash"] is not None
    assert header["finished"] is not None
    assert header["totals"] == {"passed": 1, "failed": 1, "not_measured": 1, "error": 2}
    assert [line["case_id"] for line in lines] == ["laptop", "phone", "crash", "raise", "nothing"]
    assert f"rightcall: evals/shop.yaml: 1 passed, 1 failed, 2 in error, 1 not measured  run {header['id'][:4]}" in (
        done.stdout.splitlines()
    )


def test_the_run_can_be_read_by_the_commands(whole: tuple[Path, Done]) -> None:
    from tests.processes import rightcall

    folder, _ = whole

    shown = rightcall("show", "last", "--case", "phone", cwd=folder)

    assert shown.returncode == 0, shown.stderr
    assert "tablet" in shown.stdout


def test_junit_has_scores_as_properties(whole: tuple[Path, Done]) -> None:
    folder, _ = whole
    cases = {case.get("name"): case for case in ElementTree.parse(folder / "junit.xml").iter("testcase")}

    phone = {each.get("name"): each.get("value") for each in cases["phone"].iter("property")}

    assert phone == {
        "rightcall.case": "phone",
        "rightcall.verdict": "failed",
        "rightcall.score": "0.0",
        "rightcall.score.calls": "0.0",
        "rightcall.calls": "2",
        "rightcall.codes": "RC101 RC104",
    }
    [failure] = cases["phone"].iter("failure")
    assert failure.get("message") == '`search` was called with query "phone", expected "tablet" (and 1 more; calls 1/3)'


def test_reports_are_written_in_the_format_of_their_names(whole: tuple[Path, Done]) -> None:
    folder, _ = whole

    document = json.loads((folder / "report.json").read_text())
    suite = ElementTree.parse(folder / "report.xml").getroot()

    assert document["totals"] == {"passed": 1, "failed": 1, "not_measured": 1, "error": 2}
    assert len(document["cases"]) == 5
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "3")
    assert "1 passed, 1 failed" in (folder / "report.md").read_text()
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    assert "laptop" in (folder / "report.html").read_text()
    assert "error[RC101 call-missing]" in (folder / "report.txt").read_text()


def test_a_report_tells_cases_of_two_eval_sets_apart(project: Path) -> None:
    (project / "evals" / "other.yaml").write_text((project / "evals" / "shop.yaml").read_text())
    reports = [f"--rightcall-report=report.{ending}" for ending in ("html", "json", "xml", "txt")]

    run(project, "evals/shop.yaml::phone", "evals/other.yaml::phone", *reports)

    names = ["evals/shop.yaml::phone", "evals/other.yaml::phone"]
    anchors = re.findall(r' id="([^"]+)"', (project / "report.html").read_text())
    assert len(anchors) == len(set(anchors))
    assert [case["case_id"] for case in json.loads((project / "report.json").read_text())["cases"]] == names
    assert [each.get("name") for each in ElementTree.parse(project / "report.xml").iter("testcase")] == names
    assert "rightcall show" not in (project / "report.txt").read_text()  # which run?


def test_nothing_is_left_running(whole: tuple[Path, Done]) -> None:
    assert none_left()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-m", "smoke"], ["laptop", "phone"]),
        (["-k", "phone or area:x"], ["laptop", "phone"]),
        (["evals/shop.yaml::crash"], ["crash"]),
    ],
    ids=["-m", "-k", "node id"],
)
def test_cases_can_be_chosen(project: Path, arguments: list[str], expected: list[str]) -> None:
    named = [] if "::" in arguments[0] else ["evals/shop.yaml"]

    done = run(project, "--collect-only", "-q", *named, *arguments)

    assert [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line] == expected


def test_last_failed_runs_what_failed(project: Path) -> None:
    run(project, "evals/shop.yaml", "-m", "smoke")

    done = run(project, "evals/shop.yaml", "-m", "smoke", "--lf", "-q")

    assert counts(done) == {"failed": 1, "deselected": 4}
    assert list(failures(done)) == ["evals/shop.yaml::phone"]


def test_a_tag_cannot_keep_a_case_from_being_run(whole: tuple[Path, Done]) -> None:
    folder, _ = whole
    [(_, lines)] = runs_in(folder)

    assert next(line["verdict"] for line in lines if line["case_id"] == "laptop") == "passed"


def test_a_broken_eval_set_is_an_error_of_the_collection_with_line_and_column(project: Path) -> None:
    (project / "evals" / "broken.yaml").write_text("cases:\n  - id: a\n    expect:\n      cals: [search]\n")

    done = run(project, "evals/broken.yaml")

    assert done.returncode == 2
    assert error_lines(done) == ["rightcall: evals/broken.yaml:4:7: 'cals' names no evaluator; did you mean 'calls'?"]
    assert failures(done)["evals/broken.yaml"].startswith("evals/broken.yaml:4:7: 'cals' names no evaluator")
    assert "Traceback" not in done.stdout


def test_files_that_nobody_asked_for_are_left_alone(project: Path) -> None:
    (project / "evals" / "other.yaml").write_text("hello: [world")
    (project / "test_it.py").write_text("def test_it():\n    pass\n")

    done = run(project, "-q")

    assert counts(done) == {"passed": 1}


def test_the_configuration_can_list_eval_sets(project: Path) -> None:
    (project / "evals" / "other.yaml").write_text("hello: world")
    (project / "evals" / "test_config.json").write_text('{"criteria": {}}')
    (project / "pytest.ini").write_text("[pytest]\nrightcall_evalsets =\n    evals/**/sh*.yaml\n    evals/*.json\n")

    done = run(project, "-m", "smoke", "-q")

    assert counts(done) == {"passed": 1, "failed": 1, "deselected": 3}


def test_a_glob_that_is_none_is_refused(project: Path) -> None:
    done = run(project, "-o", "rightcall_evalsets=/evals/*.yaml")

    assert done.returncode == 4
    assert "rightcall_evalsets: /evals/*.yaml: globs are relative to the root folder" in done.stderr


def test_the_agent_can_be_named_on_the_command_line_or_in_the_configuration(project: Path) -> None:
    (project / "evals" / "shop.yaml").write_text(SHOP.replace("agent: agent.py:answer\n", ""))
    wanted = ("evals/shop.yaml::laptop", "-q")

    assert "names no agent: add `agent:` to it, or give --rightcall-agent" in run(project, *wanted).stdout
    assert run(project, *wanted, "--rightcall-agent=agent.py:answer").returncode == 0
    assert run(project, *wanted, "-o", "rightcall_agent=agent.py:answer").returncode == 0
    (project / "rightcall.toml").write_text('agent = "agent.py:answer"\nmax-memory = "1GB"\n')
    assert run(project, *wanted).returncode == 0
    missing = run(project, *wanted, "--rightcall-agent=agnt.py:answer")
    assert f"rightcall: no file agnt.py in {project}; did you mean 'agent.py'?" in error_lines(missing)


def test_an_agent_outside_of_the_project_is_run_only_if_it_is_trusted(project: Path) -> None:
    (project / "rightcall.toml").unlink()

    refused = run(project, "evals/shop.yaml::laptop", "-q")
    trusted = run(project, "evals/shop.yaml::laptop", "-q", "--rightcall-trust", "--rightcall-agent=agent.py:answer")

    assert "give --rightcall-trust" in refused.stdout
    assert refused.returncode == 1
    assert trusted.returncode == 0


def test_processes_of_xdist_share_one_run(project: Path) -> None:
    done = run(project, "evals/shop.yaml", "-n", "2", "--rightcall-report=report.json")

    [(header, lines)] = runs_in(project)
    assert counts(done) == {"passed": 1, "failed": 4}
    assert failures(done)["evals/shop.yaml::phone"].startswith(
        '`search` was called with query "phone", expected "tablet"'
    )
    assert header["totals"] == {"passed": 1, "failed": 1, "not_measured": 1, "error": 2}
    assert sorted(line["case_id"] for line in lines) == ["crash", "laptop", "nothing", "phone", "raise"]
    assert len(json.loads((project / "report.json").read_text())["cases"]) == 5
    assert none_left()


FICKLE = """
from pathlib import Path
from rightcall import tool

@tool
def search(query):
    return query

def answer(query):
    seen = Path("seen")
    if seen.exists():
        search(query)
    seen.write_text("")
"""


def test_a_case_that_is_run_again_counts_as_it_came_out_last(project: Path) -> None:
    (project / "agent.py").write_text(FICKLE)
    (project / "evals" / "shop.yaml").write_text(SHOP.replace(", output: found LAPTOP", ""))

    done = run(project, "evals/shop.yaml::laptop", "--reruns", "2", "-q")

    [(header, lines)] = runs_in(project)
    assert counts(done) == {"passed": 1, "rerun": 1}
    assert [line["verdict"] for line in lines] == ["failed", "passed"]
    assert header["totals"]["passed"] == 1
    assert header["totals"]["failed"] == 0


def test_the_plugin_can_be_left_out(project: Path) -> None:
    (project / "test_it.py").write_text("def test_it():\n    pass\n")

    assert run(project, "-p", "no:rightcall", "test_it.py").returncode == 0
    assert "not found" in run(project, "-p", "no:rightcall", "evals/shop.yaml").stderr
    assert "rightcall" not in run(project, "-p", "no:rightcall", "--help").stdout


@pytest.mark.parametrize("report", ["report.doc", "nowhere/report.json", "evals"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_run(project: Path, report: str) -> None:
    done = run(project, "evals/shop.yaml", f"--rightcall-report={report}")

    assert done.returncode == 4
    assert "--rightcall-report" in done.stderr
    assert not (project / ".rightcall").exists()


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["--rightcall-runs=kept"], "kept"),
        (["-o", "rightcall_runs=build/runs"], "build/runs"),
        (["--rightcall-runs=none", "--rightcall-report=report.json"], None),
    ],
)
def test_runs_are_kept_where_the_user_says(project: Path, arguments: list[str], place: str | None) -> None:
    done = run(project, "evals/shop.yaml::laptop", *arguments)

    assert done.returncode == 0, done.stdout
    assert not (project / ".rightcall").exists()
    assert [header["totals"]["passed"] for header, _ in (runs_in(project, place) if place else [])] == [1] * bool(place)
    assert ("  run " in done.stdout) == bool(place)


def test_results_that_cannot_be_kept_are_told_and_tests_go_on(project: Path) -> None:
    (project / ".rightcall").write_text("a file is in the way")

    done = run(project, "evals/shop.yaml::laptop", "--rightcall-report=report.txt")

    assert counts(done) == {"passed": 1}
    assert "results were not kept" in (project / "report.txt").read_text()
    assert f"rightcall: results were not kept: {project}/.rightcall/runs" in done.stdout


def test_ids_of_strangers_do_no_harm(project: Path) -> None:
    ids = ["\x1b[2J", "a/../b", "x" * 300, "né ü", "a[1]::b", "\u202eabc", "two\nlines"]
    cases = "".join(
        [f"  - {json.dumps({'id': each, 'input': {'query': 'x'}, 'expect': {'calls': ['y']}})}\n" for each in ids]
    )
    (project / "evals" / "odd.yaml").write_text(f"agent: agent.py:answer\ncases:\n{cases}")

    done = run(project, "evals/odd.yaml", "--junitxml=junit.xml", "-n", "1")

    [(_, lines)] = runs_in(project)
    assert counts(done) == {"failed": 7}
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert [line["case_id"] for line in lines] == ids
    ElementTree.parse(project / "junit.xml")


LEAKING = """
from rightcall import tool

@tool
def log_in(password: str) -> str:
    return "in"

def answer(query: str) -> str:
    print("the key is sk-proj-" + "a1B2c3D4e5F6g7H8" * 3)
    log_in("hunter2-and-more")
    return "done"
"""


def test_secrets_are_left_out_of_what_is_printed_and_written(project: Path) -> None:
    (project / "agent.py").write_text(LEAKING)

    done = run(project, "evals/shop.yaml::laptop", "--rightcall-report=report.json", "--junitxml=junit.xml")

    told_everywhere = done.stdout + (project / "report.json").read_text() + (project / "junit.xml").read_text()
    assert counts(done) == {"failed": 1}
    assert "log_in(" in done.stdout
    assert "hunter2" not in told_everywhere
    assert "a1B2c3D4" not in told_everywhere


def test_tools_can_be_replayed(project: Path) -> None:
    from tests.processes import rightcall

    rightcall("run", "evals/shop.yaml", "--case", "laptop", "--record", cwd=project)
    agent = project / "agent.py"
    agent.write_text(agent.read_text().replace("[query.upper()]", "1 / 0"))

    assert run(project, "evals/shop.yaml::laptop").returncode == 1
    assert run(project, "evals/shop.yaml::laptop", "--rightcall-replay").returncode == 0


def test_a_start_without_eval_sets_loads_nothing_of_ours(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('rightcall.'))\n"
        "    assert ours == ['rightcall._lazy', 'rightcall._moved', 'rightcall.testing',\n"
        "        'rightcall.testing.pytest_plugin', 'rightcall.testing.pytest_plugin._plugin']\n"
        "    assert not {'msgspec', 'pydantic', 'yaml', 'click', 'rich', 'opentelemetry'} & set(sys.modules)\n"
    )

    done = true_session(project, *NO_ASYNCIO, "-p", "no:anyio", "-p", "no:hypothesispytest")

    assert done.returncode == 0, done.stdout


def test_results_in_the_run_are_complete(whole: tuple[Path, Done]) -> None:
    folder, _ = whole
    [(_, lines)] = runs_in(folder)

    results: list[Any] = [CaseResult.from_plain({key: line[key] for key in line if key != "digest"}) for line in lines]

    assert [result.outcome.stdout for result in results[:2]] == ["asked for laptop\n", "asked for phone\n"]
    assert os.path.relpath(results[1].findings[0].source.file) == "evals/shop.yaml"


def test_evaluators_that_are_code_of_the_project_judge_and_others_need_trust(project: Path) -> None:
    (project / "checks.py").write_text("def polite(output):\n    return 'please' in output\n")
    (project / "evals" / "own.yaml").write_text(
        "agent: agent.py:answer\nevaluators: {polite: {type: 'checks.py:polite'}}\n"
        "cases: [{id: a, input: {query: x}, expect: {calls: [search], polite: true}}]\n"
    )

    done = run(project, "evals/own.yaml")
    (project / "checks.py").rename(project.parent / "checks.py")
    outside = (project / "evals" / "own.yaml").read_text().replace("checks.py", "../checks.py")
    (project / "evals" / "own.yaml").write_text(outside)
    refused = run(project, "evals/own.yaml")

    assert failures(done) == {"evals/own.yaml::a": "'polite' scored 0, and 1 is needed (polite)"}
    assert "give --rightcall-trust" in refused.stdout
