"""Judge all cases together, and note tool names that no trace has, and rules that never applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case, Check, OverallCheck
from rightcall.judging import Criteria
from rightcall.matching.matchers import NamePattern
from rightcall.values.results import CaseResult, OverallResult, RulesJustification
from rightcall.values.trajectory import Trajectory

if TYPE_CHECKING:
    from rightcall.judging import Row


_RULES = "call-rules"
_MOST_NOTES = 10
_LONGEST_NAME = 100
"""Characters of a name to compare: difflib is quadratic in the length of both texts."""

RuleUses: TypeAlias = tuple[tuple[str, str], ...]
"""Rules of one result in words, each with why it never applied; empty if it did."""


class Seen(msgspec.Struct, frozen=True):
    """What all cases together need of one trajectory. It can be made in one process and added in another."""

    overall: tuple[Any, ...] = ()
    """For the evaluators of all cases."""
    tools: tuple[str, ...] = ()
    """The tools that were called, where rules name tools that must not be called."""
    rules: RuleUses = ()
    """The rules of it, and which of them never applied."""


class AllCases:
    """Looks at all cases together: overall results, rules about unknown tools, and rules that never applied.

    It keeps only what the cases ask for: most eval sets ask for nothing of this.
    """

    def __init__(self, cases: Sequence[Case] = (), checks: Sequence[OverallCheck] = ()) -> None:
        self._overall = Overall(checks) if checks else None
        names = ToolNames(cases)
        self._names = names if names.ruled_out else None
        has_rules = any([check.evaluator.type_id == _RULES for case in cases for check in case.checks])
        self._rules = RuleUse() if has_rules else None

    def see(self, case: Case, result: CaseResult, trajectory: Trajectory | None, *, counts: bool = True) -> Seen:
        """Return what is needed of a result; one that does not `count` says nothing to evaluators of all cases."""
        return Seen(
            self._overall.see(case, result) if self._overall is not None and counts else (),
            self.tools_in(trajectory),
            self._rules.see(case, result) if self._rules is not None else (),
        )

    def tools_in(self, trajectory: Trajectory | None) -> tuple[str, ...]:
        """Return the tools of a trajectory that matter, also of one that belongs to no case.

        A tool whose calls were withheld is there: its name in an expectation is no mistake.
        """
        if self._names is None or trajectory is None:
            return ()
        return self._names.seen_in((*trajectory.names, *[call.name for call in trajectory.withheld]))

    def add(self, seen: Seen, case_id: str = "") -> None:
        """Add what `see` returned of a case."""
        if self._overall is not None:
            self._overall.add(seen.overall)
        if self._names is not None:
            self._names.add(seen.tools)
        if self._rules is not None:
            self._rules.add(case_id, seen.rules)

    def results(self) -> tuple[OverallResult, ...]:
        """Return the result of each evaluator of all cases."""
        return () if self._overall is None else self._overall.results()

    def notes(self) -> Iterator[str]:
        """Yield sentences about rules that say nothing: their tool is unknown, or they never applied."""
        yield from () if self._names is None else self._names.notes()
        yield from () if self._rules is None else self._rules.notes()


class Overall:
    """Judges all cases together. It is given one result at a time and keeps only what its evaluators need."""

    def __init__(self, checks: Sequence[OverallCheck] = ()) -> None:
        self._checks = checks
        self._tallies = [check.evaluator.tally() for check in checks]

    def see(self, case: Case, result: CaseResult) -> tuple[Any, ...]:
        """Return what each evaluator needs of a result. It can be computed in one process and added in another."""
        if not self._checks:
            return ()
        row = row_of(case, result)
        return tuple([check.evaluator.see(row) for check in self._checks])

    def add(self, seen: Sequence[Any]) -> None:
        """Add what `see` returned."""
        for tally, each in zip(self._tallies, seen, strict=False):
            tally.add(each)

    def results(self) -> tuple[OverallResult, ...]:
        """Return the result of each evaluator for everything that was added."""
        return tuple(
            [_result(check, tally.conclude()) for check, tally in zip(self._checks, self._tallies, strict=True)]
        )


def row_of(case: Case, result: CaseResult) -> Row:
    """Return the row of one result, as evaluators of all cases see it."""
    from rightcall.judging import Row  # few eval sets judge all cases together

    trajectory, outcome = result.trajectory, result.outcome
    has_ended = outcome is None or not outcome.cause
    return Row(
        case_id=result.case_id,
        repeat=result.repeat,
        verdict=result.verdict,
        score=result.score,
        scores={one.evaluator: one.score for one in result.results},
        is_measured=has_ended and trajectory is not None and trajectory.output is not None,
        output=trajectory.output if trajectory is not None else None,
        tools=trajectory.names if trajectory is not None else (),
        seconds=outcome.seconds if outcome is not None else None,
        metadata=case.metadata,
    )


def _result(check: OverallCheck, found: Any) -> OverallResult:
    threshold = check.evaluator.threshold
    if found.score is None:
        verdict: Any = "error" if found.is_error else "not_measured"
    else:
        verdict = "passed" if found.score >= threshold else "failed"
    return OverallResult(
        evaluator=check.evaluator.id,
        verdict=verdict,
        score=found.score,
        threshold=threshold,
        reason=found.reason,
        source=check.source,
        classification=found.classification,
        details=found.details,
    )


class ToolNames:
    """Finds rules about tools that no trace, mock or other expectation names.

    `never: [delete_usr]` passes because no tool has this name. The verdict cannot show the typing error, so the report
    has a note. A step that may be left out, such as `optional: receipt`, is fine without one: it is noted only where a
    tool with a similar name was called. Where no trace shows a call, nothing says how tools are called: no note.
    """

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self.ruled_out: dict[str, str] = {}
        """The names that no run has to call, each with the key of its rule."""
        self._optional: set[str] = set()
        self._known: set[str] = set()
        self._expected: set[str] = set()
        self._has_calls = False
        cases = list(cases)
        missed = [(check, check.evaluator.tools_to_miss(check.criteria)) for case in cases for check in case.checks]
        for check, names in missed:
            ignored = check.criteria.ignore_tools if isinstance(check.criteria, Criteria) else ()
            for name in names if not check.evaluator.orders_calls else ():
                self.ruled_out.setdefault(name, check.key)
            for name in ignored:
                self.ruled_out.setdefault(name, "ignore_tools")
        optional = {name: check.key for check, names in missed for name in names if name not in self.ruled_out}
        self._optional.update(optional)
        self.ruled_out.update(optional)
        if self.ruled_out:
            self._known.update(*[case.mocks for case in cases])
            for check, names in missed:
                self._expect(check, names)

    def seen_in(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of a trajectory that matter. They can be collected in one process and added in another."""
        return tuple(sorted(set(names))) if self.ruled_out else ()

    def add(self, seen: Iterable[str]) -> None:
        """Add names of tools that a trajectory shows."""
        names = set(seen)
        self._known |= names
        self._has_calls = self._has_calls or bool(names)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each name in a rule that no tool has, up to ten."""
        known = sorted([name for name in self._known if "*" not in name])
        # What the eval set expects elsewhere is spelt as it is meant, so this name means another tool.
        others = [name for name in known if name not in self._expected]
        ruled_out = self.ruled_out if self._has_calls else ()
        unknown = [name for name in ruled_out if name not in self._known and not _fits_any(name, known)]
        shown = [name for name in unknown if name not in self._optional or _suggestion(name, others)]
        for name in shown[:_MOST_NOTES]:
            rule, hint = self.ruled_out[name], _suggestion(name, others)
            yield f"note: no trace shows a tool `{name}`, which `{rule}` names{hint}"
        if len(shown) > _MOST_NOTES:
            yield f"note: no trace shows {len(shown) - _MOST_NOTES:,} more tools that such rules name"

    def _expect(self, check: Check, missed: Sequence[str]) -> None:
        # A name that is expected elsewhere counts as known: that check fails if no tool has it.
        named = [call if isinstance(call, str) else call.name for _, calls in check.lists() for call in calls]
        self._known.update({*named} - {*missed})
        self._expected.update({*named} if check.evaluator.orders_calls else {*named} - {*missed})


def _fits_any(name: str, known: Sequence[str]) -> bool:
    """Return whether a name with `*` in it is that of a known tool, or of every tool there may be."""
    pattern = NamePattern.of(name) if "*" in name else None
    return pattern is not None and (pattern.takes_all or any(map(pattern.matches, known)))


class RuleUse:
    """Finds rules of several cases that never applied in any of them.

    Such a rule holds in every case and says nothing: its tool may be misspelt, or no case reaches what it is about.
    """

    def __init__(self) -> None:
        self._cases: dict[str, set[str]] = {}
        self._reasons: dict[str, str] = {}
        self._settled: set[int] = set()

    def see(self, case: Case, result: CaseResult) -> RuleUses:
        """Return the rules of a result. They can be collected in one process and added in another."""
        # Details are computed when they are read: those of other evaluators are not, nor those of rules that all are
        # known to have applied. Cases of one eval set share the criteria of its rules.
        checks = [check for check in case.checks if check.evaluator.type_id == _RULES]
        checks = [check for check in checks if id(check.criteria) not in self._settled]
        found: list[tuple[str, str]] = []
        for check in checks:
            uses = rule_uses(result, check.key)
            if uses and not any([reason for _, reason in uses]):
                self._settled.add(id(check.criteria))
            found += uses
        return tuple(found)

    def add(self, case_id: str, uses: Iterable[tuple[str, str]]) -> None:
        """Add the rules of a result."""
        for rule, reason in uses:
            self._cases.setdefault(rule, set()).add(case_id)
            if not reason:
                self._reasons[rule] = ""
            else:
                self._reasons.setdefault(rule, reason)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each rule of several cases that never applied, up to ten."""
        idle = [rule for rule, reason in self._reasons.items() if reason and len(self._cases[rule]) > 1]
        for rule in idle[:_MOST_NOTES]:
            count = len(self._cases[rule])
            yield f"note: the rule {rule} never applied in {count:,} cases: {self._reasons[rule]}"
        if len(idle) > _MOST_NOTES:
            yield f"note: {len(idle) - _MOST_NOTES:,} more rules never applied"


def rule_uses(result: CaseResult, key: str | None = None) -> list[tuple[str, str]]:
    """Return the rules of a result, each with why it never applied; those of one expectation, or of all."""
    chosen = [one for one in result.results if key is None or one.evaluator == key]
    details = [one.details for one in chosen]
    checks = [check for each in details if isinstance(each, RulesJustification) for check in each.rules]
    return [(check.rule, check.note if check.status == "never_applied" else "") for check in checks]


def _suggestion(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    same = [other for other in known if other.casefold() == name.casefold()]
    shortened = [other[:_LONGEST_NAME] for other in known]
    near = same or get_close_matches(name[:_LONGEST_NAME], shortened, n=1, cutoff=0.75)
    return f"; did you mean `{near[0]}`?" if near else ""
