"""What a trace leaves open about the calls that criteria select: which they are, in which order, whether all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from math import factorial, prod
from typing import TypeAlias

import msgspec

from rightcall.values.results import Finding, missing_calls
from rightcall.values.trajectory import ToolCall, Trajectory, has_failed, is_suspected

from ._criteria import Criteria

Range: TypeAlias = tuple[int, int]
"""Neighbouring calls: the first, and one past the last."""

_NONE: frozenset[int] = frozenset()


class Doubts(msgspec.Struct, frozen=True):
    """The facts about selected calls that are not known. Indices and ranges are those of the selection."""

    members: frozenset[int] = _NONE
    """Calls of which the trace does not say whether the criteria are about them."""
    unordered: tuple[Range, ...] = ()
    """Ranges of calls of which the trace does not say in which order they were made."""
    groups: tuple[Range, ...] | None = None
    """The ranges in which order would not count if every group that is not recorded were the widest one possible;
    `None` where all groups are known."""
    missing: bool = False
    """Whether calls were made, or may have been, that the trace does not have."""
    reasons: tuple[Finding, ...] = ()
    """The same in words, a sentence each."""

    def at(self, indices: Sequence[int]) -> Doubts | None:
        """The doubts about these of the calls, given in ascending order."""
        members = frozenset([place for place, index in enumerate(indices) if index in self.members])
        unordered = wide(narrowed(self.unordered, indices))
        groups = None if self.groups is None else narrowed(self.groups, indices)
        if not (members or unordered or self.missing) and groups is None:
            return None
        return Doubts(members, unordered, groups, self.missing, self.reasons)


def membership(call: ToolCall, criteria: Criteria) -> bool | None:
    """Return whether criteria are about a call; `None` where the trace does not record what that depends on."""
    # What is recorded is asked first: it may rule a call out although something else was not recorded.
    if call.name in criteria.ignored or (criteria.top_level and call.parent_id is not None):
        return False
    if criteria.agent is not None and call.agent is not None and call.agent != criteria.agent:
        return False
    if criteria.turn is not None and call.turn is not None and call.turn != criteria.turn:
        return False
    counts = outcome_counts(call, criteria)
    if counts is False:
        return False
    unknown = (
        counts is None
        or (criteria.agent is not None and call.agent is None)
        or (criteria.top_level and "parent_id" in call.unrecorded)
        or (criteria.turn is not None and call.turn is None)
    )
    return None if unknown else True


def outcome_counts(call: ToolCall, criteria: Criteria) -> bool | None:
    """Return whether criteria are about a call, by what came of it; `None` where the trace does not say."""
    if criteria.failed == "count" or not criteria.selects_by_outcome:
        return True
    failed = has_failed(call)
    if failed is False or call.name in criteria.failing:
        return True
    return False if failed or (criteria.failed == "ignore_suspected" and is_suspected(call)) else None


def reasons_for(trajectory: Trajectory, criteria: Criteria, doubts: Doubts, calls: Sequence[ToolCall]) -> list[Finding]:
    """Why there are doubts, a finding for each kind of them."""
    reasons = []
    if criteria.agent is not None and (unknown := [call for call in calls if call.agent is None]):
        reasons.append(f"which agent made {_which(unknown)} was not recorded")
    if criteria.top_level and (unknown := [call for call in calls if "parent_id" in call.unrecorded]):
        reasons.append(f"whether a tool made {_which(unknown)} was not recorded")
    if criteria.turn is not None and (unknown := [call for call in calls if call.turn is None]):
        reasons.append(
            f"in which turn {_which(unknown)} {'was' if len(unknown) == 1 else 'were'} made was not recorded"
        )
    if unknown := [call for call in calls if outcome_counts(call, criteria) is None]:
        reasons.append(f"whether {_which(unknown)} failed was not recorded")
    if unknown := [calls[index] for index in sorted(doubts.members) if calls[index].internal is None]:
        kind = "is a tool or a hand-off" if len(unknown) == 1 else "are tools or hand-offs"
        reasons.append(f"whether {_which(unknown)} {kind} was not recorded")
    if doubts.unordered:
        first, end = doubts.unordered[0]
        reasons.append(f"in which order {_which(calls[first:end])} were made was not recorded")
    if doubts.groups is not None and criteria.parallel == "overlap" and any([call.end_ns is None for call in calls]):
        reasons.append("which calls ran at the same time was not recorded")
    elif doubts.groups is not None and criteria.parallel == "any_order" and any([call.group is None for call in calls]):
        reasons.append("which calls the model asked for at once was not recorded")
    found = [Finding("RC301", reason) for reason in reasons]
    return [*found, missing_calls(trajectory)] if doubts.missing else found


def _which(calls: Sequence[ToolCall]) -> str:
    names = list(dict.fromkeys([f"`{call.name[:80]}`" for call in calls]))
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:2])} and {len(names) - 2:,} more"


def narrowed(ranges: Sequence[Range], kept: Sequence[int]) -> tuple[Range, ...]:
    """The ranges in terms of those positions that are kept, which are in ascending order."""
    found = [(bisect_left(kept, first), bisect_left(kept, end)) for first, end in ranges]
    return tuple([(first, end) for first, end in found if end > first])


def wide(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges of two and more calls, those that overlap made one."""
    merged: list[Range] = []
    for first, end in sorted(ranges):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end - first > 1:
            merged.append((first, end))
    return tuple(merged)


def arrangements(size: int, doubts: Doubts, most: int) -> Iterator[list[int]] | None:
    """Every order and choice of calls that the doubts leave open, the recorded one first; none where they are too many.

    What a trace does not have at all cannot be listed.
    """
    # Both are cut off before they are multiplied: beyond `most` the exact number does not matter, and that of a few
    # thousand calls has thousands of digits.
    count = 2 ** min(len(doubts.members), 30) * prod(
        [factorial(min(end - first, 12)) for first, end in doubts.unordered]
    )
    if doubts.missing or count > most:
        return None
    return _arrangements(size, doubts)


def _arrangements(size: int, doubts: Doubts) -> Iterator[list[int]]:
    pieces: list[list[tuple[int, ...]]] = []
    position = 0
    for first, end in doubts.unordered:
        pieces += [[(index,)] for index in range(position, first)]
        pieces.append(list(permutations(range(first, end))))
        position = end
    pieces += [[(index,)] for index in range(position, size)]
    doubtful = sorted(doubts.members)
    left_out = [set(chosen) for count in range(len(doubtful) + 1) for chosen in combinations(doubtful, count)]
    # The recorded order with all calls comes first: results are explained by the first world.
    for order in product(*pieces):
        whole = list(chain.from_iterable(order))
        yield from ([index for index in whole if index not in left] for left in left_out)
