"""The turns of a conversation: what is expected of each, and which calls were made in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from itertools import product

import msgspec

from rightcall.judging.core import Doubts, Selection
from rightcall.matching.matchers import ArgsPolicy, ExpectedCalls

from ._group_scores import ReadingRule
from ._match_types import ALLOWS_EXTRAS, MatchType

_MOST_WORLDS = 256
"""Choices of turns for calls without one, up to which every one of them is judged."""


class TrajectoryPlan(msgspec.Struct, frozen=True):
    """The expected calls of each turn, compiled, and the rule they are held to."""

    turns: list[ExpectedCalls]
    by_turn: bool
    match_type: MatchType
    args_match: ArgsPolicy
    names: Set[str]
    size: int
    """How many calls are expected in all turns."""
    spends: bool
    reads: ReadingRule | None = None
    """How the best reading is scored, where the expected calls have groups; none where they are a plain list."""

    @property
    def allows_extras(self) -> bool:
        """Whether calls are allowed that are not expected."""
        return self.match_type in ALLOWS_EXTRAS if self.reads is None else self.reads.allows_extras


class Turn(msgspec.Struct, frozen=True):
    """One turn of a conversation: what was expected of it, and the calls made in it."""

    number: int
    expected: ExpectedCalls
    selection: Selection


def has_unknown_turns(selection: Selection, plan: TrajectoryPlan) -> bool:
    """Whether it matters that some calls have no turn: with one turn expected, and none recorded, all are its calls."""
    unknown = [call.turn is None for call in selection.calls]
    inputs = selection.trajectory.turn_inputs if selection.trajectory is not None else ()
    if max(len(plan.turns), len(selection.turn_outputs), len(inputs)) > 1:
        return any(unknown)
    return any(unknown) and not all([call.turn is None and "turn" not in call.unrecorded for call in selection.calls])


def by_turn(selection: Selection, plan: TrajectoryPlan) -> list[Turn]:
    """The expected turns and, where extra calls are not allowed, those beyond them in which calls were made."""
    return _turns(selection, plan, [call.turn or 0 for call in selection.calls])


def in_every_turn(selection: Selection, plan: TrajectoryPlan) -> Iterator[Selection] | None:
    """The selection with every choice of turns for calls without one; none where there are too many of them."""
    unknown = [index for index, call in enumerate(selection.calls) if call.turn is None]
    known = [call.turn for call in selection.calls if call.turn is not None]
    # A call may also belong to a turn that nothing is known of; each of them to one of its own.
    last = max([len(plan.turns) - 1, *known])
    choices = 1 + last + (1 if plan.allows_extras else len(unknown))
    if selection.doubts is not None or choices ** min(len(unknown), 30) > _MOST_WORLDS:
        return None
    return (_placed(selection, unknown, turns) for turns in product(range(choices), repeat=len(unknown)))


def with_doubtful_calls(selection: Selection, plan: TrajectoryPlan) -> list[Turn]:
    """The turns, each with all calls that may have been made in it."""
    turns = []
    for number, expected in enumerate(plan.turns):
        indices = [index for index, call in enumerate(selection.calls) if call.turn is None or call.turn == number]
        held = selection.only(indices)
        unknown = [place for place, call in enumerate(held.calls) if call.turn is None]
        doubts = held.doubts or Doubts()
        members = doubts.members.union(unknown)
        turns.append(
            Turn(
                number,
                expected,
                msgspec.structs.replace(held, doubts=msgspec.structs.replace(doubts, members=members)),
            )
        )
    return [*turns, *_beyond(selection, plan, [call.turn for call in selection.calls])]


def mean(scores: Sequence[float]) -> float:
    """The mean of scores."""
    # Exactly: three times 0.7 makes a mean of 0.7, and not a little less.
    return float(sum(map(Fraction, scores)) / len(scores))


def _placed(selection: Selection, unknown: Sequence[int], turns: Sequence[int]) -> Selection:
    calls = list(selection.calls)
    for index, turn in zip(unknown, turns, strict=True):
        calls[index] = msgspec.structs.replace(calls[index], turn=turn, unrecorded=calls[index].unrecorded - {"turn"})
    return msgspec.structs.replace(selection, calls=calls)


def _turns(selection: Selection, plan: TrajectoryPlan, numbers: Sequence[int]) -> list[Turn]:
    indices: dict[int, list[int]] = {number: [] for number in range(len(plan.turns))}
    for index, number in enumerate(numbers):
        indices.setdefault(number, []).append(index)
    turns = [Turn(number, calls, selection.only(indices[number])) for number, calls in enumerate(plan.turns)]
    return [*turns, *_beyond(selection, plan, numbers)]


def _beyond(selection: Selection, plan: TrajectoryPlan, numbers: Sequence[int | None]) -> list[Turn]:
    """The turns beyond the expected ones in which calls were made, where extra calls are not allowed."""
    if plan.allows_extras:
        return []
    indices: dict[int, list[int]] = {}
    for index, number in enumerate(numbers):
        if number is not None and number >= len(plan.turns):
            indices.setdefault(number, []).append(index)
    return [Turn(number, ExpectedCalls([]), selection.only(indices[number])) for number in sorted(indices)]
