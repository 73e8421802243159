"""The best worth of a reading by how many of the calls it uses: a staircase of places and values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from ._pairing import Row
from ._weights import NONE, Link, SearchBudget, State


class Stairs(State):
    """A function of the place that never falls: what the first calls, up to there, are worth at most.

    It is kept as the places where it rises. `lift` is added to all values, so that a step which is missing everywhere
    costs one addition. Among equals the first one found stays, so that a search always ends in the same reading.
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
        """The stairs before anything is expected: worth nothing everywhere."""
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
        """Raise the stairs to a value from a place on, `low` being an index of a rise before it."""
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
        # What lies before the first rise of the other stays. Each round of a loop raises only the end, and merging all
        # of it took 4.7 s for a loop of 10,000 calls.
        start = max(0, bisect_left(self.places, other.places[0]) - 1) if other.places else 0
        held = _Merge(self.places[start:], self.values[start:], self.links[start:])
        for place, worth, link in zip(other.places, other.values, other.links, strict=True):
            value = worth + change
            if held.add(place, value, link):
                taken.places.append(place)
                taken.values.append(value)
                taken.links.append(link)
        if not taken.places:
            return None
        self.places[start:], self.values[start:], self.links[start:] = held.finish()
        return taken


class _Merge:
    """Two staircases becoming one, from the left."""

    def __init__(self, places: list[int], values: list[int], links: list[Link]) -> None:
        self._from = (places, values, links)
        self._next = 0
        self._places: list[int] = []
        self._values: list[int] = []
        self._links: list[Link] = []

    def add(self, place: int, value: int, link: Link) -> bool:
        """Take over a rise of the other staircase, if it is one here as well."""
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
        """Take over the own rises up to a place, as far as they still are higher."""
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
