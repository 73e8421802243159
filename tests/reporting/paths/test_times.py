"""Times of calls: exact up to a limit, within half a percent beyond it."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from rightcall.reporting.paths import Durations

TIMES = st.lists(st.integers(0, 10**12), min_size=1, max_size=30)


@given(times=TIMES, cut=st.integers(0, 30))
def test_percentiles_are_those_of_the_sorted_list(times: list[int], cut: int) -> None:
    held, other = Durations(), Durations()
    held.add_all("t", times[:cut])
    other.add_all("t", times[cut:])
    held.merge(other)

    ordered = sorted(times)

    assert held.of("t").percentile(0.5) == ordered[(len(ordered) + 1) // 2 - 1]
    assert held.of("t").percentile(1.0) == ordered[-1]


@example(times=[0, 126, 126, 126], cut=0)
@given(times=TIMES, cut=st.integers(0, 30))
def test_beyond_the_limit_they_are_classes_that_do_not_depend_on_the_cut(times: list[int], cut: int) -> None:
    whole, held, other = Durations(3), Durations(3), Durations(3)
    whole.add_all("t", times)
    held.add_all("t", times[:cut])
    other.add_all("t", times[cut:])
    held.merge(Durations.from_plain(other.to_plain()))

    assert held.to_plain() == whole.to_plain()
    found, median = whole.of("t").percentile(0.5), sorted(times)[(len(times) + 1) // 2 - 1]
    # Half a percent, and what is rounded to whole nanoseconds.
    assert found is not None
    assert abs(found - median) <= 0.005 * median + 0.5


def test_a_clock_that_ran_backwards_gives_no_time() -> None:
    times = Durations()
    times.add("t", -5)

    assert times.of("t").percentile(0.5) is None


def test_the_interval_of_a_median_is_wide_where_few_runs_tell() -> None:
    times = Durations()
    times.add_all("t", range(1, 1_001))

    many, few = times.of("t").median_interval(1_000, 0.95), times.of("t").median_interval(25, 0.95)

    assert many is not None
    assert few is not None
    assert many == (469, 532)
    assert few[0] < many[0] < many[1] < few[1]
    assert times.of("t").median_interval(3, 0.95) is None
