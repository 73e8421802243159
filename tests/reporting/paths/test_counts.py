"""Counts of paths: laws that hold for any runs in any order, and what a path is."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, strategies as st

from rightcall.reporting.paths import Feature, PathCounts, Paths, overview, route_text
from rightcall.values.results import Verdict
from rightcall.values.trajectory import ToolCall, Trajectory

Run = tuple[list[str], Verdict | None, bool]
_VERDICTS: tuple[Verdict | None, ...] = ("passed", "failed", "error", "not_measured", None)
RUNS = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), max_size=5), st.sampled_from(_VERDICTS), st.booleans()), max_size=12
)


def trajectory(names: list[str], recorded: bool = True) -> Trajectory:
    calls = [
        ToolCall(name, {"n": place % 2}, start_ns=place, end_ns=2 * place, error="no" if name == "b" else None)
        for place, name in enumerate(names)
    ]
    return Trajectory(calls=tuple(calls), calls_recorded=recorded)


def counted(runs: list[Run], **options: bool | int) -> PathCounts:
    counts = PathCounts(**options)  # type: ignore[arg-type]
    for names, verdict, recorded in runs:
        counts.add(trajectory(names, recorded), verdict)
    return counts


@given(runs=RUNS, cuts=st.lists(st.integers(0, 12), max_size=3), most=st.sampled_from([2, 1_000]))
def test_parts_merged_in_any_cut_are_the_whole(runs: list[Run], cuts: list[int], most: int) -> None:
    whole = counted(runs, most=most)
    merged = PathCounts(most=most)
    for begin, end in pairwise([0, *sorted(cuts), len(runs)]):
        part = counted(runs[begin:end], most=most)
        merged.merge(PathCounts.from_plain(part.to_plain()))

    assert merged.to_plain() == whole.to_plain()
    assert overview(merged) == overview(whole)


@given(runs=RUNS)
def test_edges_and_runs_add_up(runs: list[Run]) -> None:
    paths = overview(counted(runs))
    recorded = paths.ended.runs - paths.unrecorded
    empty = sum([path.ended.runs for path in paths.paths if path.calls == ()])

    for tool in paths.tools:
        out = sum([edge.ended.runs for edge in paths.edges if edge.before == tool.name])
        into = sum([edge.ended.runs for edge in paths.edges if edge.after == tool.name])
        assert out >= tool.ended.runs
        assert into >= tool.ended.runs
    assert sum([edge.ended.runs for edge in paths.edges if edge.before is None]) == recorded - empty
    assert sum([edge.ended.runs for edge in paths.edges if edge.after is None]) == recorded - empty


@given(runs=RUNS)
def test_figures_are_those_of_counting_run_by_run(runs: list[Run]) -> None:
    paths = overview(counted(runs))
    made = [(tuple(names), verdict) for names, verdict, recorded in runs if recorded]

    assert {path.calls: path.ended.runs for path in paths.paths if path.calls is not None} == Counter(
        [names for names, _ in made]
    )
    for tool in paths.tools:
        assert tool.ended.runs == sum([tool.name in names for names, _ in made])
        assert tool.ended.passed == sum([tool.name in names and verdict == "passed" for names, verdict in made])
        assert tool.calls == sum([names.count(tool.name) for names, _ in made])
        assert tool.facts.errors == (tool.calls if tool.name == "b" else 0)
    for edge in paths.edges:
        if edge.before and edge.after:
            assert edge.ended.runs == sum([(edge.before, edge.after) in set(pairwise(names)) for names, _ in made])


def figures(paths: Paths) -> object:
    """Everything but the texts of calls."""
    paths_taken = [(None if path.calls is None else len(path.calls), path.ended) for path in paths.paths]
    edges = sorted([(edge.ended.runs, edge.calls) for edge in paths.edges])
    return paths.ended, paths_taken, edges, [(tool.name, tool.ended, tool.calls) for tool in paths.tools]


def test_redaction_changes_no_figure_and_shows_no_secret() -> None:
    keys = ["sk-" + letter * 40 for letter in "abc"]
    runs = [Trajectory(calls=(ToolCall("log_in", {"api_key": key}),)) for key in keys]
    shown = {}
    for redacts in (True, False):
        counts = PathCounts(with_args=True, redacts=redacts)
        for run in runs:
            counts.add(run, "passed")
        shown[redacts] = overview(counts, redacts=redacts)

    assert figures(shown[True]) == figures(shown[False])
    assert len(shown[True].paths) == 3
    assert not any(key in str(shown[True].labels.values()) for key in keys)


def test_calls_that_were_not_recorded_are_a_path_of_their_own() -> None:
    paths = overview(counted([(["a"], "passed", False), ([], "passed", True)]))

    assert [route_text(path.calls, paths.labels) for path in paths.paths] == [
        "(no calls)",
        "(calls were not recorded)",
    ]
    assert (paths.ended.runs, paths.unrecorded, paths.mean_calls) == (2, 1, 0.0)


def test_arguments_tell_calls_apart_whatever_the_order_of_their_keys() -> None:
    counts = PathCounts(with_args=True)
    for args in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 2}):
        counts.add(Trajectory(calls=(ToolCall("t", args),)))

    paths = overview(counts)

    assert [(route_text(path.calls, paths.labels), path.ended.runs) for path in paths.paths] == [
        ("t(a=1, b=2)", 2),
        ("t(a=2, b=2)", 1),
    ]
    assert [(tool.name, tool.ended.runs) for tool in paths.tools] == [("t", 3)]


def test_repeats_of_one_name_above_three_are_counted_in_the_text() -> None:
    assert route_text(("a", "a", "a", "b", "b", "b", "b"), {}) == "a → a → a → b ×4"


def test_errors_count_results_that_read_like_one_and_leave_unknown_outcomes_out() -> None:
    calls = (
        ToolCall("t", {}, "Error: no seat", suspected_error=True, source="span"),
        ToolCall("t", {}, "ok", source="span"),
        ToolCall("t", {}, source="span"),
    )
    counts = PathCounts()
    counts.add(Trajectory(calls=calls))

    [tool] = overview(counts).tools

    assert (tool.facts.errors, tool.facts.suspected, tool.facts.unknown) == (1, 1, 1)
    assert tool.error_share == 0.5
    assert (tool.facts.error_runs, tool.facts.retry_runs) == (1, 1)


def test_beyond_the_limit_there_are_tools_and_no_list_of_paths() -> None:
    paths = overview(counted([(["a", *"b" * number], "passed", True) for number in range(9)], most=5))

    assert (paths.is_listed, paths.paths) == (False, ())
    assert [(tool.name, tool.ended.runs) for tool in paths.tools] == [("a", 9), ("b", 8)]


def test_a_path_has_each_feature_once() -> None:
    totalled = counted([(list("aabaaa"), None, True)]).totalled()

    assert totalled.features[Feature("often", ("a",))] == [0, 0, 1]
    assert totalled.features[Feature("follows", ("a", "a"))] == [0, 0, 1]
    assert totalled.edge_calls["a", "a"] == 3
