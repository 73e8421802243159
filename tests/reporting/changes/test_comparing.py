"""What changed between two runs, as data."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from rightcall import CaseResult, EvaluationResult, ToolCall, Trajectory
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reporting.changes import (
    ComparedCall,
    PathChange,
    compare,
    compared_calls,
    overview,
    path_changes,
    redacted_comparison,
    sides_of,
)
from rightcall.values.results import Difference, Source, Verdict


def path(*made: str | tuple[str, dict[str, Any]]) -> tuple[ComparedCall, ...]:
    return tuple([ComparedCall(call, {}) if isinstance(call, str) else ComparedCall(*call) for call in made])


def result(case_id: str, verdict: Verdict = "passed", *made: str, repeat: int = 0, line: int = 1) -> CaseResult:
    score = {"passed": 1.0, "failed": 0.0}.get(verdict)
    return CaseResult(
        case_id=case_id,
        verdict=verdict,
        score=score,
        source=Source("set.yaml", line, 1),
        repeat=repeat,
        results=(EvaluationResult(evaluator="order", verdict=verdict, score=score),),
        trajectory=None if verdict == "error" else Trajectory(calls=tuple([ToolCall(name, {}, 1) for name in made])),
    )


CHANGES = [
    pytest.param(path("a", "b"), path("a", "b"), [], id="nothing"),
    pytest.param(path("a", "b"), path("b", "a"), [PathChange("swapped", "a", "b")], id="swapped"),
    pytest.param(path("a"), path("a", "b", "b"), [PathChange("added", "b", times=2)], id="added twice"),
    pytest.param(path("a", "b"), path("b"), [PathChange("removed", "a")], id="removed"),
    pytest.param(path("a", "b", "c"), path("c", "a", "b"), [PathChange("earlier", "c", "a")], id="earlier"),
    pytest.param(path("a", "b", "c"), path("b", "c", "a"), [PathChange("later", "a", "c")], id="later"),
    pytest.param(
        path(("reserve", {"id": "P1", "quantity": 2})),
        path(("reserve", {"id": "P1", "quantity": 1})),
        [PathChange("arguments", "reserve", differences=(Difference("quantity", "2", "1"),))],
        id="an argument",
    ),
    pytest.param(
        path(("a", {"x": {"y": [1, {"z": 2}]}, "gone": 1})),
        path(("a", {"x": {"y": [1, {"z": 3}]}, "new": None})),
        [
            PathChange(
                "arguments",
                "a",
                differences=(
                    Difference("x.y[1].z", "2", "3"),
                    Difference("gone", "1", None),
                    Difference("new", None, "null"),
                ),
            )
        ],
        id="deep inside",
    ),
    pytest.param(
        path(("a", {"x": 1}), ("a", {"x": 2})),
        path(("a", {"x": 2})),
        [PathChange("removed", "a")],
        id="the equal one of two stays",
    ),
    pytest.param(path(("a", {"x": 1})), path(("a", {"x": 1.0})), [], id="1 is 1.0"),
    pytest.param(
        path(("a", {"x": True})),
        path(("a", {"x": 1})),
        [PathChange("arguments", "a", differences=(Difference("x", "true", "1"),))],
        id="true is not 1",
    ),
    pytest.param((ComparedCall("a"),), path(("a", {"x": 1})), [], id="not recorded is not changed"),
    pytest.param(
        path(("a", {"x": {"$regex": "("}})),
        path(("a", {"x": {"$regex": ")"}})),
        [PathChange("arguments", "a", differences=(Difference("x.$regex", '"("', '")"'),))],
        id="what looks like a matcher is data",
    ),
    pytest.param(
        path("search", "details", "inventory", "reserve"),
        path("search", "inventory", "details", "cart"),
        [PathChange("swapped", "details", "inventory"), PathChange("removed", "reserve"), PathChange("added", "cart")],
        id="all at once",
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_a_path_changes(
    before: tuple[ComparedCall, ...], after: tuple[ComparedCall, ...], expected: list[PathChange]
) -> None:
    assert list(path_changes(before, after)) == expected


PATHS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), max_size=8)


@given(PATHS, PATHS)
def test_what_came_and_went_makes_one_path_of_the_other(first: list[Any], second: list[Any]) -> None:
    before, after = (path(*[(name, {"v": value}) for name, value in made]) for made in (first, second))

    changes = path_changes(before, after)

    names = Counter(call.name for call in before)
    names.subtract({change.name: change.times for change in changes if change.kind == "removed"})
    names.update({change.name: change.times for change in changes if change.kind == "added"})
    assert +names == Counter(call.name for call in after)
    assert not {change.name for change in changes if change.kind == "removed"} & {
        change.name for change in changes if change.kind == "added"
    }
    assert (not changes) == (before == after)


def test_calls_whose_order_is_not_settled_have_not_changed_places() -> None:
    one = Trajectory(calls=(ToolCall("a", {}, 1), ToolCall("b", {}, 1)), unordered=((0, 2),))
    other = Trajectory(calls=(ToolCall("b", {}, 1), ToolCall("a", {}, 1)), unordered=((0, 2),))

    assert path_changes(compared_calls(one), compared_calls(other)) == ()


def test_a_path_beyond_the_limit_is_compared_by_counts() -> None:
    long = path("a") * (DEFAULT_LIMITS.aligned_calls + 1)

    assert path_changes(long, path("b")) == (PathChange("removed", "a", times=len(long)), PathChange("added", "b"))


def test_flips_come_first_and_cases_as_before_are_left_out() -> None:
    before = [
        result("same", "passed", "a", line=1),
        result("drifted", "passed", "a", line=2),
        result("fixed", "failed", "a", line=3),
        result("broken", "passed", "a", line=4),
        result("lost", "not_measured", line=5),
        result("gone", line=6),
    ]
    after = [
        result("same", "passed", "a", line=1),
        result("drifted", "passed", "a", "b", line=2),
        result("fixed", "passed", "a", line=3),
        result("broken", "failed", "a", line=4),
        result("lost", "error", line=5),
        result("new", line=6),
    ]

    comparison = compare(sides_of(before), sides_of(after))

    assert [(change.kind, change.case_id) for change in comparison.cases] == [
        ("worse", "broken"),
        ("better", "fixed"),
        ("other", "lost"),
        ("drifted", "drifted"),
        ("only_before", "gone"),
        ("only_after", "new"),
    ]
    assert [change.is_flip for change in comparison.cases] == [True, True, True, False, False, False]
    assert comparison.same == 1


def test_repeats_are_one_case_with_its_gravest_verdict_and_the_path_of_that_repeat() -> None:
    [side] = sides_of([result("a", "passed", "x"), result("a", "failed", "y", repeat=1)]).values()

    assert (side.verdict, side.score, side.path) == ("failed", 0.5, path("y"))


def test_repeats_that_may_fail_do_not_flip_a_case() -> None:
    [side] = sides_of([result("a", "failed", "y"), result("a", "passed", "x", repeat=1)], needed=1).values()

    assert (side.verdict, side.path) == ("passed", path("x"))


def test_what_broke_has_neither_score_nor_calls_in_the_totals() -> None:
    seen = overview(sides_of([result("a", "passed", "x", "y"), result("b", "error")]))

    assert (seen.cases, seen.passed, seen.scores, seen.calls) == (2, 1, {"order": 1.0}, 2.0)


def test_calls_a_case_are_the_mean_of_all_repeats() -> None:
    seen = overview(sides_of([result("a", "passed", "x"), result("a", "passed", "x", "y", "z", repeat=1)]))

    assert seen.calls == 2.0


def called(*calls: ToolCall, verdict: Verdict = "passed", **known: Any) -> list[CaseResult]:
    return [msgspec.structs.replace(result("one", verdict), trajectory=Trajectory(calls=calls, **known))]


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        ((), ("pay.key", "search.key", "search.n")),
        (("key",), ("search.n",)),
        (("pay.key",), ("search.key", "search.n")),
        (("n", "search.key", "pay.key"), None),
        (("ke", "pay", "pay.", ".key", "other.key"), ("pay.key", "search.key", "search.n")),
    ],
)
def test_ignored_arguments_are_not_compared(ignored: tuple[str, ...], left: tuple[str, ...] | None) -> None:
    before = called(ToolCall("search", {"key": 1, "n": {"of": [1]}}), ToolCall("pay", {"key": {"a": 1}}))
    after = called(ToolCall("search", {"key": 2, "n": {"of": [2]}}), ToolCall("pay", {"key": {"a": 2}}))

    comparison = compare(sides_of(before, ignored=ignored), sides_of(after, ignored=ignored))

    assert [change.other_arguments for change in comparison.cases] == ([] if left is None else [left])
    assert comparison.same == (left is None)


def test_an_argument_that_only_one_side_has_can_be_ignored() -> None:
    before, after = called(ToolCall("a", {"x": 1})), called(ToolCall("a", {"x": 1, "key": 2}))

    assert compare(sides_of(before), sides_of(after)).cases[0].other_arguments == ("a.key",)
    assert not compare(sides_of(before, ignored=["a.key"]), sides_of(after, ignored=["a.key"])).cases


def test_names_with_dots_are_the_longest_that_fits() -> None:
    before, after = [called(ToolCall("a.b", {"x": 1, "x.y": {"z": n}})) for n in (1, 2)]

    [change] = compare(sides_of(before), sides_of(after)).cases

    assert change.other_arguments == ("a.b.x.y",)
    assert not compare(*[sides_of(each, ignored=change.other_arguments) for each in (before, after)]).cases


def test_other_arguments_beside_another_call_are_not_all_that_changed() -> None:
    before, after = called(ToolCall("a", {"x": 1})), called(ToolCall("a", {"x": 2}), ToolCall("b", {}))

    assert compare(sides_of(before), sides_of(after)).cases[0].other_arguments == ()


def test_ignored_arguments_leave_verdicts_as_they_are() -> None:
    before, after = called(ToolCall("a", {"x": 1})), called(ToolCall("a", {"x": 2}), verdict="failed")

    [change] = compare(sides_of(before, ignored=["x"]), sides_of(after, ignored=["x"])).cases

    assert (change.kind, change.path) == ("worse", ())


def test_ignored_arguments_do_not_order_calls_without_an_order() -> None:
    """Generated ids sort at random, and the calls would seem to have changed places."""
    calls = [
        [ToolCall("a", {"id": 1, "n": 1}), ToolCall("a", {"id": 2, "n": 2})],
        [ToolCall("a", {"id": 4, "n": 1}), ToolCall("a", {"id": 3, "n": 2})],
    ]
    before, after = [called(*each, unordered=((0, 2),)) for each in calls]

    assert not compare(sides_of(before, ignored=["id"]), sides_of(after, ignored=["id"])).cases


def test_a_secret_in_an_ignored_argument_is_hidden_elsewhere() -> None:
    before, after = [called(ToolCall("a", {"password": "correct horse", "note": f"{n} correct horse"})) for n in (1, 2)]

    changed = redacted_comparison(compare(*[sides_of(each, ignored=["password"]) for each in (before, after)]))

    [difference] = changed.cases[0].path[0].differences
    assert difference.path == "note"
    assert "horse" not in repr(difference)
