"""What recorded traces are checked against. A command makes one request and passes it on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from rightcall.cases.evalsets import (
    Case,
    CodeFinder,
    EvalSet,
    OverallCheck,
    load_eval_set,
    load_expectation,
    select_cases,
    select_checks,
)
from rightcall.cases.verdicts import Join
from rightcall.running.project import TrustedProject

_MOST_ASKED = 1_000
"""How many cases `is_about_calls` looks at: that compiles them, and of more cases a command may judge only a few."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of an eval set are chosen, how traces are joined to them, and which code is trusted."""

    case_globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    """Only these evaluators, by key, type id or `judges`; all by default."""
    skipped: tuple[str, ...] = ()
    """Not these evaluators."""
    case_ids: frozenset[str] | None = None
    """Only these of the cases that `case_globs` and `tags` choose; all of them by default."""
    join: Join = "auto"
    compare_with: str | None = None
    """The metadata key with the source's verdict, to compare with ours."""
    trust: bool = False
    """Whether custom evaluators may be imported from outside `home`."""
    home: TrustedProject | None = None
    """Where they may be imported from; the project of the eval set by default."""

    def of(self, cases: Sequence[Case]) -> list[Case]:
        """Return the chosen cases, with the chosen evaluators. Raises `InputError` if a glob or tag matches none."""
        if self.case_globs or self.tags:
            cases = select_cases(cases, self.case_globs, self.tags)
        if cases and (self.evaluators or self.skipped):
            cases = select_checks(cases, self.evaluators, self.skipped)
        return [case for case in cases if self.case_ids is None or case.id in self.case_ids]


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a request has loaded: cases, or one expectation for all traces."""

    cases: tuple[Case, ...] = ()
    """The cases chosen from the eval set."""
    known: tuple[Case, ...] = ()
    """All cases of the eval set."""
    overall: tuple[OverallCheck, ...] = ()
    """What the eval set expects of all cases together."""
    for_all: Case | None = None
    """The expectation for all traces, as a case without an id."""
    every: Case | None = None
    """What the eval set expects of every trace, as a case for those that belong to no other."""
    rules: tuple[Case, ...] = ()
    """All of these cases that a trace may be judged by."""
    kept: tuple[str, ...] = ()
    """The metadata keys of a trace that verdicts or comparisons depend on."""
    has_code: bool = False
    """Whether custom code was imported, which may print and start threads."""
    loaded: tuple[EvalSet, CodeFinder] | None = None
    """The eval set with its custom evaluators, and the finder that imported them."""
    waits: bool = False
    """Whether an evaluator may have to wait, for a model for example, which it does in another thread."""

    @property
    def is_about_calls(self) -> bool:
        """Whether every verdict and finding depends on calls alone, not on input, output or duration of the run."""
        if self.overall or len(self.rules) > _MOST_ASKED or any([case.when is not None for case in self.rules]):
            return False
        # What of the calls a case selects does not matter here: agents, turns and names of calls are read in any case.
        checks = [check for case in self.rules for check in case.checks]
        return all([check.evaluator.scope(check.criteria) is not None for check in checks])


class Request(Choice, frozen=True, kw_only=True, dict=True):
    """An eval set, or one expectation for all traces.

    Only its fields are pickled: a spawned process loads the eval set again, and a forked one inherits it.
    """

    evalset: str | None = None
    expectation: tuple[bytes, str] | None = None
    """The text of an expectation, and a name for it."""

    @cached_property
    def expected(self) -> Expected:
        """The cases, or the one expectation, that traces are judged by. Loaded once.

        Raises:
            DocumentError: the eval set or the expectation is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        label = () if self.compare_with is None else (self.compare_with,)
        if self.expectation is not None:
            finder = CodeFinder(Path.cwd() / "expectation", self.trust, home=self.home)
            for_all = load_expectation(*self.expectation, find_code=finder)("")
            waits = any([check.evaluator.waits for check in for_all.checks])
            return Expected(for_all=for_all, rules=(for_all,), kept=label, has_code=bool(finder.found), waits=waits)
        if self.evalset is None:
            return Expected(kept=label)
        finder = CodeFinder(Path(self.evalset), self.trust, home=self.home)
        eval_set = load_eval_set(self.evalset, find_code=finder)
        cases, every = tuple(self.of(eval_set.cases)), eval_set.every
        keys = dict.fromkeys([key for case in cases if case.when is not None for key in case.when.keys])
        rules = cases if every is None else (*cases, every)
        return Expected(
            cases=cases,
            known=tuple(eval_set.cases),
            overall=eval_set.overall,
            every=every,
            rules=rules,
            kept=(*keys, *label),
            has_code=bool(finder.found),
            loaded=(eval_set, finder),
            waits=any([check.evaluator.waits for case in rules for check in case.checks]),
        )

    def only(self, case_ids: frozenset[str]) -> Request:
        """Return the request for only these of its cases. The eval set is not loaded again."""
        made, expected = msgspec.structs.replace(self, case_ids=case_ids), self.expected
        cases = tuple([case for case in expected.cases if case.id in case_ids])
        rules = cases if expected.every is None else (*cases, expected.every)
        made.__dict__["expected"] = msgspec.structs.replace(expected, cases=cases, rules=rules)
        return made
