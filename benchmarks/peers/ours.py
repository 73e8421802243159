"""Rightcall itself, and the call of rapidfuzz that its order evaluator is measured by."""

from collections.abc import Callable
from typing import Any

import rightcall
from benchmarks.criteria import TOOL_CALL_EVALUATORS, criteria_of
from benchmarks.peers.serving import Repeated, Work, serve, timed
from benchmarks.spans import spans_of
from benchmarks.tasks import Question, Task

Evaluate = Callable[[Any], Any]


class Evaluation:
    """One evaluator, its compiled criteria and a trajectory that is built: what is left is the evaluation."""

    def __init__(self, evaluate: Evaluate, trajectory: Any, read: bool) -> None:
        self._evaluate = _reading(evaluate) if read else evaluate
        self._trajectory = trajectory

    def score(self) -> float:
        return _score(self._evaluate(self._trajectory))

    def cpu_seconds(self, loops: int) -> float:
        return timed(self._evaluate, [self._trajectory] * loops) / loops

    def details_size(self) -> int:
        return len(self._evaluate(self._trajectory).to_json())


def _prepare(task: Task) -> Work:
    if task.question == "path":
        return _path(task)
    if task.question == "all":
        return _all_from_spans(task)
    if task.question == "similarity":
        return _similarity(task)
    return Evaluation(_evaluation(task, task.question), rightcall.Trajectory.of(task.actual), task.read)


def _evaluation(task: Task, question: Question) -> Evaluate:
    evaluator, given = _evaluator(task, question)
    criteria = evaluator.criteria(given)
    return lambda trajectory: evaluator.evaluate(trajectory, criteria)


def _evaluator(task: Task, question: Question) -> tuple[Any, dict[str, Any]]:
    if question == "match":
        config = {"match_type": task.mode, "args_match": "exact"}
        expected = [{"name": call["name"], "args": call["args"]} for call in task.expected]
        return rightcall.ToolTrajectoryEvaluator(id="match", config=config), {"expected": expected}
    name = TOOL_CALL_EVALUATORS[question]
    return getattr(rightcall, name)(id=question, config={}), criteria_of(task, question)


def _similarity(task: Task) -> Work:
    evaluator = rightcall.judging.JsonSimilarityEvaluator()
    criteria = evaluator.criteria({"expected_output": task.expected[0]["output"]})
    answered = rightcall.Trajectory.of([], output=task.actual[0]["output"])
    return Evaluation(lambda trajectory: evaluator.evaluate(trajectory, criteria), answered, task.read)


def _all_from_spans(task: Task) -> Work:
    from opentelemetry.sdk.trace import ReadableSpan

    spans = spans_of(task.actual, ReadableSpan)
    evaluations = [_evaluation(task, question) for question in TOOL_CALL_EVALUATORS]

    def evaluate() -> float:
        trajectory = rightcall.read_spans(spans)
        return sum(_score(evaluation(trajectory)) for evaluation in evaluations) / len(evaluations)

    return Repeated(evaluate)


def _path(task: Task) -> Work:
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    expected, actual = (
        [numbers.setdefault(name, len(numbers)) for name in names] for names in (task.expected_names, task.actual_names)
    )

    def score() -> float:
        # The path consists of insertions and deletions; what they leave of both sides is the subsequence.
        steps = len(LCSseq.editops(expected, actual))
        return (len(expected) + len(actual) - steps) / 2 / len(expected)

    return Repeated(score)


def _reading(evaluate: Evaluate) -> Evaluate:
    def evaluate_and_read(trajectory: Any) -> Any:
        result = evaluate(trajectory)
        details = result.details
        for name in details.__struct_fields__:
            getattr(details, name)
        return result

    return evaluate_and_read


def _score(result: Any) -> float:
    if result.score is None:
        raise ValueError(f"no score: {result.verdict} {result.error}")
    return float(result.score)


if __name__ == "__main__":
    serve(_prepare)
