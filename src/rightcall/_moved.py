"""Old import paths: packages that moved, and names that `rightcall` itself no longer lists."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NEW_PLACES = {
    "accepting": "cases.accepting",
    "agents": "running.agents",
    "alignment": "matching.alignment",
    "assertions": "testing.assertions",
    "batch": "scale.local",
    "batch.lake": "scale.lake",
    "batch.ray": "scale.ray",
    "batch.spark": "scale.spark",
    "cases.extensions": "cases.evalsets",
    "changes": "reporting.changes",
    "columns": "scale.columns",
    "decoding": "values.decoding",
    "evalsets": "cases.evalsets",
    "evaluators": "judging",
    "extensions": "cases.evalsets",
    "judges": "judging.models",
    "matchers": "matching.matchers",
    "mocking": "running.mocking",
    "pages": "reporting.pages",
    "projects": "running.project",
    "pytest_plugin": "testing.pytest_plugin",
    "readers": "reading",
    "redaction": "values.redaction",
    "reports": "reporting.reports",
    "results": "values.results",
    "runner": "running.runner",
    "store": "reporting.store",
    "tracing": "running.tracing",
    "trajectory": "values.trajectory",
    "verdicts": "cases.verdicts",
    "viewer": "reporting.viewer",
}
_MOVED_NAMES = {
    "cases.evalsets": """
        convert_eval_set eval_set_schema load_eval_set_with_code
    """,
    "cases.verdicts": """
        Judging JudgingExecutor
    """,
    "errors": """
        AgentError ExpectationError LimitError MissingExtraError MockError StoreError
        UnknownNameError ViewerError
    """,
    "judging": """
        AgentExecution BaseEvaluationCriteria BaseEvaluator BaseEvaluatorConfig
        BaseEvaluatorJustification BooleanEvaluationResult CallLatency Config ContainsConfig
        ContainsCriteria ContainsEvaluator Criteria ErrorEvaluationResult Evaluator ExactMatchConfig
        ExactMatchCriteria ExactMatchEvaluator Example ExampleResult Execution ExecutionOrderConfig
        ExecutionOrderCriteria ExecutionOrderEvaluator ExecutionOrderScorer ExpectedCall
        ExpectedCallsCriteria ExpectedOutput FinalOutputConfig FinalOutputCriteria
        ForbiddenToolsConfig ForbiddenToolsCriteria JsonSimilarityConfig JsonSimilarityCriteria
        JsonSimilarityEvaluator JudgeOutputConfig JudgeOutputCriteria JudgeTrajectoryConfig
        JudgeTrajectoryCriteria Latency Loops NumericEvaluationResult QualityConfig RecallCriteria
        RedundantCalls RegexMatch RegexMatchConfig RegexMatchCriteria ResponseMatch
        ResponseMatchConfig ResponseMatchCriteria Retries Row SingleToolUse SingleToolUseCriteria
        StepCount TokenUsage ToolCallArgsEvaluationCriteria ToolCallArgsEvaluatorConfig
        ToolCallCountEvaluationCriteria ToolCallCountEvaluatorConfig ToolCallOrderEvaluationCriteria
        ToolCallOrderEvaluatorConfig ToolCallOutputEvaluationCriteria ToolCallOutputEvaluatorConfig
        ToolErrorRate ToolTrajectoryEvaluationCriteria ToolTrajectoryEvaluatorConfig WaitingConfig
        WaitingEvaluator run_evaluation
    """,
    "limits": """
        DEFAULT_LIMITS Limits
    """,
    "reading": """
        Grouping INPUT_FORMATS
    """,
    "running.mocking": """
        Mocks Recorder Recording recording_to standing_in use_mocks
    """,
    "running.tracing": """
        Captured mock_tool_span mockable
    """,
    "testing.assertions": """
        Calls
    """,
    "values.results": """
        Alignment AnswersJustification BudgetCheck BudgetsJustification ClassFigures Classification
        ComparedAnswer CountCheck CustomJustification Difference ExecutionOrderJustification
        ExplainedCall FinalOutputJustification ForbiddenToolsJustification JudgeJustification
        JudgedRubric JudgedSample NamedCall Outcome OverallResult PairingJustification PlacedFinding
        Source Step ToolCallArgsEvaluatorJustification ToolCallCountEvaluatorJustification
        ToolCallOrderEvaluatorJustification ToolCallOutputEvaluatorJustification
        ToolTrajectoryEvaluatorJustification Totals TurnScore Written
    """,
    "values.trajectory": """
        Usage WithheldCall
    """,
}
"""Names that could once be imported from `rightcall`, by the package that has them now."""
_RENAMED = {
    "Judging": "JudgingExecutor",
    "WaitingConfig": "AsyncConfig",
    "WaitingEvaluator": "AsyncEvaluator",
    "Written": "ExpectationSources",
    "standing_in": "use_mocks",
}
"""The new names of those that were also renamed."""
_PREFIX = "rightcall."


# Neither class inherits from `importlib.abc`, which is not required
# (https://docs.python.org/3/reference/import.html#finders-and-loaders): importing it would make every command import
# `tempfile`, `shutil` and `zipfile`, too, a sixth of its imports.
class _Finder:
    """Finds a package by its old name. It is last on `sys.meta_path`, so it is used only if nothing else finds it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = _NEW_PLACES.get(fullname.removeprefix(_PREFIX)) if fullname.startswith(_PREFIX) else None
        return None if new is None else ModuleSpec(fullname, _Alias(_PREFIX + new))  # type: ignore[arg-type]


class _Alias:
    """Loads the module under its new name, so that its classes are the same under both names."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: Python creates the module as usual."""

    def exec_module(self, module: ModuleType) -> None:
        warnings.warn(f"{module.__name__} is now {self._new}", DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = import_module(self._new)


def keep_old_places() -> None:
    """Allow imports of the old names."""
    sys.meta_path.append(_Finder())


def moved_name(name: str) -> Any:
    """Return what `rightcall` once exported under this name, and warn that it has moved.

    Raises:
        AttributeError: there never was such a name.
    """
    place = next((place for place, names in _MOVED_NAMES.items() if name in names.split()), None)
    if place is None:
        raise AttributeError(f"module 'rightcall' has no attribute {name!r}")
    # Level 3 skips this frame and the package's `__getattr__`; `warnings` skips those of importlib itself.
    now = _RENAMED.get(name, name)
    warnings.warn(f"rightcall.{name} is now {_PREFIX}{place}.{now}", DeprecationWarning, stacklevel=3)
    return getattr(import_module(_PREFIX + place), now)
