"""Find evaluators by their type ids, and import only those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rightcall.errors import UnknownNameError, nearest, shown

from .core import unavailable

if TYPE_CHECKING:
    from .core import Evaluator

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


class _Evaluators(Mapping[str, "type[Evaluator[Any, Any, Any]]"]):
    """The evaluators by type id. One is imported when it is looked up."""

    def __init__(self) -> None:
        self._classes = {type_id: name for type_id, name, _ in _INDEX}

    def __getitem__(self, type_id: str) -> type[Evaluator[Any, Any, Any]]:
        found: type[Evaluator[Any, Any, Any]] = getattr(import_module(__package__), self._classes[type_id])
        return found

    def __contains__(self, type_id: object) -> bool:  # the default would import the evaluator
        return type_id in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


EVALUATORS: Mapping[str, type[Evaluator[Any, Any, Any]]] = _Evaluators()


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
