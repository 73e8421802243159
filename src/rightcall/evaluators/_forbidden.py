"""Did the agent keep away from what it must never call?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.alignment import Row
from rightcall.matchers import CallPattern, relate
from rightcall.results import Finding, ForbiddenToolsJustification, Justification, NamedCall, call_text

from ._evaluator import Evaluator, Measurement
from ._models import Call, Config, Criteria, NotEmpty
from ._pairs import PatternPlan
from ._selection import Selection

_MOST_LISTED = 100


class ForbiddenToolsCriteria(Criteria):
    """The calls that must never be made: names, or names with the arguments that make them forbidden."""

    never: NotEmpty[tuple[Call, ...]]


class ForbiddenToolsConfig(Config):
    """How forbidden calls are judged."""

    name: str = "ForbiddenTools"
    default_evaluation_criteria: ForbiddenToolsCriteria | None = None


class ForbiddenTools(Evaluator[ForbiddenToolsConfig, ForbiddenToolsCriteria, PatternPlan]):
    """Whether no forbidden call was made: 1.0 if none was, else 0.0.

    A forbidden call with arguments is one that has them, with any others beside. Nothing called is 1.0; the same
    forbidden call made twice is as bad as once. Nothing forbidden is an error.
    """

    type_id = "forbidden-tools"
    config_type = ForbiddenToolsConfig
    criteria_type = ForbiddenToolsCriteria

    def compile(self, criteria: ForbiddenToolsCriteria) -> PatternPlan:
        return PatternPlan.of(
            [
                CallPattern(call.name, call.args, "subset", where=f"never[{index}].args", limits=self.limits)
                for index, call in enumerate(criteria.never)
            ]
        )

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        relation = relate(plan.patterns, selection.calls, self.limits)
        surely, possibly = any(relation.sure), any(relation.possible)
        account = ForbiddenAccount(selection, plan, relation.sure)
        return Measurement(float(not possibly), float(not surely), account)


class ForbiddenAccount(msgspec.Struct, frozen=True):
    """Which forbidden calls were made."""

    selection: Selection
    plan: PatternPlan
    rows: Sequence[Row]

    def made(self) -> list[NamedCall]:
        """The forbidden calls, in order."""
        calls = self.selection.calls
        return [
            NamedCall(self.selection.position(index), call_text(calls[index].name, calls[index].args))
            for index in sorted({index for row in self.rows for index in row})
        ]

    def justify(self) -> Justification:
        """What is forbidden, and what was called all the same."""
        return ForbiddenToolsJustification(
            forbidden=[pattern.name for pattern in self.plan.patterns],
            made=[call.text for call in self.made()[:_MOST_LISTED]],
        )

    def find(self) -> tuple[Finding, ...]:
        """Each forbidden call, up to a hundred of them."""
        made = self.made()
        findings = [
            Finding("RC107", f"`{call.text}` was called, and must never be", actual=call, path="never")
            for call in made[:_MOST_LISTED]
        ]
        if len(made) > len(findings):
            findings.append(Finding("RC107", f"… and {len(made) - len(findings):,} more"))
        return tuple(findings)
