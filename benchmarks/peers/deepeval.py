"""DeepEval's tool correctness, which makes a reason and a log of all calls each time."""

from collections.abc import Iterable
from typing import Any

from deepeval.metrics import ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import (
    LLMTestCase,
    ToolCall,
    ToolCallParams,
)

from benchmarks.peers.serving import Repeated, Work, serve
from benchmarks.tasks import Call, Task


class NoModel(DeepEvalBaseLLM):  # type: ignore[misc]
    """The metric wants a model even where it asks none; without one it looks for a key of a paid service."""

    def load_model(self) -> None:
        return None

    def generate(self, prompt: str) -> str:
        raise NotImplementedError(prompt)

    async def a_generate(self, prompt: str) -> str:
        raise NotImplementedError(prompt)

    def get_model_name(self) -> str:
        return "none"


def _prepare(task: Task) -> Work:
    metric = ToolCorrectnessMetric(
        model=NoModel(),
        async_mode=False,
        evaluation_params=[] if task.question == "order" else [ToolCallParams.INPUT_PARAMETERS],
        should_exact_match=task.question == "match",
        should_consider_ordering=task.question == "order",
    )
    case = LLMTestCase(
        input="a question",
        actual_output="an answer",
        tools_called=_calls(task.actual),
        expected_tools=_calls(task.expected),
    )
    return Repeated(lambda: metric.measure(case, _show_indicator=False))


def _calls(calls: Iterable[Call]) -> list[Any]:
    return [ToolCall(name=call["name"], input_parameters=call["args"], output=call["output"]) for call in calls]


if __name__ == "__main__":
    serve(_prepare)
