"""Did it change? An exact test over cases, which of them changed, and rounds of repeats that may end early.

If nothing changed, the trials of a case before and after are exchangeable, so the number of passes that fall on the
side after is hypergeometric, independently in each case. With one trial on each side this is McNemar's exact test, with
one case it is Fisher's. Nothing is approximated, and nothing is random unless numbers of repeats are very unequal.

By how much did it change? The mean difference over cases, with its interval (Miettinen and Nurminen, stratified).

Many comparisons at once: which of many differences are more than chance.

Early looks are counted in the error rate, so that a gate is wrong no more often than promised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import acos, ceil, comb, copysign, cos, fsum, inf, lcm, lgamma, log, log1p, pi, prod, sqrt
from operator import mul
from random import Random
from typing import NamedTuple

from ._rates import Interval, Trials, crossing, normal_quantile, normal_tail

_MOST_CELLS = 2_000_000
"""Most combinations of two groups of cases to sum exactly. Beyond, permutations are drawn."""
_PERMUTATIONS = 99_999
_SEED = 20_261_116
_NEGLIGIBLE = 1e-20
"""Smaller tail probabilities are dropped: they are far below any that is compared with something."""
_COIN = 0.25
"""The largest variance of a trial: that of a fair coin."""
_CERTAINTY = 0.95
_POWER = 0.80


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
    """The probabilities of a result as bad, or as good, as the observed one if nothing had changed."""

    worse: float
    better: float
    exact: bool = True
    """Whether all arrangements were summed; otherwise, permutations were drawn with a fixed seed."""


class CaseOdds(NamedTuple):
    """The same for one case, for getting worse and better: alone, and adjusted for testing every case."""

    worse: float
    adjusted_worse: float
    better: float
    adjusted_better: float


def exact_odds(cases: Sequence[Stratum], weights: Sequence[int] | None = None) -> Odds:
    """Test the summed change `Σ w·(passed_after/after - passed_before/before)` against no change."""
    steps = _integer_steps(cases, weights or [1] * len(cases))
    observed = sum(step * case.passed_after for step, case in zip(steps, cases, strict=True))
    distribution = _distribution(cases, steps)
    if distribution is None:
        return _drawn_odds(cases, steps, observed)
    worse = fsum(chance for value, chance in distribution.items() if value <= observed)
    better = fsum(chance for value, chance in distribution.items() if value >= observed)
    return Odds(min(1.0, worse), min(1.0, better))


def adjusted_odds(cases: Sequence[Stratum]) -> list[CaseOdds]:
    """The probabilities of each case, alone and adjusted for testing all of them.

    Adjusted exactly, since cases are independent: the probability that any case would have a tail as small as this
    one's. A case that cannot have so small a tail, such as one that always passed, does not weaken the others.
    """
    # Tails are fractions: cases of different sizes may have equal tails, which rounding could make unequal.
    lower = {kind: _tails(kind, falling=True) for kind in {_kind(case) for case in cases}}
    upper = {kind: _tails(kind, falling=False) for kind in lower}
    counts = Counter(_kind(case) for case in cases)
    adjusted: dict[tuple[Fraction, bool], float] = {}

    def adjust(tail: Fraction, *, falling: bool) -> float:
        key = (tail, falling)
        if key not in adjusted:
            attained = lower if falling else upper
            missed = [(1.0 - _largest_at_most(attained[kind], tail)) ** times for kind, times in counts.items()]
            # 1 - Π(1 - F) is at least F; rounding must not make it less.
            adjusted[key] = max(float(tail), 1.0 - prod(missed))
        return adjusted[key]

    odds: list[CaseOdds] = []
    for case in cases:
        down, up = lower[_kind(case)][case.passed_after], upper[_kind(case)][case.passed_after]
        odds.append(CaseOdds(float(down), adjust(down, falling=True), float(up), adjust(up, falling=False)))
    return odds


_Kind = tuple[int, int, int]
"""Trials before, trials after, and passes on both sides: all that the distribution of a case depends on."""


def _kind(case: Stratum) -> _Kind:
    return case.before, case.after, case.passed


def _ways(kind: _Kind) -> dict[int, int]:
    """Return in how many ways each number of passes can fall on the side after."""
    before, after, passed = kind
    possible = range(max(0, passed - before), min(after, passed) + 1)
    return {hits: comb(after, hits) * comb(before, passed - hits) for hits in possible}


def _tails(kind: _Kind, *, falling: bool) -> dict[int, Fraction]:
    """Return the probability of each number of passes after, or of fewer (`falling`) or more."""
    ways = _ways(kind)
    order = sorted(ways, reverse=not falling)
    total = sum(ways.values())
    return dict(zip(order, [Fraction(some, total) for some in accumulate(ways[hits] for hits in order)], strict=True))


def _largest_at_most(tails: dict[int, Fraction], bound: Fraction) -> float:
    return float(max((tail for tail in tails.values() if tail <= bound), default=0))


def _integer_steps(cases: Sequence[Stratum], weights: Sequence[int]) -> list[int]:
    """Return how much one more pass after changes the sum, in a unit that makes all of these integers.

    Sums of integers have exact ties; sums of floats do not.
    """
    unit = lcm(*[size for case in cases for size in (case.before, case.after)])
    return [weight * (unit // case.after + unit // case.before) for case, weight in zip(cases, weights, strict=True)]


def _distribution(cases: Sequence[Stratum], steps: Sequence[int]) -> dict[int, float] | None:
    """Return the probability of each value of the sum; `None` if there are too many values."""
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
    """Return the distribution of passes after, over cases with one step: its least value, and the probabilities."""
    parts: list[tuple[int, list[float]]] = []
    for kind, times in kinds.items():
        ways = _ways(kind)
        total = sum(ways.values())
        parts.append(_power((min(ways), [ways[hits] / total for hits in sorted(ways)]), times))
    return reduce(_convolve, sorted(parts, key=lambda part: len(part[1])))


def _power(part: tuple[int, list[float]], times: int) -> tuple[int, list[float]]:
    """Return the distribution of the sum of `times` independent copies, by repeated doubling."""
    if times == 1:
        return part
    half = _power(part, times // 2)
    even = _convolve(half, half)
    return _convolve(even, part) if times % 2 else even


def _convolve(first: tuple[int, list[float]], second: tuple[int, list[float]]) -> tuple[int, list[float]]:
    (start, long), (offset, short) = (first, second) if len(first[1]) >= len(second[1]) else (second, first)
    width, mirrored = len(short), short[::-1]
    padded = [0.0] * (width - 1) + long
    # `sum` over `map` stays in C: 20 times as fast as two loops.
    chances = [sum(map(mul, padded[place : place + width], mirrored)) for place in range(len(padded))]
    return _trim(start + offset, chances)


def _trim(start: int, chances: list[float]) -> tuple[int, list[float]]:
    # The probabilities add up to one, so some are not negligible and the loops end.
    first, last = 0, len(chances) - 1
    while chances[first] < _NEGLIGIBLE:
        first += 1
    while chances[last] < _NEGLIGIBLE:
        last -= 1
    return start + first, chances[first : last + 1]


def _drawn_odds(cases: Sequence[Stratum], steps: Sequence[int], observed: int) -> Odds:
    random = Random(_SEED)  # noqa: S311 - the same odds in every run are wanted
    sums = [0] * _PERMUTATIONS
    for case, step in zip(cases, steps, strict=True):
        ways = _ways(_kind(case))
        drawn = random.choices([step * hits for hits in ways], cum_weights=[*accumulate(ways.values())], k=len(sums))
        sums = [*map(int.__add__, sums, drawn)]
    worse, better = sum(value <= observed for value in sums), sum(value >= observed for value in sums)
    return Odds((1 + worse) / (1 + len(sums)), (1 + better) / (1 + len(sums)), exact=False)


_Weighted = Sequence[tuple[Stratum, float, int]]
"""Distinct cases, each with its weight and the number of times it occurs."""


def difference(cases: Sequence[Stratum], weights: Sequence[float] | None = None) -> float:
    """The mean over cases of the rate after minus the rate before."""
    given = weights or [1.0] * len(cases)
    return fsum(weight * _change(case) for case, weight in zip(cases, given, strict=True)) / fsum(given)


def difference_interval(
    cases: Sequence[Stratum], confidence: float = 0.95, weights: Sequence[float] | None = None
) -> Interval:
    """The interval of all differences that the trials do not contradict.

    At a difference of 0 it is the test of Cochran, Mantel and Haenszel. It has a width even if everything passes, where
    t intervals and bootstraps have none.
    """
    grouped = Counter(zip(cases, weights or [1.0] * len(cases), strict=True))
    weighted = [(case, weight, times) for (case, weight), times in grouped.items()]
    middle, z = difference(cases, weights), normal_quantile((1.0 + confidence) / 2.0)
    low = crossing(lambda d: _score(weighted, middle, d) - z, -1.0, middle)
    high = crossing(lambda d: _score(weighted, middle, d) + z, middle, 1.0)
    return Interval(low, high)


def _change(case: Stratum) -> float:
    return case.passed_after / case.after - case.passed_before / case.before


def _score(cases: _Weighted, observed: float, d: float) -> float:
    """Return by how many standard deviations the observed difference is above `d`."""
    total = fsum(weight * times for _, weight, times in cases)
    variance = fsum(weight * weight * times * _variance(case, d) for case, weight, times in cases)
    distance = (observed - d) * total
    if variance <= 0.0:
        return copysign(inf, distance) if distance else 0.0
    return distance / sqrt(variance)


def _variance(case: Stratum, d: float) -> float:
    """Return the variance of a case's difference if the true one is `d`, at the most likely pair of rates."""
    after = _likeliest_after(case, d)
    before = after - d
    size = case.before + case.after
    spread = after * (1.0 - after) / case.after + before * (1.0 - before) / case.before
    return max(0.0, spread) * size / (size - 1)


def _likeliest_after(case: Stratum, d: float) -> float:
    """Return the most likely rate after, given that it is `d` above the rate before.

    It is the root of a cubic. Of its three real roots, the trigonometric solution below is the one inside the range
    (Farrington and Manning, 1990).
    """
    ratio = case.before / case.after
    after, before = case.passed_after / case.after, case.passed_before / case.before
    a = 1.0 + ratio
    b = -(1.0 + ratio + after + ratio * before + d * (ratio + 2.0))
    c = d * d + d * (2.0 * after + ratio + 1.0) + after + ratio * before
    e = -after * d * (1.0 + d)
    v = b**3 / (27.0 * a**3) - b * c / (6.0 * a * a) + e / (2.0 * a)
    u = copysign(sqrt(max(0.0, b * b / (9.0 * a * a) - c / (3.0 * a))), v)
    w = pi / 2.0 if u == 0.0 else (pi + acos(max(-1.0, min(1.0, v / u**3)))) / 3.0
    root = 2.0 * u * cos(w) - b / (3.0 * a)
    return min(max(root, 0.0, d), 1.0, 1.0 + d)


_FEW = 5
"""Fewest expected hits for which the normal approximation is used (Cochran's rule)."""


class Shift(NamedTuple):
    """The difference of two shares in standard deviations, and the probability of one as large by chance."""

    z: float
    chance: float


def adjust_for_many(chances: Sequence[float]) -> list[float]:
    """Adjust probabilities for testing many at once (Benjamini and Hochberg): the false discovery rate."""
    # From the largest down, because the adjusted value of a smaller one must not be larger.
    order = sorted(range(len(chances)), key=chances.__getitem__, reverse=True)
    scaled = [chances[number] * (len(chances) / (len(chances) - place)) for place, number in enumerate(order)]
    adjusted = dict(zip(order, accumulate(scaled, min), strict=True))
    return [adjusted[number] for number in range(len(chances))]


def difference_of_shares(hits_before: int, before: int, hits_after: int, after: int) -> Shift:
    """Test whether two shares differ, by the normal approximation, or exactly if few hits are expected."""
    share = (hits_before + hits_after) / (before + after)
    spread = sqrt(share * (1.0 - share) * (1.0 / before + 1.0 / after))
    z = (hits_after / after - hits_before / before) / spread if spread else 0.0
    expected = min(size * part for size in (before, after) for part in (share, 1.0 - share))
    return Shift(z, normal_tail(z) if expected >= _FEW else _exact_chance(hits_before, before, hits_after, after))


def _exact_chance(hits_before: int, before: int, hits_after: int, after: int) -> float:
    """Fisher's exact test, two-sided: the probability of all splits at most as likely as the observed one."""
    hits = hits_before + hits_after
    possible = range(max(0, hits - before), min(after, hits) + 1)
    ways = {count: comb(after, count) * comb(before, hits - count) for count in possible}
    seen = ways[hits_after]
    return sum(way for way in ways.values() if way <= seen) / sum(ways.values())


def association(table: Sequence[tuple[int, int]]) -> float:
    """How much the rows of a table of passes and failures differ, G = 2·Σ observed·ln(observed / expected)."""
    columns = [sum(row[column] for row in table) for column in range(2)]
    total = sum(columns)
    terms = [
        seen * log(seen * total / (sum(row) * columns[column]))
        for row in table
        for column, seen in enumerate(row)
        if seen
    ]
    return max(0.0, 2.0 * fsum(terms))


def trial_variance(cases: Sequence[Trials]) -> float | None:
    """The variance of trials of one case, averaged over cases with two or more; `None` if there are none."""
    varied = [
        case.passed * (case.measured - case.passed) / (case.measured * (case.measured - 1))
        for case in cases
        if case.measured >= 2
    ]
    return sum(varied) / len(varied) if varied else None


def repeats_needed(cases: int, drop: float, variance: float = _COIN) -> int:
    """The repeats on both sides that detect a drop of this size with a power of 80 %."""
    return max(1, ceil(_rounded(2.0 * variance * _quantiles() / (cases * drop * drop))))


def repeats_needed_against(cases: int, drop: float, before: int, variance: float = _COIN) -> int | None:
    """The same if the side before has `before` repeats already; `None` if no number of new ones is enough."""
    if variance == 0.0:
        return 1
    left = cases * drop * drop / (variance * _quantiles()) - 1.0 / before
    return max(1, ceil(_rounded(1.0 / left))) if left > 0.0 else None


def _quantiles() -> float:
    return (normal_quantile(_CERTAINTY) + normal_quantile(_POWER)) ** 2


def _rounded(value: float) -> float:
    # Without rounding, an error in the last bits of a float would ask for one repeat too many.
    return round(value, 9)


LOOK_SHARES = (0.2, 0.3, 0.5)
"""The share of the error rate that each of three looks spends. They add up to 1: the union bound keeps the rate."""


class Look(NamedTuple):
    """A look at the results after some rounds, with the share of the error rate that it may spend."""

    rounds: int
    share: float


def looks(least: int, most: int) -> list[Look]:
    """Return when to look in a plan of `least` to `most` rounds: after the least, in the middle, and at the end.

    Looks that fall on the same round become one, with the sum of their shares.
    """
    # Three looks: with 20 cases, a look after every round saved no more rounds and lost 12 points of power.
    rounds = (least, -(-(least + most) // 2), most)
    spent: dict[int, float] = {}
    for after, share in zip(rounds, LOOK_SHARES, strict=True):
        spent[after] = spent.get(after, 0.0) + share
    return [Look(after, 1.0 if len(spent) == 1 else share) for after, share in spent.items()]


def mixture_interval(passed: int, failed: int, error: float = 0.05) -> Interval:
    """The rates that are not excluded yet, valid however often one looks at the end of a round.

    A rate p is excluded when `B(s + 1, f + 1) / (p^s (1 - p)^f) ≥ 1 / error` (Robbins' mixture martingale).
    """
    least = lgamma(passed + 1) + lgamma(failed + 1) - lgamma(passed + failed + 2) + log(error)

    def surplus(rate: float) -> float:
        return passed * log(rate) + failed * log1p(-rate) - least

    # The likelihood has one peak, so the rates that are not excluded form one range around it.
    peak = passed / (passed + failed) if passed + failed else 0.5
    return Interval(crossing(lambda rate: -surplus(rate), 0.0, peak), crossing(surplus, peak, 1.0))
