"""Every statistical kernel against scipy and statsmodels, which live in an environment of their own.

    python -m benchmarks.kernels

asks both for the same figures of random trials, prints the largest difference of each kernel, and ends with 1 where one
is larger than 1e-9, relative for figures above 1. The product needs neither of them: they are asked here only.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rightcall.values.statistics import (
    Stratum,
    Trials,
    adjust_for_many,
    adjusted_odds,
    association,
    at_least_j_of_k,
    cases_like_these,
    difference,
    difference_interval,
    difference_of_shares,
    exact_odds,
    mixture_interval,
    normal_quantile,
    pass_all_k,
    pass_any_k,
    t_quantile,
    these_cases_again,
    wilson,
)

from .environments import ROOT, provide

_MOST = 1e-9
Question = tuple[str, list[Any]]


def ours(name: str, given: Sequence[Any]) -> Any:
    """Return our answer to a question."""
    return _OURS[name](*given)


def _strata(cases: Sequence[Sequence[int]]) -> list[Stratum]:
    return [Stratum(*case) for case in cases]


def _trials(cases: Sequence[Sequence[int]]) -> list[Trials]:
    return [Trials(*case) for case in cases]


def _test_statistic(cases: Sequence[Sequence[int]]) -> float:
    """The square of the score at a difference of 0: with equal repeats it is that of Cochran, Mantel and Haenszel."""
    from rightcall.values.statistics import _change

    strata = _strata(cases)
    return _change._score([(case, 1.0, 1) for case in strata], difference(strata), 0.0) ** 2


_OURS: dict[str, Callable[..., Any]] = {
    "wilson": lambda passed, trials: wilson(Trials(passed, trials)),
    "tries": lambda passed, trials, j, k: [
        at_least_j_of_k(Trials(passed, trials), j, k),
        pass_all_k(Trials(passed, trials), k),
        pass_any_k(Trials(passed, trials), k),
    ],
    "again": lambda cases: these_cases_again(_trials(cases)),
    "like_these": lambda cases: cases_like_these(_trials(cases)),
    "odds": lambda cases: exact_odds(_strata(cases))[:2],
    "fisher": lambda *case: exact_odds([Stratum(*case)]).worse,
    "mcnemar": lambda lost, won: (
        exact_odds([Stratum(1, 1, 1, 0)] * lost + [Stratum(1, 0, 1, 1)] * won + [Stratum(1, 1, 1, 1)] * 5).worse
    ),
    "adjusted": lambda cases: [[each.worse, each.adjusted_worse] for each in adjusted_odds(_strata(cases))],
    "interval": lambda cases: difference_interval(_strata(cases)),
    "mantel_haenszel": _test_statistic,
    "mixture": lambda passed, failed: mixture_interval(passed, failed),
    "shares": lambda *given: list(difference_of_shares(*given)),
    "discoveries": adjust_for_many,
    "association": lambda table: association([tuple(row) for row in table]),
    "normal_quantile": normal_quantile,
    "t_quantile": t_quantile,
    "beta": lambda x, a, b: _beta(x, a, b),
}


def _beta(x: float, a: float, b: float) -> float:
    from rightcall.values.statistics._rates import incomplete_beta

    return incomplete_beta(x, a, b)


def questions(often: int) -> Iterator[Question]:
    """Yield random questions to every kernel, the same in every run."""
    chance = random.Random(20_261_117)
    for _ in range(often):
        trials = chance.randint(1, 60)
        passed = chance.randint(0, trials)
        k = chance.randint(1, trials)
        yield "wilson", [passed, trials]
        yield "tries", [passed, trials, chance.randint(1, k), k]
        runs = [_case(chance, 12) for _ in range(chance.randint(2, 30))]
        yield "again", [runs]
        yield "like_these", [[[c, max(2, n)] for c, n in runs]]
        pairs = [[*_turned(_case(chance, 8)), *_turned(_case(chance, 8))] for _ in range(chance.randint(1, 4))]
        yield "odds", [pairs]
        yield "adjusted", [pairs]
        yield "interval", [pairs]
        yield "fisher", pairs[0]
        lost, won = chance.randint(0, 12), chance.randint(1, 12)
        yield "mcnemar", [lost, won]
        yield "mantel_haenszel", [[[6, chance.randint(1, 5), 6, chance.randint(0, 6)] for _ in range(lost + 1)]]
        yield "mixture", [passed + 1, trials - passed + 1]
        yield "discoveries", [[chance.random() ** 3 for _ in range(chance.randint(1, 40))]]
        yield "association", [[[chance.randint(1, 20), chance.randint(1, 20)] for _ in range(chance.randint(2, 5))]]
        yield "normal_quantile", [chance.random()]
        yield "t_quantile", [chance.uniform(0.5, 0.9999), chance.randint(1, 200)]
        yield "beta", [chance.random(), chance.uniform(0.2, 80), chance.uniform(0.2, 80)]
        yield "shares", [chance.randint(1, 3), 30, chance.randint(3, 6), 40]


def _case(chance: random.Random, most: int) -> list[int]:
    trials = chance.randint(1, most)
    return [chance.randint(0, trials), trials]


def _turned(case: Sequence[int]) -> list[int]:
    return [case[1], case[0]]


def apart(name: str, mine: Any, theirs: Any) -> float:
    """Return the largest difference of two answers: absolute for shares, relative for figures above 1."""
    if isinstance(theirs, list):
        chosen = zip(mine, theirs, strict=True)
        return max([apart(name, one, other) for one, other in chosen], default=0.0)
    return float(abs(mine - theirs) / max(1.0, abs(theirs)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the largest difference of each kernel; return 1 where one is too large."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=200, metavar="N", help="of each kernel")
    asked = list(questions(parser.parse_args(arguments).questions))
    python = provide("statistics", ["scipy", "statsmodels"])
    command = [str(python), str(ROOT / "benchmarks" / "peers" / "kernels.py")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    largest: dict[str, float] = {}
    for (name, given), (_, theirs) in zip(asked, json.loads(done.stdout), strict=True):
        largest[name] = max(largest.get(name, 0.0), apart(name, ours(name, given), theirs))
    print("| kernel | largest difference |\n| --- | ---: |")
    for name, most in largest.items():
        print(f"| {name.replace('_', ' ')} | {most:.1e} |")
    return 1 if max(largest.values()) > _MOST else 0


if __name__ == "__main__":
    sys.exit(main())
