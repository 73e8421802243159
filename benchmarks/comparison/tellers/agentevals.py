"""AgentEvals: a strict match, asserted in the way of its documents."""

from agentevals.trajectory.match import (
    create_trajectory_match_evaluator,
)

from benchmarks.comparison.inputs import Input
from benchmarks.comparison.peers.agentevals import messages
from benchmarks.comparison.tellers.telling import tell


def _fail(given: Input) -> None:
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode="strict")
    result = evaluate(outputs=messages(given.actual), reference_outputs=messages(given.expected))
    print(result)
    assert result["score"]


if __name__ == "__main__":
    tell(_fail)
