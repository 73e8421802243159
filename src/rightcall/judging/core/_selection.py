"""Criteria, which select the calls that an evaluator looks at, and what the trace leaves open about these calls."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain, combinations, permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from rightcall.limits import Limits
from rightcall.matching import alignment
from rightcall.matching.matchers import CallMoment, tool_names
from rightcall.values.results import Finding, missing_calls
from rightcall.values.trajectory import ToolCall, Trajectory, Usage, has_failed, is_suspected

from ._expected_calls import AgentName, ToolName
from ._user_model import Bounds, UserModel

if TYPE_CHECKING:
    from rightcall.matching.alignment import Row


# `alignment` itself is loaded when calls are arranged: most runs are in the expected order as they were recorded.

_MOST_WORLDS = 256
"""The most ways to fill in what a trace leaves open that are all judged."""
_MOST_CALLS = 1_000_000
"""The most calls in all these ways together."""
Range: TypeAlias = tuple[int, int]
"""Neighbouring calls: the first, and one past the last."""

_NONE: frozenset[int] = frozenset()


Parallel: TypeAlias = Literal["in_order", "recorded", "any_order", "overlap"]
"""Which calls have no order: none, those of one recorded group, those of one group, those that ran at once."""


Failed: TypeAlias = Literal["count", "ignore", "ignore_suspected"]
"""What to do with calls that failed: they count, or are left out, with or without those that may have failed."""


class Criteria(UserModel):
    """The expectation of an evaluator. Every kind of criteria can narrow down the calls it is about."""

    lists_calls: ClassVar[tuple[str, ...]] = ()
    """The keys that list expected calls, or their names; in `expected_turns` a list for each turn."""
    names_tools: ClassVar[str | None] = None
    """A key whose tools are not a list of expected calls, such as `never`."""
    takes_ids: ClassVar[bool] = True
    """Whether its expected tools may have ids: false if they are names alone."""
    selects_by_outcome: ClassVar[bool] = True
    """Whether `failed` applies to all calls, so that failed ones are left out before anything is judged."""
    goes_by_order: ClassVar[bool] = False
    """Whether it is compared what came right after what, and not with an expected order."""

    ignore_tools: tuple[ToolName, ...] = ()
    """Names of tools whose calls are left out."""
    agent: AgentName | None = None
    """Only this agent's calls count."""
    failed: Failed = "count"
    """Whether calls that failed count: `ignore` leaves them out, unless they are expected to fail.

    A call whose result only reads like an error may have failed. `ignore_suspected` leaves it out, too.
    """
    wildcards: bool = False
    """Whether `*` in the name of a tool stands for any characters. Without it, a `*` is a mistake."""
    top_level: bool = False
    """Only calls that no other tool made count."""
    turn: Annotated[int, Bounds(least=0)] | None = None
    """Only calls made in this turn of the conversation count, from 0."""
    parallel: Parallel = "in_order"
    """Which neighbouring calls may come in any order.

    `recorded` are those of one recorded group. With `any_order`, a group that was not recorded is unknown. With
    `overlap`, they are those that all ran at the same time.
    """

    def call_lists(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the lists of expected calls that are not empty, each with its path."""
        for key in self.lists_calls:
            listed = self.__dict__[key] or ()
            if key != "expected_turns":
                yield from [(key, listed)] if listed else ()
            else:
                yield from [(f"{key}[{turn}]", calls) for turn, calls in enumerate(listed) if calls]

    def call_places(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the same lists, with the path of each call."""
        for path, calls in self.call_lists():
            yield path, [f"{path}[{index}]" for index in range(len(calls))]

    def expected_tools(self) -> list[Any]:
        """Return all expected tools: names, or objects with a `name` and perhaps an `id`."""
        named = self.__dict__[self.names_tools] if self.names_tools is not None else ()
        return [*named, *[call for _, calls in self.call_lists() for call in calls]]

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is not part of a copy, which may be changed, nor can all of it be pickled.
        return {key: value for key, value in self.__dict__.items() if key not in _DERIVED}

    @cached_property
    def takes_all(self) -> bool:
        """Whether every call is selected, in the order in which it was made, except in recorded groups."""
        narrowed = self.ignore_tools or self.top_level or self.agent is not None or self.turn is not None
        counts_all = self.failed == "count" or not self.selects_by_outcome
        return not narrowed and counts_all and self.parallel in ("in_order", "recorded")

    @cached_property
    def ignored(self) -> Set[str]:
        """The tools whose calls are left out."""
        return tool_names(self.ignore_tools) if self.wildcards else frozenset(self.ignore_tools)

    @cached_property
    def failing(self) -> Set[str]:
        """The tools that have a call that is expected to fail."""
        expected = [each for each in self.expected_tools() if getattr(each, "status", None) == "error"]
        return tool_names([each.name for each in expected])

    @cached_property
    def needs_order(self) -> bool:
        """Whether the order of calls counts even where they were asked for at once."""
        return self.goes_by_order or any([getattr(each, "nth", None) is not None for each in self.expected_tools()])

    def names_with_stars(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield the names of expected tools that have a `*` in them, each with the path that leads to it."""
        named = self.__dict__[self.names_tools] if self.names_tools is not None else ()
        own = [((str(self.names_tools), key if isinstance(named, dict) else at), key) for at, key in enumerate(named)]
        listed = [((*_steps(path), at), each) for path, calls in self.call_lists() for at, each in enumerate(calls)]
        for path, each in (*own, *listed):
            name = getattr(each, "name", each)
            if isinstance(name, str) and "*" in name:
                yield path, name

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """The compiled form of these criteria, by evaluator."""
        return {}


_DERIVED = {"failing", "ignored", "needs_order", "plans", "takes_all"}


def _steps(path: str) -> tuple[str | int, ...]:
    """Return the steps of a path such as `expected_turns[1]`."""
    key, bracket, number = path.partition("[")
    return (key, int(number[:-1])) if bracket else (key,)


class Selection(msgspec.Struct, frozen=True, dict=True):
    """The selected calls and their names, in order.

    `positions` are their positions in the trajectory, `None` if these are the same. `doubts` is what the trace leaves
    open about them; the calls are then all that may be selected, in the order in which they were recorded.
    """

    calls: Sequence[ToolCall]
    names: tuple[str, ...]
    positions: Sequence[int] | None = None
    ranges: tuple[Range, ...] | None = None
    """The ranges in which the order of calls does not count; `None` if these follow from the recorded groups."""
    output: Any = None
    """The final output of the run."""
    turn_outputs: tuple[Any, ...] = ()
    """The output of each turn, if known."""
    usage: Usage | None = None
    """The usage of the whole run, if known."""
    doubts: Doubts | None = None
    trajectory: Trajectory | None = None
    """The run that the calls are of."""
    parallel: Parallel = "in_order"
    """Which of the calls have no order."""
    suspected: int = 0
    """How many calls were left out that may not have failed."""

    @property
    def free(self) -> tuple[Range, ...]:
        """The ranges in which the order of calls does not count."""
        return self._grouped if self.ranges is None else self.ranges

    @cached_property
    def _grouped(self) -> tuple[Range, ...]:
        """The ranges that follow from the recorded groups. Most evaluations never ask."""
        grouped = self.trajectory is not None and self.trajectory.has_groups
        return _neighbours(self.calls, _have_one_group) if grouped else ()

    def position(self, index: int) -> int:
        """Return the position in the trajectory of the selected call at `index`."""
        return index if self.positions is None else self.positions[index]

    def moment(self, index: int) -> CallMoment | None:
        """Return where in its run the selected call at `index` was made; `None` if the run is not known."""
        return None if self.trajectory is None else CallMoment(self.trajectory, self.position(index))

    def only(self, indices: Sequence[int]) -> Selection:
        """Return a selection of only these calls, given by indexes in ascending order."""
        doubts = None if self.doubts is None else self.doubts.at(indices)
        return self._at(indices, wide(narrowed(self.free, indices)), doubts)

    def sure(self) -> Selection:
        """Return the selection without doubtful calls."""
        if self.doubts is None or not self.doubts.members:
            return self
        return self.only([index for index in range(len(self.calls)) if index not in self.doubts.members])

    def worlds(self) -> Iterator[Selection] | None:
        """Return the selection for every way to fill in what the trace leaves open, the recorded one first.

        `None` if there are too many of them, or if calls may be missing.
        """
        if self.doubts is None:
            return iter((self,))
        regrouped = self.doubts.groups is not None
        most = min(_MOST_WORLDS, _MOST_CALLS // max(1, len(self.calls)))
        orders = arrangements(len(self.calls), self.doubts, most // 2 if regrouped else most)
        return None if orders is None else self._worlds(orders, regrouped)

    def _worlds(self, orders: Iterator[list[int]], regrouped: bool) -> Iterator[Selection]:
        for order in orders:
            calls = [self.calls[index] for index in order]
            positions = [self.position(index) for index in order]
            free = self._free(calls, positions)
            # The wider the groups, the less order counts, so the narrowest and the widest give the bounds of all.
            yield self._at(order, free)
            if regrouped:
                yield self._at(order, widest_ranges(self.parallel, self.trajectory, calls, positions, free))

    def _free(self, calls: Sequence[ToolCall], positions: Sequence[int]) -> tuple[Range, ...]:
        return () if self.trajectory is None else free_ranges(self.parallel, self.trajectory, calls, positions)

    def _at(self, indices: Sequence[int], free: tuple[Range, ...] = (), doubts: Doubts | None = None) -> Selection:
        return Selection(
            [self.calls[index] for index in indices],
            tuple([self.names[index] for index in indices]),
            [self.position(index) for index in indices],
            free,
            self.output,
            self.turn_outputs,
            self.usage,
            doubts,
            self.trajectory,
            self.parallel,
        )

    def arranged(self, rows: Sequence[Row], limits: Limits) -> Selection:
        """Return the calls in the order that fits the expectation best, where order does not count or is not known.

        `rows` has, for each expected call, the positions of the selected calls that satisfy it.
        """
        return self._at(self._best_order(rows, limits))

    def most_in_order(self, rows: Sequence[Row], limits: Limits) -> int:
        """Return how many expected calls can be met in order, in the best order that the calls may have."""
        places = {index: place for place, index in enumerate(self._best_order(rows, limits))}
        moved = [sorted([places[index] for index in row]) for row in rows]
        return len(alignment.related_subsequence(moved, len(self.calls)))

    def _best_order(self, rows: Sequence[Row], limits: Limits) -> list[int]:
        return alignment.arrange(rows, len(self.calls), self.loose, limits.comparisons // 100)

    def arranged_by_name(self, expected: Sequence[str], limits: Limits) -> Selection:
        """Return the calls in the order that fits the expected names best, where order is free or not known."""
        return self.arranged(self.rows_of(expected), limits)

    def rows_of(self, expected: Sequence[str]) -> list[Row]:
        """Return, for each expected name, the positions of the selected calls that have it."""
        places: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            places.setdefault(name, []).append(index)
        return [places.get(name, ()) for name in expected]

    @property
    def apart(self) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        """The ranges in which order does not count, and those in which it is unknown, with free ones they overlap."""
        if self.doubts is None or not self.doubts.unordered:
            return self.free, ()
        touched = [each for each in self.free if any([_overlap(each, other) for other in self.doubts.unordered])]
        unknown = wide([*self.doubts.unordered, *touched])
        return tuple([each for each in self.free if each not in touched]), unknown

    @property
    def loose(self) -> tuple[Range, ...]:
        """The ranges in which the order of calls does not count, may not count, or is not known."""
        if self.doubts is None:
            return self.free
        return wide([*self.free, *(self.doubts.groups or ()), *self.doubts.unordered])


def select(trajectory: Trajectory, criteria: Criteria, expected_names: Collection[str]) -> Selection:
    """Return the calls that criteria select. The framework's own calls are left out unless they are expected."""
    if (
        criteria.takes_all
        and trajectory.calls_recorded
        and not trajectory.unordered
        and not trajectory.has_internal_calls
    ):
        return Selection(
            trajectory.calls,
            trajectory.names,
            None,
            () if criteria.parallel == "in_order" else None,
            trajectory.output,
            trajectory.turn_outputs,
            trajectory.usage,
            None,
            trajectory,
            criteria.parallel,
        )
    kept: list[int] = []
    members: list[int] = []
    suspected = 0
    for position, call in enumerate(trajectory.calls):
        meant = criteria.takes_all or membership(call, criteria)
        is_own = False if call.name in expected_names else call.internal
        if meant is False or is_own:
            suspected += call.error is None and outcome_counts(call, criteria) is False
            continue
        if meant is None or is_own is None:
            members.append(len(kept))
        kept.append(position)
    selection = _selection(trajectory, criteria, kept, frozenset(members))
    return msgspec.structs.replace(selection, suspected=suspected) if suspected else selection


def _selection(trajectory: Trajectory, criteria: Criteria, kept: Sequence[int], members: frozenset[int]) -> Selection:
    recorded = [trajectory.calls[position] for position in kept]
    calls = recorded if criteria.agent is None else [_made_by(criteria.agent, call) for call in recorded]
    free = free_ranges(criteria.parallel, trajectory, calls, kept)
    groups = widest_ranges(criteria.parallel, trajectory, calls, kept, free, members)
    settled = () if criteria.needs_order else free
    unordered = [each for each in wide(narrowed(trajectory.unordered, kept)) if not _is_inside(each, settled)]
    doubts = None
    if members or unordered or groups != free or not trajectory.calls_recorded:
        doubts = Doubts(members, tuple(unordered), None if groups == free else groups, not trajectory.calls_recorded)
        reasons = reasons_for(trajectory, criteria, doubts, recorded)
        doubts = msgspec.structs.replace(doubts, reasons=tuple(reasons))
    return Selection(
        calls,
        tuple([call.name for call in calls]),
        kept,
        free,
        trajectory.output,
        trajectory.turn_outputs,
        trajectory.usage,
        doubts,
        trajectory,
        criteria.parallel,
    )


def _made_by(agent: str, call: ToolCall) -> ToolCall:
    """Return a call as one of this agent: if no agent was recorded, it can only be selected as this agent's."""
    if call.agent is not None:
        return call
    return msgspec.structs.replace(call, agent=agent, unrecorded=call.unrecorded - {"agent"})


def _is_inside(inner: Range, ranges: Sequence[Range]) -> bool:
    """Return whether a range is inside one of others: then its order does not count, whether known or not."""
    return any([first <= inner[0] and inner[1] <= end for first, end in ranges])


def _overlap(one: Range, other: Range) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def free_ranges(
    parallel: Parallel, trajectory: Trajectory, calls: Sequence[ToolCall], positions: Sequence[int]
) -> tuple[Range, ...]:
    """Return the ranges of neighbouring calls whose order surely does not count.

    `positions` are the positions of the calls in the trajectory.
    """
    if parallel == "in_order":
        return ()
    if parallel != "overlap":
        return _neighbours(calls, _have_one_group)
    return _blocks(trajectory, positions)


def _blocks(trajectory: Trajectory, positions: Sequence[int], *, may_be: bool = False) -> tuple[Range, ...]:
    from rightcall.values.trajectory import Clock  # few eval sets go by the times of calls

    return Clock(trajectory, positions).free_blocks(may_be=may_be)


def widest_ranges(
    parallel: Parallel,
    trajectory: Trajectory | None,
    calls: Sequence[ToolCall],
    positions: Sequence[int],
    free: tuple[Range, ...],
    members: Collection[int] = (),
) -> tuple[Range, ...]:
    """Return the ranges of neighbouring calls whose order may not count, given those where it surely does not.

    Doubtful calls, whose indexes are in `members`, do not separate others: they may not be there at all.
    """
    doubtful = {id(calls[index]) for index in members}

    def together(one: ToolCall, other: ToolCall) -> bool:
        if id(one) in doubtful or id(other) in doubtful:
            return True
        return may_be_asked_together(one, other) if parallel == "any_order" else _have_one_group(one, other)

    if parallel == "overlap":
        is_known = not members and all([call.start_ns is not None and call.end_ns is not None for call in calls])
        if not is_known:
            return _neighbours(calls, lambda one, other: not _differ(one.turn, other.turn))
        return free if trajectory is None else wide([*free, *_blocks(trajectory, positions, may_be=True)])
    # With `recorded`, a call without a group was asked for alone.
    return free if parallel == "in_order" or (parallel == "recorded" and not doubtful) else _neighbours(calls, together)


def _have_one_group(one: ToolCall, other: ToolCall) -> bool:
    return one.group is not None and one.group == other.group


def may_be_asked_together(one: ToolCall, other: ToolCall) -> bool:
    """Return whether the model may have asked for two calls in one message, as far as their groups are known."""
    if one.group is not None and other.group is not None:
        return one.group == other.group
    # A model asks for calls in one message, and that belongs to one turn and one agent.
    return not (_differ(one.turn, other.turn) or _differ(one.agent, other.agent))


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _neighbours(calls: Sequence[ToolCall], together: Callable[[ToolCall, ToolCall], bool]) -> tuple[Range, ...]:
    ranges = []
    first = 0
    for index in range(1, len(calls) + 1):
        if index == len(calls) or not together(calls[index - 1], calls[index]):
            ranges.append((first, index))
            first = index
    return wide(ranges)


class Doubts(msgspec.Struct, frozen=True):
    """What is not known about selected calls. Indexes and ranges are those of the selection."""

    members: frozenset[int] = _NONE
    """Calls for which the trace leaves open whether the criteria select them."""
    unordered: tuple[Range, ...] = ()
    """Ranges of calls whose order the trace leaves open."""
    groups: tuple[Range, ...] | None = None
    """Ranges where order would not count if unrecorded groups were as wide as possible; `None` if all are known."""
    missing: bool = False
    """Whether calls are missing in the trace, or may be."""
    reasons: tuple[Finding, ...] = ()
    """The same doubts in words, a sentence each."""

    def at(self, indices: Sequence[int]) -> Doubts | None:
        """Return the doubts about these calls only, given by indexes in ascending order."""
        members = frozenset([place for place, index in enumerate(indices) if index in self.members])
        unordered = wide(narrowed(self.unordered, indices))
        groups = None if self.groups is None else narrowed(self.groups, indices)
        if not (members or unordered or self.missing) and groups is None:
            return None
        return Doubts(members, unordered, groups, self.missing, self.reasons)


def membership(call: ToolCall, criteria: Criteria) -> bool | None:
    """Return whether criteria select a call; `None` if the trace did not record what that depends on."""
    # Check what is recorded first: it may rule a call out although something else was not recorded.
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
    """Return whether criteria select a call by its outcome; `None` if the trace does not show it."""
    if criteria.failed == "count" or not criteria.selects_by_outcome:
        return True
    failed = has_failed(call)
    if failed is False or call.name in criteria.failing:
        return True
    return False if failed or (criteria.failed == "ignore_suspected" and is_suspected(call)) else None


def reasons_for(trajectory: Trajectory, criteria: Criteria, doubts: Doubts, calls: Sequence[ToolCall]) -> list[Finding]:
    """Return why there are doubts, a finding for each kind of them."""
    reasons = []
    if criteria.agent is not None and (unknown := [call for call in calls if call.agent is None]):
        reasons.append(f"which agent made {_which(unknown)} was not recorded")
    needs_makers = criteria.top_level or (criteria.parallel == "overlap" and doubts.groups is not None)
    if needs_makers and (unknown := [call for call in calls if "parent_id" in call.unrecorded]):
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
    """Return the ranges as indexes of the positions that are kept, which are in ascending order."""
    found = [(bisect_left(kept, first), bisect_left(kept, end)) for first, end in ranges]
    return tuple([(first, end) for first, end in found if end > first])


def wide(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Return the ranges of two and more calls, with overlapping ones merged."""
    merged: list[Range] = []
    for first, end in sorted(ranges):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end - first > 1:
            merged.append((first, end))
    return tuple(merged)


def arrangements(size: int, doubts: Doubts, most: int) -> Iterator[list[int]] | None:
    """Return every order and choice of calls that the doubts allow, the recorded one first.

    `None` if there are too many, or if calls are missing: what a trace does not have cannot be listed.
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
