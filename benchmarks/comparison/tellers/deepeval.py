"""DeepEval: tool correctness with arguments and an exact match, asserted by its own function."""

from deepeval import assert_test
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.test_case import (
    LLMTestCase,
    ToolCallParams,
)

from benchmarks.comparison.inputs import Input
from benchmarks.comparison.peers.deepeval import calls
from benchmarks.comparison.tellers.telling import tell
from benchmarks.peers.deepeval import NoModel


def _fail(given: Input) -> None:
    metric = ToolCorrectnessMetric(
        model=NoModel(),
        async_mode=False,
        evaluation_params=[ToolCallParams.INPUT_PARAMETERS],
        should_exact_match=True,
    )
    case = LLMTestCase(
        input="a question",
        actual_output="an answer",
        tools_called=calls(given.actual),
        expected_tools=calls(given.expected),
    )
    assert_test(case, [metric], run_async=False)


if __name__ == "__main__":
    tell(_fail)
