"""Eval sets, their cases, and the selection of cases by id and tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.errors import InputError, nearest
from rightcall.judging import Criteria, Evaluator, OverallEvaluator
from rightcall.values.results import Source

Format: TypeAlias = Literal["native", "uipath", "adk"]


class Check(msgspec.Struct, frozen=True):
    """One expectation of a case: an evaluator, its criteria, and where they are written."""

    key: str
    """The key in `expect`."""
    evaluator: Evaluator[Any, Any, Any]
    criteria: Any
    source: Callable[[str | None], Source]
    """Returns where a part of the criteria is written, given the path in a finding."""
    weight: float = 1.0

    def lists(self) -> Iterable[tuple[str, Sequence[Any]]]:
        """Return the lists of calls in the criteria that are not empty, each with its path."""
        return self.criteria.call_lists() if isinstance(self.criteria, Criteria) else ()

    def places(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Return the same lists with the path of each call."""
        return self.criteria.call_places() if isinstance(self.criteria, Criteria) else ()


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
    """What the agent should do, in words, for evaluators that ask a model."""
    session: Any = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    mocks: Mapping[str, Any] = {}
    """What tools answer instead of being run, as written in the file."""
    repeat: int | None = None
    """How often it is run, unless the command says so."""
    min_repeat_pass: int | None = None
    """How many repeats have to pass, unless the command says so; all by default."""


class OverallCheck(msgspec.Struct, frozen=True):
    """An evaluator of all cases together, and where it is written."""

    evaluator: OverallEvaluator
    source: Source


class EvalSet(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one file. Case ids are unique."""

    path: str
    cases: tuple[Case, ...]
    name: str = ""
    description: str = ""
    format: Format = "native"
    """The tool whose format the file is in."""
    overall: tuple[OverallCheck, ...] = ()
    """Evaluators of all cases together."""
    agent: str | None = None
    timeout: float | None = None
    metadata: Mapping[str, Any] = {}


def select_cases(cases: Sequence[Case], globs: Sequence[str], tags: Sequence[str]) -> list[Case]:
    """Return the cases whose id matches one of the globs and that have one of the tags. Without globs, any id matches.

    Raises:
        InputError: a glob or a tag matches no case, or no case matches both.
    """
    for glob in globs:
        if not any(fnmatchcase(case.id, glob) for case in cases):
            raise InputError(f"no case matches {glob!r:.200}; {nearest(glob, [case.id for case in cases[:50]])}")
    known = {tag for case in cases for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"no case has the tag {tag!r:.200}; {nearest(tag, sorted(known))}")
    chosen = [
        case
        for case in cases
        if (not globs or any(fnmatchcase(case.id, glob) for glob in globs)) and (not tags or set(tags) & set(case.tags))
    ]
    if not chosen:
        raise InputError(f"no case matches {', '.join((*globs, *tags))} together")
    return chosen
