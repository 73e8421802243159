"""Judges in whole runs: beside other evaluators, in real processes, on the loopback endpoint."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judging.models.server import Asked, Endpoint, Response, completion, judged
from tests.processes import rightcall
from tests.projects import make_project

Listen = Callable[[Any], Endpoint]
ROOT = Path(__file__).parents[3]
MIXED = """\
evaluators:
  quality: {type: llm-judge-trajectory, config: {threshold: 0.8, samples: 3}}
cases:
  - id: good
    input: {query: laptop}
    expected_behavior: Search for a laptop once.
    expect: {calls: [{search: {query: laptop}}], quality: null, "checks.py:polite": {}}
  - id: bad
    input: {query: phone}
    expected_behavior: Search for a phone once.
    expect: {calls: [{search: {query: phone}}], quality: null, "checks.py:polite": {}}
  - id: wrong
    input: {query: pen}
    expected_behavior: Search for a pencil.
    expect: {calls: [{search: {query: pencil}}], quality: null}
"""
AGENT = """\
from rightcall.running.tracing import tool

@tool
def search(query: str) -> list[str]:
    return [query.upper()]

def answer(query: str) -> str:
    return f"found {search(query)}"
"""
CHECKS = """\
from rightcall import evaluator

@evaluator
def polite(output):
    return output.startswith("found")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, {"agent.py": AGENT, "checks.py": CHECKS, "shop.yaml": MIXED, "rightcall.toml": ""})


def by_query(asked: Asked) -> Response:
    """A judge that does not like phones."""
    is_bad = "phone" in asked.blocks["input"]
    return judged(40 if is_bad else 90, "no phones, please" if is_bad else "fine", 1)


def verdicts(stdout: str) -> dict[str, dict[str, str]]:
    cases = json.loads(stdout)["cases"]
    return {case["case_id"]: {one["evaluator"]: one["verdict"] for one in case["evaluations"]} for case in cases}


def test_deterministic_evaluators_a_judge_and_a_custom_one_make_one_report(listen: Listen, project: Path) -> None:
    endpoint = listen(by_query)

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--format", "json", cwd=project)

    assert done.returncode == 1, done.stderr
    assert verdicts(done.stdout) == {
        "good": {"calls": "passed", "quality": "passed", "checks.py:polite": "passed"},
        "bad": {"calls": "passed", "quality": "failed", "checks.py:polite": "passed"},
        "wrong": {"calls": "failed", "quality": "passed"},
    }
    assert len(endpoint.asked) == 9
    [bad] = [case for case in json.loads(done.stdout)["cases"] if case["case_id"] == "bad"]
    [finding] = bad["findings"]
    assert finding["finding"]["message"] == "the judge gives 0.4: no phones, please"
    assert finding["finding"]["actual"]["text"] == 'search(query="phone")'
    assert finding["source"]["line"] == 11


def test_a_judge_that_is_down_leaves_the_others_standing(listen: Listen, project: Path) -> None:
    listen(judged()).close()

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--case", "good", "--format", "json", cwd=project)

    assert done.returncode == 2
    assert verdicts(done.stdout) == {
        "good": {"calls": "passed", "quality": "error", "checks.py:polite": "passed"},
    }
    [case] = json.loads(done.stdout)["cases"]
    assert (case["verdict"], case["score"]) == ("error", None)
    assert case["findings"][0]["finding"]["code"] == "RC602"


def test_without_a_judge_one_line_says_what_to_set(project: Path) -> None:
    done = rightcall("run", "agent.py:answer", "shop.yaml", "--case", "good", cwd=project)

    assert done.returncode == 2
    assert "RC601 good: the judge is not configured: set RIGHTCALL_JUDGE_BASE_URL," in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_an_unchanged_case_is_asked_about_again_only_without_the_cache(listen: Listen, project: Path) -> None:
    endpoint = listen(by_query)
    run = ("run", "agent.py:answer", "shop.yaml", "--case", "good")

    counts = []
    for options in ((), (), ("--no-cache",)):
        assert rightcall(*run, *options, cwd=project).returncode == 0
        counts.append(len(endpoint.asked))

    assert counts == [3, 3, 6]


def test_the_five_weather_cases_with_a_judge_of_the_trajectory(listen: Listen, tmp_path: Path) -> None:
    endpoint = listen(judged(95, "asked about the right city", 1))
    shutil.copytree(ROOT / "examples" / "weather_tools", tmp_path / "weather")
    evaluations = tmp_path / "weather" / "evaluations"
    judge = {
        "version": "1.0",
        "id": "Judge",
        "evaluatorTypeId": "uipath-llm-judge-trajectory-similarity",
        "evaluatorConfig": {"name": "Judge", "model": "", "threshold": 0.9, "prompt": "Judge {{AgentRunHistory}}."},
    }
    (evaluations / "evaluators" / "judge.json").write_text(json.dumps(judge))
    evalset = evaluations / "eval-sets" / "default.json"
    document = json.loads(evalset.read_text())
    document["evaluatorRefs"].append("Judge")
    for evaluation in document["evaluations"]:
        behavior = {"expectedAgentBehavior": f"Ask about {evaluation['inputs']['city']}."}
        evaluation["evaluationCriterias"]["Judge"] = behavior
    evalset.write_text(json.dumps(document))

    done = rightcall("run", "main.py", str(evalset), "--format", "json", cwd=tmp_path / "weather")

    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(done.stdout)
    assert len(found) == 5
    assert all(case["Judge"] == "passed" and set(case.values()) == {"passed"} for case in found.values())
    assert len(endpoint.asked) == 5
    assert {json.loads(asked.blocks["expected_behavior"])[:9] for asked in endpoint.asked} == {"Ask about"}


def test_recorded_traces_are_judged_in_worker_processes(listen: Listen, tmp_path: Path) -> None:
    listen(completion({"reason": "fine", "call": None, "score": 100}))
    (tmp_path / "x.yaml").write_text("cases: [{id: trip, expect: {llm-judge-trajectory: Plan a trip.}}]")
    trace = ROOT / "docs" / "examples" / "trip.json"

    done = rightcall("score", str(trace), "--evalset", "x.yaml", "--join", "order", "--workers", "2", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def judged_project(listen: Listen, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run, which is made once and copied."""
    listen(by_query)
    kept = tmp_path_factory.getbasetemp() / "judged"
    if kept.exists():
        shutil.copytree(kept, project, dirs_exist_ok=True)
        return project
    assert rightcall("run", "agent.py:answer", "shop.yaml", cwd=project).returncode == 1
    shutil.copytree(project, kept)
    return project


def test_judge_check_holds_a_run_against_labels(judged_project: Path) -> None:
    (judged_project / "labels.csv").write_text("case,label\ngood,passed\nbad,failed\nwrong,failed\n")

    done = rightcall("judge-check", "labels.csv", cwd=judged_project)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "quality against 3 labels of labels.csv\n\n"
        "agreement  0.6667  (2 of 3)\n"
        "kappa      0.4\n\n"
        "               judge passed  judge failed\n"
        "people passed             1             0\n"
        "people failed             1             1\n\n"
        "They differ on:\n"
        "  wrong: people failed, judge passed (0.9)\n"
    )


@pytest.mark.parametrize(
    ("labels", "options", "code", "text"),
    [
        ("good: 1\nbad: 0\n", ["--min-agreement", "1", "--min-kappa", "1"], 0, "agreement  1 "),
        ("good: 1\nwrong: 0\n", ["--min-agreement", "0.9"], 1, "agreement  0.5"),
        ("good: 1\nwrong: 0\n", ["--min-kappa", "0.1"], 1, "kappa      0\n"),
        ("good: 1\n", ["--min-kappa", "0.1"], 2, "undefined"),
        ("good: 1\nnobody: 0\n", [], 2, "nobody: no verdict of the judge: there is no result of it"),
        ("good: 1\nwrong: 0\n", ["--evaluator", "calls"], 0, "calls against 2 labels"),
        ("good: 1\n", ["--evaluator", "call"], 2, "did you mean 'calls'"),
        ("good: maybe\n", [], 2, "a label is passed or failed"),
        ("good: 1\n", ["--run", "feedbeef"], 2, "feedbeef"),
        ("good: 1\n", ["--case", "good"], 2, "--evalset"),
        ("good: 1\n", ["--evalset", "shop.yaml"], 2, "TRACES"),
    ],
)
def test_judge_check_has_exit_codes(
    judged_project: Path, labels: str, options: list[str], code: int, text: str
) -> None:
    (judged_project / "labels.yaml").write_text(labels)

    done = rightcall("judge-check", "labels.yaml", *options, cwd=judged_project)

    assert done.returncode == code, done.stdout + done.stderr
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_judge_check_can_judge_now(listen: Listen, tmp_path: Path) -> None:
    endpoint = listen(completion({"reason": "fine", "call": None, "score": 100}))
    (tmp_path / "x.yaml").write_text("cases: [{id: trip, expect: {llm-judge-trajectory: Plan a trip.}}]")
    (tmp_path / "labels.jsonl").write_text('{"case": "trip", "label": "failed"}\n')
    trace = os.fspath(ROOT / "docs" / "examples" / "trip.json")

    done = rightcall("judge-check", "labels.jsonl", trace, "--evalset", "x.yaml", "--join", "order", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "trip: people failed, judge passed (1)" in done.stdout
    assert len(endpoint.asked) == 1


def test_an_eval_set_may_name_a_function_as_the_judge(project: Path) -> None:
    (project / "checks.py").write_text(
        "def strict(question):\n"
        "    return {'reason': f'{question.calls} call', 'call': 1, 'score': 100 if question.calls == 1 else 0}\n"
    )
    config = "{judge: 'checks.py:strict', threshold: 0.5}"
    expect = "{calls: [search], path: Search.}"
    text = f"evaluators: {{path: {{type: llm-judge-trajectory, config: {config}}}}}\n"
    (project / "own.yaml").write_text(f"{text}cases: [{{id: a, input: {{query: pen}}, expect: {expect}}}]\n")

    done = rightcall("run", "agent.py:answer", "own.yaml", "--format", "json", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    [case] = json.loads(done.stdout)["cases"]
    assert [(one["evaluator"], one["score"]) for one in case["evaluations"]] == [("calls", 1.0), ("path", 1.0)]
    assert rightcall("check", "own.yaml", cwd=project).returncode == 0
    (project / "own.yaml").write_text((project / "own.yaml").read_text().replace("strict", "strickt"))
    wrong = rightcall("run", "agent.py:answer", "own.yaml", cwd=project)
    assert wrong.returncode == 2
    assert "own.yaml:1:" in wrong.stderr
    assert "has no 'strickt'; did you mean 'strict'?" in wrong.stderr
