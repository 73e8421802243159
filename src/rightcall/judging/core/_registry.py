"""Evaluators by their type ids: Rightcall's own, those that only other tools have, and code of users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from rightcall._lazy import LazyTable, lazy_pattern
from rightcall.errors import ConfigurationError, UnknownNameError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.results import EvaluationResult, Explained, Explanation, Finding
from rightcall.values.trajectory import Trajectory

from ._evaluator import Evaluator, Measurement, NoPlan
from ._expected_calls import Config
from ._selection import Criteria, Selection

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


# An index of what the classes declare, so that a type id or a key of `expect` is found without importing all of them.
# A row is: type id, class, and the key of its shorthand, if it has one. `tests/judging/test_registry.py` compares each
# row with its class.
_INDEX: tuple[tuple[str, str, str], ...] = (
    ("tool-call-order", "ToolCallOrderEvaluator", "order"),
    ("tool-call-count", "ToolCallCountEvaluator", "counts"),
    ("tool-call-args", "ToolCallArgsEvaluator", "args"),
    ("tool-call-output", "ToolCallOutputEvaluator", "outputs"),
    ("tool-trajectory", "ToolTrajectoryEvaluator", "calls"),
    ("execution-order", "ExecutionOrderEvaluator", ""),
    ("tool-precision", "ToolPrecision", ""),
    ("tool-recall", "ToolRecall", ""),
    ("tool-f1", "ToolF1", ""),
    ("single-tool-use", "SingleToolUse", ""),
    ("forbidden-tools", "ForbiddenTools", "never"),
    ("call-rules", "CallRules", "rules"),
    ("final-output", "FinalOutput", "output"),
    ("exact-match", "ExactMatchEvaluator", "exact-match"),
    ("contains", "ContainsEvaluator", "contains"),
    ("regex-match", "RegexMatch", "regex-match"),
    ("json-similarity", "JsonSimilarityEvaluator", "json-similarity"),
    ("response-match", "ResponseMatch", "response-match"),
    ("llm-judge-trajectory", "LlmJudgeTrajectory", "llm-judge-trajectory"),
    ("llm-judge-output", "LlmJudgeOutput", "llm-judge-output"),
    ("step-count", "StepCount", "steps"),
    ("redundant-calls", "RedundantCalls", "redundant"),
    ("loops", "Loops", "loops"),
    ("retries", "Retries", "retries"),
    ("tool-error-rate", "ToolErrorRate", "error_rate"),
    ("latency", "Latency", "seconds"),
    ("call-latency", "CallLatency", "call_seconds"),
    ("token-usage", "TokenUsage", "tokens"),
)
OTHER_NAMES: Mapping[str, str] = {
    "tool_trajectory_avg_score": "tool-trajectory",
    "response_match_score": "response-match",
    "never": "forbidden-tools",
    "llm-judge-output-semantic-similarity": "llm-judge-output",
    "llm-judge-trajectory-similarity": "llm-judge-trajectory",
    "final_response_match_v2": "llm-judge-output",
    "rubric_based_final_response_quality_v1": "llm-judge-output",
    "rubric_based_tool_use_quality_v1": "llm-judge-trajectory",
}
"""Type ids by the names that other tools have for the same evaluators."""
SHORTHANDS: Mapping[str, str] = {key: type_id for type_id, _, key in _INDEX if key}
"""Type ids by the keys of `expect` that are short for them."""
EVALUATORS: Mapping[str, type[Evaluator[Any, Any, Any]]] = LazyTable(
    "rightcall.judging", {type_id: name for type_id, name, _ in _INDEX}
)
"""The evaluators by type id. One is imported when it is looked up."""


def evaluator_type(type_id: str) -> type[Evaluator[Any, Any, Any]]:
    """Return the evaluator with a type id, given with or without the prefix `uipath-`.

    Raises:
        UnknownNameError: no evaluator has this type id, and the message has the nearest one; or it is known, but not
            yet available.
    """
    given: object = type_id
    name = given.removeprefix("uipath-") if isinstance(given, str) else ""
    found = OTHER_NAMES.get(name, name)
    if found in EVALUATORS:
        return EVALUATORS[found]
    if reason := unavailable(name):
        raise UnknownNameError(f"the evaluator {shown(type_id)} is not yet available: {reason}")
    raise UnknownNameError(
        f"no evaluator has the type id {shown(type_id)}; {nearest(name, (*EVALUATORS, *OTHER_NAMES))}"
    )


GROUP = "rightcall.evaluators"
"""The group of entry points by which a package brings evaluators."""
_FILE = lazy_pattern(r"(file://)?(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)", re.DOTALL)


def is_code(type_id: str) -> bool:
    """Return whether a type is code: `file.py:Name`, `file://file.py:Name`, or the name of an entry point."""
    return names_file(type_id) or type_id in installed_evaluators()


def names_file(type_id: str) -> bool:
    """Return whether a type is code in a file. This is fast; looking for entry points takes a while."""
    return type_id.startswith("file://") or split_code(type_id) is not None


def split_code(type_id: str) -> tuple[str, str] | None:
    """Return the file and the name in it that a type names; `None` if it names something else."""
    found = _FILE.fullmatch(type_id)
    return (found["file"], found["name"]) if found else None


@cache
def installed_evaluators() -> dict[str, EntryPoint]:
    """Return the evaluators that installed packages have, by name, without importing them."""
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=GROUP)}


_JUDGE = "it needs a judge of its own"
_CLOUD = "it needs a service in the cloud"
_FIGURE = "it reports a figure, and takes no threshold"
_DATASET = "it judges all cases together: ask for a classification under 'overall'"
CODE_OF_YOURS = "it is custom code, which is not imported here"

UNAVAILABLE: dict[str, str] = {
    "llm-judge-output-strict-json-similarity": "it needs a judge of its own; json-similarity compares JSON without one",
    "llm-judge-trajectory-simulation": "its tools are simulated by a language model",
    "binary-classification": _DATASET,
    "multiclass-classification": _DATASET,
    "legacy-evaluator": "it is in UiPath's older form, without a version",
    "custom-metric": "its code is yours, and named in a way that only ADK follows",
    "llm-mocking": "its tools are simulated by a language model",
    "input-mocking": "its input is made up by a language model",
    "user-simulation": "its user is simulated by a language model",
    "response_evaluation_score": _CLOUD,
    "safety_v1": _CLOUD,
    "multi_turn_task_success_v1": _CLOUD,
    "multi_turn_trajectory_quality_v1": _CLOUD,
    "multi_turn_tool_use_quality_v1": _CLOUD,
    "hallucinations_v1": _JUDGE,
    "per_turn_user_simulator_quality_v1": _JUDGE,
    "rubric_based_multi_turn_trajectory_quality_v1": _JUDGE,
    "tool_call_count_v1": _FIGURE,
    "inference_call_count_v1": _FIGURE,
    "token_usage_v1": _FIGURE,
    "invocation_duration_v1": _FIGURE,
}
"""Why each of them is not available, by type id."""


def unavailable(type_id: str) -> str | None:
    """Return why an evaluator that is known by name is not available; `None` if it is not known."""
    known = UNAVAILABLE.get(type_id.removeprefix("uipath-"))
    return CODE_OF_YOURS if known is None and names_file(type_id) else known


class UnavailableEvaluator(Evaluator[Config, Criteria, NoPlan]):
    """Takes the place of an evaluator that is not available yet: every result is an error that says so, by name.

    It has neither configuration nor criteria: there is nothing to check them by.

    Raises:
        ConfigurationError: `type_id` is not that of an evaluator known to be unavailable.
    """

    reads_calls = False
    config_type = Config
    criteria_type = Criteria

    def __init__(self, type_id: str, id: str | None = None, *, limits: Limits = DEFAULT_LIMITS) -> None:
        reason = unavailable(type_id) or (CODE_OF_YOURS if is_code(type_id) else None)
        if reason is None:
            raise ConfigurationError(f"no evaluator {shown(type_id)} is known; {nearest(type_id, tuple(UNAVAILABLE))}")
        self.type_id = type_id
        self.reason = reason
        super().__init__(id or type_id, {"default_evaluation_criteria": {}}, limits=limits)

    def compile(self, criteria: Criteria) -> NoPlan:
        return NoPlan()

    def measure(self, selection: Selection, plan: NoPlan) -> Measurement:
        return Measurement(0.0, 1.0, self._account())

    def evaluate(self, trajectory: Any, criteria: Any = None) -> EvaluationResult:
        """Return an error, whatever the trajectory is."""
        account = self._account()
        return EvaluationResult(
            evaluator=self.id,
            verdict="error",
            error=f"RC403 {account.findings[0].message}",
            warnings=trajectory.warnings if isinstance(trajectory, Trajectory) else (),
            explanation=Explanation(account),
        )

    def _account(self) -> Explained:
        name = f"{self.id!r} ({self.type_id})" if self.id != self.type_id else repr(self.id)
        what = "was not judged" if self.reason == CODE_OF_YOURS else "is not yet available"
        return Explained(None, (Finding("RC403", f"{name} {what}: {self.reason}"),))
