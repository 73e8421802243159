"""One question per module: a trajectory and criteria in, a result out."""

from ._args import ToolCallArgsEvaluationCriteria, ToolCallArgsEvaluator, ToolCallArgsEvaluatorConfig
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
from ._evaluator import Evaluator
from ._exact_match import ExactMatchConfig, ExactMatchCriteria, ExactMatchEvaluator
from ._examples import Example, ExampleResult, ExecutionOrderScorer, run_evaluation
from ._execution import AgentExecution
from ._execution_order import ExecutionOrderConfig, ExecutionOrderCriteria, ExecutionOrderEvaluator
from ._final_output import FinalOutput, FinalOutputConfig, FinalOutputCriteria
from ._forbidden import ForbiddenTools, ForbiddenToolsConfig, ForbiddenToolsCriteria
from ._json_similarity import JsonSimilarityConfig, JsonSimilarityCriteria, JsonSimilarityEvaluator
from ._loop import CONCURRENCY, Loop
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
from ._trajectory import (
    ToolTrajectoryEvaluationCriteria,
    ToolTrajectoryEvaluator,
    ToolTrajectoryEvaluatorConfig,
)
from ._unavailable import UNAVAILABLE, UnavailableEvaluator, unavailable
from ._waiting import Execution, WaitingConfig, WaitingEvaluator

__all__ = [
    "CONCURRENCY",
    "EVALUATORS",
    "UNAVAILABLE",
    "AgentExecution",
    "Config",
    "ContainsConfig",
    "ContainsCriteria",
    "ContainsEvaluator",
    "Criteria",
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
    "Loop",
    "QualityConfig",
    "RecallCriteria",
    "RegexMatch",
    "RegexMatchConfig",
    "RegexMatchCriteria",
    "ResponseMatch",
    "ResponseMatchConfig",
    "ResponseMatchCriteria",
    "Selection",
    "SingleToolUse",
    "SingleToolUseCriteria",
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
    "ToolF1",
    "ToolPrecision",
    "ToolRecall",
    "ToolTrajectoryEvaluationCriteria",
    "ToolTrajectoryEvaluator",
    "ToolTrajectoryEvaluatorConfig",
    "UnavailableEvaluator",
    "UserModel",
    "WaitingConfig",
    "WaitingEvaluator",
    "evaluator_type",
    "mistakes",
    "run_evaluation",
    "select",
    "unavailable",
]
