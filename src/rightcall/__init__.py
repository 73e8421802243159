"""Rightcall judges AI agents by the tools they call.

Everything a user needs can be imported from here. Names are resolved when they are first used, so that
`import rightcall` itself loads no third-party module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        ConfigurationError as ConfigurationError,
    )
    from .errors import (
        CriteriaError as CriteriaError,
    )
    from .errors import (
        ExpectationError as ExpectationError,
    )
    from .errors import (
        InputError as InputError,
    )
    from .errors import (
        LimitError as LimitError,
    )
    from .errors import (
        MissingExtraError as MissingExtraError,
    )
    from .errors import (
        RightcallError as RightcallError,
    )
    from .errors import (
        UnknownNameError as UnknownNameError,
    )
    from .evaluators import (
        EVALUATORS as EVALUATORS,
    )
    from .evaluators import (
        AgentExecution as AgentExecution,
    )
    from .evaluators import (
        Evaluator as Evaluator,
    )
    from .evaluators import (
        Example as Example,
    )
    from .evaluators import (
        ExampleResult as ExampleResult,
    )
    from .evaluators import (
        ExecutionOrderConfig as ExecutionOrderConfig,
    )
    from .evaluators import (
        ExecutionOrderCriteria as ExecutionOrderCriteria,
    )
    from .evaluators import (
        ExecutionOrderEvaluator as ExecutionOrderEvaluator,
    )
    from .evaluators import (
        ExecutionOrderScorer as ExecutionOrderScorer,
    )
    from .evaluators import (
        ExpectedCall as ExpectedCall,
    )
    from .evaluators import (
        ExpectedCallsCriteria as ExpectedCallsCriteria,
    )
    from .evaluators import (
        ExpectedOutput as ExpectedOutput,
    )
    from .evaluators import (
        ForbiddenTools as ForbiddenTools,
    )
    from .evaluators import (
        ForbiddenToolsConfig as ForbiddenToolsConfig,
    )
    from .evaluators import (
        ForbiddenToolsCriteria as ForbiddenToolsCriteria,
    )
    from .evaluators import (
        QualityConfig as QualityConfig,
    )
    from .evaluators import (
        RecallCriteria as RecallCriteria,
    )
    from .evaluators import (
        SingleToolUse as SingleToolUse,
    )
    from .evaluators import (
        SingleToolUseCriteria as SingleToolUseCriteria,
    )
    from .evaluators import (
        ToolCallArgsEvaluationCriteria as ToolCallArgsEvaluationCriteria,
    )
    from .evaluators import (
        ToolCallArgsEvaluator as ToolCallArgsEvaluator,
    )
    from .evaluators import (
        ToolCallArgsEvaluatorConfig as ToolCallArgsEvaluatorConfig,
    )
    from .evaluators import (
        ToolCallCountEvaluationCriteria as ToolCallCountEvaluationCriteria,
    )
    from .evaluators import (
        ToolCallCountEvaluator as ToolCallCountEvaluator,
    )
    from .evaluators import (
        ToolCallCountEvaluatorConfig as ToolCallCountEvaluatorConfig,
    )
    from .evaluators import (
        ToolCallOrderEvaluationCriteria as ToolCallOrderEvaluationCriteria,
    )
    from .evaluators import (
        ToolCallOrderEvaluator as ToolCallOrderEvaluator,
    )
    from .evaluators import (
        ToolCallOrderEvaluatorConfig as ToolCallOrderEvaluatorConfig,
    )
    from .evaluators import (
        ToolCallOutputEvaluationCriteria as ToolCallOutputEvaluationCriteria,
    )
    from .evaluators import (
        ToolCallOutputEvaluator as ToolCallOutputEvaluator,
    )
    from .evaluators import (
        ToolCallOutputEvaluatorConfig as ToolCallOutputEvaluatorConfig,
    )
    from .evaluators import (
        ToolF1 as ToolF1,
    )
    from .evaluators import (
        ToolPrecision as ToolPrecision,
    )
    from .evaluators import (
        ToolRecall as ToolRecall,
    )
    from .evaluators import (
        ToolTrajectoryEvaluationCriteria as ToolTrajectoryEvaluationCriteria,
    )
    from .evaluators import (
        ToolTrajectoryEvaluator as ToolTrajectoryEvaluator,
    )
    from .evaluators import (
        ToolTrajectoryEvaluatorConfig as ToolTrajectoryEvaluatorConfig,
    )
    from .evaluators import (
        evaluator_type as evaluator_type,
    )
    from .evaluators import (
        run_evaluation as run_evaluation,
    )
    from .limits import (
        DEFAULT_LIMITS as DEFAULT_LIMITS,
    )
    from .limits import (
        Limits as Limits,
    )
    from .readers import (
        read_spans as read_spans,
    )
    from .results import (
        Alignment as Alignment,
    )
    from .results import (
        CountCheck as CountCheck,
    )
    from .results import (
        Difference as Difference,
    )
    from .results import (
        EvaluationResult as EvaluationResult,
    )
    from .results import (
        ExecutionOrderJustification as ExecutionOrderJustification,
    )
    from .results import (
        ExplainedCall as ExplainedCall,
    )
    from .results import (
        Finding as Finding,
    )
    from .results import (
        ForbiddenToolsJustification as ForbiddenToolsJustification,
    )
    from .results import (
        NamedCall as NamedCall,
    )
    from .results import (
        PairingJustification as PairingJustification,
    )
    from .results import (
        Step as Step,
    )
    from .results import (
        ToolCallArgsEvaluatorJustification as ToolCallArgsEvaluatorJustification,
    )
    from .results import (
        ToolCallCountEvaluatorJustification as ToolCallCountEvaluatorJustification,
    )
    from .results import (
        ToolCallOrderEvaluatorJustification as ToolCallOrderEvaluatorJustification,
    )
    from .results import (
        ToolCallOutputEvaluatorJustification as ToolCallOutputEvaluatorJustification,
    )
    from .results import (
        ToolTrajectoryEvaluatorJustification as ToolTrajectoryEvaluatorJustification,
    )
    from .results import (
        TurnScore as TurnScore,
    )
    from .results import (
        explain as explain,
    )
    from .trajectory import (
        ToolCall as ToolCall,
    )
    from .trajectory import (
        Trajectory as Trajectory,
    )

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "errors": (
        "ConfigurationError",
        "CriteriaError",
        "ExpectationError",
        "InputError",
        "LimitError",
        "MissingExtraError",
        "RightcallError",
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
        "Alignment",
        "CountCheck",
        "Difference",
        "EvaluationResult",
        "ExecutionOrderJustification",
        "ExplainedCall",
        "Finding",
        "ForbiddenToolsJustification",
        "NamedCall",
        "PairingJustification",
        "Step",
        "ToolCallArgsEvaluatorJustification",
        "ToolCallCountEvaluatorJustification",
        "ToolCallOrderEvaluatorJustification",
        "ToolCallOutputEvaluatorJustification",
        "ToolTrajectoryEvaluatorJustification",
        "TurnScore",
        "explain",
    ),
    "readers": ("read_spans",),
    "evaluators": (
        "AgentExecution",
        "EVALUATORS",
        "Evaluator",
        "Example",
        "ExampleResult",
        "ExecutionOrderConfig",
        "ExecutionOrderCriteria",
        "ExecutionOrderEvaluator",
        "ExecutionOrderScorer",
        "ExpectedCall",
        "ExpectedCallsCriteria",
        "ExpectedOutput",
        "ForbiddenTools",
        "ForbiddenToolsConfig",
        "ForbiddenToolsCriteria",
        "QualityConfig",
        "RecallCriteria",
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
