"""Which calls play which part in a rule, as far as the trace shows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

import msgspec


class RulePart(msgspec.Struct, frozen=True):
    """The calls that surely play a part, and those that possibly do; both in ascending order."""

    sure: Sequence[int] = ()
    possible: Sequence[int] = ()

    @classmethod
    def of(cls, answers: Iterable[bool | None]) -> RulePart:
        """Return the part of the calls for which the answers are true, or not known."""
        sure, possible = [], []
        for call, answer in enumerate(answers):
            if answer is not False:
                possible.append(call)
                if answer:
                    sure.append(call)
        return cls(sure, possible)

    def among(self, calls: frozenset[int]) -> RulePart:
        """Return the part of these calls alone."""
        return RulePart(
            [each for each in self.sure if each in calls], [each for each in self.possible if each in calls]
        )


class ArgumentKey(Enum):
    """A value that is not there, and agrees with nothing; and one that is not known, and may agree with any."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


Keys: TypeAlias = Mapping[int, Hashable]
"""For each call that plays a part, the values that have to agree as one key; or one of the two above."""


class SameArguments(msgspec.Struct, frozen=True):
    """What calls and their partners have to agree in."""

    x: Keys
    y: Keys

    @property
    def is_certain(self) -> bool:
        """Whether all keys are known."""
        return ArgumentKey.UNKNOWN not in self.x.values() and ArgumentKey.UNKNOWN not in self.y.values()

    def groups(
        self, xs: Sequence[int], ys: Sequence[int], *, strict: bool
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield calls with those that agree with them: surely or, if not strict, possibly."""
        callers, partners = _by_key(xs, self.x), _by_key(ys, self.y)
        unknown = partners.pop(ArgumentKey.UNKNOWN, [])
        partners.pop(ArgumentKey.ABSENT, None)
        callers.pop(ArgumentKey.ABSENT, None)
        open_callers = callers.pop(ArgumentKey.UNKNOWN, [])
        for key, calls in callers.items():
            if key in partners:
                yield calls, partners[key]
        if not strict:
            if unknown:
                yield [x for calls in callers.values() for x in calls], unknown
            if open_callers:
                yield open_callers, [y for y in ys if self.y[y] is not ArgumentKey.ABSENT]


def _by_key(calls: Sequence[int], keys: Keys) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for call in calls:
        groups.setdefault(keys[call], []).append(call)
    return groups


class Cast(msgspec.Struct, frozen=True):
    """The parts of one rule.

    `x` are the calls it is about, `y` those they are held against, `z` those that must not come in between. `spared`
    are the calls that Y's pattern takes, whatever their outcome, where these are not asked to come after themselves.
    """

    x: RulePart = RulePart()
    y: RulePart = RulePart()
    z: RulePart = RulePart()
    spared: RulePart = RulePart()
    agreement: SameArguments | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the trace says of every call which parts it plays."""
        parts = (self.x, self.y, self.z, self.spared)
        return all([len(part.sure) == len(part.possible) for part in parts]) and (
            self.agreement is None or self.agreement.is_certain
        )

    def spared_x(self) -> RulePart:
        """Return the calls it is about, without those that are spared."""
        if not self.spared.possible:
            return self.x
        surely, possibly = set(self.spared.sure), set(self.spared.possible)
        return RulePart(
            [each for each in self.x.sure if each not in possibly],
            [each for each in self.x.possible if each not in surely],
        )

    def among(self, calls: frozenset[int]) -> Cast:
        """Return the parts that these calls play."""
        x, y, z, spared = [part.among(calls) for part in (self.x, self.y, self.z, self.spared)]
        return Cast(x, y, z, spared, self.agreement)
