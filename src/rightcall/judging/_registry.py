"""Evaluators by their type ids."""

from __future__ import annotations

from typing import Any

from rightcall.errors import UnknownNameError, nearest, shown

from .answers._contains import ContainsEvaluator, RegexMatch
from .answers._exact_match import ExactMatchEvaluator
from .answers._final_output import FinalOutput
from .answers._json_similarity import JsonSimilarityEvaluator
from .answers._response_match import ResponseMatch
from .budgets._efficiency import Loops, RedundantCalls, StepCount
from .budgets._health import Retries, ToolErrorRate
from .budgets._spending import CallLatency, Latency, TokenUsage
from .calls._args import ToolCallArgsEvaluator
from .calls._count import ToolCallCountEvaluator
from .calls._execution_order import ExecutionOrderEvaluator
from .calls._forbidden import ForbiddenTools
from .calls._order import ToolCallOrderEvaluator
from .calls._output import ToolCallOutputEvaluator
from .calls._quality import SingleToolUse, ToolF1, ToolPrecision, ToolRecall
from .calls._trajectory import ToolTrajectoryEvaluator
from .core._evaluator import Evaluator
from .core._unavailable import unavailable
from .models._judge_output import LlmJudgeOutput
from .models._judge_trajectory import LlmJudgeTrajectory

EVALUATORS: dict[str, type[Evaluator[Any, Any, Any]]] = {
    kind.type_id: kind
    for kind in (
        ToolCallOrderEvaluator,
        ToolCallCountEvaluator,
        ToolCallArgsEvaluator,
        ToolCallOutputEvaluator,
        ToolTrajectoryEvaluator,
        ExecutionOrderEvaluator,
        ToolPrecision,
        ToolRecall,
        ToolF1,
        SingleToolUse,
        ForbiddenTools,
        FinalOutput,
        ExactMatchEvaluator,
        ContainsEvaluator,
        RegexMatch,
        JsonSimilarityEvaluator,
        ResponseMatch,
        LlmJudgeTrajectory,
        LlmJudgeOutput,
        StepCount,
        RedundantCalls,
        Loops,
        Retries,
        ToolErrorRate,
        Latency,
        CallLatency,
        TokenUsage,
    )
}
_OTHER_NAMES = {
    "tool_trajectory_avg_score": "tool-trajectory",
    "response_match_score": "response-match",
    "never": "forbidden-tools",
    "llm-judge-output-semantic-similarity": "llm-judge-output",
    "llm-judge-trajectory-similarity": "llm-judge-trajectory",
    "final_response_match_v2": "llm-judge-output",
    "rubric_based_final_response_quality_v1": "llm-judge-output",
    "rubric_based_tool_use_quality_v1": "llm-judge-trajectory",
}


def evaluator_type(type_id: str) -> type[Evaluator[Any, Any, Any]]:
    """The evaluator that a type id names, with or without the prefix `uipath-`.

    Raises:
        UnknownNameError: no evaluator has this type id, and the message has the nearest one; or it is known, but not
            yet available.
    """
    given: object = type_id
    name = given.removeprefix("uipath-") if isinstance(given, str) else ""
    found = EVALUATORS.get(_OTHER_NAMES.get(name, name))
    if found is None and (reason := unavailable(name)):
        raise UnknownNameError(f"the evaluator {shown(type_id)} is not yet available: {reason}")
    if found is None:
        known = (*EVALUATORS, *_OTHER_NAMES)
        raise UnknownNameError(f"no evaluator has the type id {shown(type_id)}; {nearest(name, known)}")
    return found
