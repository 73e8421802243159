"""`rightcall mutate`: what an eval set would not notice, and the lines that would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.processes import rightcall

CALLS = [
    {"name": "search", "args": {"query": "laptop"}, "output": ["P1"]},
    {"name": "reserve", "args": {"id": "P1", "quantity": 1}, "output": {"ok": True}},
]
EVALSET = """\
cases:
  - id: buy
    input: a laptop
    expect:
      order: [search, reserve]   # names only
  - id: other
    input: nothing
    expect: {calls: []}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An eval set, and a trace of its first case."""
    (tmp_path / "set.yaml").write_text(EVALSET)
    trace = {"calls": CALLS, "output": "I reserved it.", "metadata": {"rightcall.case.id": "buy"}}
    (tmp_path / "trace.jsonl").write_text(json.dumps(trace) + "\n")
    return tmp_path


def test_it_says_what_would_not_be_noticed_and_the_line_that_would(project: Path) -> None:
    done = rightcall("mutate", "set.yaml", "trace.jsonl", cwd=project)

    assert done.returncode == 0
    assert "set.yaml  1 case, 15 mutants: 6 noticed (40 %), 9 let pass" in done.stdout
    assert "     `reserve` made twice  → counts: {reserve: 1}" in done.stdout
    assert "not tried: 1 case, because no trace was recorded: other" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_write_adds_lines_after_which_every_survivor_with_a_line_is_noticed(project: Path) -> None:
    written = rightcall("mutate", "set.yaml", "trace.jsonl", "--write", cwd=project)
    again = rightcall("mutate", "set.yaml", "trace.jsonl", "--min-score", "1", "--write", cwd=project)
    score = rightcall("score", "trace.jsonl", "--evalset", "set.yaml", "--case", "buy", cwd=project)

    assert "+      counts: {" in written.stdout
    assert "15 noticed (100 %), 0 let pass" in again.stdout
    assert (again.returncode, score.returncode) == (0, 0)
    assert again.stdout.endswith("nothing to add\n")
    assert "      order: [search, reserve]   # names only\n" in (project / "set.yaml").read_text()


def test_a_share_below_the_minimum_is_exit_code_1(project: Path) -> None:
    done = rightcall("mutate", "set.yaml", "trace.jsonl", "--min-score", "0.9", cwd=project)

    assert done.returncode == 1
    assert done.stderr == "rightcall: 0.40 of the mutants were noticed; --min-score asks for 0.9\n"


def test_no_case_that_passes_is_exit_code_2(project: Path) -> None:
    (project / "set.yaml").write_text(EVALSET.replace("[search, reserve]", "[reserve, search]"))

    done = rightcall("mutate", "set.yaml", "trace.jsonl", cwd=project)

    assert done.returncode == 2
    assert "it does not pass: buy" in done.stderr


def test_json_and_html_say_the_same(project: Path) -> None:
    formats = ("--format", "json=m.json", "--format", "html=m.html")
    done = rightcall("mutate", "set.yaml", "trace.jsonl", *formats, cwd=project)

    assert (done.returncode, done.stdout) == (0, "")
    report = json.loads((project / "m.json").read_text())
    assert (report["noticed"], report["counted"], report["cases"][0]["id"]) == (6, 15, "buy")
    assert "40 %" in (project / "m.html").read_text()


def test_a_run_is_tried_and_keeps_the_report_for_the_viewer(project: Path) -> None:
    (project / "agent.py").write_text(
        "from rightcall import tool\n\n\n@tool\ndef search(query):\n    return ['P1']\n\n\n@tool\n"
        "def reserve(id, quantity):\n    return {'ok': True}\n\n\n"
        "def answer(question):\n    if 'laptop' in question:\n        search(query='laptop')\n"
        "        reserve(id='P1', quantity=1)\n    return 'I reserved it.'\n"
    )
    rightcall("run", "agent.py:answer", "set.yaml", cwd=project)

    done = rightcall("mutate", cwd=project)

    assert "set.yaml  2 cases" in done.stdout
    assert len(list(project.glob(".rightcall/runs/*/mutants.json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("set.yaml",), "no run of set.yaml yet"),
        (("sets.yaml",), "sets.yaml: No such file or directory"),
        (("set.yaml", "trace.jsonl", "--run", "last"), "give either TRACES or --run"),
        (("set.yaml", "trace.jsonl", "--operators", "dorp"), "no operator 'dorp'; did you mean 'drop'?"),
        (("set.yaml", "trace.jsonl", "--format", "yaml"), "no format 'yaml'"),
    ],
    ids=["no run", "no file", "both", "operator", "format"],
)
def test_a_request_that_cannot_be_met_says_why(project: Path, arguments: tuple[str, ...], said: str) -> None:
    done = rightcall("mutate", *arguments, cwd=project)

    assert done.returncode == 2
    assert said in done.stderr
