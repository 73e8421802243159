from ._cast import Agreement as Agreement, Cast as Cast, Key as Key, Part as Part
from ._evaluator import (
    CallRules as CallRules,
    CallRulesConfig as CallRulesConfig,
    CallRulesCriteria as CallRulesCriteria,
)
from ._judging import Breach as Breach, Form as Form, Ruling as Ruling, judge as judge
from ._timeline import Timeline as Timeline, Times as Times, timeline_of as timeline_of
from ._written import Rule as Rule, RuleCall as RuleCall
