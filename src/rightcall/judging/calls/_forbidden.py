"""Did the agent keep away from what it must never call?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from rightcall.judging.core import (
    SOME_CALLS,
    Call,
    CallScope,
    Config,
    Criteria,
    Evaluator,
    Measurement,
    NotEmpty,
    Selection,
    Shorthand,
    read_calls,
)
from rightcall.matching.alignment import Row
from rightcall.matching.matchers import Relation, relate
from rightcall.values.results import Finding, ForbiddenToolsJustification, Justification, NamedCall, call_text

from ._pairs import PatternPlan, call_patterns
from ._sequences import without

_MOST_LISTED = 40


class ForbiddenToolsCriteria(Criteria):
    """The calls that must never be made: names, or names with the arguments that make them forbidden."""

    names_tools: ClassVar[str | None] = "never"
    never: NotEmpty[tuple[Call, ...]]


class ForbiddenToolsConfig(Config):
    """How forbidden calls are judged."""

    name: str = "ForbiddenTools"


class ForbiddenTools(Evaluator[ForbiddenToolsConfig, ForbiddenToolsCriteria, PatternPlan]):
    """Whether no forbidden call was made: 1.0 if none was, else 0.0.

    A forbidden call with arguments is one that has them, with any others beside. Nothing called is 1.0; the same
    forbidden call made twice is as bad as once. Nothing forbidden is an error.
    """

    type_id = "forbidden-tools"
    takes_wildcards = True
    shorthand = Shorthand("never", "never", read_calls, SOME_CALLS)
    justification_type = ForbiddenToolsJustification
    config_type = ForbiddenToolsConfig
    criteria_type = ForbiddenToolsCriteria

    def compile(self, criteria: ForbiddenToolsCriteria) -> PatternPlan:
        calls = call_patterns(criteria.never, "subset", "never", self.limits, wildcards=criteria.wildcards)
        return PatternPlan.of(calls)

    def tools_to_miss(self, criteria: ForbiddenToolsCriteria) -> list[str]:
        return [call.name for call in criteria.never]

    def scope(self, criteria: ForbiddenToolsCriteria) -> CallScope | None:
        return self.plan(criteria).scope(finds_calls=True)

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        return self.bound(selection, plan)

    def bound(self, selection: Selection, plan: PatternPlan) -> Measurement:
        if selection.doubts is not None and plan.expected.numbers_calls:
            return super().bound(selection, plan)
        relation = relate(plan.expected, selection.calls, self.limits, selection.moment)
        if selection.doubts is not None:
            relation = Relation(without(relation.sure, selection.doubts.members), relation.possible)
        surely, possibly = any(relation.sure), any(relation.possible)
        account = ForbiddenAccount(selection, plan, relation)
        possibly = possibly or (selection.doubts is not None and selection.doubts.missing)
        return Measurement(float(not possibly), float(not surely), account)


class ForbiddenAccount(msgspec.Struct, frozen=True):
    """Which forbidden calls were made."""

    selection: Selection
    plan: PatternPlan
    relation: Relation

    def made(self) -> list[NamedCall]:
        """The forbidden calls, in order."""
        return self._named(_columns(self.relation.sure))

    def undecided(self) -> list[NamedCall]:
        """The calls of which the trace does not say whether they are the forbidden ones."""
        return self._named(_columns(self.relation.possible) - _columns(self.relation.sure))

    def justify(self) -> Justification:
        """Return what is forbidden, and which of it was called."""
        return ForbiddenToolsJustification(
            forbidden=[pattern.name for pattern in self.plan.expected.patterns[:_MOST_LISTED]],
            made=[call.text for call in self.made()[:_MOST_LISTED]],
        )

    def find(self) -> tuple[Finding, ...]:
        """Each forbidden call, up to forty of them."""
        made = self.made()
        findings = [
            Finding("RC107", f"`{call.text}` was called, and must never be", actual=call, path=path)
            for call, path in zip(made[:_MOST_LISTED], self._paths(), strict=False)
        ]
        if len(made) > len(findings):
            findings.append(Finding("RC107", f"… and {len(made) - len(findings):,} more"))
        for call in self.undecided()[: max(0, _MOST_LISTED - len(findings))]:
            reason = f"`{call.text}`: whether it is one of the forbidden calls was not recorded"
            findings.append(Finding("RC301", reason, actual=call, path="never"))
        return tuple(findings)

    def _paths(self) -> list[str]:
        """For each forbidden call that was made, the part of the criteria that forbids it."""
        first: dict[int, int] = {}
        for number, row in enumerate(self.relation.sure):
            for column in row:
                first.setdefault(column, number)
        return [f"never[{first[column]}]" for column in sorted(first)]

    def _named(self, columns: set[int]) -> list[NamedCall]:
        calls = self.selection.calls
        return [
            NamedCall(self.selection.position(index), call_text(calls[index].name, calls[index].args))
            for index in sorted(columns)
        ]


def _columns(rows: Sequence[Row]) -> set[int]:
    return {index for row in rows for index in row}
