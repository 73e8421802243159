"""What evaluators say is what they said before: verdict, score, findings and details."""

from __future__ import annotations

import pytest
from tests.judging import kept_paths, kept_verdicts
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_verdicts.groups())
def test_trajectories_are_judged_as_before(group: str) -> None:
    assert not changed_in(kept_verdicts, group)


@pytest.mark.parametrize("group", kept_paths.groups())
def test_expected_paths_are_judged_as_before(group: str) -> None:
    assert not changed_in(kept_paths, group)
