"""The best pairs of a group in every interval of calls, and `Stairs`: the best value by how many calls are used."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from ._pairing import Row
from ._tree import NONE, Link, SearchBudget, Slot, State, Weights

Range = tuple[int, int]


class Pool:
    """The calls that a group of single calls accepts, and the room for them.

    Slots that accept the same calls are one kind of room. For each kind, `required` is the number of steps that have to
    be there, and `most` the number of calls that it can take.
    """

    def __init__(self, slots: Sequence[Slot], rows: Sequence[Row]) -> None:
        self.slots = slots
        self.rows: list[Row] = []
        self._kept: list[Row] = []
        self.members: list[list[int]] = []
        """The indexes of the slots of each kind."""
        # Most equal rows are one object, and are recognised without comparing their calls.
        same: dict[int, int] = {}
        known: dict[tuple[int, ...], int] = {}
        for place, slot in enumerate(slots):
            row = rows[slot.leaves[0]] if len(slot.leaves) == 1 else union([rows[leaf] for leaf in slot.leaves])
            kind = same.get(id(row), -1)
            if kind < 0:
                kind = same[id(row)] = known.setdefault(tuple(row), len(known))
                if kind == len(self.rows):
                    self.members.append([])
                # Keep a row even if it equals another: otherwise its id could be reused for a third one.
                self._kept.append(row)
                self.rows += [row] if kind == len(self.rows) else []
            self.members[kind].append(place)
        self.need = sum([slot.at_least for slot in slots])
        self.required = [sum([slots[place].at_least for place in places]) for places in self.members]
        self.most = [self._most(kind) for kind in range(len(self.rows))]
        self.is_disjoint = len(set[int]().union(*self.rows)) == sum(map(len, self.rows))
        """Whether no call fits two kinds of room: then counting is enough."""

    @cached_property
    def calls(self) -> Row:
        """The calls that some slot accepts, in order."""
        return union(self.rows)

    def _most(self, kind: int) -> int:
        calls = len(self.rows[kind])
        room = [self.slots[place].at_most for place in self.members[kind]]
        return min([calls, sum([calls if most is None else most for most in room])])

    @cached_property
    def kinds(self) -> list[list[int]]:
        """For each of `calls`, the kinds of room that it fits."""
        of_call: dict[int, list[int]] = {call: [] for call in self.calls}
        for kind, row in enumerate(self.rows):
            for call in row:
                of_call[call].append(kind)
        return list(of_call.values())

    def full(self, weights: Weights) -> int:
        """Return how much more the group is worth with all room taken than with none."""
        pairs = zip(self.required, self.most, strict=True)
        return sum(
            [
                min(required, most) * weights.required + max(0, most - required) * weights.pair
                for required, most in pairs
            ]
        )

    def room(self) -> Counts | Matching:
        """Return the room of the group, all of it free."""
        return Counts(self) if self.is_disjoint else Matching(self)

    def pairs(self, first: int, end: int) -> list[list[int]]:
        """Return the calls from `first` to before `end` that each kind of room takes in the best pairing, in order."""
        room = self.room()
        for index in range(bisect_left(self.calls, first), bisect_left(self.calls, end)):
            room.take(index)
        return [sorted(calls) for calls in room.taken()]


def union(rows: Sequence[Row]) -> Row:
    """Return the calls of several rows, in order, each once."""
    return rows[0] if len(rows) == 1 else sorted({call for row in rows for call in row})


class Counts:
    """Room that is filled by counting, because each call fits only one kind."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._taken: list[list[int]] = [[] for _ in pool.rows]

    def take(self, index: int) -> None:
        """Put a call into its kind of room, if any of that is free."""
        [kind] = self._pool.kinds[index]
        if len(self._taken[kind]) < self._pool.most[kind]:
            self._taken[kind].append(self._pool.calls[index])

    def taken(self) -> list[list[int]]:
        """The calls in each kind of room."""
        return self._taken


class Matching:
    """Room that calls compete for. Each call is added along one augmenting path.

    The sets of slots that calls can fill are a transversal matroid (Edmonds and Fulkerson, 1965): one more call adds at
    most one slot to the best of them. So required slots are searched first, and a filled slot stays filled.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._taken: list[dict[int, None]] = [{} for _ in pool.rows]
        self.tried = 0
        """The number of rooms visited."""

    def take(self, index: int) -> bool | None:
        """Find room for a call; true if that fills a required step, false if not, `None` if there is no room."""
        pool, taken = self._pool, self._taken
        reached: dict[int, tuple[int, int]] = {}
        waiting = [(kind, index, -1) for kind in pool.kinds[index]]
        spare: int | None = None
        while waiting:
            kind, mover, before = waiting.pop(0)
            self.tried += 1
            if kind in reached:
                continue
            reached[kind] = (mover, before)
            if len(taken[kind]) < min(pool.required[kind], pool.most[kind]):
                self._move(kind, reached)
                return True
            if spare is None and len(taken[kind]) < pool.most[kind]:
                spare = kind
            waiting += [(other, call, kind) for call in taken[kind] for other in pool.kinds[call]]
        if spare is None:
            return None
        self._move(spare, reached)
        return False

    def _move(self, kind: int, reached: dict[int, tuple[int, int]]) -> None:
        """Move each call on the augmenting path to this room one room further."""
        while kind >= 0:
            mover, before = reached[kind]
            if before >= 0:
                del self._taken[before][mover]
            self._taken[kind][mover] = None
            kind = before

    def taken(self) -> list[list[int]]:
        """The calls in each kind of room."""
        return [[self._pool.calls[index] for index in row] for row in self._taken]


class Serving:
    """The stairs after a group of single calls, found by trying each start of the group."""

    def __init__(self, stairs: Stairs, pool: Pool, weights: Weights, number: int) -> None:
        self._stairs = stairs
        self._pool = pool
        self._weights = weights
        self._number = number
        self._full = pool.full(weights)
        # For each call of the group, the best value of ending at it; and from which start on the stairs, and which
        # first call.
        self._best: list[int | None] = [None] * len(pool.calls)
        self._starts: dict[int, tuple[int, int]] = {}

    def serve(self, batches: Sequence[Range] | None = None) -> None:
        """Advance the stairs through the group; with `batches`, all calls of the group are in one of them."""
        if self._pool.calls:
            for first, end in ((0, self._pool.calls[-1] + 1),) if batches is None else batches:
                self._sweep_all(first, end)
        stairs, links = self._stairs, self._stairs.links.copy()
        for index, value in enumerate(self._best):
            if value is not None:
                (start, first), call = self._starts[index], self._pool.calls[index]
                mark = (self._pool.calls[first], call + 1)
                stairs.offer(call + 1, value, (links[start], self._number, mark))
        stairs.lift += self._weights.missing * self._pool.need

    def _sweep_all(self, first: int, end: int) -> None:
        """Try every start from which the calls of a range can be reached, the latest first."""
        calls, places = self._pool.calls, self._stairs.places
        high = bisect_left(calls, end)
        reached = high
        for start in range(bisect_left(places, end) - 1, -1, -1):
            low = bisect_left(calls, max(first, places[start]), 0, high)
            # A start with no call between it and the next start is worth less, and reaches the same calls.
            if low < reached:
                self._stairs.budget.spend(self._sweep(start, low, high))
                reached = low
            if places[start] <= first:
                return

    def _sweep(self, start: int, low: int, high: int) -> int:
        """Pair calls from a start on, until nothing more can be gained; return the number of steps."""
        if self._pool.is_disjoint:
            return self._count(start, low, high)
        value, left = self._stairs.values[start], self._full
        best, weights, room = self._best, self._weights, Matching(self._pool)
        top = value
        for index in range(low, high):
            known = best[index]
            if known is not None and known > top:
                top = known
            if top >= value + left:
                break
            taken = room.take(index)
            if taken is None:
                continue
            gain = weights.required if taken else weights.pair
            value, left = value + gain, left - gain
            if value > top:
                best[index] = top = value
                self._starts[index] = (start, low)
        return room.tried + 1

    def _count(self, start: int, low: int, high: int) -> int:
        """Do the same as `_sweep` for a group in which no call has a choice."""
        value, left = self._stairs.values[start], self._full
        best, kinds, starts = self._best, self._pool.kinds, self._starts
        required, most = self._pool.required, self._pool.most
        counts = [0] * len(most)
        gain, spare = self._weights.required, self._weights.pair
        top = value
        for index in range(low, high):
            known = best[index]
            if known is not None and known > top:
                top = known
            if top >= value + left:
                return index - low + 1
            kind = kinds[index][0]
            count = counts[kind]
            if count == most[kind]:
                continue
            counts[kind] = count + 1
            worth = gain if count < required[kind] else spare
            value += worth
            left -= worth
            if value > top:
                best[index] = top = value
                starts[index] = (start, low)
        return high - low + 1


def slot_pairs(pool: Pool, taken: Sequence[Sequence[int]]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the index of each slot and the calls that it takes; `taken` has the calls in each kind of room.

    Required steps are served before optional ones, and each in the order in which they are written.
    """
    for members, calls in zip(pool.members, taken, strict=True):
        spare = len(calls) - sum([pool.slots[place].at_least for place in members])
        left = len(calls)
        first = 0
        for place in members:
            slot = pool.slots[place]
            share = min(left, slot.at_least)
            if spare > 0:
                more = spare if slot.at_most is None else min(spare, slot.at_most - slot.at_least)
                share, spare = share + more, spare - more
            yield place, calls[first : first + share]
            first, left = first + share, left - share


class Stairs(State):
    """A step function that never falls: the best value of the first calls, up to each place.

    It is stored as the places where it rises. `lift` is added to all values, so that a step which is missing everywhere
    costs one addition. Of equal values the first one found stays, so that a search always ends in the same reading.
    """

    __slots__ = ("links", "places", "values")

    def __init__(
        self, places: list[int], values: list[int], links: list[Link], lift: int, budget: SearchBudget
    ) -> None:
        self.places = places
        self.values = values
        self.links = links
        self.lift = lift
        self.budget = budget

    @classmethod
    def ground(cls, budget: SearchBudget) -> Stairs:
        """Return the stairs before the first step: 0 everywhere."""
        return cls([0], [0], [NONE], 0, budget)

    @property
    def top(self) -> tuple[int, Link]:
        return self.values[-1] + self.lift, self.links[-1]

    def marked(self, number: int, mark: object) -> Stairs:
        self.budget.spend(len(self.places))
        links = [(link, number, mark) for link in self.links]
        return Stairs(self.places.copy(), self.values.copy(), links, self.lift, self.budget)

    def take(self, row: Row, gain: int, number: int) -> None:
        # Pairs are tried from the last to the first, so that no call is taken twice (Hunt and Szymanski, 1977). Of the
        # calls after a rise only the first counts: the others are worth the same, and later.
        places, values, links = self.places, self.values, self.links
        high = len(row)
        tried = 0
        for index in range(len(places) - 1, -1, -1):
            first = bisect_left(row, places[index], 0, high)
            if first < high:
                tried += 1
                call = row[first]
                self.offer(call + 1, values[index] + gain, (links[index], number, call), index)
                if first == 0:
                    break
                high = first
        self.budget.spend(tried + 1)

    def take_all(self, row: Row, gain: int, number: int) -> None:
        places, values, links = self.places, self.values, self.links
        self.budget.spend(len(row) + 1)
        for call in row:
            index = bisect_right(places, call) - 1
            if index >= 0:
                self.offer(call + 1, values[index] + gain, (links[index], number, call), index)

    def offer(self, place: int, value: int, link: Link, low: int = 0) -> None:
        """Raise the stairs to a value from a place on; `low` is the index of a rise before it."""
        places, values = self.places, self.values
        index = bisect_right(places, place, low)
        if index and values[index - 1] >= value:
            return
        if index and places[index - 1] == place:
            index -= 1
        elif index == len(places) or values[index] > value:
            places.insert(index, place)
            values.insert(index, value)
            self.links.insert(index, link)
            return
        places[index], values[index], self.links[index] = place, value, link
        end = index + 1
        while end < len(places) and values[end] <= value:
            end += 1
        del places[index + 1 : end], values[index + 1 : end], self.links[index + 1 : end]

    def raise_by(self, other: Stairs) -> Stairs | None:
        self.budget.spend(len(other.places))
        change = other.lift - self.lift
        taken = Stairs([], [], [], self.lift, self.budget)
        # Everything before the first rise of the other stays. Each round of a loop raises only the end, and merging all
        # of it took 4.7 s for a loop of 10,000 calls.
        start = max(0, bisect_left(self.places, other.places[0]) - 1) if other.places else 0
        merge = _Merge(self.places[start:], self.values[start:], self.links[start:])
        for place, worth, link in zip(other.places, other.values, other.links, strict=True):
            value = worth + change
            if merge.add(place, value, link):
                taken.places.append(place)
                taken.values.append(value)
                taken.links.append(link)
        if not taken.places:
            return None
        self.places[start:], self.values[start:], self.links[start:] = merge.finish()
        return taken


class _Merge:
    """The merge of two staircases, from left to right."""

    def __init__(self, places: list[int], values: list[int], links: list[Link]) -> None:
        self._from = (places, values, links)
        self._next = 0
        self._places: list[int] = []
        self._values: list[int] = []
        self._links: list[Link] = []

    def add(self, place: int, value: int, link: Link) -> bool:
        """Add a rise of the other staircase; return whether the merged one rises there, too."""
        self._follow(place)
        if self._values and self._values[-1] >= value:
            return False
        if self._places and self._places[-1] == place:
            self._values[-1], self._links[-1] = value, link
        else:
            self._append(place, value, link)
        return True

    def finish(self) -> tuple[list[int], list[int], list[Link]]:
        """The merged staircase."""
        self._follow(1 << 62)
        return self._places, self._values, self._links

    def _follow(self, place: int) -> None:
        """Copy rises of this staircase up to a place, except where the merged one is as high already."""
        places, values, links = self._from
        at = self._next
        while at < len(places) and places[at] <= place:
            if not self._values or values[at] > self._values[-1]:
                self._append(places[at], values[at], links[at])
            at += 1
        self._next = at

    def _append(self, place: int, value: int, link: Link) -> None:
        self._places.append(place)
        self._values.append(value)
        self._links.append(link)
