"""Rules of an eval set, which hold for every case."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rightcall import DocumentError, ToolCall, Trajectory
from rightcall.cases.evalsets import EvalSet, eval_set_schema, load_eval_set
from rightcall.cases.verdicts import RuleUse, judge

POLICY = """\
rules:
  - {call: pay, only_after: confirm, why: the customer must have said yes}
  - {call: refund, never_after: cancel}
cases:
  - id: buy
    expect: {order: [pay]}
  - id: own
    expect:
      rules:
        - {call: pay, at_most: 1}
  - id: apart
    expect:
      rules: {criteria: [{call: pay, at_most: 1}], order: started}
"""


def loaded(folder: Path, text: str = POLICY) -> EvalSet:
    path = folder / "shop.yaml"
    path.write_text(text)
    return load_eval_set(path)


def run(*names: str) -> Trajectory:
    return Trajectory(calls=tuple([ToolCall(name=name, args={}, output=None) for name in names]))


def found(eval_set: EvalSet, number: int, *names: str) -> list[tuple[str, str, int, int]]:
    """The findings of a case in a run: the expectation, the code and the place of each."""
    result = judge(eval_set.cases[number], run(*names))
    return [
        (placed.expectation, placed.finding.code, placed.source.line, placed.source.column)
        for placed in result.findings
    ]


def test_a_case_without_rules_is_judged_by_those_of_its_eval_set(tmp_path: Path) -> None:
    assert found(loaded(tmp_path), 0, "pay") == [("rules", "RC116", 2, 5)]


def test_the_rules_of_a_case_come_after_those_of_its_eval_set(tmp_path: Path) -> None:
    eval_set = loaded(tmp_path)

    assert found(eval_set, 1, "pay", "pay") == [
        ("rules", "RC116", 2, 5),
        ("rules", "RC116", 2, 5),
        ("rules", "RC116", 10, 11),
    ]
    [result] = judge(eval_set.cases[1], run("confirm", "pay", "pay")).results
    assert result.score == 2 / 3


def test_rules_with_other_settings_are_judged_apart(tmp_path: Path) -> None:
    assert found(loaded(tmp_path), 2, "pay", "pay") == [
        ("rules", "RC116", 13, 26),
        ("rules (all cases)", "RC116", 2, 5),
        ("rules (all cases)", "RC116", 2, 5),
    ]


def test_cases_share_the_rules_of_their_eval_set(tmp_path: Path) -> None:
    first, second = loaded(tmp_path, "rules: [{first: login}]\ncases: [{id: a}, {id: b}]").cases

    assert first.checks[0].criteria is second.checks[0].criteria


def test_a_mistake_in_the_rules_of_an_eval_set_is_told_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"shop\.yaml:2:17: .*did you mean 'only_after'\?"):
        loaded(tmp_path, "rules:\n  - {call: pay, onlyafter: confirm}\ncases: [{id: a}]\n")


def uses(eval_set: EvalSet, *runs: tuple[int, Trajectory]) -> list[str]:
    seen, added = RuleUse(), RuleUse()
    for number, made in runs:
        case = eval_set.cases[number]
        added.add(case.id, seen.see(case, judge(case, made)))
    return list(added.notes())


def test_a_rule_that_never_applied_in_any_case_is_noted_once(tmp_path: Path) -> None:
    eval_set = loaded(tmp_path)

    notes = uses(eval_set, (0, run("confirm", "pay")), (1, run("search")), (2, run()))

    assert notes == ["note: the rule `refund` never after `cancel` never applied in 3 cases: no `cancel` was called"]


def test_a_rule_of_one_case_is_not_noted(tmp_path: Path) -> None:
    eval_set = loaded(tmp_path, "cases: [{id: a, expect: {rules: [{call: refund, only_after: verify}]}}]")

    assert uses(eval_set, (0, run("search")), (0, run("search"))) == []


VALID: list[Any] = [
    {"call": "pay", "only_after": "confirm", "since": "quote", "same": ["id"], "why": "so", "per": "turn"},
    {"call": ["a", {"b": {"x": 1}}, {"name": "c", "status": "ok", "nth": -1}], "never_after": "d"},
    {"call": "a", "followedBy": "b", "before": "c", "mustApply": True},
    {"call": "a", "followed_by": "b", "directly": True},
    {"call": "a", "only_with": "b", "same": {"x": "y"}},
    {"call": "a", "never_with": "b"},
    {"call": "a", "at_most": 2, "after": "b"},
    {"call": "a", "always": {"path": {"$startsWith": "/tmp/"}}},
    {"first": "a"},
    {"last": ["a", "b"]},
]
INVALID: list[Any] = [
    {"call": "pay"},
    {"call": "pay", "only_after": "a", "never_after": "b"},
    {"call": "pay", "never_after": "a", "since": "b"},
    {"only_after": "a"},
    {"call": [], "at_most": 1},
    {"call": "a", "at_most": -1},
    {"call": "a", "first": "b"},
    {"call": "a", "at_most": 1, "directly": True},
]


@pytest.mark.parametrize("place", ["eval set", "case"])
def test_editors_know_which_rules_are_right(place: str, tmp_path: Path) -> None:
    check = Draft202012Validator(eval_set_schema())

    def document(rule: Any) -> dict[str, Any]:
        in_case = {"cases": [{"id": "a", "expect": {"rules": [rule]}}]}
        return in_case if place == "case" else {"rules": [rule], "cases": [{"id": "a"}]}

    assert [rule for rule in VALID if not check.is_valid(document(rule))] == []
    assert [rule for rule in INVALID if check.is_valid(document(rule))] == []
    for rule in VALID:
        loaded(tmp_path, json.dumps(document(rule)))
    for rule in INVALID:
        with pytest.raises(DocumentError):
            loaded(tmp_path, json.dumps(document(rule)))


def test_ten_rules_that_never_applied_are_named_and_the_others_counted() -> None:
    def notes(count: int) -> list[str]:
        used = RuleUse()
        for case_id in ("a", "b"):
            used.add(case_id, [(f"rule {number}", "no call of it") for number in range(count)])
        return list(used.notes())

    assert len(notes(10)) == 10
    assert notes(12)[10:] == ["note: 2 more rules never applied"]
