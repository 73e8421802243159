"""Cases that apply to what fits them, and trajectories that are joined by a key or by their file."""

from __future__ import annotations

from typing import Any

import pytest

from rightcall.cases.evalsets import EvalSet, parse_eval_set
from rightcall.cases.verdicts import CaseFinder, join_rule, recorded_repeat
from rightcall.errors import ConfigurationError, DocumentError, UnknownNameError
from rightcall.reporting.store import case_digest
from rightcall.values.trajectory import Trajectory


def eval_set(when: str, more: str = "") -> EvalSet:
    return parse_eval_set(f"{more}\ncases:\n- id: a\n  when: {when}\n  expect: {{never: [drop]}}\n", "a.yaml")


def fits(when: str, trajectory: Trajectory) -> Any:
    """Whether the case applies: true, false, or why that is not known."""
    matches = CaseFinder(eval_set(when).cases).matches(trajectory)
    return matches[0].doubt or True if matches else False


def trace(*calls: Any, **known: Any) -> Trajectory:
    return Trajectory.of(list(calls), **known)


REFUND = trace(
    {"name": "look", "args": {}, "agent": "billing"},
    {"name": "refund", "args": {"order": 7}, "agent": "billing"},
    input="refund order 7",
    output="Done.",
    metadata={"channel": "web", "tags": ["vip", "eu"], "tokens": 12},
)
FITS = [
    ("{input: refund order 7}", True),
    ("{input: {$contains: refund}}", True),
    ("{input: {$contains: cancel}}", False),
    ("{output: {$startsWith: Done}}", True),
    ("{metadata: {channel: web}}", True),
    ("{metadata: {channel: {$in: [app]}}}", False),
    ("{metadata: {tokens: {$gt: 10}, channel: web}}", True),
    ("{agent: billing}", True),
    ("{agent: 'bill*'}", True),
    ("{agent: support}", False),
    ("{calls: [refund]}", True),
    ("{calls: [{refund: {order: 7}}]}", True),
    ("{calls: [{refund: {order: 8}}]}", False),
    ("{calls: [cancel]}", False),
    ("{tags: vip}", True),
    ("{tags: [vip, us]}", False),
    ("{input: {$contains: refund}, tags: [us]}", False),
]


@pytest.mark.parametrize(("when", "fit"), FITS)
def test_a_case_applies_to_what_fits_all_of_its_keys(when: str, fit: bool) -> None:
    assert fits(when, REFUND) is fit


@pytest.mark.parametrize(
    ("when", "missing"),
    [
        ("{input: {$contains: refund}}", "the input was not recorded"),
        ("{output: x}", "the output was not recorded"),
        ("{metadata: {channel: web}}", "'channel' of the metadata was not recorded"),
        ("{agent: billing}", "the agent was not recorded"),
        ("{tags: [vip]}", "the tags was not recorded"),
        ("{calls: [{refund: {order: 7}}]}", "the calls: "),
    ],
)
def test_what_was_not_recorded_is_in_doubt_and_not_left_out(when: str, missing: str) -> None:
    assert str(fits(when, trace("refund"))).startswith(missing)
    assert fits(when[:-1] + ", unrecorded: leave_out}", trace("refund")) is False


def test_what_is_known_not_to_fit_is_left_out_whatever_else_is_unknown() -> None:
    assert fits("{input: x, metadata: {channel: web}}", trace(input="y")) is False


def test_a_trajectory_may_belong_to_several_cases_and_to_the_one_it_names() -> None:
    cases = parse_eval_set(
        """
cases:
- {id: named, expect: {never: [drop]}}
- {id: vips, when: {tags: [vip]}, expect: {never: [drop]}}
- {id: refunds, when: {calls: [refund]}, expect: {never: [drop]}}
""",
        "a.yaml",
    ).cases
    found = CaseFinder(cases).matches(trace("refund", metadata={"rightcall.case.id": "named", "tags": "vip, eu"}))

    assert [match.case.id for match in found] == ["named", "vips", "refunds"]


def test_what_is_expected_of_every_trajectory_is_expected_of_those_without_a_case() -> None:
    made = eval_set("{tags: [vip]}", "expect: {never: [drop]}")
    finder = CaseFinder(made.cases, every=made.every)

    assert [match.case.id for match in finder.matches(trace(metadata={"tags": ["vip"]}))] == ["a"]
    assert [match.case.id for match in finder.matches(trace(metadata={"tags": ["eu"]}))] == ["expect"]
    assert [check.key for check in made.cases[0].checks] == ["never", "never (all cases)"]


def test_an_eval_set_may_expect_something_of_every_trajectory_alone() -> None:
    made = parse_eval_set("expect: {never: [drop]}", "a.yaml")

    assert made.cases == ()
    assert made.every is not None


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("{id: a, when: {}}", "'when' is empty"),
        ("{id: a, when: {unrecorded: leave_out}}", "'when' is empty"),
        ("{id: a, when: {input: x}, input: y}", "'when' or 'input', not both"),
        ("{id: a, when: {input: x}, mocks: {a: {returns: 1}}}", "'when' or 'mocks', not both"),
        ("{id: a, when: {inputs: x}}", "did you mean 'input'"),
        ("{id: a, when: {input: {$contain: x}}}", "did you mean"),
        ("{id: a, when: {input: x, unrecorded: skip}}", "leave_out"),
    ],
)
def test_a_mistake_in_when_is_told_with_its_place(case: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        parse_eval_set(f"cases: [{case}]", "a.yaml")


def test_when_is_part_of_what_a_case_asks() -> None:
    one, other = eval_set("{input: x}").cases[0], eval_set("{input: y}").cases[0]

    assert case_digest(one).partition("-")[0] != case_digest(other).partition("-")[0]


def test_a_file_names_its_case_and_repeat() -> None:
    rule = join_rule("file={case}/run-{repeat}.json")

    assert rule.read_path("/logs/refund/run-3.json") == {"rightcall.case.id": "refund", "repeat": 3}
    assert rule.read_path("logs\\refund\\run-03.json") == {"rightcall.case.id": "refund", "repeat": 3}
    assert rule.read_path("refund/run-x.json") == {}
    assert rule.read_path("refund/run-3.json.gz") == {}
    assert join_rule("file={case}-*.json").read_path("a/b-c-9.json") == {"rightcall.case.id": "b"}


def test_what_a_trace_says_does_not_count_beside_its_file() -> None:
    cases = parse_eval_set("cases: [{id: a}, {id: b}]", "a.yaml").cases
    finder = CaseFinder(cases, "file={case}.json")
    says = trace("x", metadata={"rightcall.case.id": "b", "repeat": 9})

    [match] = finder.matches(finder.named_by_file(says, "x/a.json"))
    assert match.case.id == "a"
    assert finder.matches(finder.named_by_file(says, "x/c.json")) == []


@pytest.mark.parametrize("join", ["key=", "file=x.json", "file={case}{case}", "file={case}/{trial}"])
def test_a_wrong_way_to_join_is_refused(join: str) -> None:
    with pytest.raises(ConfigurationError):
        join_rule(join)


def test_a_way_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'file'"):
        join_rule("files={case}")


@pytest.mark.parametrize(("told", "number"), [(0, 0), ("2", 2), (True, None), (-1, None), ("x", None), (1.5, None)])
def test_the_number_of_a_repeat_is_a_whole_number(told: Any, number: int | None) -> None:
    assert recorded_repeat({"repeat": told}) == number
