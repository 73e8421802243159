"""Evaluators of all cases together: each case is a row, and all rows together have one result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from rightcall.values.results import Classification, Verdict


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case, or one repeat of it, as an evaluator of all cases sees it."""

    case_id: str
    repeat: int = 0
    verdict: Verdict
    score: float | None = None
    scores: Mapping[str, float | None] = {}
    """The score of each evaluator of the case, by its key in `expect`."""
    is_measured: bool = True
    """Whether there is an answer: false where the agent broke, or no trace belongs to the case."""
    output: Any = None
    tools: tuple[str, ...] = ()
    """The names of the tools that were called, in order."""
    seconds: float | None = None
    metadata: Mapping[str, Any] = {}


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """The result of all rows: a score, or why there is none."""

    score: float | None = None
    reason: str = ""
    is_error: bool = False
    classification: Classification | None = None
    details: Any = None


class RowTally(Protocol):
    """The rows counted so far."""

    def add(self, seen: Any) -> None:
        """Take what was seen of one more row."""

    def conclude(self) -> Conclusion:
        """Return the result of all rows."""


class OverallEvaluator(ABC):
    """Judges all cases together. Of each row it keeps what `see` gives, which may be far less."""

    id: str
    threshold: float

    @abstractmethod
    def see(self, row: Row) -> Any:
        """Return what counts of a row. It is called in the process that judges the case."""

    @abstractmethod
    def tally(self) -> RowTally:
        """An empty tally."""
