"""What is left of a group after some calls: equal rests are one number, however they came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ._tree import AnyOrder, AtOnce, InOrder, OneCall, OneOf, Part, Perhaps
from ._weights import SearchBudget

EMPTY = 0
"""Nothing is left."""
_WITHOUT_END = 1 << 40
_ANY = -1
"""The batch of calls at once none of which was made yet."""

Form = tuple[str, tuple[int, ...], int, int | None]
"""The word, the rests inside, and one or two numbers: the kind of a call, a batch, or the bounds of a repeat."""

Batches = tuple[int, ...]
"""The batches that a call belongs to: several, where one ran long beside others."""

Moves = Mapping[int, Sequence[tuple[int, int]]]
"""By the kind of call that comes next: how many steps are skipped, and what is left after it."""


class Residuals:
    """Rests of groups, by number, each with its moves.

    Leaves are known by their kind: those with the same calls are the same here, so that equal branches fall together.
    Rests of sequences are sequences, those of groups are sorted. The moves are the partial derivatives of an expression
    (Antimirov, 1996), with shuffles.
    """

    def __init__(self, kinds: Sequence[int], budget: SearchBudget) -> None:
        self._kinds = kinds
        self._budget = budget
        self._forms: list[Form] = [("in order", (), 0, None)]
        self._numbers: dict[Form, int] = {self._forms[0]: EMPTY}
        self._moves: dict[tuple[int, Batches], Moves] = {}
        self.need = [0]
        """How many steps of each rest are missing if no call comes any more."""
        self.most = [0]
        """How many calls each rest can take at most."""
        self._has_batch = [False]

    def of_part(self, part: Part) -> int:
        """The number of a whole part."""
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
        """A single call."""
        kind = self._kinds[leaf]
        return self._number(("call", (), kind, None), 1, int(kind >= 0))

    def in_order(self, items: Sequence[int]) -> int:
        """Rests one after the other."""
        flat = self._flat("in order", items)
        if len(flat) < 2:
            return flat[0] if flat else EMPTY
        return self._number(("in order", tuple(flat), 0, None), *self._sums(flat))

    def any_order(self, items: Sequence[int]) -> int:
        """Rests that do not constrain each other."""
        flat = sorted(self._flat("any order", items))
        if len(flat) < 2:
            return flat[0] if flat else EMPTY
        return self._number(("any order", tuple(flat), 0, None), *self._sums(flat))

    def at_once(self, items: Sequence[int], batch: int = _ANY) -> int:
        """Rests whose calls all belong to one batch."""
        flat = sorted([item for item in items if item != EMPTY])
        if not flat:
            return EMPTY
        return self._number(("at once", tuple(flat), batch, None), *self._sums(flat))

    def perhaps(self, item: int) -> int:
        """A rest that may be left out."""
        return self._number(("perhaps", (item,), 0, None), 0, self.most[item]) if item != EMPTY else EMPTY

    def one_of(self, items: Sequence[int]) -> int:
        """One of several rests."""
        distinct = sorted(set(items))
        if len(distinct) == 1:
            return distinct[0]
        need, most = min([self.need[item] for item in items]), max([self.most[item] for item in items])
        return self._number(("one of", tuple(distinct), 0, None), need, most)

    def repeat(self, item: int, at_least: int, at_most: int | None) -> int:
        """A rest several times."""
        if item == EMPTY or at_most == 0:
            return EMPTY
        if at_least == at_most == 1:
            return item
        most = self.most[item] * (_WITHOUT_END if at_most is None else at_most)
        form: Form = ("repeat", (item,), at_least, at_most)
        return self._number(form, self.need[item] * at_least, min(most, _WITHOUT_END))

    def moves(self, rest: int, batches: Batches) -> Moves:
        """The calls that can come next where calls of these batches are made."""
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
                held = [*others, left]
                yield kind, skipped, self.any_order(held) if batch is None else self.at_once(held, batch)

    def _next_round(
        self, item: int, at_least: int, at_most: int | None, batches: Batches
    ) -> Iterator[tuple[int, int, int]]:
        # Rounds are alike, so skipping one before a call is the same as leaving out a later one.
        more = self.repeat(item, max(0, at_least - 1), None if at_most is None else at_most - 1)
        for kind, skipped, left in self._all_moves(item, batches):
            yield kind, skipped, self.in_order([left, more])

    def _flat(self, word: str, items: Sequence[int]) -> list[int]:
        """The items without empty ones, those with the same word taken apart."""
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
