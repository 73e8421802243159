"""Cases that apply to every trajectory that fits them, for traces that name no case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import LimitError
from rightcall.limits import Limits
from rightcall.matching.matchers import Expectation, NamePattern, compile_value
from rightcall.values.trajectory import Trajectory

from ._eval_set_file import WrittenWhen

_AGENTS = ("agent", "agent_name", "gen_ai.agent.name")
"""Keys of the metadata that may name the agent of a run without calls."""
_TAGS = "tags"


class Fit(msgspec.Struct, frozen=True):
    """Whether a case applies to a trajectory."""

    is_possible: bool
    doubt: str = ""
    """What was not recorded, so that it is unknown; empty if it is known."""


class When(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions under which a case applies to a trace. All that are given have to hold."""

    input: Expectation | None = None
    output: Expectation | None = None
    metadata: tuple[tuple[str, Expectation], ...] = ()
    agent: Expectation | NamePattern | None = None
    tags: Expectation | None = None
    has_calls: Callable[[Trajectory], bool | str] | None = None
    """Whether a trajectory has the calls, or why that is unknown."""
    leaves_out: bool = False
    """Whether a trajectory that did not record what is needed is left out."""
    written: Mapping[str, Any] = {}
    """The conditions as written in the file."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the metadata that are needed."""
        agents = _AGENTS if self.agent is not None else ()
        return (*[key for key, _ in self.metadata], *agents, *((_TAGS,) if self.tags is not None else ()))

    def fit(self, trajectory: Trajectory) -> Fit:
        """Return whether a trajectory fits, or why that is unknown."""
        doubts: list[str] = []
        for found in self._answers(trajectory):
            if found is False:
                return Fit(False)
            if isinstance(found, str):
                doubts.append(found)
        return Fit(not (doubts and self.leaves_out), doubts[0] if doubts else "")

    def _answers(self, trajectory: Trajectory) -> Iterator[bool | str]:
        """Yield for each condition whether it fits, or what was not recorded."""
        if self.input is not None:
            yield _any_fits(self.input, [trajectory.input, *trajectory.turn_inputs], "the input")
        if self.output is not None:
            yield _any_fits(self.output, [trajectory.output], "the output")
        for key, wanted in self.metadata:
            if trajectory.metadata.get(key) is None and wanted.matches_absence():
                yield True
            else:
                yield _any_fits(wanted, [trajectory.metadata.get(key)], f"{key!r:.60} of the metadata")
        if self.tags is not None:
            yield _any_fits(self.tags, [_listed(trajectory.metadata.get(_TAGS))], "the tags")
        if self.agent is not None:
            agents = [call.agent for call in trajectory.calls] or [_first(trajectory.metadata, _AGENTS)]
            yield _any_fits(self.agent, agents, "the agent")
        if self.has_calls is not None:
            yield self.has_calls(trajectory)


def _any_fits(wanted: Expectation | NamePattern, values: list[Any], what: str) -> bool | str:
    known = [value for value in values if value is not None]
    try:
        if any([wanted.matches(value) for value in known]):
            return True
    except LimitError as problem:
        return f"{what} is too much to compare: {problem}"
    return False if known and len(known) == len(values) else f"{what} was not recorded"


def _first(metadata: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((metadata[key] for key in keys if metadata.get(key) is not None), None)


def _listed(tags: Any) -> Any:
    """Return tags as a list: some sources write them as one string."""
    return [tag.strip() for tag in tags.split(",")] if isinstance(tags, str) else tags


class _AllOf(Expectation):
    """A list that contains all of these strings."""

    __slots__ = ("_wanted",)

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted

    def matches(self, actual: Any) -> bool:
        values = actual if isinstance(actual, (list, tuple)) else [actual]
        return self._wanted <= {item for item in values if isinstance(item, str)}


def compile_when(
    written: WrittenWhen,
    limits: Limits,
    has_calls: Callable[[Any], Callable[[Trajectory], bool | str]],
) -> When:
    """Compile the conditions of a case. `has_calls` makes the one about calls.

    Raises:
        CriteriaError: a matcher is wrong.
    """
    given = written.model_fields_set
    return When(
        input=compile_value(written.input, limits, where="$") if "input" in given else None,
        output=compile_value(written.output, limits, where="$") if "output" in given else None,
        metadata=tuple([(key, compile_value(value, limits, where="$")) for key, value in written.metadata.items()]),
        agent=_agent(written.agent, limits) if "agent" in given else None,
        tags=_tags(written.tags, limits) if "tags" in given else None,
        has_calls=has_calls(written.calls) if "calls" in given else None,
        leaves_out=written.unrecorded == "leave_out",
        written=written.model_dump(),
    )


def _tags(written: Any, limits: Limits) -> Expectation:
    tags = [written] if isinstance(written, str) else written
    is_plain = isinstance(tags, list) and all([isinstance(tag, str) for tag in tags])
    return _AllOf(frozenset(tags)) if is_plain else compile_value(tags, limits)


def _agent(written: Any, limits: Limits) -> Expectation | NamePattern:
    is_pattern = isinstance(written, str) and "*" in written
    return NamePattern.of(written) if is_pattern else compile_value(written, limits, where="$")
