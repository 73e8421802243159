"""The twelve expectations of `examples/steps`, each on a run that is right and on one that is wrong."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall

STEPS = Path("examples/steps")
NAMES = sorted(path.stem for path in STEPS.glob("*.yaml"))

WRONG: dict[str, tuple[str | None, list[list[int]]]] = {
    "01-flight-booking": ("1/2", []),
    "02-refund-policy": (None, [[2], [], [2]]),
    "03-retry": ("2/3", []),
    "04-retrieval": ("2/3", []),
    "05-edit-and-test": ("1", [[3], [4]]),
    "06-servers": (None, [[1], [2], []]),
    "07-hand-off": ("2/3", [[]]),
    "08-exchange-or-return": ("1", [[3, 4]]),
    "09-at-once": ("1/2", []),
    "10-milestones": ("1", [[2], []]),
    "11-research": ("5/6", []),
    "12-payments": ("1/2", [[], [4]]),
}
"""For the wrong run of each: the share of the path, and for each rule the calls that break it, from 1."""


def scored(name: str, kind: str) -> dict[str, Any]:
    trace, evalset = STEPS / "traces" / f"{name}-{kind}.jsonl", STEPS / f"{name}.yaml"
    done = rightcall("score", str(trace), "--evalset", str(evalset), "--format", "json")
    [case] = json.loads(done.stdout)["cases"]
    assert done.returncode == (0 if case["verdict"] == "passed" else 1)
    return {**case, "by": {evaluation["evaluator"]: evaluation for evaluation in case["evaluations"]}}


def broken_by(evaluation: dict[str, Any]) -> list[list[int]]:
    rules = evaluation["details"]["rules"]
    return [[call["position"] + 1 for call in rule.get("calls", [])] for rule in rules]


def test_every_example_is_known() -> None:
    assert sorted(WRONG) == NAMES


def test_every_example_is_a_valid_eval_set() -> None:
    assert rightcall("check", *[str(STEPS / f"{name}.yaml") for name in NAMES]).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_right_run_meets_the_expectation(name: str) -> None:
    case = scored(name, "right")

    assert case["verdict"] == "passed"
    assert {evaluation["score"] for evaluation in case["by"].values()} == {1.0}


@pytest.mark.parametrize("name", NAMES)
def test_the_wrong_run_has_its_share_and_names_the_calls_that_break_rules(name: str) -> None:
    share, broken = WRONG[name]

    case = scored(name, "wrong")

    assert case["verdict"] == "failed"
    if share is not None:
        assert case["by"]["calls"]["score"] == pytest.approx(float(Fraction(share)))
    if broken:
        assert broken_by(case["by"]["rules"]) == broken
