"""Did the agent keep to the rules: what comes before what, how often, and what each call is like?"""

from __future__ import annotations

from typing import ClassVar, Literal

from rightcall.judging.core import Config, Criteria, Evaluator, Measurement, NotEmpty, Selection, Shorthand
from rightcall.values.results import RulesJustification

from ._plan import RulesPlan, compile_rules
from ._reasons import RulesAccount
from ._stage import Stage
from ._written_rules import CallRule


class CallRulesCriteria(Criteria):
    """The rules, and what makes a call an earlier one."""

    names_tools: ClassVar[str | None] = None
    rules: NotEmpty[tuple[CallRule, ...]]
    order: Literal["finished", "started"] = "finished"
    """With `started`, a call is before another if it began before, whether or not it had ended."""
    selects_by_outcome: ClassVar[bool] = False


class CallRulesConfig(Config):
    """How rules are judged."""

    name: str = "CallRules"


class CallRules(Evaluator[CallRulesConfig, CallRulesCriteria, RulesPlan]):
    """Which share of the rules holds: rules that hold divided by all rules.

    A rule that no call was about holds, unless it must apply. Nothing called is 1.0, except for rules about the first
    and the last call. The same call made twice is judged twice. No rules are an error.
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
