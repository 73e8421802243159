"""The evaluator of rules: which call comes before which, how often, what each is like; and its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Literal

import msgspec

from rightcall.judging.core import Config, Criteria, Evaluator, Measurement, NotEmpty, Selection, Shorthand
from rightcall.values.results import (
    Finding,
    Justification,
    NamedCall,
    RuleCheck,
    RulesJustification,
    call_text,
    ordinal_text,
    value_text,
)

from ._judgement import ArgumentKey, Breach, RuleOutcome, RulePart
from ._plan import CallRule, RulePlan, RulesPlan, compile_rules
from ._stage import Stage

_MOST_FINDINGS = 30
_MOST_CALLS = 40


class CallRulesCriteria(Criteria):
    """The rules, and what it takes for a call to be earlier than another."""

    names_tools: ClassVar[str | None] = None
    rules: NotEmpty[tuple[CallRule, ...]]
    order: Literal["finished", "started"] = "finished"
    """With `started`, a call is before another if it began before, whether or not it had ended."""
    selects_by_outcome: ClassVar[bool] = False


class CallRulesConfig(Config):
    """How rules are judged."""

    name: str = "CallRules"


class CallRules(Evaluator[CallRulesConfig, CallRulesCriteria, RulesPlan]):
    """The share of rules that hold: rules that hold divided by all rules.

    A rule that no call was about holds, unless it has `must_apply`. Nothing called is 1.0, except for rules about the
    first and the last call. The same call made twice is judged twice. No rules are an error.
    """

    type_id = "call-rules"
    shorthand = Shorthand("rules", "rules", schema={"type": "array", "items": {"$ref": "#/$defs/rule"}, "minItems": 1})
    justification_type = RulesJustification
    config_type = CallRulesConfig
    criteria_type = CallRulesCriteria

    def compile(self, criteria: CallRulesCriteria) -> RulesPlan:
        return compile_rules(criteria.rules, criteria.order, criteria.failed, self.limits)

    def tools_to_miss(self, criteria: CallRulesCriteria) -> list[str]:
        names = [name for rule in self.plan(criteria).rules for name in rule.names]
        return [name for name in dict.fromkeys(names) if "*" not in name]

    def measure(self, selection: Selection, plan: RulesPlan) -> Measurement:
        return self.bound(selection, plan)

    def bound(self, selection: Selection, plan: RulesPlan) -> Measurement:
        stage = Stage(selection, plan, self.limits)
        rulings = [stage.ruling(rule) for rule in plan.rules]
        broken = sum([ruling.status == "broken" for ruling in rulings])
        left_open = sum([ruling.status == "open" for ruling in rulings])
        low = (len(rulings) - broken - left_open) / len(rulings)
        high = (len(rulings) - broken) / len(rulings)
        return Measurement(low, high, RulesAccount(stage, plan, rulings), stage.warnings())


class RulesAccount(msgspec.Struct, frozen=True):
    """The outcome of each rule."""

    stage: Stage
    plan: RulesPlan
    rulings: Sequence[RuleOutcome]

    def justify(self) -> Justification:
        """Return the status of each rule, and the calls that break it."""
        pairs = list(zip(self.plan.rules, self.rulings, strict=True))
        checks = [self._check(rule, ruling) for rule, ruling in pairs]
        return RulesJustification(rules=checks, vacuous=sum([check.status == "never_applied" for check in checks]))

    def find(self) -> tuple[Finding, ...]:
        """Return a finding for each call that breaks a rule, and for each rule that is open; at most thirty."""
        findings = []
        for number, (rule, ruling) in enumerate(zip(self.plan.rules, self.rulings, strict=True)):
            findings += self._findings(number, rule, ruling)
        if len(findings) <= _MOST_FINDINGS:
            return tuple(findings)
        left = Finding(findings[_MOST_FINDINGS].code, f"… and {len(findings) - _MOST_FINDINGS:,} more")
        return (*findings[:_MOST_FINDINGS], left)

    def _findings(self, number: int, rule: RulePlan, ruling: RuleOutcome) -> list[Finding]:
        path, why = f"rules[{number}]", rule.why or None
        if ruling.status == "open":
            message = f"{rule_text(rule)}: {unknown_of(self.stage, rule, ruling)}"
            return [Finding("RC301", message, actual=self._named(ruling.breaches[:1]), path=path, why=why)]
        if ruling.status != "broken":
            return []
        if not ruling.breaches:
            message = f"the rule must apply, and never did: {rule_text(rule)}; {never_applied_text(rule)}"
            return [Finding("RC118", message, path=path, why=why)]
        reasons = Reasons(self.stage, rule)
        found = [
            Finding("RC116", reasons.sentence(breach, place), actual=self._named([breach]), path=path, why=why)
            for place, breach in enumerate(ruling.breaches[:_MOST_FINDINGS])
        ]
        # The last finding is repeated so that the number of findings is that of all breaches; `find` cuts them off.
        return found + found[-1:] * (len(ruling.breaches) - len(found))

    def _check(self, rule: RulePlan, ruling: RuleOutcome) -> RuleCheck:
        calls = [
            call for breach in ruling.breaches[:_MOST_CALLS] for call in (breach.partner, breach.call) if call >= 0
        ]
        never = ruling.status == "never_applied" or (ruling.status == "broken" and not ruling.breaches)
        return RuleCheck(
            rule=rule_text(rule),
            status=ruling.status,
            calls=tuple([self._call(call) for call in sorted(set(calls))]),
            why=rule.why,
            note=never_applied_text(rule) if never else "",
        )

    def _named(self, breaches: Sequence[Breach]) -> NamedCall | None:
        return self._call(breaches[0].call) if breaches and breaches[0].call >= 0 else None

    def _call(self, index: int) -> NamedCall:
        call = self.stage.selection.calls[index]
        return NamedCall(self.stage.selection.position(index), call_text(call.name, call.args))


def rule_text(rule: RulePlan) -> str:
    """Return a rule in words, such as `pay` only after `confirm` since `quote`, same order_id."""
    form = rule.form
    if form.relation in ("first", "last"):
        text = f"{form.relation} {rule.x.text}"
    elif form.relation == "at_most":
        window = f" {form.window} {rule.y.text}" if form.window else ""
        times = {0: "never", 1: "at most once"}.get(form.most, f"at most {form.most:,} times")
        text = f"{rule.x.text} {times}{window}"
    else:
        words = form.relation.replace("_", " ")
        text = f"{rule.x.text} {words} {rule.y.text}".rstrip()
    between = {"only_after": "since", "followed_by": "before"}.get(form.relation)
    more = [f"{between} {rule.z.text}" if rule.z.tests else "", "directly" if form.directly else ""]
    if rule.same is not None:
        pairs = [mine if mine == other else f"{mine} as {other}" for mine, other in zip(*rule.same, strict=True)]
        more.append(f"with the same {' and '.join(pairs)}")
    more.append({"turn": "in each turn", "agent": "by each agent"}[rule.per] if rule.per else "")
    return " ".join([text, *[each for each in more if each]])


def never_applied_text(rule: RulePlan) -> str:
    """Return why a rule never applied: which calls were not made."""
    relation = rule.form.relation
    if relation in ("never_after", "at_most"):
        return f"no {rule.y.text} was called"
    if relation == "never_with":
        return f"neither {rule.x.text} nor {rule.y.text} was called"
    return f"no {rule.x.text} was called"


_MOST_VALUES = 3
_MOST_DIFFERENCES = 3
_LONGEST_ERROR = 80


class Reasons:
    """Messages about one rule in one run."""

    def __init__(self, stage: Stage, rule: RulePlan) -> None:
        self._stage = stage
        self._rule = rule
        self._cast = stage.cast(rule)
        self._taken = stage.taken(rule).sure
        self._timeline = stage.timeline

    def sentence(self, breach: Breach, place: int) -> str:
        """Return the message for a call that breaks the rule. `place` is its index among those that do."""
        return getattr(self, f"_{self._rule.form.relation}")(breach, place) + self._where(breach)  # type: ignore[no-any-return]

    def _only_after(self, breach: Breach, place: int) -> str:
        x, y = breach.call, self._rule.y.text
        if self._rule.form.directly:
            return f"{self._call(x)} was not called right after {y}; {self._beside(x, -1)}"
        text = f"{self._call(x)} was called without {y} before it"
        if self._rule.z.tests:
            text += f" since {self._rule.z.text}"
        return text + self._instead(
            x, lambda y: self._is_before(y, x), lambda y: self._is_before(x, y), "before", "later"
        )

    def _followed_by(self, breach: Breach, place: int) -> str:
        x, y = breach.call, self._rule.y.text
        if self._rule.form.directly:
            return f"{self._call(x)} was not followed by {y} right away; {self._beside(x, 1)}"
        text = f"{self._call(x)} was called, and no {y} followed"
        if self._rule.z.tests:
            text += f" before {self._rule.z.text}"
        return text + self._instead(
            x, lambda y: self._is_before(x, y), lambda y: self._is_before(y, x), "after", "earlier"
        )

    def _never_after(self, breach: Breach, place: int) -> str:
        return f"{self._call(breach.call)} was called after {self._numbered(breach.partner)}, and must never be"

    def _only_with(self, breach: Breach, place: int) -> str:
        text = f"{self._call(breach.call)} was called without {self._rule.y.text} anywhere in the run"
        others = [y for y in self._cast.y.sure if y != breach.call]
        if others:
            return f"{text}; {self._values(others, 'there')}"
        failed = [y for y in self._taken if y != breach.call]
        return f"{text}; {self._numbered(failed[0])} failed" if failed else text

    def _never_with(self, breach: Breach, place: int) -> str:
        return f"{self._call(breach.call)} and {self._numbered(breach.partner)} were both called, and must never be"

    def _at_most(self, breach: Breach, place: int) -> str:
        form = self._rule.form
        window = f" {form.window} {self._rule.y.text}" if form.window else ""
        if not form.most:
            return f"{self._call(breach.call)} was called{window}, and must never be"
        times, verb = ordinal_text(form.most + place + 1), "is" if form.most == 1 else "are"
        return f"{self._call(breach.call)} was called a {times} time{window}, at most {form.most:,} {verb} allowed"

    def _always(self, breach: Breach, place: int) -> str:
        described, index = self._rule.described, breach.call
        selection = self._stage.selection
        found = described.differences_at(selection.calls[index], selection.moment(index)) if described else ()
        text = "; ".join([each.clause("", "no") for each in found[:_MOST_DIFFERENCES]]) or "it is not as described"
        more = f"; … and {len(found) - _MOST_DIFFERENCES} more" if len(found) > _MOST_DIFFERENCES else ""
        return f"{self._call(index)} is not as every such call must be: {text}{more}"

    def _first(self, breach: Breach, place: int) -> str:
        return self._end(breach, "first")

    def _last(self, breach: Breach, place: int) -> str:
        return self._end(breach, "last")

    def _end(self, breach: Breach, which: str) -> str:
        if breach.call < 0:
            return f"nothing was called, and {self._rule.x.text} was expected {which}"
        return f"the {which} call is {self._call(breach.call)}, expected {self._rule.x.text}"

    def _instead(
        self, x: int, is_right: Callable[[int], bool], is_wrong: Callable[[int], bool], side: str, other_side: str
    ) -> str:
        """Return the part of the message that says what there was instead of a partner on the right side of a call."""
        peers = {*self._peers(x)} - {x}
        ys, taken = [[y for y in part if y in peers] for part in (self._cast.y.sure, self._taken)]
        there = [y for y in ys if is_right(y)]
        agreeing = [y for y in there if self._agree(x, y)]
        if agreeing and (between := self._between(x, agreeing, side)) is not None:
            return f"; {self._numbered(between)} came in between"
        if there:
            return f"; {self._values(there, side)}"
        if failed := [y for y in taken if y not in ys and is_right(y)]:
            return f"; {self._numbered(failed[0])} failed{self._error(failed[0])}"
        wrong = [y for y in ys if is_wrong(y)]
        if at_once := [y for y in ys if y not in wrong and self._agree(x, y)]:
            return f"; {self._numbered(at_once[0])} was running at the same time"
        if wrong:
            return f"; {self._numbered(wrong[0])} came only {other_side}"
        if ys:
            return f"; {self._values(ys, 'there')}"
        return f"; {self._numbered(taken[0])} failed" if taken else f"; {self._rule.y.text} was never called"

    def _between(self, x: int, ys: Sequence[int], side: str) -> int | None:
        """Return a call that comes between a call and one of its partners; `None` if there is none."""
        pairs = [(y, z) for y in ys for z in self._cast.z.sure]
        for y, z in reversed(pairs) if side == "before" else pairs:
            first, second = (y, x) if side == "before" else (x, y)
            if self._is_before(first, z) and self._is_before(z, second):
                return z
        return None

    def _values(self, calls: Sequence[int], side: str) -> str:
        """Return the values of the arguments that should have been the same."""
        names = self._rule.same[1] if self._rule.same is not None else ()
        which = {"there": "in the run"}.get(side, side)
        shown = [self._same_values(call, names) for call in calls[:_MOST_VALUES]]
        text = ", ".join(dict.fromkeys(shown)) + (", …" if len(calls) > _MOST_VALUES else "")
        lead = f"the only one {which} has" if len(calls) == 1 else f"the {len(calls):,} {which} have"
        return f"{lead} {text}"

    def _same_values(self, call: int, names: Sequence[str]) -> str:
        args = self._stage.selection.calls[call].args or {}
        parts = [f"{name} {value_text(args[name], 40)}" if name in args else f"no {name}" for name in names]
        return " and ".join(parts)

    def _agree(self, x: int, y: int) -> bool:
        agreement = self._cast.agreement
        if agreement is None:
            return True
        mine = agreement.x.get(x, ArgumentKey.ABSENT)
        return not isinstance(mine, ArgumentKey) and mine == agreement.y.get(y)

    def _is_before(self, one: int, other: int) -> bool:
        return self._timeline.is_before(one, other)

    def _peers(self, x: int) -> Sequence[int]:
        """Return the calls of the same turn or agent, if the rule has `per`; else all calls."""
        classes, _ = self._stage.classes(self._rule)
        return next((each for each in classes if x in each), []) if classes is not None else range(self._timeline.size)

    def _beside(self, x: int, step: int) -> str:
        beside = self._timeline.neighbours(self._timeline.order_of(self._peers(x)), x, step).calls
        side = "before" if step < 0 else "after"
        if not beside:
            return f"there is no call {side} it"
        y = beside[0]
        if y in self._cast.y.sure and self._agree(x, y):
            return f"{self._numbered(y)} was running at the same time"
        failed = " and failed" if y in self._taken and y not in self._cast.y.sure else ""
        return f"the call {side} it is {self._numbered(y)}{failed}"

    def _where(self, breach: Breach) -> str:
        if self._rule.per is None or breach.call < 0:
            return ""
        found = getattr(self._stage.selection.calls[breach.call], self._rule.per)
        return f" (in turn {found + 1:,})" if self._rule.per == "turn" else f" (by agent {found})"

    def _error(self, index: int) -> str:
        error = self._stage.selection.calls[index].error
        return f" ({value_text(error, _LONGEST_ERROR)})" if error else ""

    def _call(self, index: int) -> str:
        call = self._stage.selection.calls[index]
        return f"`{call_text(call.name, call.args)}`"

    def _numbered(self, index: int) -> str:
        call = self._stage.selection.calls[index]
        shown = call_text(call.name, call.args) if self._rule.same is not None else call.name
        return f"`{shown}` (call {self._stage.selection.position(index) + 1:,})"


def unknown_of(stage: Stage, rule: RulePlan, ruling: RuleOutcome) -> str:
    """Return why it is unknown whether a rule holds."""
    calls = stage.selection.calls
    if rule.per is not None:
        unknown = next((call for call in calls if getattr(call, rule.per) is None), None)
        if unknown is not None:
            return f"which {rule.per} `{unknown.name}` belongs to was not recorded"
    cast = stage.cast(rule)
    undecided = _undecided([cast.x, cast.y, cast.z])
    if not undecided and cast.agreement is not None:
        keys = {**cast.agreement.x, **cast.agreement.y}
        undecided = [place for place in sorted(keys) if keys[place] is ArgumentKey.UNKNOWN]
    if not undecided:
        return "whether it holds depends on what was not recorded"
    index = undecided[0]
    place = stage.selection.position(index) + 1
    return f"whether it holds depends on `{calls[index].name}` (call {place:,}), {_unrecorded(stage, index)}"


def _undecided(parts: Iterable[RulePart]) -> list[int]:
    return [index for part in parts for index in sorted(set(part.possible).difference(part.sure))]


def _unrecorded(stage: Stage, index: int) -> str:
    call = stage.selection.calls[index]
    if index in stage.doubts.members:
        return "of which it was not recorded whether it counts"
    if "args" in call.unrecorded:
        return "whose arguments were not recorded"
    if stage.failed[index] is None:
        return "of which it was not recorded whether it failed"
    return "whose output, agent or turn was not recorded"
