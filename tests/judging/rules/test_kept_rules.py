"""Rules say of runs what they said before."""

from __future__ import annotations

import pytest
from tests.judging.rules import kept_rules
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_rules.groups())
def test_rules_are_judged_as_before(group: str) -> None:
    assert not changed_in(kept_rules, group)
