from ._all_cases import (
    AllCases as AllCases,
    Overall as Overall,
    RuleUse as RuleUse,
    Seen as Seen,
    ToolNames as ToolNames,
    rule_uses as rule_uses,
)
from ._case_finder import (
    CASE_ATTRIBUTE as CASE_ATTRIBUTE,
    JOINS as JOINS,
    CaseFinder as CaseFinder,
    Join as Join,
    JoinRule as JoinRule,
    Match as Match,
    join_rule as join_rule,
    recorded_repeat as recorded_repeat,
)
from ._executor import Judging as Judging, JudgingExecutor as JudgingExecutor
from ._judge import (
    error_result as error_result,
    has_async_evaluators as has_async_evaluators,
    judge as judge,
    judge_outcome as judge_outcome,
    not_measured_result as not_measured_result,
    weighted_score as weighted_score,
)
