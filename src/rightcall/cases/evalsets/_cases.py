"""Eval sets, their cases, and what is expected of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.judging import Evaluator, OverallEvaluator
from rightcall.values.results import Source

Format: TypeAlias = Literal["native", "uipath", "adk"]

_LISTS = ("expected", "expected_output", "tool_calls", "tool_calls_order", "tool_outputs")
"""The keys of criteria that list calls."""


class Check(msgspec.Struct, frozen=True):
    """One expectation of a case: an evaluator, its criteria, and where they are written."""

    key: str
    """The key in `expect`."""
    evaluator: Evaluator[Any, Any, Any]
    criteria: Any
    source: Callable[[str | None], Source]
    """Where a part of the criteria is written, given by the path that a finding has."""
    weight: float = 1.0

    def lists(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """The lists of calls in the criteria that are not empty, each with its path."""
        for key in _LISTS:
            calls = getattr(self.criteria, key, None)
            if isinstance(calls, tuple) and calls:
                yield key, calls
        for turn, calls in enumerate(getattr(self.criteria, "expected_turns", None) or ()):
            if isinstance(calls, tuple) and calls:
                yield f"expected_turns[{turn}]", calls


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case: what the agent is given, and what is expected of it."""

    id: str
    source: Source
    name: str = ""
    description: str = ""
    checks: tuple[Check, ...] = ()
    input: Any = None
    turns: tuple[Any, ...] = ()
    """The inputs of a conversation of several turns."""
    expected_behavior: str = ""
    """What the agent should do, in words, for evaluators that read."""
    session: Any = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    mocks: Mapping[str, Any] = {}
    """What tools answer instead of being run, as it is written."""


class OverallCheck(msgspec.Struct, frozen=True):
    """What is asked of all cases together, and where that is written."""

    evaluator: OverallEvaluator
    source: Source


class EvalSet(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one file. Case ids are unique."""

    path: str
    cases: tuple[Case, ...]
    name: str = ""
    description: str = ""
    format: Format = "native"
    """Whose format the file is in."""
    overall: tuple[OverallCheck, ...] = ()
    """What is asked of all cases together."""
    agent: str | None = None
    timeout: float | None = None
    metadata: Mapping[str, Any] = {}
