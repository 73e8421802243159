"""Where the runs of a case part."""

from rightcall.reporting.paths import CasePaths, Walk, case_paths, partings
from rightcall.values.results import CaseResult, Finding, PlacedFinding, Source
from rightcall.values.trajectory import ToolCall, Trajectory

PLACE = Source("e.yaml", 1, 1)


def result(repeat: int, passed: bool, *calls: object, message: str = "") -> CaseResult:
    found = (PlacedFinding("calls", Finding("RC101", message), PLACE),) if message else ()
    return CaseResult(
        case_id="two",
        verdict="passed" if passed else "failed",
        score=float(passed),
        source=PLACE,
        trajectory=Trajectory.of(calls),  # type: ignore[arg-type]
        findings=found,
        repeat=repeat,
    )


def parted(*results: CaseResult) -> CasePaths:
    return case_paths("two", results)


def test_the_call_that_separates_passes_from_failures_is_named() -> None:
    found = parted(
        *[result(number, True, "search", {"name": "reserve", "args": {"quantity": 1}}) for number in range(3)],
        *[result(3 + n, False, "search", {"name": "reserve", "args": {"quantity": 2}}, message="2") for n in range(2)],
        result(5, False, "search", message="never called"),
    )

    parting = found.partings[0]

    assert parting.after == ("search()",)
    assert parting.by_arguments
    assert [(branch.call, branch.runs, branch.passed, branch.reason) for branch in parting.branches] == [
        ("reserve(quantity=1)", 3, 3, ""),
        ("reserve(quantity=2)", 2, 0, "RC101 2"),
        (None, 1, 0, "RC101 never called"),
    ]


def test_names_are_enough_where_arguments_tell_no_more() -> None:
    found = parted(
        result(0, True, {"name": "search", "args": {"q": 1}}, "book"),
        result(1, False, {"name": "search", "args": {"q": 1}}),
    )

    assert found.paths == 2
    assert not found.partings[0].by_arguments
    assert found.partings[0].after == ("search",)


def test_a_branch_names_the_repeats_that_took_it() -> None:
    found = parted(result(0, True, "a"), result(1, False, "b"), result(2, True, "a"))

    assert [branch.repeats for branch in found.partings[0].branches] == [(0, 2), (1,)]


def test_runs_that_make_the_same_calls_do_not_part() -> None:
    found = parted(result(0, True, "a"), result(1, False, "a"))

    assert (found.paths, found.partings) == (1, ())


def test_calls_whose_order_was_not_recorded_are_one_path_and_hand_offs_are_none() -> None:
    calls = (ToolCall("b"), ToolCall("a"), ToolCall("hand_off", internal=True))
    turned = Trajectory(calls=(calls[1], calls[0], calls[2]), unordered=((0, 2),))
    results = [result(0, True, "a"), result(1, True, "a")]
    results = [
        CaseResult(case_id="two", verdict="passed", score=1.0, source=PLACE, trajectory=each, repeat=repeat)
        for repeat, each in enumerate([Trajectory(calls=calls, unordered=((0, 2),)), turned])
    ]

    assert case_paths("two", results).paths == 1


def test_without_verdicts_the_place_is_named_where_most_runs_leave_the_commonest_path() -> None:
    walks = [
        Walk(("a", "b", "c"), unjudged=5),
        Walk(("a", "x"), unjudged=1),
        Walk(("a", "b", "y"), unjudged=2),
        Walk(("a", "b"), unjudged=2),
    ]

    parting = partings(walks)[0][1]

    assert parting.after == ("a", "b")
    assert [(branch.call, branch.runs) for branch in parting.branches] == [("c", 5), ("y", 2), (None, 2)]


def test_a_path_of_many_calls_needs_no_stack() -> None:
    long = ("a",) * 5_000

    parting = partings([Walk((*long, "b"), passed=1), Walk((*long, "c"), failed=1)])[0][1]

    assert len(parting.after) == 5_000
