"""The reading of an expectation that fits the calls best, and its pairs, retraced from the steps of the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ._intervals import Range, slot_pairs
from ._pairing import Row
from ._search import Calls, solve
from ._tree import AnyOrder, AtOnce, InOrder, OneCall, OneOf, Part, Perhaps, Repeat, Slot, StepNode, parts_of
from ._weights import Link, SearchBudget, Weights

_HUGE = 1 << 60
"""More steps than any reading can have: beside it, one pair is worth more than all steps that are missing."""


class StepReading:
    """One way to read an expectation: how many calls are paired, how many steps are missing, how many calls are extra.

    `extra` is 0 where extra calls are allowed. Which call is paired with which step is found out when it is asked for.
    """

    def __init__(self, matched: int, missing: int, extra: int, part: Part, calls: Calls, link: Link) -> None:
        self.matched = matched
        self.missing = missing
        self.extra = extra
        self._found = (part, calls, link)

    @cached_property
    def steps(self) -> list[Occurrence]:
        """The steps of this reading, in the order in which they are written; what is left out is not among them."""
        return retrace(*self._found)

    @property
    def is_met(self) -> bool:
        """Whether nothing is missing, and nothing is there that may not be."""
        return not self.missing and not self.extra


class Reader:
    """An expectation, ready to be read against the calls of many runs."""

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
        """The reading that counts: of all of them the one with the highest ratio, and of these the most pairs.

        The ratio is that of pairs to steps where extra calls are allowed, else twice the pairs to steps and calls
        together. Where nothing can be paired, it is the reading with the fewest steps. `rows` has, for each leaf, the
        places among so many `calls` that it accepts. `batches` are the ranges of calls made at once, `free` those
        whose order does not count: there the most favourable order does.

        Raises:
            LimitError: finding it takes more than is left of the `budget`.
        """
        held = Calls(rows, calls, batches, free, budget)
        # The order in which calls were recorded is tried first: mostly it is right, and then no other is better.
        reading = _best(self.part, held, extras=extras, free=False)
        if reading.is_met or held.segments is None:
            return reading
        return _best(self.part, held, extras=extras, free=True)


def _best(part: Part, calls: Calls, *, extras: bool, free: bool) -> StepReading:
    """The best reading by Newton's method: the ratio that a pass ends with is the guess of the next one."""
    over, under = 1, 1
    fewest: StepReading | None = None
    while True:
        weights = Weights.of(over, under, calls.number, extras=extras)
        value, link = solve(part, calls, weights, free=free)
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
    """A step of a reading: a leaf, in which round of each repeat around it, and the call it is paired with."""

    leaf: int
    rounds: Rounds
    """The rounds, from 0, of the repeats around it, the outermost first."""
    call: int = -1
    """The place of the call; -1 where the step is missing."""


def retrace(part: Part, calls: Calls, link: Link) -> list[Occurrence]:
    """The steps of the reading that a search ended with, in the order in which they are written."""
    events: list[tuple[int, Any]] = []
    while link is not None:
        link, number, mark = link
        events.append((number, mark))
    return list(_Retrace(calls, events).steps(part, ()))


class _Retrace:
    """What was noted along the way, read forward and in step with the tree."""

    def __init__(self, calls: Calls, events: list[tuple[int, Any]]) -> None:
        self._calls = calls
        self._events = events

    def _noted(self, part: Part) -> bool:
        return bool(self._events) and self._events[-1][0] == part.number

    def steps(self, part: Part, rounds: Rounds) -> Iterator[Occurrence]:
        """The steps of a part in these rounds."""
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
        """The steps of a group of single calls, paired again in its interval."""
        _, (first, end) = self._events.pop()
        if (pool := self._calls.pool(part)) is None:
            raise AssertionError("a group with branches has no interval")
        for place, taken in sorted(slot_pairs(pool, pool.pairs(first, end))):
            yield from filled(pool.slots[place], taken, rounds, self._calls)


def filled(slot: Slot, taken: Sequence[int], rounds: Rounds, calls: Calls) -> Iterator[Occurrence]:
    """The steps of a slot that takes these calls, and those that are missing in it."""
    for place in range(max(len(taken), slot.at_least)):
        call = taken[place] if place < len(taken) else -1
        accepting = (leaf for leaf in slot.leaves if call in calls.rows[leaf])
        leaf = slot.leaves[0] if call < 0 else next(accepting)
        yield Occurrence(leaf, (*rounds, place) if slot.is_round else rounds, call)


def missing(part: Part, rounds: Rounds) -> Iterator[Occurrence]:
    """The steps that are missing where nothing of a part was called: as few as can be."""
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
    """What is left of a part in one round, each of its leaves known by its own number.

    `batch` is that of calls made at once, `done` the rounds of a repeat that were begun.
    """

    part: Part
    rounds: Rounds
    items: tuple[Rest, ...] | None = None
    """What is left of its items; none where all of it is left."""
    batch: int = -1
    done: int = 0


_Move = tuple[Occurrence, list[Occurrence], "Rest | None"]


class _Unfolding:
    """The way of a search through a group with branches, leaf by leaf.

    The search knows leaves by their kind only. Here the same moves are made with the leaves themselves, and of those
    that lead to the same rest the first is taken.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def steps(self, part: Part, rounds: Rounds, path: Sequence[tuple[int, int]]) -> Iterator[Occurrence]:
        """The steps of a group whose calls were paired along a path: each call, and what was left after it."""
        rest: Rest | None = Rest(part, rounds)
        for call, left in path:
            moves = [move for move in self._moves(rest, call) if self._number(move[2]) == left]
            step, skipped, rest = min(moves, key=lambda move: len(move[1]))
            yield step
            yield from skipped
        if rest is not None:
            yield from self._missing(rest)

    def _number(self, rest: Rest | None) -> int:
        """The number that the search has for a rest."""
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
        """Every way to pair a call next: its step, the steps that are skipped, and what is left."""
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
        """The steps that are missing where nothing more of a rest was called."""
        if rest.items is None:
            yield from missing(rest.part, rest.rounds)
            return
        for item in rest.items:
            yield from self._missing(item)
        if isinstance(rest.part.node, Repeat):
            for number in range(rest.done, rest.part.node.at_least):
                yield from missing(rest.part.items[0], (*rest.rounds, number))


def _with(rest: Rest, items: Sequence[Rest | None], batch: int = -1) -> Rest | None:
    """What is left of a rest with these items."""
    left = tuple([item for item in items if item is not None])
    return msgspec.structs.replace(rest, items=left, batch=batch) if left else None
