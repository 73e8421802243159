"""What rules found, in words: a sentence for each call that breaks one, and the details of a result."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.values.results import (
    Finding,
    Justification,
    NamedCall,
    RuleCheck,
    RulesJustification,
    call_text,
)

from ._judging import Breach, RuleOutcome
from ._plan import RulePlan, RulesPlan
from ._reasons import Reasons, unknown_of
from ._stage import Stage

_MOST_FINDINGS = 30
_MOST_CALLS = 40


class RulesAccount(msgspec.Struct, frozen=True):
    """What was found about each rule."""

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
        told = [
            Finding("RC116", reasons.sentence(breach, place), actual=self._named([breach]), path=path, why=why)
            for place, breach in enumerate(ruling.breaches[: _MOST_FINDINGS + 1])
        ]
        # Every breach is counted, though only the first ones are told.
        return told + told[-1:] * (len(ruling.breaches) - len(told))

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
        said = f"{form.relation} {rule.x.text}"
    elif form.relation == "at_most":
        window = f" {form.window} {rule.y.text}" if form.window else ""
        times = {0: "never", 1: "at most once"}.get(form.most, f"at most {form.most:,} times")
        said = f"{rule.x.text} {times}{window}"
    else:
        words = form.relation.replace("_", " ")
        said = f"{rule.x.text} {words} {rule.y.text}".rstrip()
    between = {"only_after": "since", "followed_by": "before"}.get(form.relation)
    more = [f"{between} {rule.z.text}" if rule.z.tests else "", "directly" if form.directly else ""]
    if rule.same is not None:
        pairs = [mine if mine == other else f"{mine} as {other}" for mine, other in zip(*rule.same, strict=True)]
        more.append(f"with the same {' and '.join(pairs)}")
    more.append({"turn": "in each turn", "agent": "by each agent"}[rule.per] if rule.per else "")
    return " ".join([said, *[each for each in more if each]])


def never_applied_text(rule: RulePlan) -> str:
    """Return why a rule never applied: which calls were not made."""
    relation = rule.form.relation
    if relation in ("never_after", "at_most"):
        return f"no {rule.y.text} was called"
    if relation == "never_with":
        return f"neither {rule.x.text} nor {rule.y.text} was called"
    return f"no {rule.x.text} was called"
