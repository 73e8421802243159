"""Calls are paired with expectations as before, and with as many steps."""

from __future__ import annotations

import pytest
from tests.matching.alignment import kept_alignments
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_alignments.groups())
def test_calls_are_paired_as_before(group: str) -> None:
    assert not changed_in(kept_alignments, group)
