from ._registry import (
    EVALUATORS as EVALUATORS,
    OTHER_NAMES as OTHER_NAMES,
    SHORTHANDS as SHORTHANDS,
    evaluator_type as evaluator_type,
)
from .answers._classification import (
    ClassificationConfig as ClassificationConfig,
    ClassificationEvaluator as ClassificationEvaluator,
)
from .answers._contains import (
    ContainsConfig as ContainsConfig,
    ContainsCriteria as ContainsCriteria,
    ContainsEvaluator as ContainsEvaluator,
    ExactMatchConfig as ExactMatchConfig,
    ExactMatchCriteria as ExactMatchCriteria,
    ExactMatchEvaluator as ExactMatchEvaluator,
    RegexMatch as RegexMatch,
    RegexMatchConfig as RegexMatchConfig,
    RegexMatchCriteria as RegexMatchCriteria,
)
from .answers._final_output import (
    FinalOutput as FinalOutput,
    FinalOutputConfig as FinalOutputConfig,
    FinalOutputCriteria as FinalOutputCriteria,
)
from .answers._json_similarity import (
    JsonSimilarityConfig as JsonSimilarityConfig,
    JsonSimilarityCriteria as JsonSimilarityCriteria,
    JsonSimilarityEvaluator as JsonSimilarityEvaluator,
)
from .answers._parts import holding as holding, pointer_of as pointer_of
from .answers._response_match import (
    ResponseMatch as ResponseMatch,
    ResponseMatchConfig as ResponseMatchConfig,
    ResponseMatchCriteria as ResponseMatchCriteria,
)
from .budgets._budgets import AtMost as AtMost
from .budgets._efficiency import (
    Loops as Loops,
    LoopsConfig as LoopsConfig,
    RedundantCalls as RedundantCalls,
    RedundantCallsConfig as RedundantCallsConfig,
    RedundantCallsCriteria as RedundantCallsCriteria,
    StepCount as StepCount,
    StepCountConfig as StepCountConfig,
)
from .budgets._health import (
    Retries as Retries,
    RetriesConfig as RetriesConfig,
    ToolErrorRate as ToolErrorRate,
    ToolErrorRateConfig as ToolErrorRateConfig,
    ToolErrorRateCriteria as ToolErrorRateCriteria,
)
from .budgets._time_and_tokens import (
    CallLatency as CallLatency,
    CallLatencyConfig as CallLatencyConfig,
    Latency as Latency,
    LatencyConfig as LatencyConfig,
    SecondsCriteria as SecondsCriteria,
    TokenUsage as TokenUsage,
    TokenUsageConfig as TokenUsageConfig,
    TokenUsageCriteria as TokenUsageCriteria,
)
from .calls._args import (
    ToolCallArgsEvaluationCriteria as ToolCallArgsEvaluationCriteria,
    ToolCallArgsEvaluator as ToolCallArgsEvaluator,
    ToolCallArgsEvaluatorConfig as ToolCallArgsEvaluatorConfig,
)
from .calls._count import (
    ToolCallCountEvaluationCriteria as ToolCallCountEvaluationCriteria,
    ToolCallCountEvaluator as ToolCallCountEvaluator,
    ToolCallCountEvaluatorConfig as ToolCallCountEvaluatorConfig,
)
from .calls._execution_order import (
    Example as Example,
    ExampleResult as ExampleResult,
    ExecutionOrderConfig as ExecutionOrderConfig,
    ExecutionOrderCriteria as ExecutionOrderCriteria,
    ExecutionOrderEvaluator as ExecutionOrderEvaluator,
    ExecutionOrderScorer as ExecutionOrderScorer,
    run_evaluation as run_evaluation,
)
from .calls._forbidden import (
    ForbiddenTools as ForbiddenTools,
    ForbiddenToolsConfig as ForbiddenToolsConfig,
    ForbiddenToolsCriteria as ForbiddenToolsCriteria,
)
from .calls._order import (
    ToolCallOrderEvaluationCriteria as ToolCallOrderEvaluationCriteria,
    ToolCallOrderEvaluator as ToolCallOrderEvaluator,
    ToolCallOrderEvaluatorConfig as ToolCallOrderEvaluatorConfig,
)
from .calls._output import (
    ExpectedOutput as ExpectedOutput,
    ToolCallOutputEvaluationCriteria as ToolCallOutputEvaluationCriteria,
    ToolCallOutputEvaluator as ToolCallOutputEvaluator,
    ToolCallOutputEvaluatorConfig as ToolCallOutputEvaluatorConfig,
)
from .calls._quality import (
    ExpectedCallsCriteria as ExpectedCallsCriteria,
    QualityConfig as QualityConfig,
    RecallCriteria as RecallCriteria,
    SingleToolUse as SingleToolUse,
    SingleToolUseCriteria as SingleToolUseCriteria,
    ToolF1 as ToolF1,
    ToolPrecision as ToolPrecision,
    ToolRecall as ToolRecall,
)
from .calls._steps import StepGroup as StepGroup
from .calls._trajectory import (
    ToolTrajectoryEvaluationCriteria as ToolTrajectoryEvaluationCriteria,
    ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
    ToolTrajectoryEvaluatorConfig as ToolTrajectoryEvaluatorConfig,
)
from .core._async import (
    AsyncConfig as AsyncConfig,
    AsyncEvaluator as AsyncEvaluator,
    Execution as Execution,
    WaitingConfig as WaitingConfig,
    WaitingEvaluator as WaitingEvaluator,
)
from .core._checks import After as After, Before as Before, Bounds as Bounds, Key as Key, Length as Length
from .core._criteria import Config as Config, Criteria as Criteria, ExpectedCall as ExpectedCall
from .core._declarations import (
    STEP_WORDS as STEP_WORDS,
    CallScope as CallScope,
    NameScope as NameScope,
    Scope as Scope,
    Shorthand as Shorthand,
    is_word as is_word,
)
from .core._evaluator import Evaluator as Evaluator
from .core._foreign import (
    CODE_OF_YOURS as CODE_OF_YOURS,
    GROUP as GROUP,
    UNAVAILABLE as UNAVAILABLE,
    UnavailableEvaluator as UnavailableEvaluator,
    installed_evaluators as installed_evaluators,
    is_code as is_code,
    names_file as names_file,
    split_code as split_code,
    unavailable as unavailable,
)
from .core._loop import CONCURRENCY as CONCURRENCY, Loop as Loop
from .core._overall import OverallEvaluator as OverallEvaluator, Row as Row
from .core._selection import Selection as Selection, select as select
from .core._uipath import AgentExecution as AgentExecution
from .core._user_model import (
    ModelError as ModelError,
    UserModel as UserModel,
    camel as camel,
    independent as independent,
)
from .custom._base import (
    BaseEvaluationCriteria as BaseEvaluationCriteria,
    BaseEvaluator as BaseEvaluator,
    BaseEvaluatorConfig as BaseEvaluatorConfig,
    BaseEvaluatorJustification as BaseEvaluatorJustification,
    BooleanEvaluationResult as BooleanEvaluationResult,
    ErrorEvaluationResult as ErrorEvaluationResult,
    NumericEvaluationResult as NumericEvaluationResult,
)
from .custom._code import Judgement as Judgement, evaluator as evaluator
from .custom._custom import (
    CustomEvaluator as CustomEvaluator,
    CustomOverall as CustomOverall,
    UnimportedOverall as UnimportedOverall,
    custom_type as custom_type,
    function_of_rows as function_of_rows,
)
from .models._judges import (
    JudgeEvaluator as JudgeEvaluator,
    JudgeOutputConfig as JudgeOutputConfig,
    JudgeOutputCriteria as JudgeOutputCriteria,
    JudgeTrajectoryConfig as JudgeTrajectoryConfig,
    JudgeTrajectoryCriteria as JudgeTrajectoryCriteria,
    LlmJudgeOutput as LlmJudgeOutput,
    LlmJudgeTrajectory as LlmJudgeTrajectory,
)
from .rules._evaluator import (
    CallRules as CallRules,
    CallRulesConfig as CallRulesConfig,
    CallRulesCriteria as CallRulesCriteria,
)
from .rules._written_rules import CallRule as CallRule, RuleCall as RuleCall
