"""Evaluators of the user's own, in whole commands."""

import json
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.projects import make_project

AGENT = """
from rightcall import tool

@tool
def search(query: str) -> list[str]:
    return [query]

def answer(query: str) -> str:
    search(query)
    return f"Found {query}, please"
"""
CHECKS = """
import asyncio, time
from pydantic import BaseModel
from rightcall import Judgement, evaluator

class Words(BaseModel):
    words: list[str]

@evaluator
def polite(output):
    print("looked at", output)
    return "please" in output

@evaluator
async def mentions(output, criteria: Words):
    await asyncio.sleep(0.001)
    found = [word for word in criteria.words if word in output]
    return Judgement(len(found) / len(criteria.words), "something is missing", {"found": found})

def broken(calls):
    raise ConnectionError("nobody there")

def endless(output):
    while True:
        time.sleep(0.01)
"""
EVALSET = """\
agent: agent.py:answer
evaluators:
  polite: {type: "checks.py:polite"}
  mentions: {type: "checks.py:mentions"}
  broken: {type: "checks.py:broken"}
  endless: {type: "checks.py:endless", config: {timeout: 0.2}}
cases:
  - {id: good, input: {query: a laptop}, expect: {calls: [search], polite: true, mentions: {words: [laptop]}}}
  - {id: bad, input: {query: a book}, expect: {calls: [search], mentions: {words: [book, laptop]}}}
  - {id: broken, input: {query: x}, expect: {calls: [book], polite: true, broken: true}}
  - {id: endless, input: {query: y}, expect: {calls: [search], endless: true}}
"""
TRACE = {"messages": [{"role": "user", "content": "a laptop"}, {"role": "assistant", "content": "Yes, please"}]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("agent.py", AGENT), ("checks.py", CHECKS), ("shop.yaml", EVALSET), ("rightcall.toml", "")):
        (tmp_path / name).write_text(text)
    return tmp_path


def verdicts(printed: str) -> dict[str, dict[str, str]]:
    cases = json.loads(printed)["cases"]
    return {case["case_id"]: {one["evaluator"]: one["verdict"] for one in case["evaluations"]} for case in cases}


def test_a_run_mixes_evaluators_of_all_kinds_and_what_breaks_leaves_the_others_standing(project: Path) -> None:
    done = rightcall("run", "shop.yaml", "--format", "json", cwd=project)

    assert verdicts(done.stdout) == {
        "good": {"calls": "passed", "polite": "passed", "mentions": "passed"},
        "bad": {"calls": "passed", "mentions": "failed"},
        "broken": {"calls": "failed", "polite": "passed", "broken": "error"},
        "endless": {"calls": "passed", "endless": "error"},
    }
    assert json.loads(done.stdout)["totals"] == {"passed": 1, "failed": 2, "not_measured": 0, "error": 1}
    assert "looked at" not in done.stdout
    assert "looked at" in done.stderr
    assert done.returncode == 1


def test_every_report_shows_what_stands_beside_what_broke(project: Path) -> None:
    formats = [f"--format={name}" for name in ("full", "concise", "junit", "github", "markdown")]
    done = rightcall(
        "run", "shop.yaml", "--case", "broken", *[f"{each}={each[9:]}.txt" for each in formats], cwd=project
    )

    assert done.returncode == 1
    for name in ("full", "concise", "junit", "github", "markdown"):
        text = (project / f"{name}.txt").read_text()
        assert "book" in text, name
        assert "ConnectionError" in text, name


def test_a_run_is_resumed_and_a_changed_evaluator_is_asked_again(project: Path) -> None:
    rightcall("run", "shop.yaml", "--case", "good", cwd=project)

    same = rightcall("run", "--resume", "last", cwd=project)
    (project / "checks.py").write_text(CHECKS.replace('"please" in', '"sorry" in'))
    changed = rightcall("run", "--resume", "last", cwd=project)

    assert (same.returncode, "changed" in same.stderr) == (0, False)
    assert (changed.returncode, "changed" in changed.stderr) == (1, True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_recorded_traces_are_scored_by_them(project: Path, workers: str) -> None:
    for name in ("a", "b"):
        (project / f"{name}.json").write_text(json.dumps(TRACE))
    written = "evaluators: {polite: {type: 'checks.py:polite'}}\\ncases: [{id: one, expect: {polite: true}}]"
    (project / "one.yaml").write_text(written.replace("\\n", "\n"))

    done = rightcall("score", "a.json", "--evalset", "one.yaml", "--workers", workers, "--format", "json", cwd=project)
    each = rightcall("score", "a.json", "b.json", "--expect", "{'checks.py:polite': true}", cwd=project)

    assert (done.returncode, verdicts(done.stdout)) == (0, {"one": {"polite": "passed"}})
    assert each.returncode == 0, each.stderr


def test_code_outside_of_the_project_is_imported_with_trust_only(project: Path) -> None:
    (project / "rightcall.toml").unlink()

    refused = rightcall("run", "agent.py:answer", "shop.yaml", "--case", "good", cwd=project)
    trusted = rightcall("run", "agent.py:answer", "shop.yaml", "--case", "good", "--trust", cwd=project)

    assert (refused.returncode, trusted.returncode) == (2, 0)
    assert "shop.yaml:3:12: the evaluator 'checks.py:polite' is in no project: " in refused.stderr


def test_scoring_imports_no_code_of_a_project_inside_of_this_one(project: Path) -> None:
    got = project / "got"
    got.mkdir()
    for name, text in (("rightcall.toml", ""), ("checks.py", "raise SystemExit('ran')"), ("shop.yaml", EVALSET)):
        (got / name).write_text(text)
    (project / "trace.json").write_text(json.dumps(TRACE))

    done = rightcall("score", "trace.json", "--evalset", "got/shop.yaml", cwd=project)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"is inside another project ({got}) in the project of the current folder" in done.stderr


def test_check_says_what_it_did_not_check(project: Path) -> None:
    done = rightcall("check", "shop.yaml", cwd=project)

    assert done.returncode == 0
    assert "'polite' (checks.py:polite) was not checked: it is custom code" in done.stdout


OVERALL = """\
agent: sorter.py:answer
overall:
  kinds: {type: classification, config: {output: /kind, metric: f1, threshold: THRESHOLD}}
  spread: {type: "sorter.py:spread"}
cases:
  - {id: a, input: {text: spam}, metadata: {class: spam}, expect: {output: {kind: spam}}}
  - {id: b, input: {text: ham}, metadata: {class: ham}, expect: {output: {kind: ham}}}
  - {id: c, input: {text: ham}, metadata: {class: spam}, expect: {output: {criteria: {kind: spam}, threshold: 0.0}}}
"""
SORTER = """
def answer(text):
    return {"kind": text}

def spread(rows):
    return len({row.output["kind"] for row in rows}) == 2
"""
RECORDED = """\
overall:
  kinds: {type: classification, config: {metric: f1, threshold: 0.9}}
  spread: {type: "sorter.py:spread"}
cases:
  - {id: a, metadata: {class: spam}, expect: {output: {$any: true}}}
  - {id: b, metadata: {class: ham}, expect: {output: {$any: true}}}
  - {id: c, metadata: {class: spam}, expect: {output: {$any: true}}}
"""


@pytest.fixture
def sorter(project: Path) -> Path:
    return make_project(project, {"sorter.py": SORTER, "sorter.yaml": OVERALL.replace("THRESHOLD", "0.9")})


def test_figures_over_all_cases_are_in_every_report_and_count_in_the_exit_code(sorter: Path) -> None:
    names = ("full", "concise", "junit", "github", "markdown", "json", "html")
    formats = [f"--format={name}={name}.txt" for name in names]

    done = rightcall("run", "sorter.yaml", *formats, cwd=sorter)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "sorter.yaml:3:3: overall kinds: failed: macro f1 0.6667 over 3 cases, and 0.9 is needed" in done.stdout
    assert "overall spread: passed" in done.stdout
    for name in names:
        assert "macro f1 0.6667 over 3 cases" in (sorter / f"{name}.txt").read_text(), name
    assert "| `spam` | 1 | 1 | 1.00 | 0.50 | 0.67 |" in (sorter / "markdown.txt").read_text()
    assert "  spam        1     1       1.00    0.50  0.67\n" in (sorter / "full.txt").read_text()
    [kinds, _] = json.loads((sorter / "json.txt").read_text())["overall"]
    assert kinds["classification"]["matrix"] == [[1, 0, 0], [1, 1, 0]]


def test_they_are_kept_with_the_run_and_judged_anew_when_it_is_resumed(sorter: Path) -> None:
    rightcall("run", "sorter.yaml", cwd=sorter)
    report = rightcall("report", "last", cwd=sorter)
    (sorter / "sorter.yaml").write_text(OVERALL.replace("THRESHOLD", "0.6"))
    resumed = rightcall("run", "--resume", "last", cwd=sorter)

    assert "overall `kinds` failed" in report.stdout
    assert (resumed.returncode, "0.6 is needed" in resumed.stdout) == (0, True), resumed.stdout + resumed.stderr


def test_recorded_traces_have_them_too_and_a_case_without_a_trace_leaves_them_unmeasured(sorter: Path) -> None:
    for number, kind in enumerate(("spam", "ham", "ham")):
        said = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": kind}]}
        (sorter / f"{number}.json").write_text(json.dumps(said))
    (sorter / "sorter.yaml").write_text(RECORDED)
    (sorter / "sorter.py").write_text("def spread(rows): return len(rows) == 3")
    given = ("--evalset", "sorter.yaml", "--join", "order")

    done = rightcall("score", "0.json", "1.json", "2.json", *given, "--format", "json", cwd=sorter)
    less = rightcall("score", "0.json", "1.json", *given, cwd=sorter)

    kinds, spread = json.loads(done.stdout)["overall"]
    assert (kinds["verdict"], kinds["classification"]["cases"], spread["verdict"]) == ("failed", 3, "passed")
    assert done.returncode == 1
    assert "overall kinds: not measured: 1 of 3 cases gave no answer" in less.stdout
    assert less.returncode == 2


def test_a_secret_that_an_evaluator_tells_is_in_no_report(sorter: Path) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    told = f"from rightcall import Judgement\ndef spread(rows): return Judgement(0.0, 'key {secret}', ['{secret}'])\n"
    (sorter / "sorter.py").write_text(f"def answer(text): return {{'kind': text}}\n{told}")

    done = rightcall("run", "sorter.yaml", "--redact", "--format", "json", cwd=sorter)
    report = rightcall("report", "last", cwd=sorter)
    header = next((sorter / ".rightcall" / "runs").glob("*/run.json")).read_text()

    assert json.loads(done.stdout)["overall"][1]["verdict"] == "failed"
    for text in (done.stdout, report.stdout, header):
        assert secret not in text


NEVER_DONE = """
import threading
from rightcall import ToolCallOrderEvaluator

class Endless(ToolCallOrderEvaluator):
    type_id = "endless"

    def measure(self, selection, plan):
        threading.Event().wait()
"""


def test_an_evaluator_that_never_returns_costs_its_case_and_not_the_run(project: Path) -> None:
    (project / "never.py").write_text(NEVER_DONE)
    cases = [f"  - {{id: c{n}, input: {{query: x}}, expect: {{calls: [search]}}}}\n" for n in range(30)]
    stuck = "  - {id: stuck, input: {query: x}, expect: {calls: [search], endless: {tool_calls_order: [search]}}}\n"
    head = "agent: agent.py:answer\nevaluators: {endless: {type: 'never.py:Endless'}}\ncases:\n"
    (project / "never.yaml").write_text(head + stuck + "".join(cases))

    done = rightcall("run", "never.yaml", "--timeout", "2", cwd=project)

    assert done.returncode == 2
    assert "RC404 stuck: 'endless' did not answer within 2 s" in done.stdout
    assert "30 passed, 1 in error" in done.stdout
