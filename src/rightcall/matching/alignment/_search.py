"""The search for the best reading: the worth of every step of an expectation, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

from ._blocks import Field, Places, Segments, Sweep
from ._intervals import Pool, Range, Serving, union
from ._pairing import Row
from ._residuals import Residuals
from ._stairs import Stairs
from ._tree import AnyOrder, AtOnce, InOrder, OneOf, Part, Perhaps, Repeat, Slot, once_slots
from ._weights import Link, SearchBudget, State, Weights

StateT = TypeVar("StateT", bound=State)


class Calls:
    """What there is to pair with: for each leaf its calls, and what is known about the calls' places.

    Everything that does not depend on the weights is found out once and kept for all passes of a search.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        number: int,
        batches: Sequence[Range],
        free: Sequence[Range],
        budget: SearchBudget,
    ) -> None:
        self.rows = rows
        self.number = number
        self.budget = budget
        self._made_at_once = batches
        self.segments: Segments | None = None
        if free:
            segments = Segments(number, free, {call for row in rows for call in row})
            self.segments = segments if segments.are_free else None
        self._pools: dict[int, Pool] = {}
        self._fields: dict[int, Field] = {}
        self._rows: dict[int, Row] = {}

    @cached_property
    def batches(self) -> list[Range]:
        """The batches, and each call that belongs to none as one of its own."""
        held = {call for first, end in self._made_at_once for call in range(first, end)}
        return sorted([*self._made_at_once, *[(call, call + 1) for call in range(self.number) if call not in held]])

    @cached_property
    def batches_of(self) -> list[tuple[int, ...]]:
        """The batches that each call belongs to."""
        of_calls: list[list[int]] = [[] for _ in range(self.number)]
        for place, (first, end) in enumerate(self.batches):
            for call in range(first, end):
                of_calls[call].append(place)
        return [tuple(places) for places in of_calls]

    @cached_property
    def kinds(self) -> list[int]:
        """The kind of each leaf: the same for those with the same calls, -1 for those without any."""
        known: dict[tuple[int, ...], int] = {}
        return [known.setdefault(tuple(row), len(known)) if row else -1 for row in self.rows]

    @cached_property
    def residuals(self) -> Residuals:
        """The rests of groups with branches."""
        return Residuals(self.kinds, self.budget)

    def row(self, part: Part, slot: Slot) -> Row:
        """The calls that a part takes which is room for single calls."""
        if len(slot.leaves) == 1:
            return self.rows[slot.leaves[0]]
        if part.number not in self._rows:
            self._rows[part.number] = union([self.rows[leaf] for leaf in slot.leaves])
        return self._rows[part.number]

    def pool(self, part: Part) -> Pool | None:
        """The calls of a group of single calls; none where it has branches."""
        if part.number not in self._pools:
            slots = once_slots(part) if isinstance(part.node, AtOnce) else part.slots
            if slots is None:
                return None
            self._pools[part.number] = Pool(slots, self.rows)
        return self._pools[part.number]

    def field(self, part: Part) -> Field:
        """The calls that matter to a group with branches."""
        if part.number not in self._fields:
            self._fields[part.number] = Field(part, self.rows, self.kinds, self.batches_of)
        return self._fields[part.number]


def solve(part: Part, calls: Calls, weights: Weights, *, free: bool) -> tuple[int, Link]:
    """The worth of the best reading at these weights, and how it is reached; `free`: blocks have no order.

    Raises:
        LimitError: that takes more steps than there are left.
    """
    search = _Search(calls, weights)
    if isinstance(part.node, AnyOrder) and part.slots is not None and len(part.slots) > 1:
        # One group of all there is: no order counts, and where no call has a choice, all room that can be is taken.
        pool = calls.pool(part)
        if pool is not None and pool.is_disjoint:
            return weights.missing * pool.need + pool.full(weights), (None, part.number, (0, calls.number))
    if free and calls.segments is not None:
        return search.after(part, Places.ground(calls.segments, calls.budget)).top
    return search.after(part, Stairs.ground(calls.budget)).top


class _Search:
    """One pass of a search. `after` changes the state that it is given, and returns the one that goes on."""

    def __init__(self, calls: Calls, weights: Weights) -> None:
        self._calls = calls
        self._weights = weights

    def after(self, part: Part, state: StateT) -> StateT:
        """The state after a part."""
        self._calls.budget.spend(1)
        slots = part.slots
        if slots is not None and len(slots) == 1:
            return self._single(part, slots[0], state)
        node = part.node
        if isinstance(node, InOrder):
            for item in part.items:
                state = self.after(item, state)
            return state
        if isinstance(node, Perhaps):
            state.raise_by(self.after(part.items[0], state.marked(part.number, None)))
            return state
        if isinstance(node, OneOf):
            return self._one_of(part, state)
        return self._rounds(part, node, state) if isinstance(node, Repeat) else self._group(part, state)

    def _single(self, part: Part, slot: Slot, state: StateT) -> StateT:
        """Take calls one by one: first those that have to be there, then as many more as are worth it."""
        weights, row, number = self._weights, self._calls.row(part, slot), part.number
        state.lift += weights.missing * slot.at_least
        for _ in range(min(slot.at_least, len(row))):
            state.take(row, weights.required, number)
        if slot.at_most is None:
            state.take_all(row, weights.pair, number)
            return state
        for _ in range(min(slot.at_most - slot.at_least, len(row))):
            state.take(row, weights.pair, number)
        return state

    def _one_of(self, part: Part, state: StateT) -> StateT:
        first, *others = [self.after(item, state.marked(part.number, place)) for place, item in enumerate(part.items)]
        for other in others:
            first.raise_by(other)
        return first

    def _rounds(self, part: Part, node: Repeat, state: StateT) -> StateT:
        """Go round as often as required, then on as long as a round raises something.

        Only what the last round raised can raise more: a round is linear in the algebra of maximum and sum.
        """
        item = part.items[0]
        for _ in range(node.at_least):
            state = self.after(item, state.marked(part.number, None))
        more = self._calls.number if node.at_most is None else node.at_most - node.at_least
        if item.is_closed:
            more = min(more, 1 - min(1, node.at_least))
        grown: StateT | None = state
        while more and grown is not None:
            grown = state.raise_by(self.after(item, grown.marked(part.number, None)))
            more -= 1
        return state

    def _group(self, part: Part, state: StateT) -> StateT:
        calls, weights = self._calls, self._weights
        if isinstance(state, Stairs) and (pool := calls.pool(part)) is not None:
            batches = calls.batches if isinstance(part.node, AtOnce) else None
            Serving(state, pool, weights, part.number).serve(batches)
            return state
        whole, field = calls.residuals.of_part(part), calls.field(part)
        if isinstance(state, Stairs):
            Sweep(state, calls.residuals, weights, part.number, field).walk(whole)
        elif isinstance(state, Places):
            state.walk(whole, calls.residuals, weights, part.number, field)
        return state
