"""How long the calls of each tool take: exact for up to a million calls, in narrow classes beyond."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil, log, sqrt
from typing import Any

from rightcall.values.statistics import normal_quantile

EXACT = 1_000_000
"""Calls whose times are all kept, 8 bytes each."""
_MOST = 1 << 63
_STEP = log(1.01)
"""Each class of times is 1 % wider than the one below it, so a percentile is wrong by half a percent at most."""


class Durations:
    """Times in nanoseconds, by tool. How they were added makes no difference to what comes out.

    Args:
        most: The number of times that are all kept; beyond it they are sorted into classes.
    """

    def __init__(self, most: int = EXACT) -> None:
        self._most = most
        self._exact: dict[str, array[int]] = {}
        self._classes: dict[str, Counter[int]] = {}
        self._count = 0
        self.is_exact = True
        """Whether all times are kept."""

    def add(self, tool: str, nanoseconds: int) -> None:
        """Add the time of one call. Clocks that ran backwards give no time, nor do times beyond 292 years."""
        if 0 <= nanoseconds < _MOST:
            self.add_all(tool, (nanoseconds,))

    def add_all(self, tool: str, times: Iterable[int]) -> None:
        """Add the times of calls, none of them below 0."""
        if not self.is_exact:
            self._classify(tool, times)
            return
        held = self._exact.setdefault(tool, array("q"))
        before = len(held)
        held.extend(times)
        self._count += len(held) - before
        if self._count > self._most:
            self._give_up()

    def merge(self, other: Durations) -> None:
        """Add the times that another has."""
        if not other.is_exact:
            self._give_up()
        for tool, times in other._exact.items():
            self.add_all(tool, times)
        for tool, classes in other._classes.items():
            self._classes.setdefault(tool, Counter()).update(classes)

    def of(self, tool: str) -> TimesOf:
        """Return the times of a tool."""
        if self.is_exact:
            return TimesOf(sorted(self._exact.get(tool, ())))
        classes = sorted(self._classes.get(tool, Counter()).items())
        return TimesOf([_middle(number) for number, _ in classes], [count for _, count in classes])

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it, in an order that does not depend on how times were added."""
        classes = {tool: sorted(self._classes[tool].items()) for tool in sorted(self._classes)}
        exact = {tool: sorted(self._exact[tool]) for tool in sorted(self._exact)}
        return {"is_exact": self.is_exact, "exact": exact, "classes": classes}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Durations:
        """The times that `to_plain` wrote."""
        made = cls()
        made.is_exact = plain["is_exact"]
        made._exact = {tool: array("q", times) for tool, times in plain["exact"].items()}
        made._count = sum(map(len, made._exact.values()))
        made._classes = {tool: Counter(dict(classes)) for tool, classes in plain["classes"].items()}
        return made

    def _give_up(self) -> None:
        """Sort the times that were kept into classes, and all that come later too."""
        kept, self._exact, self.is_exact = self._exact, {}, False
        for tool, times in kept.items():
            self._classify(tool, times)

    def _classify(self, tool: str, times: Iterable[int]) -> None:
        self._classes.setdefault(tool, Counter()).update(map(_class_of, times))


def _class_of(nanoseconds: int) -> int:
    return ceil(log(nanoseconds) / _STEP) + 1 if nanoseconds else 0


def _middle(number: int) -> int:
    return round(2.718281828459045 ** ((number - 1.5) * _STEP)) if number else 0


class TimesOf:
    """The times of one tool, in order; each as often as `counts` says, or once."""

    def __init__(self, times: Sequence[int], counts: Sequence[int] | None = None) -> None:
        self._times = times
        self._until = None if counts is None else list(accumulate(counts))

    def __len__(self) -> int:
        return len(self._times) if self._until is None else self._until[-1] if self._until else 0

    def percentile(self, share: float) -> int | None:
        """The smallest time that at least this share of calls does not exceed; `None` without any."""
        count = len(self)
        return self._at(max(0, ceil(share * count) - 1)) if count else None

    def median_interval(self, independent: int, confidence: float) -> tuple[int, int] | None:
        """The interval of the median by order statistics; `None` where there are too few for one.

        Args:
            independent: How many of the times tell something of their own: the runs, because calls of one run are
                alike. With all calls the interval would be too narrow.
            confidence: How sure it is, such as 0.95.
        """
        if not len(self) or not independent:
            return None
        # The number of times below the median is binomial with one half; half a step out is the continuity correction.
        reach = (normal_quantile(0.5 + confidence / 2) * sqrt(independent) + 1) / 2 / independent
        if reach >= 0.5:
            return None
        low, high = self.percentile(0.5 - reach), self.percentile(0.5 + reach)
        return None if low is None or high is None else (low, high)

    def _at(self, place: int) -> int:
        return self._times[place] if self._until is None else self._times[bisect_right(self._until, place)]
