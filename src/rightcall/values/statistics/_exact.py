"""Did it change? An exact test over cases, and which of them changed.

If nothing changed, the trials of a case before and after are exchangeable, so how many of those that passed fall on the
side after is hypergeometric, independently in each case. With one trial on each side this is McNemar's exact test, with
one case it is Fisher's. There is no approximation and, but for very unequal repeats, nothing random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import comb, fsum, gcd, lcm, prod
from operator import mul
from random import Random
from typing import NamedTuple

_MOST_CELLS = 2_000_000
"""Combinations of two groups of cases that are summed exactly; beyond, permutations are drawn."""
_PERMUTATIONS = 99_999
_SEED = 20_261_116
_NEGLIGIBLE = 1e-20
"""Tails below this are cut: no probability that is compared with anything is near it."""


class Stratum(NamedTuple):
    """One case on both sides: trials measured and passed, before and after."""

    before: int
    passed_before: int
    after: int
    passed_after: int

    @property
    def passed(self) -> int:
        """Trials that passed, on both sides together."""
        return self.passed_before + self.passed_after


class Odds(NamedTuple):
    """How likely a result as bad, or as good, as the one seen would be if nothing had changed."""

    worse: float
    better: float
    exact: bool = True
    """Whether all arrangements were summed; otherwise permutations were drawn with a fixed seed."""


class CaseOdds(NamedTuple):
    """The same for one case, going down and going up: alone, and adjusted for looking at every case."""

    worse: float
    adjusted_worse: float
    better: float
    adjusted_better: float


def exact_odds(cases: Sequence[Stratum], weights: Sequence[int] | None = None) -> Odds:
    """The odds of the summed change `Σ w·(passed_after/after - passed_before/before)` if nothing had changed."""
    steps = _integer_steps(cases, weights or [1] * len(cases))
    observed = sum(step * case.passed_after for step, case in zip(steps, cases, strict=True))
    distribution = _distribution(cases, steps)
    if distribution is None:
        return _drawn_odds(cases, steps, observed)
    worse = fsum(chance for value, chance in distribution.items() if value <= observed)
    better = fsum(chance for value, chance in distribution.items() if value >= observed)
    return Odds(min(1.0, worse), min(1.0, better))


def adjusted_odds(cases: Sequence[Stratum]) -> list[CaseOdds]:
    """The odds of each case, alone and adjusted for looking at all of them.

    Adjusted exactly, since cases are independent: the chance that any case would have a tail as small as this one's. A
    case that cannot have so small a tail, such as one that always passed, costs the others nothing.
    """
    # Tails are fractions: two cases of different sizes may have the same tail, and floats would tell them apart.
    lower = {kind: _tails(kind, falling=True) for kind in {_kind(case) for case in cases}}
    upper = {kind: _tails(kind, falling=False) for kind in lower}
    counts = Counter(_kind(case) for case in cases)
    adjusted: dict[tuple[Fraction, bool], float] = {}

    def adjust(tail: Fraction, *, falling: bool) -> float:
        key = (tail, falling)
        if key not in adjusted:
            attained = lower if falling else upper
            missed = [(1.0 - _largest_at_most(attained[kind], tail)) ** times for kind, times in counts.items()]
            # 1 - Π(1 - F) is at least F, which rounding of the product must not undercut.
            adjusted[key] = max(float(tail), 1.0 - prod(missed))
        return adjusted[key]

    odds: list[CaseOdds] = []
    for case in cases:
        down, up = lower[_kind(case)][case.passed_after], upper[_kind(case)][case.passed_after]
        odds.append(CaseOdds(float(down), adjust(down, falling=True), float(up), adjust(up, falling=False)))
    return odds


_Kind = tuple[int, int, int]
"""Trials before, trials after, and passes on both sides: what the distribution of a case depends on."""


def _kind(case: Stratum) -> _Kind:
    return case.before, case.after, case.passed


def _ways(kind: _Kind) -> dict[int, int]:
    """In how many ways each number of passes can fall on the side after."""
    before, after, passed = kind
    possible = range(max(0, passed - before), min(after, passed) + 1)
    return {hits: comb(after, hits) * comb(before, passed - hits) for hits in possible}


def _tails(kind: _Kind, *, falling: bool) -> dict[int, Fraction]:
    """The chance of so many passes after, or of fewer (falling) or more."""
    ways = _ways(kind)
    order = sorted(ways, reverse=not falling)
    total = sum(ways.values())
    return dict(zip(order, [Fraction(some, total) for some in accumulate(ways[hits] for hits in order)], strict=True))


def _largest_at_most(tails: dict[int, Fraction], bound: Fraction) -> float:
    return float(max((tail for tail in tails.values() if tail <= bound), default=0))


def _integer_steps(cases: Sequence[Stratum], weights: Sequence[int]) -> list[int]:
    """How much one pass more after changes the sum, in the largest unit that makes all of them integers.

    Sums of integers have exact ties; sums of floats do not.
    """
    unit = lcm(*[size for case in cases for size in (case.before, case.after)])
    steps = [weight * (unit // case.after + unit // case.before) for case, weight in zip(cases, weights, strict=True)]
    shared = gcd(*steps)
    return [step // shared for step in steps]


def _distribution(cases: Sequence[Stratum], steps: Sequence[int]) -> dict[int, float] | None:
    """The chance of each value of the sum; `None` where there are too many values."""
    of_step: dict[int, Counter[_Kind]] = {}
    for case, step in zip(cases, steps, strict=True):
        of_step.setdefault(step, Counter())[_kind(case)] += 1
    whole = {0: 1.0}
    for step, kinds in of_step.items():
        start, chances = _sum_of_kinds(kinds)
        if len(whole) * len(chances) > _MOST_CELLS:
            return None
        joined: dict[int, float] = {}
        for value, chance in whole.items():
            for place, other in enumerate(chances):
                total = value + step * (start + place)
                joined[total] = joined.get(total, 0.0) + chance * other
        whole = joined
    return whole


def _sum_of_kinds(kinds: Counter[_Kind]) -> tuple[int, list[float]]:
    """The distribution of the passes after, over cases of one step: its least value, and the chances from there on."""
    parts: list[tuple[int, list[float]]] = []
    for kind, times in kinds.items():
        ways = _ways(kind)
        total = sum(ways.values())
        parts.append(_power((min(ways), [ways[hits] / total for hits in sorted(ways)]), times))
    return reduce(_convolve, sorted(parts, key=lambda part: len(part[1])))


def _power(part: tuple[int, list[float]], times: int) -> tuple[int, list[float]]:
    result: tuple[int, list[float]] | None = None
    while times:
        if times & 1:
            result = part if result is None else _convolve(result, part)
        times >>= 1
        part = _convolve(part, part) if times else part
    return result or (0, [1.0])


def _convolve(first: tuple[int, list[float]], second: tuple[int, list[float]]) -> tuple[int, list[float]]:
    (start, long), (offset, short) = (first, second) if len(first[1]) >= len(second[1]) else (second, first)
    width, mirrored = len(short), short[::-1]
    padded = [0.0] * (width - 1) + long + [0.0] * (width - 1)
    # `sum` over `map` stays in C: 20 times as fast as two loops.
    chances = [sum(map(mul, padded[place : place + width], mirrored)) for place in range(len(long) + width - 1)]
    return _trim(start + offset, chances)


def _trim(start: int, chances: list[float]) -> tuple[int, list[float]]:
    first, last = 0, len(chances)
    while last - first > 1 and chances[first] < _NEGLIGIBLE:
        first += 1
    while last - first > 1 and chances[last - 1] < _NEGLIGIBLE:
        last -= 1
    return start + first, chances[first:last]


def _drawn_odds(cases: Sequence[Stratum], steps: Sequence[int], observed: int) -> Odds:
    random = Random(_SEED)  # noqa: S311 - the same odds in every run are wanted
    sums = [0] * _PERMUTATIONS
    for case, step in zip(cases, steps, strict=True):
        ways = _ways(_kind(case))
        drawn = random.choices([step * hits for hits in ways], cum_weights=[*accumulate(ways.values())], k=len(sums))
        sums = [*map(int.__add__, sums, drawn)]
    worse, better = sum(value <= observed for value in sums), sum(value >= observed for value in sums)
    return Odds((1 + worse) / (1 + len(sums)), (1 + better) / (1 + len(sums)), exact=False)
