"""Rightcall judges AI agents by the tools they call.

Everything a user needs can be imported from here. Names are resolved when they are first used, so that
`import rightcall` itself loads no third-party module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .assertions import (
        Calls as Calls,
        calls as calls,
        check as check,
        evaluate as evaluate,
        soft as soft,
    )
    from .errors import (
        AgentError as AgentError,
        CheckFailedError as CheckFailedError,
        ConfigurationError as ConfigurationError,
        CriteriaError as CriteriaError,
        DocumentError as DocumentError,
        ExpectationError as ExpectationError,
        InputError as InputError,
        LimitError as LimitError,
        MissingExtraError as MissingExtraError,
        MockError as MockError,
        NotMeasuredError as NotMeasuredError,
        RightcallError as RightcallError,
        StoreError as StoreError,
        UnknownNameError as UnknownNameError,
    )
    from .evalsets import (
        Case as Case,
        EvalSet as EvalSet,
        convert_eval_set as convert_eval_set,
        eval_set_schema as eval_set_schema,
        load_eval_set as load_eval_set,
    )
    from .evaluators import (
        EVALUATORS as EVALUATORS,
        AgentExecution as AgentExecution,
        ContainsConfig as ContainsConfig,
        ContainsCriteria as ContainsCriteria,
        ContainsEvaluator as ContainsEvaluator,
        Evaluator as Evaluator,
        ExactMatchConfig as ExactMatchConfig,
        ExactMatchCriteria as ExactMatchCriteria,
        ExactMatchEvaluator as ExactMatchEvaluator,
        Example as Example,
        ExampleResult as ExampleResult,
        ExecutionOrderConfig as ExecutionOrderConfig,
        ExecutionOrderCriteria as ExecutionOrderCriteria,
        ExecutionOrderEvaluator as ExecutionOrderEvaluator,
        ExecutionOrderScorer as ExecutionOrderScorer,
        ExpectedCall as ExpectedCall,
        ExpectedCallsCriteria as ExpectedCallsCriteria,
        ExpectedOutput as ExpectedOutput,
        FinalOutput as FinalOutput,
        FinalOutputConfig as FinalOutputConfig,
        FinalOutputCriteria as FinalOutputCriteria,
        ForbiddenTools as ForbiddenTools,
        ForbiddenToolsConfig as ForbiddenToolsConfig,
        ForbiddenToolsCriteria as ForbiddenToolsCriteria,
        JsonSimilarityConfig as JsonSimilarityConfig,
        JsonSimilarityCriteria as JsonSimilarityCriteria,
        JsonSimilarityEvaluator as JsonSimilarityEvaluator,
        QualityConfig as QualityConfig,
        RecallCriteria as RecallCriteria,
        RegexMatch as RegexMatch,
        RegexMatchConfig as RegexMatchConfig,
        RegexMatchCriteria as RegexMatchCriteria,
        ResponseMatch as ResponseMatch,
        ResponseMatchConfig as ResponseMatchConfig,
        ResponseMatchCriteria as ResponseMatchCriteria,
        SingleToolUse as SingleToolUse,
        SingleToolUseCriteria as SingleToolUseCriteria,
        ToolCallArgsEvaluationCriteria as ToolCallArgsEvaluationCriteria,
        ToolCallArgsEvaluator as ToolCallArgsEvaluator,
        ToolCallArgsEvaluatorConfig as ToolCallArgsEvaluatorConfig,
        ToolCallCountEvaluationCriteria as ToolCallCountEvaluationCriteria,
        ToolCallCountEvaluator as ToolCallCountEvaluator,
        ToolCallCountEvaluatorConfig as ToolCallCountEvaluatorConfig,
        ToolCallOrderEvaluationCriteria as ToolCallOrderEvaluationCriteria,
        ToolCallOrderEvaluator as ToolCallOrderEvaluator,
        ToolCallOrderEvaluatorConfig as ToolCallOrderEvaluatorConfig,
        ToolCallOutputEvaluationCriteria as ToolCallOutputEvaluationCriteria,
        ToolCallOutputEvaluator as ToolCallOutputEvaluator,
        ToolCallOutputEvaluatorConfig as ToolCallOutputEvaluatorConfig,
        ToolF1 as ToolF1,
        ToolPrecision as ToolPrecision,
        ToolRecall as ToolRecall,
        ToolTrajectoryEvaluationCriteria as ToolTrajectoryEvaluationCriteria,
        ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
        ToolTrajectoryEvaluatorConfig as ToolTrajectoryEvaluatorConfig,
        evaluator_type as evaluator_type,
        run_evaluation as run_evaluation,
    )
    from .limits import (
        DEFAULT_LIMITS as DEFAULT_LIMITS,
        Limits as Limits,
    )
    from .mocking import (
        Mocks as Mocks,
        Recorder as Recorder,
        Recording as Recording,
        recording_to as recording_to,
        standing_in as standing_in,
    )
    from .readers import (
        INPUT_FORMATS as INPUT_FORMATS,
        Grouping as Grouping,
        read as read,
        read_messages as read_messages,
        read_spans as read_spans,
    )
    from .results import (
        Alignment as Alignment,
        AnswersJustification as AnswersJustification,
        CaseResult as CaseResult,
        ComparedAnswer as ComparedAnswer,
        CountCheck as CountCheck,
        Difference as Difference,
        EvaluationResult as EvaluationResult,
        ExecutionOrderJustification as ExecutionOrderJustification,
        ExplainedCall as ExplainedCall,
        FinalOutputJustification as FinalOutputJustification,
        Finding as Finding,
        ForbiddenToolsJustification as ForbiddenToolsJustification,
        NamedCall as NamedCall,
        Outcome as Outcome,
        PairingJustification as PairingJustification,
        PlacedFinding as PlacedFinding,
        Source as Source,
        Step as Step,
        ToolCallArgsEvaluatorJustification as ToolCallArgsEvaluatorJustification,
        ToolCallCountEvaluatorJustification as ToolCallCountEvaluatorJustification,
        ToolCallOrderEvaluatorJustification as ToolCallOrderEvaluatorJustification,
        ToolCallOutputEvaluatorJustification as ToolCallOutputEvaluatorJustification,
        ToolTrajectoryEvaluatorJustification as ToolTrajectoryEvaluatorJustification,
        Totals as Totals,
        TurnScore as TurnScore,
        Written as Written,
        explain as explain,
    )
    from .tracing import (
        Captured as Captured,
        capture as capture,
        mock_tool_span as mock_tool_span,
        mockable as mockable,
        tool as tool,
        traced as traced,
    )
    from .trajectory import (
        ToolCall as ToolCall,
        Trajectory as Trajectory,
    )
    from .verdicts import (
        judge as judge,
    )

_HOMES: dict[str, tuple[str, ...]] = {
    "errors": (
        "AgentError",
        "CheckFailedError",
        "ConfigurationError",
        "CriteriaError",
        "DocumentError",
        "ExpectationError",
        "InputError",
        "LimitError",
        "MissingExtraError",
        "MockError",
        "NotMeasuredError",
        "RightcallError",
        "StoreError",
        "UnknownNameError",
    ),
    "limits": (
        "DEFAULT_LIMITS",
        "Limits",
    ),
    "trajectory": (
        "ToolCall",
        "Trajectory",
    ),
    "results": (
        "AnswersJustification",
        "ComparedAnswer",
        "Alignment",
        "CaseResult",
        "CountCheck",
        "Difference",
        "EvaluationResult",
        "ExecutionOrderJustification",
        "ExplainedCall",
        "FinalOutputJustification",
        "Finding",
        "ForbiddenToolsJustification",
        "NamedCall",
        "Outcome",
        "PairingJustification",
        "PlacedFinding",
        "Source",
        "Step",
        "ToolCallArgsEvaluatorJustification",
        "ToolCallCountEvaluatorJustification",
        "ToolCallOrderEvaluatorJustification",
        "ToolCallOutputEvaluatorJustification",
        "ToolTrajectoryEvaluatorJustification",
        "Totals",
        "TurnScore",
        "Written",
        "explain",
    ),
    "readers": (
        "Grouping",
        "INPUT_FORMATS",
        "read",
        "read_messages",
        "read_spans",
    ),
    "evaluators": (
        "AgentExecution",
        "ContainsConfig",
        "ContainsCriteria",
        "ContainsEvaluator",
        "EVALUATORS",
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
        "QualityConfig",
        "RecallCriteria",
        "RegexMatch",
        "RegexMatchConfig",
        "RegexMatchCriteria",
        "ResponseMatch",
        "ResponseMatchConfig",
        "ResponseMatchCriteria",
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
        "evaluator_type",
        "run_evaluation",
    ),
    "tracing": (
        "Captured",
        "capture",
        "mock_tool_span",
        "mockable",
        "tool",
        "traced",
    ),
    "mocking": (
        "Mocks",
        "Recorder",
        "Recording",
        "recording_to",
        "standing_in",
    ),
    "evalsets": (
        "Case",
        "EvalSet",
        "convert_eval_set",
        "eval_set_schema",
        "load_eval_set",
    ),
    "verdicts": ("judge",),
    "assertions": (
        "Calls",
        "calls",
        "check",
        "evaluate",
        "soft",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    """The export of this name, from the package it lives in (PEP 562)."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
