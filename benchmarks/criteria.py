"""Criteria in the words of the documents, which UiPath's evaluators and ours take alike."""

from typing import Any

from .tasks import Question, Task

TOOL_CALL_EVALUATORS: dict[Question, str] = {
    "order": "ToolCallOrderEvaluator",
    "count": "ToolCallCountEvaluator",
    "args": "ToolCallArgsEvaluator",
    "output": "ToolCallOutputEvaluator",
}


def criteria_of(task: Task, question: Question) -> dict[str, Any]:
    """What is expected of the calls, for one of the four tool-call evaluators."""
    if question == "order":
        return {"tool_calls_order": task.expected_names}
    if question == "count":
        return {"tool_calls_count": task.expected_counts}
    if question == "args":
        return {"tool_calls": [{"name": call["name"], "args": call["args"]} for call in task.expected]}
    # UiPath compares outputs as Python text, so that is how an expectation that suits both is written.
    return {"tool_outputs": [{"name": call["name"], "output": str(call["output"])} for call in task.expected]}
