"""What of a trajectory the verdict of a case depends on."""

from __future__ import annotations

import msgspec

from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import has_async_evaluators
from rightcall.judging import Criteria, Scope


class CaseScope(msgspec.Struct, frozen=True):
    """What each check of a case looks at, in their order; nothing where one of them may look at anything."""

    case: Case
    parts: tuple[Scope, ...] = ()
    is_repeatable: bool = True
    """Whether a trajectory always gets the same verdict: code of the user's and judges may say other things."""

    @classmethod
    def of(cls, case: Case) -> CaseScope:
        """What is looked at for a case."""
        found = [_scope(check) for check in case.checks]
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


def _scope(check: Check) -> Scope | None:
    """What a check looks at; `None` where that may be anything, so that each run is judged by itself."""
    # Criteria that choose calls by agent or level read more of a call than any scope says, and UiPath's names of tools
    # are compared after they were changed.
    criteria = check.criteria
    if check.evaluator.renames or not isinstance(criteria, Criteria) or not criteria.takes_all:
        return None
    return check.evaluator.scope(criteria)
