"""What the match types say of calls of which some may be missing, or may not be meant, is what every case would get."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

import pytest
from tests.builders import calls, judge

from rightcall import EvaluationResult, ToolCall, Trajectory

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
EXPECTED = ("a", "b", "a", "c")
SOME_CALLS = [made for length in range(4) for made in itertools.product("abc", repeat=length)]


def judged(made: Trajectory, expected: str, kind: str, **more: Any) -> EvaluationResult:
    criteria = {"expected": list(expected), **more.pop("narrowing", {})}
    return judge("tool-trajectory", made, criteria, match_type=kind, **more)


def is_subsequence(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    left = iter(other)
    return all(name in left for name in one)


def may_pass(kind: str, made: tuple[str, ...]) -> bool:
    """Whether more calls can make these the expected ones."""
    if kind == "EXACT":
        return is_subsequence(made, EXPECTED)
    return kind in ("IN_ORDER", "ANY_ORDER") or Counter(made) <= Counter(EXPECTED)


@pytest.mark.parametrize("kind", MATCH_TYPES)
def test_where_calls_may_be_missing_a_path_fails_only_if_no_further_call_could_complete_it(kind: str) -> None:
    for made in SOME_CALLS:
        result = judged(Trajectory(calls=calls(*made).calls, calls_recorded=False), "abac", kind)

        assert result.verdict == ("not_measured" if may_pass(kind, made) else "failed"), made


@pytest.mark.parametrize(
    ("made", "verdicts"),
    [
        ("abac", ("not_measured", "passed", "passed", "not_measured", "not_measured")),
        ("xabac", ("failed", "passed", "passed", "failed", "failed")),
        ("caba", ("failed", "not_measured", "passed", "not_measured", "not_measured")),
    ],
)
def test_where_calls_may_be_missing_a_path_passes_only_if_no_further_call_could_spoil_it(
    made: str, verdicts: tuple[str, ...]
) -> None:
    partial = Trajectory(calls=calls(*made).calls, calls_recorded=False)

    assert tuple([judged(partial, "abac", kind).verdict for kind in MATCH_TYPES]) == verdicts


def bounds(result: EvaluationResult) -> tuple[float, float]:
    """The lowest and the highest score that a result names."""
    [found] = [each for each in map(_BETWEEN.search, result.warnings) if each] or [None]
    if found is None:
        assert result.score is not None
        return result.score, result.score
    return float(found[1]), float(found[2])


_BETWEEN = re.compile(r"the score lies between ([\d.e-]+) and ([\d.e-]+)[,:]")


@pytest.mark.parametrize(
    ("made", "expected", "shares"),
    [
        ("a", "ab", ((0, 1), (0.5, 1), (0.5, 1), (0, 1), (0, 1))),
        ("ax", "ab", ((0, 0.6667), (0.5, 1), (0.5, 1), (0, 0.6667), (0, 0.6667))),
        ("x", "a", ((0, 0.5), (0, 1), (0, 1), (0, 0.5), (0, 0.5))),
        ("ba", "ab", ((0, 0.6667), (0.5, 1), (1, 1), (0, 1), (0, 1))),
        ("", "a", ((0, 1), (0, 1), (0, 1), (0, 1), (0, 1))),
        ("x", "", ((0, 0), (1, 1), (1, 1), (0, 0), (0, 0))),
        ("axb", "ab", ((0, 0.6667), (1, 1), (1, 1), (0, 0.6667), (0, 0.6667))),
    ],
)
def test_partial_credit_has_the_bounds_that_calls_which_may_be_missing_leave_it(
    made: str, expected: str, shares: tuple[tuple[float, float], ...]
) -> None:
    partial = Trajectory(calls=calls(*made).calls, calls_recorded=False)
    found = [bounds(judged(partial, expected, kind, partial_credit=True)) for kind in MATCH_TYPES]

    assert found == [pytest.approx(each, abs=1e-4) for each in shares]


def of_agent(agent: str | None, names: str) -> list[ToolCall]:
    return [ToolCall(name, {}, agent=agent) for name in names]


@pytest.mark.parametrize(
    ("sure", "doubtful", "expected", "shares"),
    [
        # Nine calls that may be another agent's have too many combinations to try each of them.
        ("ab", "xxxxxxxxx", "ab", ((0.1818, 1), (1, 1), (1, 1), (0.1818, 1), (0.1818, 1))),
        ("a", "bbbbbbbbb", "ab", ((0.1, 1), (0.5, 1), (0.5, 1), (0.1, 1), (0.1, 1))),
        ("x", "aaaaaaaaa", "ab", ((0, 0.5), (0, 0.5), (0, 0.5), (0, 0.5), (0, 0.5))),
        ("b", "aaaaaaaaa", "ab", ((0.1, 0.5), (0.5, 0.5), (0.5, 1), (0.1, 1), (0.1, 1))),
        ("", "aaaaaaaaa", "aaaaaaaaaa", ((0, 0.9), (0, 0.9), (0, 0.9), (0, 0.9), (1, 1))),
        ("", "xxxxxxxxx", "a", ((0, 0), (0, 0), (0, 0), (0, 0), (0, 1))),
    ],
)
def test_partial_credit_has_the_bounds_that_calls_of_unknown_agents_leave_it(
    sure: str, doubtful: str, expected: str, shares: tuple[tuple[float, float], ...]
) -> None:
    made = Trajectory.of([*of_agent("boss", sure), *of_agent(None, doubtful)])
    narrowing = {"agent": "boss"}
    found = [
        bounds(judged(made, expected, kind, partial_credit=True, threshold=1.0, narrowing=narrowing))
        for kind in MATCH_TYPES
    ]

    assert found == [pytest.approx(each, abs=1e-4) for each in shares]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", MATCH_TYPES)
def test_a_path_of_many_calls_of_unknown_agents_gets_the_verdict_of_all_their_combinations(
    kind: str, seed: int
) -> None:
    chance = random.Random(seed)
    expected = "".join(chance.choices("abc", k=3))
    made = of_agent(None, "".join(chance.choices("abc", k=9)))
    for each in of_agent("boss", "".join(chance.choices(expected, k=chance.randint(0, 3)))):
        made.insert(chance.randint(0, len(made)), each)
    narrowing = {"agent": "boss"}
    unknown = [index for index, each in enumerate(made) if each.agent is None]

    found = judged(Trajectory.of(made), expected, kind, narrowing=narrowing)

    kept = [set(range(len(made))) - set(left) for n in range(10) for left in itertools.combinations(unknown, n)]
    worlds = [[made[index].name for index in sorted(each)] for each in kept]
    verdicts = {judged(calls(*world), expected, kind).verdict for world in worlds}
    assert found.verdict == (verdicts.pop() if len(verdicts) == 1 else "not_measured")
