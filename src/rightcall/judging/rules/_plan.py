"""Compile rules into patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.errors import CriteriaError, ExpectationError
from rightcall.limits import Limits
from rightcall.matching.matchers import NamePattern, Pattern, call_pattern, tool_names
from rightcall.values.results import call_text

from ._judgement import Form
from ._written_rules import AnyCall, CallRule, RuleCall, same_keys

Failed: TypeAlias = Literal["count", "ignore", "ignore_suspected"]
_PARTS = {"args", "output", "status"}
_MOST_NAMED = 3


class CallTest(msgspec.Struct, frozen=True):
    """One of the calls that a part of a rule names, compiled."""

    pattern: Pattern
    text: str
    nth: int | None = None
    status: Literal["ok", "error"] | None = None


class Role(msgspec.Struct, frozen=True):
    """The calls that a part of a rule names: any of these."""

    tests: tuple[CallTest, ...] = ()

    @property
    def text(self) -> str:
        """The calls as a person would name them: `a`, or `a` or `b`."""
        names = [f"`{test.text}`" for test in self.tests]
        if len(names) > _MOST_NAMED:
            names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED:,} more"]
        return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class RulePlan(msgspec.Struct, frozen=True):
    """One rule, compiled."""

    form: Form
    x: Role
    y: Role
    z: Role
    described: Pattern | None
    """What every call is like, for `always`."""
    same: tuple[tuple[str, ...], tuple[str, ...]] | None
    per: Literal["turn", "agent"] | None
    why: str

    @property
    def spends(self) -> bool:
        """Whether there are matchers in it."""
        tests = [*self.x.tests, *self.y.tests, *self.z.tests]
        patterns = [*[test.pattern for test in tests], *([self.described] if self.described is not None else [])]
        return any([pattern.spends for pattern in patterns]) or self.same is not None

    @property
    def names(self) -> list[str]:
        """The names of tools in it, as they are written."""
        return [test.pattern.name for role in (self.x, self.y, self.z) for test in role.tests]


class RulesPlan(msgspec.Struct, frozen=True):
    """The rules of one criteria, compiled."""

    rules: tuple[RulePlan, ...]
    order: Literal["finished", "started"]
    failed: Failed
    names: Set[str]
    size: int
    spends: bool


def compile_rules(
    rules: Sequence[CallRule], order: Literal["finished", "started"], failed: Failed, limits: Limits
) -> RulesPlan:
    """Return rules in the form that is quick to judge by. Raises `CriteriaError` at the part that is wrong."""
    plans = tuple([_compiled(rule, number, limits) for number, rule in enumerate(rules)])
    # A name that fits every tool names none: the framework's own calls count only where they are meant.
    names = [name for plan in plans for name in plan.names if not ("*" in name and NamePattern.of(name).takes_all)]
    return RulesPlan(plans, order, failed, tool_names(names), len(plans), any([plan.spends for plan in plans]))


def _compiled(rule: CallRule, number: int, limits: Limits) -> RulePlan:
    relation, place = rule.relation, ("rules", number)
    subject = relation if relation in ("first", "last") else "call"
    partner = rule.window or relation
    barrier = {"only_after": "since", "followed_by": "before"}.get(relation, "")
    return RulePlan(
        Form(relation, rule.at_most or 0, rule.window, rule.directly, rule.must_apply),
        _role(rule.subject, (*place, subject), limits),
        _role(rule.partner, (*place, partner), limits),
        _role(rule.barrier, (*place, barrier), limits),
        _described(rule.always, (*place, "always"), limits) if relation == "always" else None,
        same_keys(rule.same),
        rule.per,
        rule.why,
    )


def _role(calls: AnyCall, place: tuple[str | int, ...], limits: Limits) -> Role:
    several = len(calls) > 1
    return Role(tuple([_test(call, (*place, index) if several else place, limits) for index, call in enumerate(calls)]))


def _test(call: RuleCall, place: tuple[str | int, ...], limits: Limits) -> CallTest:
    more = {"output": call.output} if call.has_output else {}
    with _at(place):
        pattern = call_pattern(
            call.name,
            call.args,
            status=call.status,
            agent=call.agent,
            turn=call.turn,
            where=_spelt(place),
            limits=limits,
            **more,
        )
    return CallTest(pattern, _call_text(call), call.nth, call.status)


def _described(written: Mapping[str, Any] | None, place: tuple[str | int, ...], limits: Limits) -> Pattern:
    """The pattern of what every call is like: its arguments, or any of arguments, output and status."""
    parts = dict(written or {})
    if not parts.keys() <= _PARTS:
        parts = {"args": parts}
    with _at(place):
        return call_pattern("*", parts.pop("args", None), where=_spelt(place), limits=limits, **parts)


@contextmanager
def _at(place: tuple[str | int, ...]) -> Iterator[None]:
    """Give mistakes in an expected value the place of the call that has it."""
    try:
        yield
    except ExpectationError as problem:
        raise CriteriaError(str(problem), place) from None


def _spelt(place: tuple[str | int, ...]) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]).lstrip(".")


def _call_text(call: RuleCall) -> str:
    parts = dict(call.args) if isinstance(call.args, dict) else {} if call.args is None else {"args": call.args}
    more = {"output": call.output} if call.has_output else {}
    fields = {key: value for key in ("status", "agent", "turn", "nth") if (value := getattr(call, key)) is not None}
    shown = {**parts, **more, **fields}
    return call_text(call.name, shown or None)
