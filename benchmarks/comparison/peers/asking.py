"""The peers' side: every mode over every input, the answers on standard output as JSON."""

import json
import os
from collections.abc import Callable, Mapping

from benchmarks.comparison.inputs import INPUTS, Input

Score = Callable[[Input], float]


def tell(modes: Mapping[str, Score]) -> None:
    """Print, for each mode, the score of every input, or what was raised."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a peer prints goes to the log, not into the answers.
    json.dump({name: [_cell(score, given) for given in INPUTS] for name, score in modes.items()}, answers)
    answers.close()


def _cell(score: Score, given: Input) -> float | str:
    try:
        return float(score(given))
    except Exception as problem:  # noqa: BLE001 - whatever a peer raises is its answer
        return f"error: {type(problem).__name__}"
