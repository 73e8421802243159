"""What is read from recordings is what was read before, in every field."""

from __future__ import annotations

import pytest
from tests.reading import kept_readings
from tests.snapshots import changed, kept

KEPT = kept(kept_readings.FILE)


@pytest.mark.parametrize("group", kept_readings.groups())
def test_recordings_and_what_may_become_of_them_are_read_as_before(group: str) -> None:
    known = {name: line for name, line in KEPT.items() if name.partition("/")[0] == group}

    found = kept_readings.outcomes(group)

    assert not list(changed(found, known)), "\n".join(changed(found, known))
