"""Waiting for an event, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(look: Callable[[], Found], seconds: float = 120) -> Found:
    """What `look` finds as soon as it finds something. The limit is for what never happens, on a busy machine too."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found
