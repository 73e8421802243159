from ._evaluator import (
    CallRules as CallRules,
    CallRulesConfig as CallRulesConfig,
    CallRulesCriteria as CallRulesCriteria,
)
from ._judgement import (
    ArgumentKey as ArgumentKey,
    Breach as Breach,
    Cast as Cast,
    Form as Form,
    RuleOutcome as RuleOutcome,
    RulePart as RulePart,
    SameArguments as SameArguments,
    judge as judge,
)
from ._plan import CallRule as CallRule, RuleCall as RuleCall
from ._timeline import Timeline as Timeline, Times as Times, timeline_of as timeline_of
