"""`rightcall run --variant`: the same cases on each variant, beside one another."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.processes import rightcall

AGENT = """
import os, time
from rightcall import tool

@tool
def search(query): return "found"

def answer(question):
    time.sleep(0.05)
    with open("order", "a") as file:
        file.write(os.environ["RIGHTCALL_MODEL"][0])
    if os.environ["RIGHTCALL_MODEL"] == "large" or question == "easy":
        search(question)
    return os.environ.get("RIGHTCALL_PROMPT", "") + os.environ.get("TONE", "")

def other(question):
    return "other"
"""
CONFIGURATION = """
agent = "agent.py:answer"
evalset = "e.yaml"

[variants.large]
model = "large"
prompt = "Be brief."
environment = {TONE = "!"}

[variants.small]
model = "small"
prompt = "Be brief."
environment = {TONE = "!"}

[variants.other]
agent = "agent.py:other"

[variants.wrong]
modell = "typo"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "rightcall.toml").write_text(CONFIGURATION)
    cases = ["{id: easy, input: easy, expect: {calls: [search], output: Be brief.!}}"]
    cases += ["{id: hard, input: hard, expect: {calls: [search], output: Be brief.!}}"]
    (tmp_path / "e.yaml").write_text(f"cases: [{', '.join(cases)}]")
    return tmp_path


def test_each_variant_is_a_run_and_one_table_compares_them(project: Path) -> None:
    done = rightcall("run", "--variant", "large", "--variant", "small", cwd=project)

    assert done.returncode == 1, done.stderr
    head, large, small, *below = done.stdout.splitlines()
    assert head.split()[:3] == ["variant", "passed", "rate"]
    assert large.split()[:4] == ["large", "2", "100", "%"]
    assert small.split()[:4] == ["small", "1", "50", "%"]
    assert below[0] == "  hard: passed with large, failed with small"
    runs = [json.loads(path.read_text()) for path in (project / ".rightcall" / "runs").glob("*/run.json")]
    assert sorted(run["options"]["variant"] for run in runs) == ["large", "small"]
    ids = below[1].split("rightcall diff ")[1].split(" --gate")[0].split()
    assert rightcall("diff", *ids, cwd=project).returncode in (0, 1)


def test_one_variant_is_reported_as_any_run_is(project: Path) -> None:
    done = rightcall("run", "--variant", "large", "--format", "concise", "--format", "json=r.json", cwd=project)

    assert re.search(r"^\d passed.* run [0-9a-f]{4}$", done.stdout, re.MULTILINE)
    assert (project / "r.json").exists()


@pytest.mark.parametrize("report", ["markdown", "junit", "html"])
def test_a_report_names_the_variant(project: Path, report: str) -> None:
    made = rightcall("run", "--variant", "large", "--format", report, cwd=project).stdout
    again = rightcall("report", "last", "--format", report, cwd=project).stdout

    assert "agent.py:answer, variant large" in made
    assert "agent.py:answer, variant large" in again


def test_trials_of_variants_take_turns(project: Path) -> None:
    rightcall("run", "--variant", "large", "--variant", "small", "--repeat", "6", cwd=project)

    order = (project / "order").read_text()
    assert len(order) == 24
    assert {"l", "s"} == set(order[:12]) == set(order[12:])


def test_a_gate_compares_the_others_with_the_variant_that_it_names(project: Path) -> None:
    variants = [word for name in ("small", "large", "twin") for word in ("--variant", name)]
    with (project / "rightcall.toml").open("a") as file:
        file.write('[variants.twin]\nmodel = "large"\nprompt = "Be brief."\nenvironment = {TONE = "!"}\n')

    done = rightcall("run", *variants, "--repeat", "8", "--gate", "large", cwd=project)

    assert done.returncode == 1, done.stdout + done.stderr
    table, small, twin = (done.stdout.index(text) for text in ("variant", "large → small", "large → twin"))
    assert table < small < twin
    assert "gate  worse than large: hard 8/8 → 0/8" in done.stdout[small:twin]
    assert "worse" not in done.stdout[twin:].replace("no worse", "").replace("not worse", "")


def test_a_variant_that_is_as_good_passes_the_gate_though_cases_fail(project: Path) -> None:
    with (project / "rightcall.toml").open("a") as file:
        file.write('[variants.twin]\nmodel = "small"\nprompt = "Be brief."\nenvironment = {TONE = "!"}\n')

    done = rightcall(
        *("run", "--variant", "small", "--variant", "twin", "--gate", "small", "--repeat", "8"),
        *("--allow-drop", "0.5", "--inconclusive", "pass"),
        cwd=project,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_variant_has_a_report_of_its_own(project: Path) -> None:
    done = rightcall("run", "--variant", "large", "--variant", "small", "--format", "json={variant}.json", cwd=project)

    assert done.returncode == 1
    passed = [json.loads((project / f"{name}.json").read_text())["totals"]["passed"] for name in ("large", "small")]
    assert passed == [2, 1]
    assert done.stdout.count("hard") == 1


def test_a_variant_may_be_another_agent(project: Path) -> None:
    done = rightcall("run", "--variant", "other", cwd=project)

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("2 failed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--variant", "larg"], "no variant 'larg' below [variants] in rightcall.toml; did you mean 'large'?"),
        (["--variant", "wrong"], "variants.wrong: Object contains unknown field `modell`"),
        (["--variant", "large", "--variant", "small", "--format", "json"], "each variant has a report of its own"),
        (["--variant", "large", "--variant", "small", "--gate", "main"], "one of large, small"),
        (
            ["--variant", "large", "--variant", "small", "--gate", "large", "--repeat", "2..4"],
            "--repeat A..B stops one run early",
        ),
    ],
)
def test_a_mistake_is_told(project: Path, options: list[str], message: str) -> None:
    done = rightcall("run", *options, cwd=project)

    assert done.returncode == 2
    assert message in done.stderr
