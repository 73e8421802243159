"""UiPath's tool-call evaluators. They read the spans anew each time and make their details each time."""

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from uipath.eval import evaluators
from uipath.eval.models import WorkloadExecution

from benchmarks.criteria import TOOL_CALL_EVALUATORS, criteria_of
from benchmarks.peers.serving import Work, serve
from benchmarks.spans import spans_of
from benchmarks.tasks import Question, Task


class Awaited:
    """Evaluations awaited one after the other, inside one running loop."""

    def __init__(self, runner: asyncio.Runner, evaluate: Callable[[], Coroutine[Any, Any, float]]) -> None:
        self._runner = runner
        self._evaluate = evaluate

    def score(self) -> float:
        return self._runner.run(self._evaluate())

    def cpu_seconds(self, loops: int) -> float:
        return self._runner.run(self._timed(loops))

    def details_size(self) -> int:
        raise NotImplementedError

    async def _timed(self, loops: int) -> float:
        gc.collect()
        start = time.process_time()
        for _ in range(loops):
            await self._evaluate()
        return (time.process_time() - start) / loops


def _prepare(runner: asyncio.Runner, task: Task) -> Work:
    if task.question == "similarity":
        return _similarity(runner, task)
    spans = spans_of(task.actual, ReadableSpan)
    execution = WorkloadExecution(agent_input={}, workload_output={}, workload_trace=spans)
    questions: tuple[Question, ...] = tuple(TOOL_CALL_EVALUATORS) if task.question == "all" else (task.question,)
    evaluations = [(_evaluator(question), criteria_of(task, question)) for question in questions]
    compiled = [(evaluator, evaluator.validate_evaluation_criteria(given)) for evaluator, given in evaluations]

    async def evaluate() -> float:
        results = [await evaluator.evaluate(execution, criteria) for evaluator, criteria in compiled]
        return float(sum(result.score for result in results) / len(results))

    return Awaited(runner, evaluate)


def _similarity(runner: asyncio.Runner, task: Task) -> Work:
    output = task.actual[0]["output"]
    execution = WorkloadExecution(agent_input={}, workload_output=output, workload_trace=[])
    evaluator = evaluators.JsonSimilarityEvaluator(id="similarity", evaluatorConfig={"name": "similarity"})
    criteria = evaluator.validate_evaluation_criteria({"expected_output": task.expected[0]["output"]})

    async def evaluate() -> float:
        return float((await evaluator.evaluate(execution, criteria)).score)

    return Awaited(runner, evaluate)


def _evaluator(question: Question) -> Any:
    name = TOOL_CALL_EVALUATORS[question]
    return getattr(evaluators, name)(id=name, evaluatorConfig={"name": name})


if __name__ == "__main__":
    with asyncio.Runner() as running:
        serve(lambda task: _prepare(running, task))
