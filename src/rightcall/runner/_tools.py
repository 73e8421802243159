"""Who answers for the tools while a case is run, and what they answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rightcall.results import Cause

from ._plan import Job


class Tools:
    """The tools of one run of one case."""

    def __init__(self, job: Job, record: bool) -> None:
        self._job = job

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While it is open, tools are answered for."""
        yield

    def failure(self) -> tuple[Cause, str, str | None] | None:
        """What was called and could not be answered for, if anything was."""
        return None

    def recorded(self) -> tuple[Any, ...]:
        """What the tools answered."""
        return ()
