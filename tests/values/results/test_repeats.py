"""What several runs of one case come to."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from rightcall.values.results import CaseRepeats, Tally, Verdict, worst

VERDICTS: tuple[Verdict, ...] = ("passed", "failed", "not_measured", "error")


def tallied(verdicts: list[Verdict], needed: int | None = None) -> Verdict:
    tally = Tally(needed)
    for verdict in verdicts:
        tally.count("a", verdict)
    return tally.verdict("a")


def every_outcome(verdicts: list[Verdict], needed: int | None) -> set[bool]:
    """Whether the case passes, for every way in which the repeats that are unknown could have ended."""
    unknown = [index for index, verdict in enumerate(verdicts) if verdict in ("error", "not_measured")]
    outcomes = set()
    for ends in product((True, False), repeat=len(unknown)):
        passed = [verdict == "passed" for verdict in verdicts]
        for index, end in zip(unknown, ends, strict=True):
            passed[index] = end
        outcomes.add(sum(passed) >= (len(verdicts) if needed is None else needed))
    return outcomes


@pytest.mark.parametrize(
    ("verdicts", "needed", "expected"),
    [
        (["passed", "failed", "error"], None, "failed"),
        (["passed", "error"], None, "error"),
        (["passed", "error", "not_measured"], None, "error"),
        (["passed", "failed"], 1, "passed"),
        (["passed", "failed", "error"], 2, "error"),
        (["failed", "failed", "error"], 2, "failed"),
        (["passed", "passed", "error"], 2, "error"),
    ],
    ids=str,
)
def test_a_failure_stands_unless_what_is_unknown_could_have_made_up_for_it(
    verdicts: list[Verdict], needed: int | None, expected: Verdict
) -> None:
    assert tallied(verdicts, needed) == expected


@given(verdicts=st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=6), needed=st.none() | st.integers(1, 6))
def test_a_case_fails_just_when_it_fails_however_unknown_repeats_had_ended(
    verdicts: list[Verdict], needed: int | None
) -> None:
    verdict = tallied(verdicts, needed)

    assert (verdict == "failed") == (every_outcome(verdicts, needed) == {False})
    if verdict == "passed":
        assert every_outcome(verdicts, needed) == {True}


def test_a_failure_comes_before_an_error_and_that_before_what_was_not_measured() -> None:
    assert worst(VERDICTS) == "failed"
    assert worst(["passed", "not_measured", "error"]) == "error"
    assert worst(["passed", "not_measured"]) == "not_measured"
    assert worst([]) == "passed"


@given(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=5), st.integers(1, 6), st.integers(0, 4))
def test_a_case_is_lost_when_no_way_to_end_passes(verdicts: list[Verdict], needed: int, left: int) -> None:
    tally = Tally(needed)
    for repeat, verdict in enumerate(verdicts):
        tally.count("a", verdict, repeat)
    ends = [tallied([*verdicts, *rest], needed) for rest in product(VERDICTS, repeat=left)]

    assert tally.is_lost("a", len(verdicts) + left) == ("passed" not in ends)


def test_repeats_are_told_in_their_order() -> None:
    tally = Tally(1)
    tally.count("a", "failed", 2)
    tally.count("a", "passed", 0)
    tally.count("a", "error", 1)

    assert tally.repeats()["a"] == CaseRepeats("error", ("passed", "error", "failed"), 1)


def test_cases_without_repeats_have_none_to_tell() -> None:
    tally = Tally()
    tally.count("a", "failed")
    tally.count("b", "passed")

    assert tally.repeats() == {}
