"""The gate says of pairs of runs what it said before."""

from __future__ import annotations

import pytest
from tests.reporting.changes import kept_gates
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_gates.groups())
def test_pairs_of_runs_are_judged_as_before(group: str) -> None:
    assert not changed_in(kept_gates, group)
