"""Alignments that are made without a comparison, against those that a comparison makes."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import call, calls, expected

from rightcall import ToolCall, ToolCallArgsEvaluator, ToolTrajectoryEvaluator, Trajectory
from rightcall.judging.calls import _trajectory
from rightcall.judging.calls._match_types import compare_turn
from rightcall.judging.calls._trajectory import TrajectoryAccount
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.results import Alignment, ToolTrajectoryEvaluatorJustification

_CASES = 400
_MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
_POLICIES = ("exact", "subset", "superset", "ignore")
_VALUES: tuple[Any, ...] = (
    *(0, 1, 1.0, True, False, None, 2, -3, "", "1", "Rome", "Zürich ☂", 'a "b"\n', "x" * 200, "x" * 150 + "y"),
    *([], [1], [True], {}, {"n": 1}, {"n": {"to": ["Oslo", 1.0]}}, {"n": {"to": ["Oslo", True]}}),
)
_KEYS = ("city", "n", "with space", "ü", "a.b", "k" * 70)
_NAMES = ("book", "search", "ü-tool", "pay")


@pytest.mark.parametrize("match_type", _MATCH_TYPES)
@pytest.mark.parametrize("policy", _POLICIES)
def test_an_alignment_made_directly_is_the_one_that_a_comparison_makes(match_type: str, policy: str) -> None:
    random = Random(f"{match_type} {policy}")
    kinds: Counter[str] = Counter()
    for _ in range(_CASES):
        limits = Limits(explanation_bytes=random.choice((0, 1_000, 3_000, DEFAULT_LIMITS.explanation_bytes)))
        wanted, made = _some_calls(random)
        account = _account(wanted, made, random, limits, match_type=match_type, args_match=policy)
        unexplained = TrajectoryAccount(account.turns, account.plan, [*account.judged], limits)
        compared = _compared(account)
        told = account.justify()
        assert isinstance(told, ToolTrajectoryEvaluatorJustification)
        assert [turn.alignment for turn in told.turns] == compared, (wanted, made)
        kinds.update(step.kind for alignment in compared for step in alignment.steps)
        # The details leave what they found out to the findings.
        assert account.find() == unexplained.find()

    assert {"match", "missing", "extra", "moved", "mismatch"} - kinds.keys() <= (
        {"mismatch"} if policy == "ignore" else set()
    )


@pytest.mark.parametrize("policy", [True, False], ids=["subset", "exact"])
def test_steps_are_those_of_the_lines_that_findings_are_made_of(policy: bool) -> None:
    random = Random(policy)
    kinds: Counter[str] = Counter()
    for _ in range(4 * _CASES):
        wanted, made = _some_calls(random)
        if not wanted:
            continue
        criteria = {"tool_calls": wanted, "ignore_tools": random.choice(([], ["log"]))}
        account: Any = ToolCallArgsEvaluator(config={"subset": policy}).evaluate(made, criteria).explanation.account
        comparison = account.comparison
        told = comparison.alignment()

        assert list(told.steps) == [comparison._step(line) for line in comparison.lines], (wanted, made)
        kinds.update(step.kind for step in told.steps)

    assert kinds.keys() == {"match", "missing", "extra", "moved", "mismatch"}


def test_plain_calls_with_faults_are_aligned_without_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_trajectory, "compare_turn", _refuse)
    wanted = [expected("a", x=1), expected("b", to="Rome"), expected("c"), expected("d", x=2)]
    made = calls(call("b", to="Oslo"), call("a", x=1), call("d", x=2), call("e"))

    result = ToolTrajectoryEvaluator(config={"match_type": "EXACT"}).evaluate(made, {"expected": wanted})
    details: Any = result.details

    assert [(step.kind, step.name) for step in details.turns[0].alignment.steps] == [
        ("match", "a"),
        ("mismatch", "b"),
        ("missing", "c"),
        ("match", "d"),
        ("extra", "e"),
    ]


def test_calls_that_can_be_paired_in_several_ways_are_compared() -> None:
    twice = [expected("a", x=1), expected("a", x=1), expected("b", x=1)]
    made = calls(call("a", x=1), call("b", x=2), call("a", x=1))
    account = _account(twice, made, Random(1), DEFAULT_LIMITS, match_type="ANY_ORDER", args_match="exact")

    account.justify()

    assert account.made is not None


def _refuse(*given: Any) -> Any:
    raise AssertionError("a comparison is made")


def _compared(account: TrajectoryAccount) -> list[Alignment]:
    """The alignments by comparisons, each made from the account before anything was explained."""
    limits, match_type = account._limits(), account.plan.match_type
    return [
        compare_turn(turn.expected, turn.selection, match_type, limits, judged).alignment()
        for turn, judged in zip(account.turns, account.judged, strict=True)
    ]


def _account(
    wanted: list[dict[str, Any]], made: Trajectory, random: Random, limits: Limits, **config: Any
) -> TrajectoryAccount:
    evaluator = ToolTrajectoryEvaluator(
        config={**config, "partial_credit": random.random() < 0.2, "threshold": 0.0}, limits=limits
    )
    criteria: dict[str, Any] = {"ignore_tools": random.choice(([], ["log"]))}
    if random.random() < 0.2:
        cut = random.randint(0, len(wanted))
        criteria["expected_turns"] = [wanted[:cut], wanted[cut:]]
        made = Trajectory.of([replace(each, turn=int(at >= cut)) for at, each in enumerate(made.calls)])
    else:
        criteria["expected"] = wanted
    account = evaluator.evaluate(made, criteria).explanation.account
    assert isinstance(account, TrajectoryAccount)
    return account


def _some_calls(random: Random) -> tuple[list[dict[str, Any]], Trajectory]:
    """Expected calls, and actual ones that were made of them by mistakes."""
    values = random.choice((_VALUES, ("Rome", "Oslo", 5, 7), (0, 1, True, 1.0)))
    names = random.choice((_NAMES, _NAMES[:1], [f"tool_{number}" for number in range(12)]))

    most = random.choice((0, 1, 3))

    def args() -> dict[str, Any]:
        return {key: random.choice(values) for key in random.sample(_KEYS, random.randint(0, most))}

    wanted = [expected(random.choice(names), **args()) for _ in range(random.randint(0, 12))]
    made = [ToolCall(each["name"], dict(each["args"]), None) for each in wanted]
    for _ in range(random.randint(0, 4)):
        place = random.randint(0, max(0, len(made) - 1))
        _mistake(random, made, place, ToolCall(random.choice((*names, "log", "other")), args(), None))
    return wanted, Trajectory.of(made)


def _mistake(random: Random, made: list[ToolCall], place: int, other: ToolCall) -> None:
    kind = random.choice(("swap", "drop", "insert", "args", "repeat", "unrecorded"))
    if kind == "insert" or not made:
        made.insert(place, other)
    elif kind == "drop":
        del made[place]
    elif kind == "repeat":
        made.append(made[place])
    elif kind == "swap":
        at = random.randrange(len(made))
        made[place], made[at] = made[at], made[place]
    else:
        given = made[place]
        args = None if kind == "unrecorded" and random.random() < 0.3 else {**(given.args or {}), **(other.args or {})}
        made[place] = ToolCall(given.name, args, None)
