"""Rightcall judges AI agents by the tools they call.

Everything a user needs can be imported from here. Names are resolved when they are first used, so that
`import rightcall` itself loads no third-party module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._exports import HOMES as _HOMES
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
        ViewerError as ViewerError,
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
        BaseEvaluationCriteria as BaseEvaluationCriteria,
        BaseEvaluator as BaseEvaluator,
        BaseEvaluatorConfig as BaseEvaluatorConfig,
        BaseEvaluatorJustification as BaseEvaluatorJustification,
        BooleanEvaluationResult as BooleanEvaluationResult,
        CallLatency as CallLatency,
        Config as Config,
        ContainsConfig as ContainsConfig,
        ContainsCriteria as ContainsCriteria,
        ContainsEvaluator as ContainsEvaluator,
        Criteria as Criteria,
        ErrorEvaluationResult as ErrorEvaluationResult,
        Evaluator as Evaluator,
        ExactMatchConfig as ExactMatchConfig,
        ExactMatchCriteria as ExactMatchCriteria,
        ExactMatchEvaluator as ExactMatchEvaluator,
        Example as Example,
        ExampleResult as ExampleResult,
        Execution as Execution,
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
        Judgement as Judgement,
        JudgeOutputConfig as JudgeOutputConfig,
        JudgeOutputCriteria as JudgeOutputCriteria,
        JudgeTrajectoryConfig as JudgeTrajectoryConfig,
        JudgeTrajectoryCriteria as JudgeTrajectoryCriteria,
        Latency as Latency,
        LlmJudgeOutput as LlmJudgeOutput,
        LlmJudgeTrajectory as LlmJudgeTrajectory,
        Loops as Loops,
        NumericEvaluationResult as NumericEvaluationResult,
        QualityConfig as QualityConfig,
        RecallCriteria as RecallCriteria,
        RedundantCalls as RedundantCalls,
        RegexMatch as RegexMatch,
        RegexMatchConfig as RegexMatchConfig,
        RegexMatchCriteria as RegexMatchCriteria,
        ResponseMatch as ResponseMatch,
        ResponseMatchConfig as ResponseMatchConfig,
        ResponseMatchCriteria as ResponseMatchCriteria,
        Retries as Retries,
        Row as Row,
        SingleToolUse as SingleToolUse,
        SingleToolUseCriteria as SingleToolUseCriteria,
        StepCount as StepCount,
        TokenUsage as TokenUsage,
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
        ToolErrorRate as ToolErrorRate,
        ToolF1 as ToolF1,
        ToolPrecision as ToolPrecision,
        ToolRecall as ToolRecall,
        ToolTrajectoryEvaluationCriteria as ToolTrajectoryEvaluationCriteria,
        ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
        ToolTrajectoryEvaluatorConfig as ToolTrajectoryEvaluatorConfig,
        WaitingConfig as WaitingConfig,
        WaitingEvaluator as WaitingEvaluator,
        evaluator as evaluator,
        evaluator_type as evaluator_type,
        run_evaluation as run_evaluation,
    )
    from .extensions import (
        load_eval_set_with_code as load_eval_set_with_code,
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
        BudgetCheck as BudgetCheck,
        BudgetsJustification as BudgetsJustification,
        CaseResult as CaseResult,
        ClassFigures as ClassFigures,
        Classification as Classification,
        ComparedAnswer as ComparedAnswer,
        CountCheck as CountCheck,
        CustomJustification as CustomJustification,
        Difference as Difference,
        EvaluationResult as EvaluationResult,
        ExecutionOrderJustification as ExecutionOrderJustification,
        ExplainedCall as ExplainedCall,
        FinalOutputJustification as FinalOutputJustification,
        Finding as Finding,
        ForbiddenToolsJustification as ForbiddenToolsJustification,
        JudgedRubric as JudgedRubric,
        JudgedSample as JudgedSample,
        JudgeJustification as JudgeJustification,
        NamedCall as NamedCall,
        Outcome as Outcome,
        OverallResult as OverallResult,
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
        Usage as Usage,
    )
    from .verdicts import (
        Judging as Judging,
        judge as judge,
    )

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
