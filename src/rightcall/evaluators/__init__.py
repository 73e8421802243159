"""One question per module: a trajectory and criteria in, a result out."""

from ._args import ToolCallArgsEvaluationCriteria, ToolCallArgsEvaluator, ToolCallArgsEvaluatorConfig
from ._budgets import AtMost
from ._contains import (
    ContainsConfig,
    ContainsCriteria,
    ContainsEvaluator,
    RegexMatch,
    RegexMatchConfig,
    RegexMatchCriteria,
)
from ._count import ToolCallCountEvaluationCriteria, ToolCallCountEvaluator, ToolCallCountEvaluatorConfig
from ._criteria import ExpectedCall
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
from ._json_similarity import JsonSimilarityConfig, JsonSimilarityCriteria, JsonSimilarityEvaluator
from ._mistakes import UserModel, mistakes
from ._order import ToolCallOrderEvaluationCriteria, ToolCallOrderEvaluator, ToolCallOrderEvaluatorConfig
from ._output import (
    ExpectedOutput,
    ToolCallOutputEvaluationCriteria,
    ToolCallOutputEvaluator,
    ToolCallOutputEvaluatorConfig,
)
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
from ._unavailable import UNAVAILABLE, UnavailableEvaluator, unavailable

__all__ = [
    "EVALUATORS",
    "UNAVAILABLE",
    "AgentExecution",
    "AtMost",
    "CallLatency",
    "CallLatencyConfig",
    "ContainsConfig",
    "ContainsCriteria",
    "ContainsEvaluator",
    "Evaluator",
    "ExactMatchConfig",
    "ExactMatchCriteria",
    "ExactMatchEvaluator",
    "Example",
    "ExampleResult",
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
    "Latency",
    "LatencyConfig",
    "Loops",
    "LoopsConfig",
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
    "UserModel",
    "evaluator_type",
    "mistakes",
    "run_evaluation",
    "select",
    "unavailable",
]
