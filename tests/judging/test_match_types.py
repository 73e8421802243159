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
    found = [each for each in map(_BETWEEN.search, result.warnings) if each]
    if not found:
        assert result.score is not None
        return result.score, result.score
    return float(found[0][1]), float(found[0][2])


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


@pytest.mark.parametrize(
    ("made", "expected", "verdicts"),
    [
        ("aaaaaa", "aaaaaa", ("passed", "passed", "passed", "passed", "passed")),
        ("aaaaab", "aaaaab", ("not_measured", "not_measured", "passed", "passed", "passed")),
        ("aaaaab", "aaaaaa", ("failed", "failed", "failed", "failed", "failed")),
        ("aaaaab", "aaaaa", ("failed", "passed", "passed", "failed", "failed")),
        ("aaaaab", "aaaaaab", ("failed", "failed", "failed", "failed", "passed")),
    ],
)
def test_calls_of_which_no_order_is_known_get_the_verdict_of_all_orders(
    made: str, expected: str, verdicts: tuple[str, ...]
) -> None:
    # Six calls have more orders than are tried one by one.
    tied = Trajectory(calls=calls(*made).calls, unordered=((0, 6),))

    for graded in (False, True):
        found = [judged(tied, expected, kind, partial_credit=graded, threshold=1.0).verdict for kind in MATCH_TYPES]
        assert tuple(found) == verdicts


def test_the_highest_share_of_calls_without_an_order_is_that_of_the_best_order() -> None:
    tied = Trajectory(calls=calls(*"fedcbx").calls, unordered=((0, 6),))
    highest = [bounds(judged(tied, "abcdef", kind, partial_credit=True))[1] for kind in MATCH_TYPES]

    assert highest == [pytest.approx(5 / 6, abs=1e-4)] * 5


@pytest.mark.parametrize(("expected", "verdict"), [("ba", "not_measured"), ("ab", "not_measured"), ("aa", "failed")])
def test_calls_without_an_order_may_be_the_expected_ones_among_many_of_unknown_agents(
    expected: str, verdict: str
) -> None:
    made = Trajectory(calls=(*of_agent("boss", "ab"), *of_agent(None, "x" * 9)), unordered=((0, 2),))

    assert judged(made, expected, "EXACT", narrowing={"agent": "boss"}).verdict == verdict


@pytest.mark.parametrize(
    ("first", "verdicts"),
    [
        ("a", ("not_measured", "passed", "passed", "not_measured", "not_measured")),
        ("c", ("failed", "failed", "failed", "failed", "failed")),
        ("", ("failed", "failed", "failed", "failed", "not_measured")),
        ("aa", ("failed", "passed", "passed", "failed", "failed")),
    ],
)
def test_a_turn_that_is_wholly_known_is_judged_as_it_is_beside_one_with_many_calls_of_unknown_agents(
    first: str, verdicts: tuple[str, ...]
) -> None:
    made = [ToolCall(name, {}, agent="boss", turn=0) for name in first]
    made += [ToolCall(name, {}, agent="boss" if name == "b" else None, turn=1) for name in "bxxxxxxxxx"]
    criteria = {"expected_turns": [["a"], ["b"]], "agent": "boss"}
    found = [judge("tool-trajectory", Trajectory.of(made), criteria, match_type=kind).verdict for kind in MATCH_TYPES]

    assert tuple(found) == verdicts


def at_once(*made: tuple[str, dict[str, Any] | None]) -> Trajectory:
    """Calls that the model asked for in one message."""
    return Trajectory.of([with_args(name, args, group="g") for name, args in made])


def with_args(name: str, args: dict[str, Any] | None, **more: Any) -> ToolCall:
    """A call with these arguments; without any, they were not recorded."""
    return ToolCall(name, **more) if args is None else ToolCall(name, args, **more)


ONE, TWO = {"x": 1}, {"x": 2}


@pytest.mark.parametrize(
    ("made", "verdict", "shares"),
    [
        ([("a", ONE), ("a", TWO)], "passed", (1, 1)),
        ([("a", TWO), ("a", ONE)], "passed", (1, 1)),
        ([("a", TWO), ("a", TWO)], "failed", (0.5, 0.5)),
        ([("a", TWO), ("a", None)], "not_measured", (0.5, 1)),
        ([("a", None), ("a", TWO)], "not_measured", (0.5, 1)),
        ([("a", ONE), ("a", None)], "not_measured", (0.5, 1)),
        ([("a", None), ("a", None)], "not_measured", (0, 1)),
        ([("b", ONE), ("a", None)], "failed", (0, 0.5)),
    ],
)
@pytest.mark.parametrize("kind", ["EXACT", "IN_ORDER"])
def test_calls_asked_for_at_once_are_compared_in_the_order_that_suits_best(
    kind: str, made: list[tuple[str, dict[str, Any] | None]], verdict: str, shares: tuple[float, float]
) -> None:
    criteria = {"expected": [{"name": "a", "args": ONE}, {"name": "a", "args": TWO}], "parallel": "any_order"}

    plain = judge("tool-trajectory", at_once(*made), criteria, match_type=kind)
    graded = judge("tool-trajectory", at_once(*made), criteria, match_type=kind, partial_credit=True)

    assert plain.verdict == graded.verdict == verdict
    assert bounds(graded) == pytest.approx(shares)


def test_the_alignment_shows_calls_asked_for_at_once_in_the_order_that_suits_best() -> None:
    made = Trajectory.of([ToolCall(name, {}, group="g") for name in "cba"])
    narrowing = {"parallel": "any_order"}

    def steps(kind: str) -> list[tuple[str, int | None, bool]]:
        details: Any = judged(made, "abd", kind, narrowing=narrowing).details
        return [(step.kind, step.actual, step.out_of_place) for step in details.turns[0].alignment.steps]

    for kind in ("EXACT", "IN_ORDER"):
        assert [each for each in steps(kind) if each[0] != "extra"] == [
            ("match", 2, False),
            ("match", 1, False),
            ("missing", None, False),
        ]
    assert [kind for kind, *_ in steps("ANY_ORDER")].count("moved") == 1


def test_an_order_that_does_not_count_is_no_doubt_beside_one_that_is_not_known() -> None:
    made = [ToolCall("b", {}, group="g"), ToolCall("a", {}, group="g"), ToolCall("x", {}, group="h")]
    made.append(ToolCall("y", {}, group="i"))
    partial = Trajectory(calls=tuple(made), unordered=((2, 4),), calls_recorded=False)

    assert judged(partial, "ab", "IN_ORDER", narrowing={"parallel": "any_order"}).verdict == "passed"
    assert judged(partial, "xy", "IN_ORDER", narrowing={"parallel": "any_order"}).verdict == "not_measured"


@pytest.mark.parametrize(
    ("made", "shares"),
    [((ONE, ONE), (0.5, 0.5)), ((ONE, None), (0.5, 1)), ((None, None), (0, 1)), ((None, ONE), (0.5, 0.5))],
)
@pytest.mark.parametrize("kind", ["EXACT", "IN_ORDER"])
def test_arguments_that_were_not_recorded_leave_bounds_of_a_share(
    kind: str, made: tuple[Any, Any], shares: tuple[float, float]
) -> None:
    path = Trajectory.of([with_args("a", args) for args in made])
    criteria = {"expected": [{"name": "a", "args": ONE}, {"name": "a", "args": TWO}]}

    assert bounds(judge("tool-trajectory", path, criteria, match_type=kind, partial_credit=True)) == shares


@pytest.mark.parametrize("graded", [False, True])
def test_a_path_of_which_nothing_is_expected_and_nothing_made_is_fully_right(graded: bool) -> None:
    for kind in MATCH_TYPES:
        result = judged(calls(), "", kind, partial_credit=graded)

        assert (result.verdict, result.score, result.warnings) == ("passed", 1.0, ())


@pytest.mark.parametrize("graded", [False, True])
def test_a_path_in_any_order_is_explained_by_what_is_missing_and_what_is_extra(graded: bool) -> None:
    found = {
        kind: [(each.code, each.tool) for each in judged(calls(*"xa"), "ab", kind, partial_credit=graded).findings]
        for kind in ("ANY_ORDER", "UNORDERED", "SUBSET")
    }

    assert found == {
        "ANY_ORDER": [("RC101", "b")],
        "UNORDERED": [("RC102", "x"), ("RC101", "b")],
        "SUBSET": [("RC102", "x")],
    }
