"""Waiting for an event, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 600.0
"""Seconds after which a process counts as hanging: far more than it takes while ten others want the same two cores."""


def until(look: Callable[[], Found | None], seconds: float = PATIENCE) -> Found:
    """What `look` finds as soon as it finds something. The limit is for what never happens, on a busy machine too."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found
