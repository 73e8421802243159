"""Rounds that alternate between contenders, so that a busy moment of the machine hits all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from .workers import Contender

_SECONDS_PER_ROUND = 0.03
_MOST_LOOPS = 20_000


class DisagreementError(Exception):
    """Contenders gave different scores where the rules are the same."""


@dataclass(frozen=True)
class Pace:
    """How long to measure."""

    rounds: int = 11
    slow_rounds: int = 3
    """For what takes many seconds each time."""
    startup_rounds: int = 21


QUICK = Pace(rounds=3, slow_rounds=1, startup_rounds=5)


def cpu_seconds(contenders: Sequence[Contender], rounds: int) -> list[float]:
    """The median CPU time of one evaluation, for each contender, over interleaved rounds.

    Raises:
        DisagreementError: the contenders' scores differ.
    """
    scores = [contender.score for contender in contenders]
    if max(scores) - min(scores) > 1e-9:
        raise DisagreementError(f"{contenders[0].task}: the scores differ: {scores}")
    loops = [_calibrate(contender) for contender in contenders]
    times = [
        [contender.cpu_seconds(count) for contender, count in zip(contenders, loops, strict=True)]
        for _ in range(rounds)
    ]
    return [median(column) for column in zip(*times, strict=True)]


def _calibrate(contender: Contender) -> int:
    """How many loops make a round long enough to be measured; also warms the contender up."""
    loops = 1
    while loops < _MOST_LOOPS:
        spent = contender.cpu_seconds(loops) * loops
        if spent >= _SECONDS_PER_ROUND:
            break
        loops = min(_MOST_LOOPS, max(loops * 2, int(loops * _SECONDS_PER_ROUND / max(spent, 1e-6))), loops * 20)
    return loops
