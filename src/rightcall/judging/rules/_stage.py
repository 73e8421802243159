"""The calls of one run, and the roles they have in each rule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from rightcall.judging.core import Doubts, Selection
from rightcall.limits import Budget, Limits
from rightcall.matching.matchers import Pattern, canonical
from rightcall.values.trajectory import ToolCall, has_failed, is_suspected

from ._judgement import ArgumentKey, Cast, Keys, RuleOutcome, RulePart, SameArguments, judge
from ._plan import CallTest, Role, RulePlan, RulesPlan
from ._timeline import Timeline, timeline_of


class Stage:
    """The calls of one selection, prepared for judging rules. Used for one evaluation only."""

    def __init__(self, selection: Selection, plan: RulesPlan, limits: Limits) -> None:
        self.selection = selection
        self._plan = plan
        self._limits = limits
        self.doubts = selection.doubts or Doubts()
        self._known_keys: dict[tuple[str, ...], dict[int, Hashable]] = {}

    def ruling(self, rule: RulePlan) -> RuleOutcome:
        """Judge one rule."""
        classes, is_known = self.classes(rule)
        cast = self.cast(rule)
        ruling = judge(rule.form, cast, self.timeline_for(rule), classes)
        if not is_known or (self.doubts.missing and not (ruling.status == "broken" and rule.form.stays_broken)):
            return RuleOutcome("open", ruling.breaches if ruling.status != "holds" else (), None)
        return ruling

    def warnings(self) -> tuple[str, ...]:
        """Return a warning with the number of calls left out because they only read like errors."""
        count = sum(map(is_suspected, self.selection.calls)) if self._plan.failed == "ignore_suspected" else 0
        if not count:
            return ()
        if count == 1:
            return ("1 call was left out that reads like an error, or whose error was not recorded",)
        return (f"{count:,} calls were left out that read like errors, or whose errors were not recorded",)

    def taken(self, rule: RulePlan) -> RulePart:
        """Return the calls that match Y of a rule, whatever their outcome."""
        return _part(self._answers(rule.y))

    @cached_property
    def timeline(self) -> Timeline:
        """The timeline of all selected calls."""
        trajectory = self.selection.trajectory
        calls = trajectory.calls if trajectory is not None else self.selection.calls
        makers = {call.span_id: call.parent_id for call in calls if call.span_id is not None}
        return timeline_of(
            self.selection.calls,
            makers,
            self.doubts.unordered,
            self.doubts.members,
            started=self._plan.order == "started",
            are_groups_open=self.selection.parallel == "any_order" or any(_has_group(call) for call in calls),
            most=self._limits.comparisons // 10,
        )

    def timeline_for(self, rule: RulePlan) -> Timeline:
        """Return the timeline for a rule. For `first` and `last`, calls that may be left out may be missing."""
        if rule.form.relation not in ("first", "last") or self._plan.failed == "count":
            return self.timeline
        unknown = [call for call, left_out in enumerate(self._left_out) if left_out is None]
        return msgspec.structs.replace(self.timeline, members=self.timeline.members.union(unknown))

    @cached_property
    def failed(self) -> Sequence[bool | None]:
        """Whether each call failed; `None` if unknown."""
        return [has_failed(call) for call in self.selection.calls]

    @cached_property
    def _left_out(self) -> Sequence[bool | None]:
        """Whether each call is left out if failed calls are ignored; `None` if its outcome is unknown."""
        if self._plan.failed != "ignore_suspected":
            return self.failed
        outcomes = zip(self.failed, self.selection.calls, strict=True)
        return [True if failed is None and is_suspected(call) else failed for failed, call in outcomes]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for index, name in enumerate(self.selection.names):
            places.setdefault(name, []).append(index)
        return places

    def cast(self, rule: RulePlan) -> Cast:
        """Return the calls in each role of a rule."""
        form = rule.form
        if form.relation in ("first", "last"):
            return Cast(x=_part(self._answers(rule.x, self._as_x)))
        x = self._selected(self._answers(rule.x, self._as_x))
        if rule.described is not None:
            return Cast(x=_part(x), y=_part(self._described(x, rule.described)))
        y = self._selected(self._answers(rule.y, self._as_done))
        attempts = form.relation == "followed_by"
        return Cast(
            _part(x),
            _part(y),
            _part(self._selected(self._answers(rule.z, None if attempts else self._as_done))),
            self.taken(rule) if form.spares_partners else RulePart(),
            self._agreement(rule, x, y),
        )

    def classes(self, rule: RulePlan) -> tuple[Sequence[Sequence[int]] | None, bool]:
        """Return the calls by turn or agent, if the rule has `per`, and whether that is known for all that matter."""
        places: Iterable[int] = range(len(self.selection.calls))
        if rule.form.relation in ("first", "last") and self._plan.failed != "count":
            places = [place for place in places if self._left_out[place] is not True]
            if rule.per is None:
                return [list(places)], True
        if rule.per is None:
            return None, True
        found: dict[Any, list[int]] = {}
        for place in places:
            found.setdefault(getattr(self.selection.calls[place], rule.per), []).append(place)
        unknown = found.pop(None, [])
        return list(found.values()), not self._matter(rule, unknown)

    def _matter(self, rule: RulePlan, calls: Sequence[int]) -> bool:
        """Return whether the rule depends on the class of one of these calls."""
        if rule.form.needs_order:
            return bool(calls)
        cast = self.cast(rule)
        return bool({*cast.x.possible, *cast.y.possible, *cast.z.possible}.intersection(calls))

    def _answers(
        self, role: Role, outcome: Callable[[CallTest, int], bool | None] | None = None
    ) -> dict[int, bool | None]:
        """Return the calls that match any test of a role: true or, if unknown, `None`. Others are left out."""
        if len(role.tests) == 1 and (outcome is None or self._counts_all(outcome)):
            # The common case, kept fast: one name, and no outcome to check.
            return {index: answer for index, answer in self._answers_to(role.tests[0]) if answer is not False}
        answers: dict[int, bool | None] = {}
        for test in role.tests:
            for index, answer in self._answers_to(test):
                combined = answer if outcome is None else _both(answer, outcome(test, index))
                if combined is not False and answers.get(index) is not True:
                    answers[index] = combined
        return answers

    def _counts_all(self, outcome: Callable[[CallTest, int], bool | None]) -> bool:
        """Return whether every call has an outcome that counts."""
        return self._all_succeeded or (outcome == self._as_x and self._plan.failed == "count")

    @cached_property
    def _all_succeeded(self) -> bool:
        return self.failed.count(False) == len(self.failed)

    def _answers_to(self, test: CallTest) -> Iterable[tuple[int, bool | None]]:
        pattern, selection = test.pattern, self.selection
        named = [places for name, places in self._places.items() if pattern.takes(name)]
        places: Sequence[int] = named[0] if len(named) == 1 else sorted([place for each in named for place in each])
        known: bool | None = True
        if test.nth is not None:
            places, known = self._nth(places, test.nth)
        if pattern.accepts_all:
            return dict.fromkeys(places, known).items()
        calls, moment = selection.calls, selection.moment
        return [(place, _both(known, pattern.accepts_at(calls[place], moment(place)))) for place in places]

    def _nth(self, places: Sequence[int], nth: int) -> tuple[Sequence[int], bool | None]:
        """Return the nth of these calls; if their order is unknown, all of them as possible ones."""
        apart = self.timeline.order_of(places).blocks
        if self.doubts.missing or len(apart) < len(places) or self.doubts.members.intersection(places):
            return places, None
        index = nth - 1 if nth > 0 else len(places) + nth
        return (places[index : index + 1] if index >= 0 else ()), True

    def _as_x(self, test: CallTest, index: int) -> bool | None:
        """Return whether a call counts as a subject: whatever its outcome, unless failed calls are left out."""
        if self._plan.failed == "count" or test.status == "error":
            return True
        left_out = self._left_out[index]
        return None if left_out is None else not left_out

    def _as_done(self, test: CallTest, index: int) -> bool | None:
        """Return whether a call counts as done: it succeeded, unless the rule names its outcome."""
        if test.status is not None:
            return True
        failed = self.failed[index]
        return None if failed is None else not failed

    def _selected(self, answers: dict[int, bool | None]) -> dict[int, bool | None]:
        members = self.doubts.members
        if not members:
            return answers
        return {index: None if index in members else answer for index, answer in answers.items()}

    def _described(self, x: Iterable[int], pattern: Pattern) -> dict[int, bool | None]:
        calls, moment = self.selection.calls, self.selection.moment
        answers = {index: pattern.accepts_at(calls[index], moment(index)) for index in x}
        return {index: answer for index, answer in answers.items() if answer is not False}

    def _agreement(self, rule: RulePlan, x: Iterable[int], y: Iterable[int]) -> SameArguments | None:
        if rule.same is None:
            return None
        mine, others = rule.same
        return SameArguments(self._keys(mine, x), self._keys(others, y))

    def _keys(self, names: tuple[str, ...], calls: Iterable[int]) -> Keys:
        # The budget grows with the number of calls, so that only huge values exceed it, not many calls.
        budget = Budget(self._limits.steps + 10 * len(self.selection.calls))
        known = self._known_keys.setdefault(names, {})
        for index in calls:
            if index not in known:
                known[index] = _key(self.selection.calls[index], names, budget)
        return {index: known[index] for index in calls}


def _has_group(call: ToolCall) -> bool:
    """Return whether a call shows that groups were recorded: then the group of a call without one is unknown.

    If no call says anything about groups, as in a list of names, calls are sequential in the given order.
    """
    return call.group is not None or "group" in call.unrecorded


def _key(call: ToolCall, names: Sequence[str], budget: Budget) -> Hashable:
    if call.args is None:
        return ArgumentKey.UNKNOWN if "args" in call.unrecorded else ArgumentKey.ABSENT
    if any([name not in call.args for name in names]):
        return ArgumentKey.ABSENT
    return tuple([_value_key(call.args[name], budget) for name in names])


def _value_key(value: Any, budget: Budget) -> Hashable:
    # Most values are strings, which are their own keys. Others are compared as JSON, where 1 equals 1.0 but not true.
    if value.__class__ is str:
        return value
    return (str(value) if value.__class__ is int else canonical(value, budget),)


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _part(answers: Mapping[int, bool | None]) -> RulePart:
    possible = sorted(answers)
    if None not in answers.values():
        return RulePart(possible, possible)
    return RulePart([index for index in possible if answers[index]], possible)
