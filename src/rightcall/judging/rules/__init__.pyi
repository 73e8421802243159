from ._cast import ArgumentKey as ArgumentKey, Cast as Cast, RulePart as RulePart, SameArguments as SameArguments
from ._evaluator import (
    CallRules as CallRules,
    CallRulesConfig as CallRulesConfig,
    CallRulesCriteria as CallRulesCriteria,
)
from ._judging import Breach as Breach, Form as Form, RuleOutcome as RuleOutcome, judge as judge
from ._timeline import Timeline as Timeline, Times as Times, timeline_of as timeline_of
from ._written import CallRule as CallRule, RuleCall as RuleCall
