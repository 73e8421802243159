"""Groups whose branches are interleaved: the best way through them, call by call."""

from __future__ import annotations

from collections.abc import Sequence

from ._pairing import Row
from ._residuals import EMPTY, Batches, Residuals
from ._stairs import Stairs
from ._tree import Part
from ._weights import Link, Weights


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
