"""DeepEval's tool correctness: three modes, with names alone and with arguments."""

from collections.abc import Iterable
from typing import Any

from deepeval.metrics import ToolCorrectnessMetric
from deepeval.test_case import (
    LLMTestCase,
    ToolCall,
    ToolCallParams,
)

from benchmarks.comparison.inputs import Call, Input
from benchmarks.comparison.peers.asking import Score, tell
from benchmarks.peers.deepeval import NoModel


def _score(with_arguments: bool, **options: bool) -> Score:
    params = [ToolCallParams.INPUT_PARAMETERS] if with_arguments else []

    def score(given: Input) -> float:
        metric = ToolCorrectnessMetric(model=NoModel(), async_mode=False, evaluation_params=params, **options)
        case = LLMTestCase(
            input="a question",
            actual_output="an answer",
            tools_called=calls(given.actual),
            expected_tools=calls(given.expected),
        )
        return float(metric.measure(case, _show_indicator=False))

    return score


def calls(calls: Iterable[Call]) -> list[Any]:
    return [ToolCall(name=call["name"], input_parameters=call["args"]) for call in calls]


if __name__ == "__main__":
    tell(
        {
            f"{mode}{ending}": _score(with_arguments, **options)
            for ending, with_arguments in ((", names", False), (", arguments", True))
            for mode, options in (
                ("default", {}),
                ("ordering", {"should_consider_ordering": True}),
                ("exact match", {"should_exact_match": True}),
            )
        }
    )
