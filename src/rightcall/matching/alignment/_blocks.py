"""The search if some calls have no fixed order, and through groups whose branches are interleaved.

`Places` is the state of a search if the order of some calls is free. `Residuals` numbers what remains of a group after
some of its calls; such groups are walked call by call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ._intervals import Stairs
from ._pairing import Row
from ._tree import NONE, AnyOrder, AtOnce, InOrder, Link, OneCall, OneOf, Part, Perhaps, SearchBudget, State, Weights

Place: TypeAlias = tuple[int, int]
"""A segment, and a bit mask of its calls that are used. All calls of earlier segments are past."""
EMPTY = 0
"""The residual of a finished group: no step remains."""
_WITHOUT_END = 1 << 40
_ANY = -1
"""The batch of a group of calls at once before the first of them."""

Form = tuple[str, tuple[int, ...], int, int | None]
"""A residual: its word, the residuals inside, and two numbers (the kind of a call, a batch, bounds of a repeat)."""

Batches = tuple[int, ...]
"""The batches that a call belongs to: several if a long call overlaps others that do not overlap each other."""

Moves = Mapping[int, Sequence[tuple[int, int]]]
"""By the kind of the next call: how many steps it skips, and the residual after it."""


class Segments:
    """The calls in segments: each block of calls without an order, and every other call as a segment of its own."""

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
        """Whether a segment has two calls that some step accepts, so that their order is free."""
        return any([len(members) > 1 for members in self.members])

    def after(self, place: Place, call: int) -> Place:
        """The place after one more call."""
        segment = self.of_call[call]
        used = self.bits[call] | (place[1] if place[0] == segment else 0)
        return (segment, used) if used.bit_count() < len(self.members[segment]) else (segment + 1, 0)

    def first_of(self, row: Row, place: Place, starts: Sequence[int]) -> Iterator[int]:
        """Yield a row's unused calls in the first segment that has any; calls of later segments are worth no more."""
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
    """The best value of each place, and how it was reached: what `Stairs` is for calls with a full order."""

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
        """Return the state before the first step."""
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
        """Advance the places through a group."""
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
        """Apply offers that improve a place, and return those that were not pruned."""
        self.budget.spend(len(offered))
        for place, offer in offered.items():
            value = self.worth.get(place)
            if value is None or value[0] < offer[0]:
                self.worth[place] = offer
        self._prune()
        return {place: offer for place, offer in offered.items() if self.worth.get(place) is offer}

    def _prune(self) -> None:
        """Drop places worth no more than one of an earlier segment, from which everything they reach can be reached."""
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
        """The best value and its link, by the residual and the calls of the current segment that are used."""

    def walk(self, whole: int, starts: dict[Place, tuple[int, Link]]) -> dict[Place, tuple[int, Link]]:
        """Return the places after the group that are reached by pairing at least one call."""
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
        for (rest, _), value in self._states.items():
            if (rest, 0) not in past or past[rest, 0][0] < value[0]:
                past[rest, 0] = value
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
        best = self._states.get(state)
        if best is not None and best[0] >= value:
            return False
        self._states[state] = (value, link)
        return True

    def _offer(self, call: int, used: int, value: int, link: Link) -> None:
        place = self._segments.after((self._segments.of_call[call], used), call)
        best = self._found.get(place)
        if best is None or best[0] < value:
            self._found[place] = (value, link)


class Field:
    """The calls that some leaf of a part accepts, each with the kinds of these leaves, and the batches of all calls."""

    def __init__(self, part: Part, rows: Sequence[Row], kinds: Sequence[int], batches_of: Sequence[Batches]) -> None:
        of_call: dict[int, list[int]] = {}
        for kind, row in {kinds[leaf]: rows[leaf] for leaf in part.leaves}.items():
            for call in row:
                of_call.setdefault(call, []).append(kind)
        self.calls = sorted(of_call)
        self.kinds_of = of_call
        self.batches_of = batches_of


class Sweep:
    """One pass over the calls that a group with branches accepts.

    A state is a residual of the group, with the best value that reaches it. All starts share the pass: a later start of
    the group is one more way to reach the residual that is the whole group.
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
        """Advance the stairs through a group; `whole` is the number of the residual that is all of it."""
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
        best = self._states.get(whole)
        if best is None or best[0] < value:
            self._states[whole] = (value, (link, self._number, None))
        if self._top is None or value + cost > self._top:
            self._top = value + cost

    def _step(self, call: int, left: int) -> None:
        """Pair a call in every state that accepts it; `left` counts the calls from this one on."""
        batches, kinds = self._field.batches_of[call], self._field.kinds_of[call]
        residuals, weights = self._residuals, self._weights
        states, most, need, top = self._states, residuals.most, residuals.need, self._top
        reached: list[tuple[int, int, Link]] = []
        hopeless: list[int] = []
        for rest, (value, link) in states.items():
            # Drop a state that could not beat the top even if every remaining call were paired.
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
            best = states.get(after)
            if best is not None and best[0] >= value:
                continue
            chained = (link, self._number, (call, after))
            worth = value + weights.missing * need[after]
            if self._top is None or worth > self._top:
                self._top = worth
                self._offers.append((call + 1, worth, chained))
            if after != EMPTY:
                states[after] = (value, chained)


class Residuals:
    """What can remain of groups, by number, each with its moves.

    Leaves that accept the same calls are one kind, so that equal branches become the same residual. What remains of a
    sequence is a sequence, and items of a group are sorted. The moves are the partial derivatives of an expression
    (Antimirov, 1996), with shuffles.
    """

    def __init__(self, kinds: Sequence[int], budget: SearchBudget) -> None:
        self._kinds = kinds
        self._budget = budget
        self._forms: list[Form] = [("in order", (), 0, None)]
        self._numbers: dict[Form, int] = {self._forms[0]: EMPTY}
        self._moves: dict[tuple[int, Batches], Moves] = {}
        self.need = [0]
        """How many steps of each residual are missing if no more calls come."""
        self.most = [0]
        """The most calls that each residual can take."""
        self._has_batch = [False]

    def of_part(self, part: Part) -> int:
        """Return the number of the residual that is a whole part."""
        node = part.node
        if isinstance(node, OneCall):
            return self.one_call(node.leaf)
        items = [self.of_part(item) for item in part.items]
        if isinstance(node, InOrder):
            return self.in_order(items)
        if isinstance(node, AnyOrder):
            return self.any_order(items)
        if isinstance(node, AtOnce):
            return self.at_once(items)
        if isinstance(node, Perhaps):
            return self.perhaps(items[0])
        if isinstance(node, OneOf):
            return self.one_of(items)
        return self.repeat(items[0], node.at_least, node.at_most)

    def one_call(self, leaf: int) -> int:
        """Return the residual that is a single call."""
        kind = self._kinds[leaf]
        return self._number(("call", (), kind, None), 1, int(kind >= 0))

    def in_order(self, items: Sequence[int]) -> int:
        """Return the residual of items one after the other."""
        flat = self._flat("in order", items)
        if len(flat) < 2:
            return flat[0] if flat else EMPTY
        return self._number(("in order", tuple(flat), 0, None), *self._sums(flat))

    def any_order(self, items: Sequence[int]) -> int:
        """Return the residual of items that do not constrain each other."""
        flat = sorted(self._flat("any order", items))
        if len(flat) < 2:
            return flat[0] if flat else EMPTY
        return self._number(("any order", tuple(flat), 0, None), *self._sums(flat))

    def at_once(self, items: Sequence[int], batch: int = _ANY) -> int:
        """Return the residual of items whose calls all belong to one batch."""
        flat = sorted([item for item in items if item != EMPTY])
        if not flat:
            return EMPTY
        return self._number(("at once", tuple(flat), batch, None), *self._sums(flat))

    def perhaps(self, item: int) -> int:
        """Return the residual of an item that may be left out."""
        return self._number(("perhaps", (item,), 0, None), 0, self.most[item]) if item != EMPTY else EMPTY

    def one_of(self, items: Sequence[int]) -> int:
        """Return the residual of one of several items."""
        distinct = sorted(set(items))
        if len(distinct) == 1:
            return distinct[0]
        need, most = min([self.need[item] for item in items]), max([self.most[item] for item in items])
        return self._number(("one of", tuple(distinct), 0, None), need, most)

    def repeat(self, item: int, at_least: int, at_most: int | None) -> int:
        """Return the residual of an item that is repeated."""
        if item == EMPTY or at_most == 0:
            return EMPTY
        if at_least == at_most == 1:
            return item
        most = self.most[item] * (_WITHOUT_END if at_most is None else at_most)
        form: Form = ("repeat", (item,), at_least, at_most)
        return self._number(form, self.need[item] * at_least, min(most, _WITHOUT_END))

    def moves(self, rest: int, batches: Batches) -> Moves:
        """Return the moves from a residual by a call that belongs to these batches."""
        key = (rest, batches if self._has_batch[rest] else ())
        known = self._moves.get(key)
        if known is None:
            self._budget.spend(20)
            fewest: dict[tuple[int, int], int] = {}
            for kind, skipped, left in self._next(rest, batches):
                fewest[kind, left] = min(skipped, fewest.get((kind, left), skipped))
            self._budget.spend(5 * len(fewest))
            by_kind: dict[int, list[tuple[int, int]]] = {}
            for (kind, left), skipped in fewest.items():
                by_kind.setdefault(kind, []).append((skipped, left))
            known = self._moves[key] = by_kind
        return known

    def _all_moves(self, rest: int, batches: Batches) -> Iterator[tuple[int, int, int]]:
        moves = self.moves(rest, batches)
        return ((kind, skipped, left) for kind, ends in moves.items() for skipped, left in ends)

    def _next(self, rest: int, batches: Batches) -> Iterator[tuple[int, int, int]]:
        word, items, number, bound = self._forms[rest]
        if word == "call":
            yield from [(number, 0, EMPTY)] if number != _ANY else ()
        elif word == "in order":
            yield from self._next_in_order(items, batches)
        elif word == "any order":
            yield from self._next_in_group(items, batches)
        elif word == "at once":
            for batch in [batch for batch in batches if number in (_ANY, batch)]:
                yield from self._next_in_group(items, batches, batch)
        elif word == "repeat":
            yield from self._next_round(items[0], number, bound, batches)
        else:
            for item in items:
                yield from self._all_moves(item, batches)

    def _next_in_order(self, items: Sequence[int], batches: Batches) -> Iterator[tuple[int, int, int]]:
        if not items:
            return
        first, rest = items[0], items[1:]
        for kind, skipped, left in self._all_moves(first, batches):
            yield kind, skipped, self.in_order([left, *rest])
        for kind, skipped, left in self._all_moves(self.in_order(rest), batches):
            yield kind, skipped + self.need[first], left

    def _next_in_group(
        self, items: Sequence[int], batches: Batches, batch: int | None = None
    ) -> Iterator[tuple[int, int, int]]:
        for place, item in enumerate(items):
            if place and items[place - 1] == item:
                continue
            others = [*items[:place], *items[place + 1 :]]
            for kind, skipped, left in self._all_moves(item, batches):
                remaining = [*others, left]
                yield kind, skipped, self.any_order(remaining) if batch is None else self.at_once(remaining, batch)

    def _next_round(
        self, item: int, at_least: int, at_most: int | None, batches: Batches
    ) -> Iterator[tuple[int, int, int]]:
        # Rounds are alike, so skipping one before a call is the same as leaving out a later one.
        more = self.repeat(item, max(0, at_least - 1), None if at_most is None else at_most - 1)
        for kind, skipped, left in self._all_moves(item, batches):
            yield kind, skipped, self.in_order([left, more])

    def _flat(self, word: str, items: Sequence[int]) -> list[int]:
        """Return the items without empty ones, with nested residuals of the same word flattened."""
        flat: list[int] = []
        for item in items:
            form = self._forms[item]
            flat += form[1] if form[0] == word or item == EMPTY else [item]
        return flat

    def _sums(self, items: Sequence[int]) -> tuple[int, int]:
        most = sum([self.most[item] for item in items])
        return sum([self.need[item] for item in items]), min(most, _WITHOUT_END)

    def _number(self, form: Form, need: int, most: int) -> int:
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self._forms)
            self._forms.append(form)
            self.need.append(need)
            self.most.append(most)
            self._has_batch.append(form[0] == "at once" or any([self._has_batch[item] for item in form[1]]))
        return number
