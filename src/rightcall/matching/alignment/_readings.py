"""The reading of an expectation that fits the calls best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ._intervals import Range
from ._pairing import Row
from ._retrace import Occurrence, retrace
from ._search import Calls, solve
from ._tree import Part, StepNode, parts_of
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
