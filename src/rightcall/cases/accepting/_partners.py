"""Which observed call takes the place of which expected one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from rightcall.matching.alignment import Row, maximum_pairing, related_subsequence


class Partners(msgspec.Struct, frozen=True):
    """For each expected call, the observed one that satisfies it, or else one of the same tool."""

    satisfying: dict[int, int]
    of_same_tool: dict[int, int]
    in_sequence: list[tuple[int, int]] = []
    """Those of the satisfying pairs that are in the same order on both sides."""

    def expected_by_actual(self) -> dict[int, int]:
        """The same, the other way round."""
        return {actual: expected for expected, actual in (self.of_same_tool | self.satisfying).items()}

    @property
    def paired(self) -> dict[int, int]:
        """Both kinds."""
        return self.of_same_tool | self.satisfying


def find_partners(rows: Sequence[Row], expected: Sequence[str], actual: Sequence[str], *, ordered: bool) -> Partners:
    """The partners of expected calls, given by name; `rows` has the observed calls that satisfy each of them.

    Where the order counts, as many pairs as can be are in the same order on both sides.
    """
    in_sequence = related_subsequence(rows, len(actual)) if ordered else []
    taken = {position for _, position in in_sequence}
    done = {number for number, _ in in_sequence}
    left = [
        () if number in done else [position for position in row if position not in taken]
        for number, row in enumerate(rows)
    ]
    others = {number: position for number, position in enumerate(maximum_pairing(left)) if position >= 0}
    satisfying = dict(in_sequence) | others
    used, waiting = set(satisfying.values()), defaultdict[str, deque[int]](deque)
    for position, name in enumerate(actual):
        if position not in used:
            waiting[name].append(position)
    of_same_tool = {
        number: waiting[name].popleft()
        for number, name in enumerate(expected)
        if number not in satisfying and waiting[name]
    }
    return Partners(satisfying, of_same_tool, in_sequence)


def wanted_in_order(partners: Partners, expected: int, actual: int) -> list[int]:
    """The observed calls to be expected where others in between are allowed, in order.

    They are the partners and, where an expected call has none, those that were made in its place instead.
    """
    wanted = set(partners.paired.values())
    fences = [(-1, -1), *partners.in_sequence, (expected, actual)]
    for (before, first), (after, end) in pairwise(fences):
        if any(number not in partners.paired for number in range(before + 1, after)):
            wanted.update(range(first + 1, end))
    return sorted(wanted)
