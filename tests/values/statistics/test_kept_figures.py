"""Rates, intervals and odds of the same counts are as before."""

from __future__ import annotations

import pytest
from tests.snapshots import changed_in
from tests.values.statistics import kept_figures


@pytest.mark.parametrize("group", kept_figures.groups())
def test_figures_are_as_before(group: str) -> None:
    assert not changed_in(kept_figures, group)
