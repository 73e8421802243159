"""What is found of all cases together."""

from __future__ import annotations

from typing import Any

import msgspec

from ._case import Source
from ._result import Verdict

OTHER = "(other)"
"""The column of answers that are none of the classes."""


class ClassFigures(msgspec.Struct, frozen=True):
    """How one class was recognised: how often it was expected and found, and what that comes to."""

    name: str
    expected: int
    found: int
    right: int
    precision: float
    recall: float
    f1: float


class Classification(msgspec.Struct, frozen=True):
    """Expected and actual classes of all cases.

    `matrix` has a row for each class that was expected and, in it, how often each class was found: the classes in
    order and, last, whatever is none of them.
    """

    classes: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]
    figures: tuple[ClassFigures, ...]
    accuracy: float
    cases: int
    left_out: int = 0
    """Cases that do not say which class is expected."""


class OverallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one evaluator says of all cases together. Without a score where it could not be measured, or broke."""

    evaluator: str
    verdict: Verdict
    score: float | None = None
    threshold: float = 1.0
    reason: str = ""
    """In one sentence, what the score is or why there is none."""
    source: Source
    classification: Classification | None = None
    details: Any = None
    """What an evaluator of the user's own adds, as plain data."""

    def __str__(self) -> str:
        said = {"passed": "passed", "failed": "failed", "not_measured": "not measured", "error": "error"}[self.verdict]
        return f"{self.evaluator}: {said}: {self.reason}"
