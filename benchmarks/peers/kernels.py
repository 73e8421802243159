"""The figures of `rightcall.values.statistics` by scipy and statsmodels: questions on standard input, answers out.

It runs in an environment of its own, which has both and nothing of ours.
"""

import json
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize, special, stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

Cases = Sequence[Sequence[int]]
"""Passed and trials of each, or trials and passed before and after."""
Z = stats.norm.ppf(0.975)


def wilson(passed: float, trials: float) -> list[float]:
    """Wilson's interval."""
    return list(map(float, proportion_confint(passed, trials, method="wilson")))


def tries(passed: int, trials: int, j: int, k: int) -> list[float]:
    """At least j of k, all of k, at least one of k: draws without replacement from the trials that were seen."""
    drawn = stats.hypergeom(trials, passed, k)
    return [float(drawn.sf(j - 1)), float(drawn.pmf(k)), float(drawn.sf(0))]


def again(cases: Cases) -> list[float]:
    """The interval of a run if its cases run again."""
    rates = np.array([passed / trials for passed, trials in cases])
    size = len(cases) ** 2 / sum(1 / trials for _, trials in cases)
    return wilson(float(rates.mean()) * size, size)


def like_these(cases: Cases) -> list[float]:
    """The interval of a run for cases like these, with the intraclass correlation by analysis of variance."""
    passed, trials = np.array(cases, float).T
    count, total = len(cases), trials.sum()
    groups = [np.r_[np.ones(int(c)), np.zeros(int(n - c))] for c, n in cases]
    mean = np.concatenate(groups).mean()
    between = sum(n * (g.mean() - mean) ** 2 for g, n in zip(groups, trials, strict=True)) / (count - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (total - count)
    typical = (total - (trials**2).sum() / total) / (count - 1)
    rho = min(1.0, max(0.0, (between - within) / (between + (typical - 1) * within))) if between or within else 1.0
    size = min(max(total / (1 + (typical - 1) * rho), min(count, total)), total)
    rate, t = float((passed / trials).mean()), stats.t.ppf(0.975, count - 1)
    scale = 1 + t * t / size
    middle = (rate + t * t / (2 * size)) / scale
    half = t * math.sqrt(rate * (1 - rate) / size + t * t / (4 * size * size)) / scale
    return [0.0 if rate == 0 else max(0.0, middle - half), 1.0 if rate == 1 else min(1.0, middle + half)]


def odds(cases: Cases) -> list[float]:
    """The exact test: the distribution of the sum by convolution over a grid of common denominators."""
    scale = math.lcm(*[n * r for n, _, r, _ in cases])
    found: dict[int, float] = {0: 1.0}
    seen = 0
    for n, x, r, y in cases:
        total = x + y
        possible = np.arange(max(0, total - n), min(r, total) + 1)
        chances = stats.hypergeom(n + r, total, r).pmf(possible)
        steps = [round(scale * (int(k) / r - (total - int(k)) / n)) for k in possible]
        seen += round(scale * (y / r - x / n))
        added: dict[int, float] = {}
        for value, chance in found.items():
            for step, more in zip(steps, chances, strict=True):
                added[value + step] = added.get(value + step, 0.0) + chance * float(more)
        found = added
    worse = math.fsum(chance for value, chance in found.items() if value <= seen)
    better = math.fsum(chance for value, chance in found.items() if value >= seen)
    return [worse, better]


def adjusted(cases: Cases) -> list[list[float]]:
    """The odds of each case alone, and adjusted for looking at all of them."""
    tails = []
    for n, x, r, y in cases:
        drawn = stats.hypergeom(n + r, x + y, r)
        tails.append((float(drawn.cdf(y)), [float(drawn.cdf(k)) for k in range(r + 1) if drawn.pmf(k) > 0]))
    found = []
    for chance, _ in tails:
        reached = [max([tail for tail in of if tail <= chance * (1 + 1e-12)], default=0.0) for _, of in tails]
        found.append([chance, 1 - math.prod(1 - tail for tail in reached)])
    return found


def _likeliest(n: int, x: int, r: int, y: int, d: float) -> float:
    """The rate after that makes the trials likeliest if it is `d` above the rate before."""
    low, high = max(0.0, d), min(1.0, 1.0 + d)

    def slope(p: float) -> float:
        terms = [(y, p), (-(r - y), 1 - p), (x, p - d), (-(n - x), 1 - p + d)]
        return sum(count / share for count, share in terms if count)

    edge = 1e-15
    if high - low < 4 * edge or slope(low + edge) <= 0:
        return low
    if slope(high - edge) >= 0:
        return high
    return float(optimize.brentq(slope, low + edge, high - edge, xtol=1e-16, rtol=8.9e-16, maxiter=500))


def interval(cases: Cases) -> list[float]:
    """Miettinen and Nurminen's interval, stratified, its likeliest rates found by root finding."""
    # Not `confint_proportions_2indep` of statsmodels 0.15: its cubic has `count0 * diff` where theirs (1985, appendix)
    # has the number of trials, so that its rates are not the likeliest, and its search often finds no end.
    middle = float(np.mean([y / r - x / n for n, x, r, y in cases]))

    def score(d: float) -> float:
        variance = 0.0
        for n, x, r, y in cases:
            after = _likeliest(n, x, r, y, d)
            before = after - d
            variance += (after * (1 - after) / r + before * (1 - before) / n) * (n + r) / (n + r - 1)
        return (middle - d) * len(cases) / math.sqrt(max(variance, 1e-300))

    ends = [(-1 + 1e-13, middle, Z), (middle, 1 - 1e-13, -Z)]
    return [
        side if middle == side else optimize.brentq(lambda d, z=z: score(d) - z, low, high, xtol=1e-14)
        for side, (low, high, z) in zip((-1.0, 1.0), ends, strict=True)
    ]


def mantel_haenszel(cases: Cases) -> float:
    """The statistic of Cochran, Mantel and Haenszel, without a correction."""
    tables = [np.array([[y, r - y], [x, n - x]], float) for n, x, r, y in cases]
    return float(StratifiedTable(tables).test_null_odds(correction=False).statistic)


def mixture(passed: int, failed: int) -> list[float]:
    """The rates that Robbins' mixture does not exclude at 5 %."""
    least = special.betaln(passed + 1, failed + 1) + math.log(0.05)
    peak = passed / (passed + failed)

    def surplus(rate: float) -> float:
        return float(special.xlogy(passed, rate) + special.xlog1py(failed, -rate) - least)

    low = 0.0 if not passed else optimize.brentq(surplus, 1e-300, peak, xtol=1e-15)
    high = 1.0 if not failed else optimize.brentq(surplus, peak, 1 - 1e-16, xtol=1e-15)
    return [low, high]


def shares(hits: int, before: int, hits_after: int, after: int) -> list[float]:
    """z of two shares, and the exact odds."""
    z, _ = proportions_ztest([hits_after, hits], [after, before])
    return [float(z), float(stats.fisher_exact([[hits_after, after - hits_after], [hits, before - hits]])[1])]


ANSWERS: dict[str, Callable[..., Any]] = {
    "wilson": wilson,
    "tries": tries,
    "again": again,
    "like_these": like_these,
    "odds": odds,
    "fisher": lambda n, x, r, y: float(stats.fisher_exact([[y, r - y], [x, n - x]], alternative="less")[1]),
    "mcnemar": lambda lost, won: float(stats.binomtest(won, lost + won, 0.5, alternative="less").pvalue),
    "adjusted": adjusted,
    "interval": interval,
    "mantel_haenszel": mantel_haenszel,
    "mixture": mixture,
    "shares": shares,
    "discoveries": lambda chances: list(map(float, multipletests(chances, method="fdr_bh")[1])),
    "association": lambda table: float(
        stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    ),
    "normal_quantile": lambda p: float(stats.norm.ppf(p)),
    "t_quantile": lambda p, freedom: float(stats.t.ppf(p, freedom)),
    "beta": lambda x, a, b: float(special.betainc(a, b, x)),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answers = [[name, ANSWERS[name](*given)] for name, given in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)
