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
    assert large.split()[:4] == ["large", "2", "100%", "0"]
    assert small.split()[:4] == ["small", "1", "50%", "1"]
    assert below[0] == "  hard: passed with large, failed with small"
    runs = [json.loads(path.read_text()) for path in (project / ".rightcall" / "runs").glob("*/run.json")]
    assert sorted(run["options"]["variant"] for run in runs) == ["large", "small"]
    ids = below[1].split("rightcall diff ")[1].split(" --gate")[0].split()
    assert rightcall("diff", *ids, cwd=project).returncode in (0, 1)


def test_one_variant_is_reported_as_any_run_is(project: Path) -> None:
    done = rightcall("run", "--variant", "large", "--format", "concise", "--format", "json=r.json", cwd=project)

    assert re.search(r"^\d passed.* run [0-9a-f]{4}$", done.stdout, re.MULTILINE)
    assert (project / "r.json").exists()


def test_trials_of_variants_take_turns(project: Path) -> None:
    rightcall("run", "--variant", "large", "--variant", "small", "--repeat", "6", cwd=project)

    order = (project / "order").read_text()
    assert len(order) == 24
    assert {"l", "s"} == set(order[:12]) == set(order[12:])


def test_a_variant_may_be_another_agent(project: Path) -> None:
    done = rightcall("run", "--variant", "other", cwd=project)

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("2 failed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--variant", "larg"], "no variant 'larg' below [variants] in rightcall.toml; did you mean 'large'?"),
        (["--variant", "wrong"], "variants.wrong: Object contains unknown field `modell`"),
        (["--variant", "large", "--variant", "small", "--format", "json"], "--format is about one run"),
    ],
)
def test_a_mistake_is_told(project: Path, options: list[str], message: str) -> None:
    done = rightcall("run", *options, cwd=project)

    assert done.returncode == 2
    assert message in done.stderr
