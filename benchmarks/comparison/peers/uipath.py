"""UiPath's four tool-call evaluators, strict and not, with and without `subset`."""

import asyncio
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from uipath.eval import evaluators
from uipath.eval.models import WorkloadExecution

from benchmarks.comparison.inputs import Input, output_of
from benchmarks.comparison.peers.asking import Score, tell
from benchmarks.spans import spans_of


def _score(kind: str, criteria: Any, **config: Any) -> Score:
    evaluator = getattr(evaluators, kind)(id=kind, evaluatorConfig={"name": kind, **config})

    def score(given: Input) -> float:
        calls = [{**call, "output": output_of(call)} for call in given.actual]
        execution = WorkloadExecution(agent_input={}, workload_output={}, workload_trace=spans_of(calls, ReadableSpan))
        result = asyncio.run(evaluator.validate_and_evaluate_criteria(execution, criteria(given)))
        return float(result.score)

    return score


def _order(given: Input) -> dict[str, Any]:
    return {"tool_calls_order": given.expected_names}


def _count(given: Input) -> dict[str, Any]:
    return {"tool_calls_count": given.expected_counts}


def _args(given: Input) -> dict[str, Any]:
    return {"tool_calls": list(given.expected)}


def _outputs(given: Input) -> dict[str, Any]:
    # It compares outputs as Python text, so that is how they are expected.
    return {"tool_outputs": [{"name": call["name"], "output": str(output_of(call))} for call in given.expected]}


if __name__ == "__main__":
    modes: dict[str, Score] = {}
    for ending, strict in (("", False), (", strict", True)):
        modes[f"ToolCallOrder{ending}"] = _score("ToolCallOrderEvaluator", _order, strict=strict)
        modes[f"ToolCallCount{ending}"] = _score("ToolCallCountEvaluator", _count, strict=strict)
        for name, subset in ((", subset", True), ("", False)):
            modes[f"ToolCallArgs{name}{ending}"] = _score("ToolCallArgsEvaluator", _args, strict=strict, subset=subset)
        modes[f"ToolCallOutput{ending}"] = _score("ToolCallOutputEvaluator", _outputs, strict=strict)
    tell(modes)
