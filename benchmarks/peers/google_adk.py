"""ADK's trajectory evaluator, which gives a score and a status, and no details."""

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

from benchmarks.peers.serving import Repeated, Work, serve
from benchmarks.tasks import Call, Task


def _prepare(task: Task) -> Work:
    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=task.mode)
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion)
    evaluator = TrajectoryEvaluator(eval_metric=metric)
    expected, actual = [_invocation(task.expected)], [_invocation(task.actual)]
    return Repeated(lambda: evaluator.evaluate_invocations(actual, expected).overall_score)


def _invocation(calls: Iterable[Call]) -> Any:
    uses = [types.FunctionCall(name=call["name"], args=call["args"]) for call in calls]
    question = types.Content(parts=[types.Part(text="a question")])
    return Invocation(user_content=question, intermediate_data=IntermediateData(tool_uses=uses))


if __name__ == "__main__":
    serve(_prepare)
