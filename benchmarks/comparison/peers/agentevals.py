"""AgentEvals' trajectory match: four modes, each with four ways to compare arguments.

Each call has a message of its own. In strict mode calls of one message may come in any order.
"""

import json
from collections.abc import Iterable
from typing import Any

from agentevals.trajectory.match import (
    create_trajectory_match_evaluator,
)

from benchmarks.comparison.inputs import Call, Input
from benchmarks.comparison.peers.asking import Score, tell


def _score(mode: str, args_mode: str) -> Score:
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode, tool_args_match_mode=args_mode)

    def score(given: Input) -> float:
        return float(evaluate(outputs=messages(given.actual), reference_outputs=messages(given.expected))["score"])

    return score


def messages(calls: Iterable[Call]) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": "", "tool_calls": [_tool_call(call, position)]}
        for position, call in enumerate(calls)
    ]


def _tool_call(call: Call, position: int) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"type": "function", "id": f"call_{position}", "function": function}


if __name__ == "__main__":
    tell(
        {
            f"{mode}, {args_mode} args": _score(mode, args_mode)
            for args_mode in ("exact", "superset", "subset", "ignore")
            for mode in ("strict", "unordered", "superset", "subset")
        }
    )
