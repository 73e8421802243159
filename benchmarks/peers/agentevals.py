"""AgentEvals' trajectory match, which takes OpenAI messages and gives a score without details.

In strict mode the order inside one message is free, so each call gets a message of its own there. The other
modes get one message with all calls, which is the form that costs AgentEvals least.
"""

import json
from collections.abc import Sequence
from typing import Any

from agentevals.trajectory.match import (
    create_trajectory_match_evaluator,
)

from benchmarks.peers.serving import Repeated, Work, serve
from benchmarks.tasks import Call, Task

_MODES = {"EXACT": "strict", "UNORDERED": "unordered", "ANY_ORDER": "superset"}


def _prepare(task: Task) -> Work:
    mode = _MODES[task.mode]
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode)
    expected, actual = _messages(task.expected, mode), _messages(task.actual, mode)
    return Repeated(lambda: evaluate(outputs=actual, reference_outputs=expected)["score"])


def _messages(calls: Sequence[Call], mode: str) -> list[dict[str, Any]]:
    asked = [_tool_call(call, position) for position, call in enumerate(calls)]
    groups = [[call] for call in asked] if mode == "strict" else [asked]
    return [{"role": "assistant", "content": "", "tool_calls": group} for group in groups]


def _tool_call(call: Call, position: int) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"type": "function", "id": f"call_{position}", "function": function}


if __name__ == "__main__":
    serve(_prepare)
