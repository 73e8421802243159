"""What of a trajectory the verdict of a case depends on."""

from __future__ import annotations

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import has_async_evaluators

from ._classes import Sight, sight
from ._names import NamesRule, names_rule


class CaseSight(msgspec.Struct, frozen=True):
    """What each check of a case looks at, in their order; nothing where one of them may look at anything."""

    case: Case
    parts: tuple[NamesRule | Sight, ...] = ()
    is_repeatable: bool = True
    """Whether a trajectory always gets the same verdict: code of the user's and judges may say other things."""

    @classmethod
    def of(cls, case: Case) -> CaseSight:
        """What is looked at for a case."""
        found = [None if check.evaluator.renames else names_rule(check) or sight(check) for check in case.checks]
        parts = tuple([part for part in found if part is not None])
        own = any([check.evaluator.fingerprint for check in case.checks])
        return cls(case, parts if len(parts) == len(found) else (), not own and not has_async_evaluators(case))

    @property
    def names(self) -> frozenset[str]:
        """The tools that are looked at."""
        return frozenset().union(*[part.names for part in self.parts])

    @property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are looked at; `None` where that may be all of them."""
        if not self.parts:
            return None
        read = {field for part in self.parts if (field := part.reads) is not None}
        return frozenset({"name", "internal", *read, *(("error",) if "output" in read else ())})
