from .answers._answers import (
    FinalOutput as FinalOutput,
    FinalOutputConfig as FinalOutputConfig,
    FinalOutputCriteria as FinalOutputCriteria,
    holding as holding,
    pointer_of as pointer_of,
)
from .answers._classification import (
    ClassificationConfig as ClassificationConfig,
    ClassificationEvaluator as ClassificationEvaluator,
)
from .answers._similarity import (
    JsonSimilarityConfig as JsonSimilarityConfig,
    JsonSimilarityCriteria as JsonSimilarityCriteria,
    JsonSimilarityEvaluator as JsonSimilarityEvaluator,
    ResponseMatch as ResponseMatch,
    ResponseMatchConfig as ResponseMatchConfig,
    ResponseMatchCriteria as ResponseMatchCriteria,
)
from .answers._text_match import (
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
from .budgets._budgets import AtMost as AtMost
from .budgets._efficiency import (
    CallLatency as CallLatency,
    CallLatencyConfig as CallLatencyConfig,
    Latency as Latency,
    LatencyConfig as LatencyConfig,
    Loops as Loops,
    LoopsConfig as LoopsConfig,
    RedundantCalls as RedundantCalls,
    RedundantCallsConfig as RedundantCallsConfig,
    RedundantCallsCriteria as RedundantCallsCriteria,
    Retries as Retries,
    RetriesConfig as RetriesConfig,
    SecondsCriteria as SecondsCriteria,
    StepCount as StepCount,
    StepCountConfig as StepCountConfig,
    TokenUsage as TokenUsage,
    TokenUsageConfig as TokenUsageConfig,
    TokenUsageCriteria as TokenUsageCriteria,
    ToolErrorRate as ToolErrorRate,
    ToolErrorRateConfig as ToolErrorRateConfig,
    ToolErrorRateCriteria as ToolErrorRateCriteria,
)
from .calls._count import (
    ToolCallCountEvaluationCriteria as ToolCallCountEvaluationCriteria,
    ToolCallCountEvaluator as ToolCallCountEvaluator,
    ToolCallCountEvaluatorConfig as ToolCallCountEvaluatorConfig,
)
from .calls._order import (
    Example as Example,
    ExampleResult as ExampleResult,
    ExecutionOrderConfig as ExecutionOrderConfig,
    ExecutionOrderCriteria as ExecutionOrderCriteria,
    ExecutionOrderEvaluator as ExecutionOrderEvaluator,
    ExecutionOrderScorer as ExecutionOrderScorer,
    ToolCallOrderEvaluationCriteria as ToolCallOrderEvaluationCriteria,
    ToolCallOrderEvaluator as ToolCallOrderEvaluator,
    ToolCallOrderEvaluatorConfig as ToolCallOrderEvaluatorConfig,
    run_evaluation as run_evaluation,
)
from .calls._pairs import (
    ExpectedCallsCriteria as ExpectedCallsCriteria,
    ExpectedOutput as ExpectedOutput,
    ForbiddenTools as ForbiddenTools,
    ForbiddenToolsConfig as ForbiddenToolsConfig,
    ForbiddenToolsCriteria as ForbiddenToolsCriteria,
    QualityConfig as QualityConfig,
    RecallCriteria as RecallCriteria,
    SingleToolUse as SingleToolUse,
    SingleToolUseCriteria as SingleToolUseCriteria,
    ToolCallArgsEvaluationCriteria as ToolCallArgsEvaluationCriteria,
    ToolCallArgsEvaluator as ToolCallArgsEvaluator,
    ToolCallArgsEvaluatorConfig as ToolCallArgsEvaluatorConfig,
    ToolCallOutputEvaluationCriteria as ToolCallOutputEvaluationCriteria,
    ToolCallOutputEvaluator as ToolCallOutputEvaluator,
    ToolCallOutputEvaluatorConfig as ToolCallOutputEvaluatorConfig,
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
    CONCURRENCY as CONCURRENCY,
    AsyncConfig as AsyncConfig,
    AsyncEvaluator as AsyncEvaluator,
    Execution as Execution,
    Loop as Loop,
    WaitingConfig as WaitingConfig,
    WaitingEvaluator as WaitingEvaluator,
)
from .core._evaluator import (
    STEP_WORDS as STEP_WORDS,
    CallScope as CallScope,
    Evaluator as Evaluator,
    NameScope as NameScope,
    OverallEvaluator as OverallEvaluator,
    Row as Row,
    Scope as Scope,
    Shorthand as Shorthand,
    is_word as is_word,
)
from .core._expected_calls import (
    AgentExecution as AgentExecution,
    Config as Config,
    ExpectedCall as ExpectedCall,
)
from .core._registry import (
    CODE_OF_YOURS as CODE_OF_YOURS,
    EVALUATORS as EVALUATORS,
    GROUP as GROUP,
    OTHER_NAMES as OTHER_NAMES,
    SHORTHANDS as SHORTHANDS,
    UNAVAILABLE as UNAVAILABLE,
    UnavailableEvaluator as UnavailableEvaluator,
    evaluator_type as evaluator_type,
    installed_evaluators as installed_evaluators,
    is_code as is_code,
    names_file as names_file,
    split_code as split_code,
    unavailable as unavailable,
)
from .core._selection import Criteria as Criteria, Selection as Selection, select as select
from .core._user_model import (
    FINITE as FINITE,
    After as After,
    Before as Before,
    Bounds as Bounds,
    Key as Key,
    Length as Length,
    ModelError as ModelError,
    UserModel as UserModel,
    camel as camel,
    independent as independent,
)
from .custom._code import Judgement as Judgement, evaluator as evaluator
from .custom._custom import (
    BaseEvaluationCriteria as BaseEvaluationCriteria,
    BaseEvaluator as BaseEvaluator,
    BaseEvaluatorConfig as BaseEvaluatorConfig,
    BaseEvaluatorJustification as BaseEvaluatorJustification,
    BooleanEvaluationResult as BooleanEvaluationResult,
    CustomEvaluator as CustomEvaluator,
    CustomOverall as CustomOverall,
    ErrorEvaluationResult as ErrorEvaluationResult,
    NumericEvaluationResult as NumericEvaluationResult,
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
from .rules._plan import CallRule as CallRule, RuleCall as RuleCall
