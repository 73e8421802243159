"""The best worth of a reading where some calls have no order: states that know which calls of a block are used.

Groups whose branches are interleaved are walked call by call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ._pairing import Row
from ._residuals import EMPTY, Batches, Residuals
from ._stairs import Stairs
from ._tree import Part
from ._weights import NONE, Link, SearchBudget, State, Weights

Place: TypeAlias = tuple[int, int]
"""A segment and the calls of it that are used, a bit each: everything before the segment is past."""


class Segments:
    """Calls that are next to each other and have no order, and every other call as a segment of its own."""

    def __init__(self, calls: int, blocks: Sequence[tuple[int, int]], matter: set[int]) -> None:
        self.of_call: list[int] = []
        self.bits: list[int] = [0] * calls
        self.members: list[list[int]] = []
        """The calls of each segment that some step accepts."""
        block_of = {call: first for first, end in blocks for call in range(first, end)}
        before: int | None = None
        for call in range(calls):
            block = block_of.get(call)
            if block is None or block != before:
                self.members.append([])
            before = block
            self.of_call.append(len(self.members) - 1)
            if call in matter:
                self.bits[call] = 1 << len(self.members[-1])
                self.members[-1].append(call)

    @property
    def are_free(self) -> bool:
        """Whether the order of two calls that matter is left open anywhere."""
        return any([len(members) > 1 for members in self.members])

    def after(self, place: Place, call: int) -> Place:
        """The place after one more call."""
        segment = self.of_call[call]
        used = self.bits[call] | (place[1] if place[0] == segment else 0)
        return (segment, used) if used.bit_count() < len(self.members[segment]) else (segment + 1, 0)

    def first_of(self, row: Row, place: Place, starts: Sequence[int]) -> Iterator[int]:
        """The calls of a row in the first segment that has some which are not used: later ones are worth no more."""
        segment, used = place
        found = -1
        for index in range(bisect_left(row, starts[segment]) if segment < len(starts) else len(row), len(row)):
            call = row[index]
            here = self.of_call[call]
            if found >= 0 and here != found:
                return
            if here == segment and used & self.bits[call]:
                continue
            found = here
            yield call

    def starts(self) -> list[int]:
        """The first call of each segment."""
        return [bisect_left(self.of_call, segment) for segment in range(len(self.members))]


class Places(State):
    """What each place is worth at most, and how it was reached: stairs for calls that have no full order."""

    def __init__(
        self,
        worth: dict[Place, tuple[int, Link]],
        lift: int,
        segments: Segments,
        starts: Sequence[int],
        budget: SearchBudget,
    ) -> None:
        self.worth = worth
        self.lift = lift
        self.budget = budget
        self._segments = segments
        self._starts = starts

    @classmethod
    def ground(cls, segments: Segments, budget: SearchBudget) -> Places:
        """The places before anything is expected."""
        return cls({(0, 0): (0, NONE)}, 0, segments, segments.starts(), budget)

    @property
    def top(self) -> tuple[int, Link]:
        value, link = max(self.worth.values(), key=lambda each: each[0])
        return value + self.lift, link

    def marked(self, number: int, mark: object) -> Places:
        self.budget.spend(len(self.worth))
        return self._with({place: (value, (link, number, mark)) for place, (value, link) in self.worth.items()})

    def take(self, row: Row, gain: int, number: int) -> None:
        self._raise(self._taken(self.worth, row, gain, number))

    def take_all(self, row: Row, gain: int, number: int) -> None:
        grown = self.worth
        while grown:
            grown = self._raise(self._taken(grown, row, gain, number))

    def raise_by(self, other: Places) -> Places | None:
        change = other.lift - self.lift
        taken = self._raise({place: (value + change, link) for place, (value, link) in other.worth.items()})
        return self._with(taken) if taken else None

    def walk(self, whole: int, residuals: Residuals, weights: Weights, number: int, field: Field) -> None:
        """Take the places through a group."""
        found = _Walk(self._segments, residuals, weights, number, field, self.budget).walk(whole, self.worth)
        cost = weights.missing * residuals.need[whole]
        self.lift += cost
        self._raise({place: (value - cost, link) for place, (value, link) in found.items()})

    def _taken(
        self, worth: dict[Place, tuple[int, Link]], row: Row, gain: int, number: int
    ) -> dict[Place, tuple[int, Link]]:
        reached: dict[Place, tuple[int, Link]] = {}
        for place, (value, link) in worth.items():
            for call in self._segments.first_of(row, place, self._starts):
                self.budget.spend(1)
                after = self._segments.after(place, call)
                if after not in reached or reached[after][0] < value + gain:
                    reached[after] = (value + gain, (link, number, call))
        return reached

    def _raise(self, offered: dict[Place, tuple[int, Link]]) -> dict[Place, tuple[int, Link]]:
        """Raise places, and return those that were raised and are worth more than every place before them."""
        self.budget.spend(len(offered))
        for place, offer in offered.items():
            held = self.worth.get(place)
            if held is None or held[0] < offer[0]:
                self.worth[place] = offer
        self._prune()
        return {place: offer for place, offer in offered.items() if self.worth.get(place) is offer}

    def _prune(self) -> None:
        """Leave out places that are worth no more than one from which everything can be reached that they reach."""
        kept: dict[Place, tuple[int, Link]] = {}
        past: int | None = None
        at, high = -1, past
        for place in sorted(self.worth):
            value = self.worth[place][0]
            if place[0] != at:
                at, past = place[0], high
            if past is not None and value <= past:
                continue
            kept[place] = self.worth[place]
            if high is None or value > high:
                high = value
        self.worth = kept

    def _with(self, worth: dict[Place, tuple[int, Link]]) -> Places:
        return Places(worth, self.lift, self._segments, self._starts, self.budget)


class _Walk:
    """One walk through a group, segment by segment."""

    def __init__(
        self,
        segments: Segments,
        residuals: Residuals,
        weights: Weights,
        number: int,
        field: Field,
        budget: SearchBudget,
    ) -> None:
        self._segments = segments
        self._residuals = residuals
        self._weights = weights
        self._number = number
        self._field = field
        self._budget = budget
        self._found: dict[Place, tuple[int, Link]] = {}
        self._states: dict[tuple[int, int], tuple[int, Link]] = {}
        """By what is left and the calls of this segment that are used: the best worth."""

    def walk(self, whole: int, starts: dict[Place, tuple[int, Link]]) -> dict[Place, tuple[int, Link]]:
        """The places after the group, wherever it takes a call."""
        entries: dict[int, list[tuple[int, int, Link]]] = {}
        for (segment, used), (value, link) in starts.items():
            entries.setdefault(segment, []).append((used, value, link))
        calls: dict[int, list[int]] = {}
        for call in self._field.calls:
            calls.setdefault(self._segments.of_call[call], []).append(call)
        for segment in sorted({*entries, *calls}):
            for used, value, link in entries.get(segment, ()):
                self._reach((whole, used), value, (link, self._number, None))
            self._through(calls.get(segment, []))
        return self._found

    def _through(self, calls: Sequence[int]) -> None:
        """Use calls of one segment in every order, then forget which ones were used."""
        waiting = sorted(self._states, key=lambda state: state[1])
        while waiting:
            after: set[tuple[int, int]] = set()
            for state in waiting:
                after.update(self._moves(state, calls))
            waiting = list(after)
        past: dict[tuple[int, int], tuple[int, Link]] = {}
        for (rest, _), held in self._states.items():
            if (rest, 0) not in past or past[rest, 0][0] < held[0]:
                past[rest, 0] = held
        self._states = past

    def _moves(self, state: tuple[int, int], calls: Sequence[int]) -> Iterator[tuple[int, int]]:
        rest, used = state
        value, link = self._states[state]
        for call in calls:
            bit = self._segments.bits[call]
            if used & bit:
                continue
            moves = self._residuals.moves(rest, self._field.batches_of[call])
            for kind in self._field.kinds_of[call]:
                for skipped, left in moves.get(kind, ()):
                    self._budget.spend(1)
                    worth = value + self._weights.pair + self._weights.missing * skipped
                    chained = (link, self._number, (call, left))
                    if self._reach((left, used | bit), worth, chained):
                        self._offer(call, used, worth + self._weights.missing * self._residuals.need[left], chained)
                        yield left, used | bit

    def _reach(self, state: tuple[int, int], value: int, link: Link) -> bool:
        held = self._states.get(state)
        if held is not None and held[0] >= value:
            return False
        self._states[state] = (value, link)
        return True

    def _offer(self, call: int, used: int, value: int, link: Link) -> None:
        place = self._segments.after((self._segments.of_call[call], used), call)
        held = self._found.get(place)
        if held is None or held[0] < value:
            self._found[place] = (value, link)


class Field:
    """The calls that matter to a part, each with the kinds of leaves that it can be and the batch it belongs to."""

    def __init__(self, part: Part, rows: Sequence[Row], kinds: Sequence[int], batches_of: Sequence[Batches]) -> None:
        of_call: dict[int, list[int]] = {}
        for kind, row in {kinds[leaf]: rows[leaf] for leaf in part.leaves}.items():
            for call in row:
                of_call.setdefault(call, []).append(kind)
        self.calls = sorted(of_call)
        self.kinds_of = of_call
        self.batches_of = batches_of


class Sweep:
    """One walk over the calls that matter to a group with branches.

    A state is what is left of the group, with the best worth it was reached at. All starts are walked together: a group
    that begins later is one more way to the state in which all of it is left.
    """

    def __init__(self, stairs: Stairs, residuals: Residuals, weights: Weights, number: int, field: Field) -> None:
        self._stairs = stairs
        self._residuals = residuals
        self._weights = weights
        self._number = number
        self._field = field
        self._states: dict[int, tuple[int, Link]] = {}
        self._offers: list[tuple[int, int, Link]] = []
        self._top: int | None = None

    def walk(self, whole: int) -> None:
        """Take the stairs through the group of this number."""
        stairs = self._stairs
        cost = self._weights.missing * self._residuals.need[whole]
        start, left = 0, len(self._field.calls)
        for call in self._field.calls:
            while start < len(stairs.places) and stairs.places[start] <= call:
                self._enter(whole, stairs.values[start], stairs.links[start], cost)
                start += 1
            self._step(call, left)
            left -= 1
        stairs.lift += cost
        for place, value, link in self._offers:
            stairs.offer(place, value - cost, link)

    def _enter(self, whole: int, value: int, link: Link, cost: int) -> None:
        """Begin the group at a rise of the stairs."""
        held = self._states.get(whole)
        if held is None or held[0] < value:
            self._states[whole] = (value, (link, self._number, None))
        if self._top is None or value + cost > self._top:
            self._top = value + cost

    def _step(self, call: int, left: int) -> None:
        """Let a call be paired in every state in which it can be."""
        batches, kinds = self._field.batches_of[call], self._field.kinds_of[call]
        residuals, weights = self._residuals, self._weights
        states, most, need, top = self._states, residuals.most, residuals.need, self._top
        reached: list[tuple[int, int, Link]] = []
        hopeless: list[int] = []
        for rest, (value, link) in states.items():
            if top is not None and value + weights.pair * min(most[rest], left) <= top:
                hopeless.append(rest)
                continue
            moves = residuals.moves(rest, batches)
            for kind in kinds:
                for skipped, after in moves.get(kind, ()):
                    reached.append((after, value + weights.pair + weights.missing * skipped, link))
        self._stairs.budget.spend(len(states) + len(reached))
        for rest in hopeless:
            del states[rest]
        for after, value, link in reached:
            held = states.get(after)
            if held is not None and held[0] >= value:
                continue
            chained = (link, self._number, (call, after))
            worth = value + weights.missing * need[after]
            if self._top is None or worth > self._top:
                self._top = worth
                self._offers.append((call + 1, worth, chained))
            if after != EMPTY:
                states[after] = (value, chained)
