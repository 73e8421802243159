"""Durations as a person would say them."""

import pytest

from rightcall import ToolCall, Trajectory
from rightcall.reporting.reports import Paper, seconds_between, seconds_text, trajectory_lines

MS, SECOND = 10**6, 10**9


def took(nanoseconds: int) -> str:
    made = Trajectory.of([ToolCall("t", {}, None, start_ns=5, end_ns=5 + nanoseconds)])
    written = [line[0][0] for line in trajectory_lines(made, "x", Paper()) if line and isinstance(line[0], tuple)]
    [row] = [text.split() for text in written if text.startswith(" 1 ")]
    return row[2]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0ms"),
        (800, "0.8us"),
        (192_858, "0.19ms"),
        (9_990_000, "9.99ms"),
        (31 * MS, "31ms"),
        (1300 * MS, "1.30s"),
        (125 * SECOND, "2m05s"),
        (12_000 * SECOND, "3h20m"),
        (2**64, "213503d"),
        (-3 * MS, "-3.00ms"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(nanoseconds: int, text: str) -> None:
    assert took(nanoseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.5, "1.50s"),
        (0.0, "0ms"),
        (-3.0, "0ms"),
        (float("nan"), "0ms"),
        (float("inf"), "11574074d"),
        (1e300, "11574074d"),
    ],
)
def test_seconds_that_somebody_else_wrote_are_told_whatever_they_are(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [(0, 1_500_000_000, 1.5), (5, 5, 0.0), (9, 5, None), (None, 5, None), (5, None, None), (-(10**400), 10**400, 1e12)],
)
def test_the_time_between_any_two_times_can_be_calculated_with(
    begin: int | None, end: int | None, seconds: float | None
) -> None:
    assert seconds_between(begin, end) == seconds
