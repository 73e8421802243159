"""Traces that belong together stand under the smallest of them, in whatever order they come."""

from __future__ import annotations

from hypothesis import given, strategies as st

from rightcall.scale.lake._fragments import United

_PAIRS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("123456")))


@given(pairs=_PAIRS)
def test_the_smallest_trace_stands_for_all_that_a_conversation_leads_to(
    pairs: list[tuple[str, str]],
) -> None:
    united = United()

    united.add(pairs)

    assert {trace: united.top(trace) for trace in "abcdefgh"} == {
        trace: _smallest(trace, pairs) for trace in "abcdefgh"
    }


@given(pairs=_PAIRS)
def test_the_order_in_which_traces_come_makes_no_difference(pairs: list[tuple[str, str]]) -> None:
    forward, backward = United(), United()

    forward.add(pairs)
    backward.add(reversed(pairs))

    assert [forward.top(trace) for trace in "abcdefgh"] == [backward.top(trace) for trace in "abcdefgh"]


def _smallest(trace: str, pairs: list[tuple[str, str]]) -> str:
    """The smallest trace that can be reached: a walk over all pairs until nothing is added."""
    reached = {trace}
    while True:
        groups = {group for each, group in pairs if each in reached}
        more = reached | {each for each, group in pairs if group in groups}
        if more == reached:
            return min(reached)
        reached = more
