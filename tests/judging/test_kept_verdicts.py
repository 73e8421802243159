"""What evaluators say is what they said before: verdict, score, findings and details."""

from __future__ import annotations

import pytest
from tests.judging import kept_verdicts
from tests.snapshots import changed, kept

KEPT = kept(kept_verdicts.FILE)


@pytest.mark.parametrize("group", kept_verdicts.groups())
def test_trajectories_are_judged_as_before(group: str) -> None:
    known = {name: line for name, line in KEPT.items() if name.partition(".")[0] == group}

    found = kept_verdicts.outcomes(group)

    assert not list(changed(found, known)), "\n".join(changed(found, known))
