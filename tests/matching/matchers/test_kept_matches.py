"""Expected values and calls say of actual ones what they said before, and with as many steps."""

from __future__ import annotations

import pytest
from tests.matching.matchers import kept_calls, kept_matches, kept_schemas
from tests.snapshots import changed_in


@pytest.mark.parametrize("group", kept_matches.groups())
def test_values_match_as_before(group: str) -> None:
    assert not changed_in(kept_matches, group)


@pytest.mark.parametrize("group", kept_schemas.groups())
def test_values_are_valid_by_a_schema_as_before(group: str) -> None:
    assert not changed_in(kept_schemas, group)


@pytest.mark.parametrize("group", kept_calls.groups())
def test_calls_are_compared_as_before(group: str) -> None:
    assert not changed_in(kept_calls, group)
