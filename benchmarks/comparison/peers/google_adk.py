"""ADK's trajectory metric with each match type, and with arguments ignored."""

from collections.abc import Iterable
from typing import Any

from google.adk.evaluation.eval_case import (
    IntermediateData,
    Invocation,
)
from google.adk.evaluation.eval_metrics import (
    EvalMetric,
    ToolTrajectoryCriterion,
)
from google.adk.evaluation.trajectory_evaluator import (
    TrajectoryEvaluator,
)
from google.genai import types

from benchmarks.comparison.inputs import Call, Input
from benchmarks.comparison.peers.asking import Score, tell


def _score(match_type: str, ignore_args: bool) -> Score:
    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match_type, ignore_args=ignore_args)
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion)
    evaluator = TrajectoryEvaluator(eval_metric=metric)

    def score(given: Input) -> float:
        result = evaluator.evaluate_invocations([_invocation(given.actual)], [_invocation(given.expected)])
        return float(result.overall_score)

    return score


def _invocation(calls: Iterable[Call]) -> Any:
    uses = [types.FunctionCall(name=call["name"], args=call["args"]) for call in calls]
    question = types.Content(parts=[types.Part(text="a question")])
    return Invocation(user_content=question, intermediate_data=IntermediateData(tool_uses=uses))


if __name__ == "__main__":
    tell(
        {
            f"{match_type}{ending}": _score(match_type, ignore_args)
            for ending, ignore_args in (("", False), (", ignore_args", True))
            for match_type in ("EXACT", "IN_ORDER", "ANY_ORDER")
        }
    )
