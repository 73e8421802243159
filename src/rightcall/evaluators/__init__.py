"""One question per module: a trajectory and criteria in, a result out."""

from typing import TYPE_CHECKING

from rightcall.doors import open_late as _open_late

from ._exports import HOMES as _HOMES

if TYPE_CHECKING:
    from ._args import (
        ToolCallArgsEvaluationCriteria as ToolCallArgsEvaluationCriteria,
        ToolCallArgsEvaluator as ToolCallArgsEvaluator,
        ToolCallArgsEvaluatorConfig as ToolCallArgsEvaluatorConfig,
    )
    from ._base import (
        BaseEvaluationCriteria as BaseEvaluationCriteria,
        BaseEvaluator as BaseEvaluator,
        BaseEvaluatorConfig as BaseEvaluatorConfig,
        BaseEvaluatorJustification as BaseEvaluatorJustification,
        BooleanEvaluationResult as BooleanEvaluationResult,
        ErrorEvaluationResult as ErrorEvaluationResult,
        NumericEvaluationResult as NumericEvaluationResult,
    )
    from ._budgets import (
        AtMost as AtMost,
    )
    from ._classification import (
        ClassificationConfig as ClassificationConfig,
        ClassificationEvaluator as ClassificationEvaluator,
    )
    from ._code import (
        evaluator as evaluator,
    )
    from ._contains import (
        ContainsConfig as ContainsConfig,
        ContainsCriteria as ContainsCriteria,
        ContainsEvaluator as ContainsEvaluator,
        RegexMatch as RegexMatch,
        RegexMatchConfig as RegexMatchConfig,
        RegexMatchCriteria as RegexMatchCriteria,
    )
    from ._count import (
        ToolCallCountEvaluationCriteria as ToolCallCountEvaluationCriteria,
        ToolCallCountEvaluator as ToolCallCountEvaluator,
        ToolCallCountEvaluatorConfig as ToolCallCountEvaluatorConfig,
    )
    from ._criteria import (
        Config as Config,
        Criteria as Criteria,
        ExpectedCall as ExpectedCall,
    )
    from ._custom import (
        CustomEvaluator as CustomEvaluator,
        custom_type as custom_type,
    )
    from ._custom_overall import (
        CustomOverall as CustomOverall,
        UnimportedOverall as UnimportedOverall,
        function_of_rows as function_of_rows,
    )
    from ._efficiency import (
        Loops as Loops,
        LoopsConfig as LoopsConfig,
        RedundantCalls as RedundantCalls,
        RedundantCallsConfig as RedundantCallsConfig,
        RedundantCallsCriteria as RedundantCallsCriteria,
        StepCount as StepCount,
        StepCountConfig as StepCountConfig,
    )
    from ._evaluator import (
        Evaluator as Evaluator,
    )
    from ._exact_match import (
        ExactMatchConfig as ExactMatchConfig,
        ExactMatchCriteria as ExactMatchCriteria,
        ExactMatchEvaluator as ExactMatchEvaluator,
    )
    from ._examples import (
        Example as Example,
        ExampleResult as ExampleResult,
        ExecutionOrderScorer as ExecutionOrderScorer,
        run_evaluation as run_evaluation,
    )
    from ._execution import (
        AgentExecution as AgentExecution,
    )
    from ._execution_order import (
        ExecutionOrderConfig as ExecutionOrderConfig,
        ExecutionOrderCriteria as ExecutionOrderCriteria,
        ExecutionOrderEvaluator as ExecutionOrderEvaluator,
    )
    from ._final_output import (
        FinalOutput as FinalOutput,
        FinalOutputConfig as FinalOutputConfig,
        FinalOutputCriteria as FinalOutputCriteria,
    )
    from ._forbidden import (
        ForbiddenTools as ForbiddenTools,
        ForbiddenToolsConfig as ForbiddenToolsConfig,
        ForbiddenToolsCriteria as ForbiddenToolsCriteria,
    )
    from ._health import (
        Retries as Retries,
        RetriesConfig as RetriesConfig,
        ToolErrorRate as ToolErrorRate,
        ToolErrorRateConfig as ToolErrorRateConfig,
        ToolErrorRateCriteria as ToolErrorRateCriteria,
    )
    from ._installed import (
        GROUP as GROUP,
        installed_evaluators as installed_evaluators,
        is_code as is_code,
        names_file as names_file,
        split_code as split_code,
    )
    from ._json_similarity import (
        JsonSimilarityConfig as JsonSimilarityConfig,
        JsonSimilarityCriteria as JsonSimilarityCriteria,
        JsonSimilarityEvaluator as JsonSimilarityEvaluator,
    )
    from ._judge_output import (
        JudgeOutputConfig as JudgeOutputConfig,
        JudgeOutputCriteria as JudgeOutputCriteria,
        LlmJudgeOutput as LlmJudgeOutput,
    )
    from ._judge_trajectory import (
        JudgeTrajectoryConfig as JudgeTrajectoryConfig,
        JudgeTrajectoryCriteria as JudgeTrajectoryCriteria,
        LlmJudgeTrajectory as LlmJudgeTrajectory,
    )
    from ._judgement import (
        Judgement as Judgement,
    )
    from ._judging import (
        JudgeEvaluator as JudgeEvaluator,
    )
    from ._loop import (
        CONCURRENCY as CONCURRENCY,
        Loop as Loop,
    )
    from ._mistakes import (
        UserModel as UserModel,
        mistakes as mistakes,
    )
    from ._order import (
        ToolCallOrderEvaluationCriteria as ToolCallOrderEvaluationCriteria,
        ToolCallOrderEvaluator as ToolCallOrderEvaluator,
        ToolCallOrderEvaluatorConfig as ToolCallOrderEvaluatorConfig,
    )
    from ._output import (
        ExpectedOutput as ExpectedOutput,
        ToolCallOutputEvaluationCriteria as ToolCallOutputEvaluationCriteria,
        ToolCallOutputEvaluator as ToolCallOutputEvaluator,
        ToolCallOutputEvaluatorConfig as ToolCallOutputEvaluatorConfig,
    )
    from ._overall import (
        OverallEvaluator as OverallEvaluator,
        Row as Row,
    )
    from ._parts import (
        holding as holding,
        pointer_of as pointer_of,
    )
    from ._quality import (
        ExpectedCallsCriteria as ExpectedCallsCriteria,
        QualityConfig as QualityConfig,
        RecallCriteria as RecallCriteria,
        SingleToolUse as SingleToolUse,
        SingleToolUseCriteria as SingleToolUseCriteria,
        ToolF1 as ToolF1,
        ToolPrecision as ToolPrecision,
        ToolRecall as ToolRecall,
    )
    from ._registry import (
        EVALUATORS as EVALUATORS,
        evaluator_type as evaluator_type,
    )
    from ._response_match import (
        ResponseMatch as ResponseMatch,
        ResponseMatchConfig as ResponseMatchConfig,
        ResponseMatchCriteria as ResponseMatchCriteria,
    )
    from ._selection import (
        Selection as Selection,
        select as select,
    )
    from ._spending import (
        CallLatency as CallLatency,
        CallLatencyConfig as CallLatencyConfig,
        Latency as Latency,
        LatencyConfig as LatencyConfig,
        SecondsCriteria as SecondsCriteria,
        TokenUsage as TokenUsage,
        TokenUsageConfig as TokenUsageConfig,
        TokenUsageCriteria as TokenUsageCriteria,
    )
    from ._trajectory import (
        ToolTrajectoryEvaluationCriteria as ToolTrajectoryEvaluationCriteria,
        ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
        ToolTrajectoryEvaluatorConfig as ToolTrajectoryEvaluatorConfig,
    )
    from ._unavailable import (
        CODE_OF_YOURS as CODE_OF_YOURS,
        UNAVAILABLE as UNAVAILABLE,
        UnavailableEvaluator as UnavailableEvaluator,
        unavailable as unavailable,
    )
    from ._waiting import (
        Execution as Execution,
        WaitingConfig as WaitingConfig,
        WaitingEvaluator as WaitingEvaluator,
    )
else:
    __getattr__, __dir__, __all__ = _open_late(__name__, _HOMES)
