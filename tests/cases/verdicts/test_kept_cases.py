"""Cases are found and judged, alone and together, as before."""

from __future__ import annotations

import pytest
from tests.cases.verdicts import kept_cases
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_cases.groups())
def test_cases_are_judged_as_before(group: str) -> None:
    assert not changed_in(kept_cases, group)
