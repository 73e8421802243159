"""Words in common, as ADK counts them."""

import json
from pathlib import Path

import pytest
from tests.builders import judge

from rightcall import Trajectory

PAIRS = json.loads((Path(__file__).parents[1] / "data" / "adk_response_match.json").read_text())


def test_scores_are_those_of_adk() -> None:
    assert len({(expected, actual) for expected, actual, _ in PAIRS}) == 200
    for expected, actual, score in PAIRS:
        result = judge("response-match", Trajectory.of([], output=actual), {"expected": expected})

        assert result.score == pytest.approx(score, abs=1e-12), (expected, actual)
