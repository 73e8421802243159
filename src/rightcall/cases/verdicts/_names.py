"""Names of tools in rules that hold because nobody calls the tool, and whether there is such a tool at all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rightcall.cases.evalsets import Case, Check
from rightcall.judging import ForbiddenTools, ToolCallCountEvaluator

_MOST_NOTES = 10
_LONGEST_NAME = 100


class ToolNames:
    """Compares the names in such rules with all that are seen: in traces, in mocks and in other expectations.

    A rule against a misspelt tool can never fail, and its verdict does not show it. So the report has a note.
    """

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self._ruled_out: dict[str, str] = {}
        self._known: set[str] = set()
        for case in cases:
            self._known.update(case.mocks)
            for check in case.checks:
                self._take(check)

    def seen_in(self, names: Iterable[str]) -> tuple[str, ...]:
        """What counts of the names in a trajectory. It can be seen in one process, and added in another."""
        return tuple(sorted(set(names))) if self._ruled_out else ()

    def add(self, seen: Iterable[str]) -> None:
        """Take names of tools that there are."""
        self._known.update(seen)

    def notes(self) -> Iterator[str]:
        """A sentence for each name in such a rule that no tool has, up to ten of them."""
        unknown = [name for name in self._ruled_out if name not in self._known]
        known = sorted(self._known)
        for name in unknown[:_MOST_NOTES]:
            yield f"note: no trace has a tool `{name}`, which `{self._ruled_out[name]}` names{_hint(name, known)}"
        if len(unknown) > _MOST_NOTES:
            yield f"note: no trace has {len(unknown) - _MOST_NOTES:,} more tools that such rules name"

    def _take(self, check: Check) -> None:
        for name in _ruled_out(check):
            self._ruled_out.setdefault(name, check.key)
        if not isinstance(check.evaluator, ForbiddenTools):
            # What is expected elsewhere is red there if no tool has the name.
            for _, calls in check.lists():
                self._known.update(_names_in(calls))


def _ruled_out(check: Check) -> Sequence[str]:
    """The tools that a rule passes without."""
    if isinstance(check.evaluator, ForbiddenTools):
        return [call.name for call in check.criteria.never]
    if isinstance(check.evaluator, ToolCallCountEvaluator):
        plan = check.criteria.plans[check.evaluator]
        return [name for name, _, holds, number in plan.bounds if holds(0, number)]
    return ()


def _names_in(calls: Sequence[Any]) -> list[str]:
    return [call if isinstance(call, str) else call.name for call in calls]


def _hint(name: str, known: Sequence[str]) -> str:
    same = [other for other in known if other.casefold() == name.casefold()]
    shortened = [other[:_LONGEST_NAME] for other in known]
    near = same or difflib.get_close_matches(name[:_LONGEST_NAME], shortened, n=1, cutoff=0.75)
    return f"; did you mean `{near[0]}`?" if near else ""
