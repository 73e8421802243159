"""The search for the reading of an expectation that fits the calls best, and the pairs of that reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from ._blocks import Field, Places, Residuals, Segments, Sweep
from ._intervals import Pool, Range, Serving, Stairs, slot_pairs, union
from ._pairing import Row
from ._tree import (
    AnyOrder,
    AtOnce,
    InOrder,
    Link,
    OneCall,
    OneOf,
    Part,
    Perhaps,
    Repeat,
    SearchBudget,
    Slot,
    State,
    StepNode,
    Weights,
    once_slots,
    parts_of,
)

_HUGE = 1 << 60
"""More steps than any reading can have. As a denominator it makes one pair worth more than all missing steps."""
StateT = TypeVar("StateT", bound=State)


class StepReading:
    """One way to read an expectation: how many calls are paired, how many steps are missing, how many calls are extra.

    `extra` is 0 if extra calls are allowed. Which call is paired with which step is computed on first use.
    """

    def __init__(self, matched: int, missing: int, extra: int, part: Part, calls: Calls, link: Link) -> None:
        self.matched = matched
        self.missing = missing
        self.extra = extra
        self._found = (part, calls, link)

    @cached_property
    def steps(self) -> list[Occurrence]:
        """The steps of this reading in the order in which they are written, without optional steps left out."""
        return retrace(*self._found)

    @property
    def is_met(self) -> bool:
        """Whether no step is missing, and no call is extra that may not be."""
        return not self.missing and not self.extra


class Reader:
    """An expectation, prepared for reading against the calls of many runs."""

    def __init__(self, tree: StepNode) -> None:
        self.part = parts_of(tree)

    def read(
        self,
        rows: Sequence[Row],
        calls: int,
        *,
        extras: bool,
        budget: SearchBudget,
        batches: Sequence[Range] = (),
        free: Sequence[Range] = (),
    ) -> StepReading:
        """Return the reading with the highest ratio, and of those with the same ratio the one with the most pairs.

        The ratio is that of pairs to steps if extra calls are allowed, else twice the pairs to steps and calls
        together. If nothing can be paired, it is the reading with the fewest steps. `rows` has, for each leaf, the
        positions among `calls` calls that it accepts. `batches` are the ranges of calls made at once, `free` those
        whose order does not count: there the most favourable order is taken.

        Raises:
            LimitError: the search takes more steps than the `budget` has left.
        """
        made = Calls(rows, calls, batches, free, budget)
        # Try the recorded order first: mostly nothing is missing in it, and then no other order is better.
        reading = _best(self.part, made, extras=extras, free=False)
        if reading.is_met or made.segments is None:
            return reading
        return _best(self.part, made, extras=extras, free=True)


def _best(part: Part, calls: Calls, *, extras: bool, free: bool) -> StepReading:
    """Return the best reading by Newton's method: the ratio found by a pass is the guess for the next one."""
    over, under = 1, 1
    fewest: StepReading | None = None
    while True:
        weights = Weights.of(over, under, calls.number, extras=extras)
        value, link = solve(part, calls, weights, free=free)
        # By the definition of `Weights` the value is (worth · matched - over · size) · (calls + 1) + matched.
        matched = value % (calls.number + 1)
        worth = under if extras else 2 * under
        size = (worth * matched - (value - matched) // (calls.number + 1)) // over
        reading = StepReading(matched, size - matched, 0 if extras else calls.number - matched, part, calls, link)
        if reading.is_met or part.size is not None:
            return reading
        if not matched and fewest is not None:
            return fewest
        reached = (matched, size) if extras else (2 * matched, size + calls.number)
        if fewest is not None and reached[0] * under <= over * reached[1]:
            return reading
        fewest = fewest or reading
        over, under = reached if matched else (1, _HUGE)


Rounds = tuple[int, ...]


class Occurrence(msgspec.Struct, frozen=True):
    """A step of a reading: its leaf, the round of each repeat around it, and the call that it is paired with."""

    leaf: int
    rounds: Rounds
    """The rounds, from 0, of the repeats around it, the outermost first."""
    call: int = -1
    """The position of the call; -1 if the step is missing."""


def retrace(part: Part, calls: Calls, link: Link) -> list[Occurrence]:
    """Return the steps of the reading that a search ended with, in the order in which they are written."""
    events: list[tuple[int, Any]] = []
    while link is not None:
        link, number, mark = link
        events.append((number, mark))
    return list(_Retrace(calls, events).steps(part, ()))


class _Retrace:
    """A walk through the tree of parts that consumes the marks of a search, the first mark first."""

    def __init__(self, calls: Calls, events: list[tuple[int, Any]]) -> None:
        self._calls = calls
        self._events = events

    def _noted(self, part: Part) -> bool:
        return bool(self._events) and self._events[-1][0] == part.number

    def steps(self, part: Part, rounds: Rounds) -> Iterator[Occurrence]:
        """Yield the steps of a part in these rounds."""
        node = part.node
        if part.slots is not None and len(part.slots) == 1:
            yield from self._single(part, part.slots[0], rounds)
        elif isinstance(node, InOrder):
            for item in part.items:
                yield from self.steps(item, rounds)
        elif isinstance(node, Perhaps):
            if self._noted(part):
                self._events.pop()
                yield from self.steps(part.items[0], rounds)
        elif isinstance(node, OneOf):
            _, place = self._events.pop()
            yield from self.steps(part.items[place], rounds)
        elif isinstance(node, Repeat):
            number = 0
            while self._noted(part):
                self._events.pop()
                yield from self.steps(part.items[0], (*rounds, number))
                number += 1
        else:
            yield from self._group(part, rounds)

    def _single(self, part: Part, slot: Slot, rounds: Rounds) -> Iterator[Occurrence]:
        taken = []
        while self._noted(part):
            taken.append(self._events.pop()[1])
        yield from filled(slot, taken, rounds, self._calls)

    def _group(self, part: Part, rounds: Rounds) -> Iterator[Occurrence]:
        if not self._noted(part):
            yield from missing(part, rounds)
        elif self._events[-1][1] is None:
            self._events.pop()
            path = []
            while self._noted(part):
                path.append(self._events.pop()[1])
            found = _Unfolding(self._calls).steps(part, rounds, path)
            yield from sorted(found, key=lambda step: (part.leaves.index(step.leaf), step.rounds))
        else:
            yield from self._interval(part, rounds)

    def _interval(self, part: Part, rounds: Rounds) -> Iterator[Occurrence]:
        """Yield the steps of a group of single calls, by pairing the calls of its interval again."""
        _, (first, end) = self._events.pop()
        if (pool := self._calls.pool(part)) is None:
            raise AssertionError("a group with branches has no interval")
        for place, taken in sorted(slot_pairs(pool, pool.pairs(first, end))):
            yield from filled(pool.slots[place], taken, rounds, self._calls)


def filled(slot: Slot, taken: Sequence[int], rounds: Rounds, calls: Calls) -> Iterator[Occurrence]:
    """Yield the steps of a slot that takes these calls, and its missing steps."""
    for place in range(max(len(taken), slot.at_least)):
        call = taken[place] if place < len(taken) else -1
        accepting = (leaf for leaf in slot.leaves if call in calls.rows[leaf])
        leaf = slot.leaves[0] if call < 0 else next(accepting)
        yield Occurrence(leaf, (*rounds, place) if slot.is_round else rounds, call)


def missing(part: Part, rounds: Rounds) -> Iterator[Occurrence]:
    """Yield the steps that are missing if no call of a part was made: as few as possible."""
    node = part.node
    if isinstance(node, OneCall):
        yield Occurrence(node.leaf, rounds)
    elif isinstance(node, OneOf):
        yield from min([list(missing(item, rounds)) for item in part.items], key=len)
    elif isinstance(node, Repeat):
        for number in range(node.at_least):
            yield from missing(part.items[0], (*rounds, number))
    elif not isinstance(node, Perhaps):
        for item in part.items:
            yield from missing(item, rounds)


class Rest(msgspec.Struct, frozen=True):
    """What remains of a part in one round. Unlike in `Residuals`, leaves that accept the same calls are kept apart.

    `batch` is the batch of calls made at once, `done` the number of rounds of a repeat that have begun.
    """

    part: Part
    rounds: Rounds
    items: tuple[Rest, ...] | None = None
    """What remains of its items; `None` if all of the part remains."""
    batch: int = -1
    done: int = 0


_Move = tuple[Occurrence, list[Occurrence], "Rest | None"]


class _Unfolding:
    """The path of a search through a group with branches, replayed leaf by leaf.

    The search only knows the kinds of leaves. Here the same moves are made with the leaves themselves; of those that
    lead to the same residual, the one that skips the fewest steps is taken.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def steps(self, part: Part, rounds: Rounds, path: Sequence[tuple[int, int]]) -> Iterator[Occurrence]:
        """Yield the steps of a group; `path` has each call that was paired, and the residual after it."""
        rest: Rest | None = Rest(part, rounds)
        for call, left in path:
            moves = [move for move in self._moves(rest, call) if self._number(move[2]) == left]
            step, skipped, rest = min(moves, key=lambda move: len(move[1]))
            yield step
            yield from skipped
        if rest is not None:
            yield from self._missing(rest)

    def _number(self, rest: Rest | None) -> int:
        """Return the number of the residual of the search that a rest corresponds to."""
        residuals = self._calls.residuals
        if rest is None:
            return 0
        if rest.items is None:
            return residuals.of_part(rest.part)
        items, node = [self._number(item) for item in rest.items], rest.part.node
        if isinstance(node, AnyOrder):
            return residuals.any_order(items)
        if isinstance(node, AtOnce):
            return residuals.at_once(items, rest.batch)
        if isinstance(node, Repeat):
            more = None if node.at_most is None else node.at_most - rest.done
            left = residuals.repeat(residuals.of_part(rest.part.items[0]), max(0, node.at_least - rest.done), more)
            return residuals.in_order([*items, left])
        return residuals.in_order(items)

    def _moves(self, rest: Rest | None, call: int) -> Iterator[_Move]:
        """Yield every way to pair a call next: its step, the steps that are skipped, and what remains."""
        if rest is None:
            return
        part, node, rounds = rest.part, rest.part.node, rest.rounds
        if isinstance(node, OneCall):
            if call in self._calls.rows[node.leaf]:
                yield Occurrence(node.leaf, rounds, call), [], None
        elif isinstance(node, InOrder):
            yield from self._in_order(rest, call)
        elif isinstance(node, (AnyOrder, AtOnce)):
            yield from self._in_group(rest, call)
        elif isinstance(node, Repeat):
            yield from self._next_round(rest, node, call)
        else:
            for item in part.items:
                yield from self._moves(Rest(item, rounds), call)

    def _items(self, rest: Rest) -> tuple[Rest, ...]:
        return rest.items if rest.items is not None else tuple([Rest(item, rest.rounds) for item in rest.part.items])

    def _in_order(self, rest: Rest, call: int) -> Iterator[_Move]:
        items = self._items(rest)
        skipped: list[Occurrence] = []
        for place, item in enumerate(items):
            for step, more, left in self._moves(item, call):
                yield step, [*skipped, *more], _with(rest, [left, *items[place + 1 :]])
            skipped = [*skipped, *self._missing(item)]

    def _in_group(self, rest: Rest, call: int) -> Iterator[_Move]:
        batches = self._calls.batches_of[call] if isinstance(rest.part.node, AtOnce) else (-1,)
        items = self._items(rest)
        for batch in [batch for batch in batches if rest.batch in (-1, batch)]:
            for place, item in enumerate(items):
                for step, skipped, left in self._moves(item, call):
                    yield step, skipped, _with(rest, [*items[:place], left, *items[place + 1 :]], batch=batch)

    def _next_round(self, rest: Rest, node: Repeat, call: int) -> Iterator[_Move]:
        skipped: list[Occurrence] = []
        for item in rest.items or ():
            for step, more, left in self._moves(item, call):
                yield step, more, msgspec.structs.replace(rest, items=() if left is None else (left,))
            skipped += self._missing(item)
        if node.at_most is None or rest.done < node.at_most:
            body = Rest(rest.part.items[0], (*rest.rounds, rest.done))
            for step, more, left in self._moves(body, call):
                items = () if left is None else (left,)
                yield step, [*skipped, *more], msgspec.structs.replace(rest, items=items, done=rest.done + 1)

    def _missing(self, rest: Rest) -> Iterator[Occurrence]:
        """Yield the steps that are missing if no more calls of a rest were made."""
        if rest.items is None:
            yield from missing(rest.part, rest.rounds)
            return
        for item in rest.items:
            yield from self._missing(item)
        if isinstance(rest.part.node, Repeat):
            for number in range(rest.done, rest.part.node.at_least):
                yield from missing(rest.part.items[0], (*rest.rounds, number))


def _with(rest: Rest, items: Sequence[Rest | None], batch: int = -1) -> Rest | None:
    """Return a rest with these items; `None` if there are none."""
    left = tuple([item for item in items if item is not None])
    return msgspec.structs.replace(rest, items=left, batch=batch) if left else None


class Calls:
    """The calls of a run as a search needs them: those that each leaf accepts, batches, and ranges without an order.

    Everything that does not depend on the weights is computed once and kept for all passes of a search.
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
        """The batches, and each call outside of them as a batch of its own."""
        inside = {call for first, end in self._made_at_once for call in range(first, end)}
        return sorted([*self._made_at_once, *[(call, call + 1) for call in range(self.number) if call not in inside]])

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
        """The kind of each leaf: the same for leaves that accept the same calls, -1 for those that accept none."""
        known: dict[tuple[int, ...], int] = {}
        return [known.setdefault(tuple(row), len(known)) if row else -1 for row in self.rows]

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals of groups with branches."""
        return Residuals(self.kinds, self.budget)

    def row(self, part: Part, slot: Slot) -> Row:
        """Return the calls that a part with a single slot accepts."""
        if len(slot.leaves) == 1:
            return self.rows[slot.leaves[0]]
        if part.number not in self._rows:
            self._rows[part.number] = union([self.rows[leaf] for leaf in slot.leaves])
        return self._rows[part.number]

    def pool(self, part: Part) -> Pool | None:
        """Return the calls of a group of single calls, and the room for them; `None` if the group has branches."""
        if part.number not in self._pools:
            slots = once_slots(part) if isinstance(part.node, AtOnce) else part.slots
            if slots is None:
                return None
            self._pools[part.number] = Pool(slots, self.rows)
        return self._pools[part.number]

    def field(self, part: Part) -> Field:
        """Return the calls that a group with branches accepts."""
        if part.number not in self._fields:
            self._fields[part.number] = Field(part, self.rows, self.kinds, self.batches_of)
        return self._fields[part.number]


def solve(part: Part, calls: Calls, weights: Weights, *, free: bool) -> tuple[int, Link]:
    """Return the value of the best reading at these weights, and how it is reached.

    With `free`, calls in ranges without an order may be taken in any order.

    Raises:
        LimitError: the search takes more steps than the budget has left.
    """
    search = _Search(calls, weights)
    if isinstance(part.node, AnyOrder) and part.slots is not None and len(part.slots) > 1:
        # All of it is one group in any order: if no call has a choice, every room that has a call is taken.
        pool = calls.pool(part)
        if pool is not None and pool.is_disjoint:
            return weights.missing * pool.need + pool.full(weights), (None, part.number, (0, calls.number))
    if free and calls.segments is not None:
        return search.after(part, Places.ground(calls.segments, calls.budget)).top
    return search.after(part, Stairs.ground(calls.budget)).top


class _Search:
    """One pass of a search. `after` changes the state that it is given, and returns the state to continue with."""

    def __init__(self, calls: Calls, weights: Weights) -> None:
        self._calls = calls
        self._weights = weights

    def after(self, part: Part, state: StateT) -> StateT:
        """Return the state after a part."""
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
        """Take calls one by one: first the required ones, then as many more as raise the value."""
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
        """Repeat a part as often as required, then as long as a round raises something.

        Only what the last round raised can raise more: a round is linear in the max-plus algebra.
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
