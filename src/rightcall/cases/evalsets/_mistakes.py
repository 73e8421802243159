"""Which of several mistakes is told."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from rightcall.judging import mistakes
from rightcall.values.decoding import Path


def first_mistake(model: type[BaseModel], problem: ValidationError) -> tuple[Path, str]:
    """The place of the mistake that is told first, and what would be right.

    A key that is not known is told before one that is missing: it may be that one, misspelt.
    """
    return min(mistakes(model, problem), key=lambda mistake: "unknown key" not in mistake[1])
