"""How far a judge agrees with people."""

from __future__ import annotations

import msgspec


class Compared(msgspec.Struct, frozen=True):
    """What people and a judge say of one case: whether it passes."""

    case_id: str
    people: bool
    judge: bool
    score: float | None = None


class Agreement(msgspec.Struct, frozen=True):
    """Verdicts of a judge beside those of people."""

    compared: tuple[Compared, ...]

    @property
    def share(self) -> float | None:
        """The share of cases on which they agree; none where there are no cases."""
        if not self.compared:
            return None
        return sum(one.people == one.judge for one in self.compared) / len(self.compared)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: how much more they agree than by chance, 1.0 if always and 0.0 if no more than that.

        None where chance alone would make them agree always, because both say the same of every case.
        """
        if self.share is None:
            return None
        total = len(self.compared)
        people = sum(one.people for one in self.compared) / total
        judge = sum(one.judge for one in self.compared) / total
        chance = people * judge + (1 - people) * (1 - judge)
        return None if chance == 1 else (self.share - chance) / (1 - chance)

    def count(self, people: bool, judge: bool) -> int:
        """How many cases people and the judge see in these ways."""
        return sum(one.people == people and one.judge == judge for one in self.compared)

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The cases on which they differ."""
        return tuple([one for one in self.compared if one.people != one.judge])
