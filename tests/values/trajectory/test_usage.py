"""What a run took."""

import pytest

from rightcall import Trajectory
from rightcall.values.trajectory import Usage, summed_usage


def test_all_tokens_are_known_where_both_kinds_are() -> None:
    assert Usage(input_tokens=3, output_tokens=4).total_tokens == 7
    assert Usage(input_tokens=3).total_tokens is None


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ([Usage(duration_ns=1, input_tokens=2), Usage(duration_ns=3, input_tokens=4)], (4, 6, None)),
        ([Usage(duration_ns=1, input_tokens=2, output_tokens=1), Usage(duration_ns=3)], (4, None, None)),
        ([Usage(output_tokens=0)], (None, None, 0)),
    ],
    ids=str,
)
def test_parts_are_added_up_as_far_as_all_are_known(parts: list[Usage], total: tuple[int | None, ...]) -> None:
    summed = summed_usage(parts)

    assert summed is not None
    assert (summed.duration_ns, summed.input_tokens, summed.output_tokens) == total


def test_nothing_known_of_any_part_is_nothing_known() -> None:
    assert summed_usage([]) is None
    assert summed_usage([Usage(duration_ns=5), None]) is None


def test_a_trajectory_knows_what_its_run_took() -> None:
    used = Usage(duration_ns=5)

    assert Trajectory.of(["a"], usage=used).usage == used
    assert Trajectory.of(["a"]).usage is None
