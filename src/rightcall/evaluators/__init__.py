"""One question per module: a trajectory and criteria in, a result out."""

from ._args import ToolCallArgsEvaluationCriteria, ToolCallArgsEvaluator, ToolCallArgsEvaluatorConfig
from ._base import (
    BaseEvaluationCriteria,
    BaseEvaluator,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
    BooleanEvaluationResult,
    ErrorEvaluationResult,
    NumericEvaluationResult,
)
from ._budgets import AtMost
from ._classification import ClassificationConfig, ClassificationEvaluator
from ._code import evaluator
from ._contains import (
    ContainsConfig,
    ContainsCriteria,
    ContainsEvaluator,
    RegexMatch,
    RegexMatchConfig,
    RegexMatchCriteria,
)
from ._count import ToolCallCountEvaluationCriteria, ToolCallCountEvaluator, ToolCallCountEvaluatorConfig
from ._criteria import Config, Criteria, ExpectedCall
from ._custom import CustomEvaluator, custom_type
from ._custom_overall import CustomOverall, UnimportedOverall, function_of_rows
from ._efficiency import (
    Loops,
    LoopsConfig,
    RedundantCalls,
    RedundantCallsConfig,
    RedundantCallsCriteria,
    StepCount,
    StepCountConfig,
)
from ._evaluator import Evaluator
from ._exact_match import ExactMatchConfig, ExactMatchCriteria, ExactMatchEvaluator
from ._examples import Example, ExampleResult, ExecutionOrderScorer, run_evaluation
from ._execution import AgentExecution
from ._execution_order import ExecutionOrderConfig, ExecutionOrderCriteria, ExecutionOrderEvaluator
from ._final_output import FinalOutput, FinalOutputConfig, FinalOutputCriteria
from ._forbidden import ForbiddenTools, ForbiddenToolsConfig, ForbiddenToolsCriteria
from ._health import Retries, RetriesConfig, ToolErrorRate, ToolErrorRateConfig, ToolErrorRateCriteria
from ._installed import GROUP, installed_evaluators, is_code, names_file, split_code
from ._json_similarity import JsonSimilarityConfig, JsonSimilarityCriteria, JsonSimilarityEvaluator
from ._judge_output import JudgeOutputConfig, JudgeOutputCriteria, LlmJudgeOutput
from ._judge_trajectory import JudgeTrajectoryConfig, JudgeTrajectoryCriteria, LlmJudgeTrajectory
from ._judgement import Judgement
from ._judging import JudgeEvaluator
from ._loop import CONCURRENCY, Loop
from ._mistakes import UserModel, mistakes
from ._order import ToolCallOrderEvaluationCriteria, ToolCallOrderEvaluator, ToolCallOrderEvaluatorConfig
from ._output import (
    ExpectedOutput,
    ToolCallOutputEvaluationCriteria,
    ToolCallOutputEvaluator,
    ToolCallOutputEvaluatorConfig,
)
from ._overall import OverallEvaluator, Row
from ._quality import (
    ExpectedCallsCriteria,
    QualityConfig,
    RecallCriteria,
    SingleToolUse,
    SingleToolUseCriteria,
    ToolF1,
    ToolPrecision,
    ToolRecall,
)
from ._registry import EVALUATORS, evaluator_type
from ._response_match import ResponseMatch, ResponseMatchConfig, ResponseMatchCriteria
from ._selection import Selection, select
from ._spending import (
    CallLatency,
    CallLatencyConfig,
    Latency,
    LatencyConfig,
    SecondsCriteria,
    TokenUsage,
    TokenUsageConfig,
    TokenUsageCriteria,
)
from ._trajectory import (
    ToolTrajectoryEvaluationCriteria,
    ToolTrajectoryEvaluator,
    ToolTrajectoryEvaluatorConfig,
)
from ._unavailable import CODE_OF_YOURS, UNAVAILABLE, UnavailableEvaluator, unavailable
from ._waiting import Execution, WaitingConfig, WaitingEvaluator

__all__ = [
    "CODE_OF_YOURS",
    "CONCURRENCY",
    "EVALUATORS",
    "GROUP",
    "UNAVAILABLE",
    "AgentExecution",
    "AtMost",
    "BaseEvaluationCriteria",
    "BaseEvaluator",
    "BaseEvaluatorConfig",
    "BaseEvaluatorJustification",
    "BooleanEvaluationResult",
    "CallLatency",
    "CallLatencyConfig",
    "ClassificationConfig",
    "ClassificationEvaluator",
    "Config",
    "ContainsConfig",
    "ContainsCriteria",
    "ContainsEvaluator",
    "Criteria",
    "CustomEvaluator",
    "CustomOverall",
    "ErrorEvaluationResult",
    "Evaluator",
    "ExactMatchConfig",
    "ExactMatchCriteria",
    "ExactMatchEvaluator",
    "Example",
    "ExampleResult",
    "Execution",
    "ExecutionOrderConfig",
    "ExecutionOrderCriteria",
    "ExecutionOrderEvaluator",
    "ExecutionOrderScorer",
    "ExpectedCall",
    "ExpectedCallsCriteria",
    "ExpectedOutput",
    "FinalOutput",
    "FinalOutputConfig",
    "FinalOutputCriteria",
    "ForbiddenTools",
    "ForbiddenToolsConfig",
    "ForbiddenToolsCriteria",
    "JsonSimilarityConfig",
    "JsonSimilarityCriteria",
    "JsonSimilarityEvaluator",
    "JudgeEvaluator",
    "JudgeOutputConfig",
    "JudgeOutputCriteria",
    "JudgeTrajectoryConfig",
    "JudgeTrajectoryCriteria",
    "Judgement",
    "Latency",
    "LatencyConfig",
    "LlmJudgeOutput",
    "LlmJudgeTrajectory",
    "Loop",
    "Loops",
    "LoopsConfig",
    "NumericEvaluationResult",
    "OverallEvaluator",
    "QualityConfig",
    "RecallCriteria",
    "RedundantCalls",
    "RedundantCallsConfig",
    "RedundantCallsCriteria",
    "RegexMatch",
    "RegexMatchConfig",
    "RegexMatchCriteria",
    "ResponseMatch",
    "ResponseMatchConfig",
    "ResponseMatchCriteria",
    "Retries",
    "RetriesConfig",
    "Row",
    "SecondsCriteria",
    "Selection",
    "SingleToolUse",
    "SingleToolUseCriteria",
    "StepCount",
    "StepCountConfig",
    "TokenUsage",
    "TokenUsageConfig",
    "TokenUsageCriteria",
    "ToolCallArgsEvaluationCriteria",
    "ToolCallArgsEvaluator",
    "ToolCallArgsEvaluatorConfig",
    "ToolCallCountEvaluationCriteria",
    "ToolCallCountEvaluator",
    "ToolCallCountEvaluatorConfig",
    "ToolCallOrderEvaluationCriteria",
    "ToolCallOrderEvaluator",
    "ToolCallOrderEvaluatorConfig",
    "ToolCallOutputEvaluationCriteria",
    "ToolCallOutputEvaluator",
    "ToolCallOutputEvaluatorConfig",
    "ToolErrorRate",
    "ToolErrorRateConfig",
    "ToolErrorRateCriteria",
    "ToolF1",
    "ToolPrecision",
    "ToolRecall",
    "ToolTrajectoryEvaluationCriteria",
    "ToolTrajectoryEvaluator",
    "ToolTrajectoryEvaluatorConfig",
    "UnavailableEvaluator",
    "UnimportedOverall",
    "UserModel",
    "WaitingConfig",
    "WaitingEvaluator",
    "custom_type",
    "evaluator",
    "evaluator_type",
    "function_of_rows",
    "installed_evaluators",
    "is_code",
    "mistakes",
    "names_file",
    "run_evaluation",
    "select",
    "split_code",
    "unavailable",
]
