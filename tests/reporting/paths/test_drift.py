"""What changed between two sets of runs, and what is chance."""

from __future__ import annotations

from rightcall.reporting.paths import Feature, PathCounts, drift, overview
from rightcall.values.results import Verdict
from rightcall.values.trajectory import ToolCall, Trajectory


def counted(*runs: tuple[str, int], verdict: Verdict | None = None) -> PathCounts:
    counts = PathCounts()
    for names, number in runs:
        counts.add_route(tuple(names), [(verdict == each) * number for each in ("passed", "failed", None)])
    return counts


def test_a_tool_that_came_is_one_line_and_not_one_for_each_of_its_edges() -> None:
    found = drift(counted(("ab", 1_000)), counted(("ab", 950), ("abc", 50)))

    assert [(each.feature, each.before, each.after) for each in found.shifts] == [(Feature("tool", ("c",)), 0.0, 0.05)]


def test_the_same_runs_have_no_drift() -> None:
    found = drift(counted(("ab", 60), ("a", 40)), counted(("ab", 60), ("a", 40)))

    assert found.count == 0
    assert found.asked > 0


def test_a_change_of_less_than_a_point_is_no_line_however_sure_it_is() -> None:
    found = drift(counted(("a", 100_000)), counted(("a", 99_100), ("ab", 900)))

    assert found.shifts == ()


def test_one_run_that_loops_is_no_drift() -> None:
    before = counted(("ab", 200))
    after = counted(("ab", 199), ("a" + "b" * 500, 1))

    assert drift(before, after).shifts == ()


def test_errors_are_compared_by_runs() -> None:
    sides = []
    for failing in (10, 100):
        counts = PathCounts()
        for number in range(500):
            error = "down" if number < failing else None
            counts.add(Trajectory(calls=(ToolCall("pay", error=error),)))
        sides.append(counts)

    found = drift(sides[0], sides[1])

    assert [(each.feature, each.before, each.after) for each in found.shifts] == [
        (Feature("error", ("pay",)), 0.02, 0.2)
    ]


def test_runs_whose_calls_were_not_recorded_are_in_no_share() -> None:
    before, after = counted(("ab", 50)), counted(("ab", 50))
    for _ in range(50):
        after.add(Trajectory(calls_recorded=False))

    found = drift(before, after)

    assert (found.before, found.after, found.count) == (50, 50, 0)


def test_a_side_without_runs_has_no_drift() -> None:
    assert drift(counted(), counted(("a", 5))).count == 0


def timed(nanoseconds: int, runs: int = 200) -> PathCounts:
    counts = PathCounts()
    for number in range(runs):
        counts.add(Trajectory(calls=(ToolCall("t", start_ns=0, end_ns=nanoseconds + number),)))
    return counts


def test_a_slower_tool_is_told_with_its_median() -> None:
    [slower] = drift(timed(1_000_000), timed(2_000_000)).times

    assert (slower.tool, slower.before[0], slower.after[0]) == ("t", 1_000_099, 2_000_099)


def test_times_that_differ_by_less_than_a_tenth_are_the_same() -> None:
    assert drift(timed(1_000_000), timed(1_050_000)).times == ()
    assert drift(timed(1_000_000, 3), timed(9_000_000, 3)).times == ()


def test_passed_and_failed_runs_differ_in_what_only_failed_ones_do() -> None:
    counts = counted(("ab", 80), verdict="passed")
    counts.merge(counted(("acb", 40), ("ab", 40), verdict="failed"))

    found = overview(counts).differ

    assert [(each.feature, each.before, each.after) for each in found] == [(Feature("tool", ("c",)), 0.0, 0.5)]
