"""Exports of a real Phoenix and a real MLflow, read as the recordings that were sent there."""

from __future__ import annotations

import pytest
from tests.servers.comparing import differences
from tests.servers.keeping import kept
from tests.servers.reasons import REASONS
from tests.servers.recordings import recordings
from tests.servers.servers import SERVERS

EXPORTS = kept()
SENT = {recording.name: recording.wire for recording in recordings()}


@pytest.mark.parametrize(("server", "form", "name"), EXPORTS, ids=["-".join(export) for export in EXPORTS])
def test_an_export_is_read_as_the_recording_that_was_sent(server: str, form: str, name: str) -> None:
    precision = SERVERS[server].precision_ns

    found = differences(SENT[name], EXPORTS[server, form, name], precision_ns=precision)

    assert bool(found) == ((server, form, name) in REASONS), "\n".join(found)
