"""What users write for evaluators: criteria and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

from rightcall.errors import nearest, pattern_problem, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.matchers import ArgsPolicy

from ._checks import After, Before, Bounds, Made
from ._user_model import UserModel


def tool_name(value: str) -> str:
    """The exact name of a tool. Raises `ValueError`."""
    if not 0 < len(value) <= DEFAULT_LIMITS.name_length:
        raise ValueError(f"a tool's name has 1 to {DEFAULT_LIMITS.name_length:,} characters, this one {len(value):,}")
    if problem := pattern_problem(value):
        raise ValueError(problem)
    return value


def _agent_name(value: str) -> str:
    if "*" in value:
        raise ValueError(f"{shown(value)} has a '*', but an agent's name is compared exactly: write the whole name")
    return value


def _listed(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, (list, tuple, Mapping, str, bytes)):
        raise ValueError(f"a list is expected, not {shown(value)}")
    return value


def _not_empty(value: Any) -> Any:
    if not value:
        raise ValueError("is empty; expect at least one")
    return value


ItemsT = TypeVar("ItemsT")
Listed = Annotated[ItemsT, Before(_listed)]
"""Expectations in order: a set has none."""

NotEmpty = Annotated[ItemsT, Before(_listed), After(_not_empty)]
"""Expectations that must not be empty: nothing expected is a mistake here, not a score."""

ToolName: TypeAlias = Annotated[str, After(tool_name)]
Threshold: TypeAlias = Annotated[float, Bounds(least=0, most=1)]


def number_in_text(value: Any) -> Any:
    """Return the number that a text has: `timeout: "60"` is accepted, as it always was."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


_POLICIES: tuple[str, ...] = get_args(ArgsPolicy)


def _policy(value: Any) -> Any:
    written = value.lower() if isinstance(value, str) else ""
    if written not in _POLICIES:
        raise ValueError(f"unknown argument policy {shown(value)}; {nearest(written, _POLICIES)}")
    return written


Policy: TypeAlias = Annotated[ArgsPolicy, Made(_policy)]


def _is_object(value: Any) -> Any:
    if isinstance(value, (str, bytes, int, float, list, tuple)):
        raise ValueError(f"arguments are an object, not {shown(value)}")
    return value


class ExpectedCall(UserModel):
    """One expected call: the tool's name and, where they matter, its arguments with any matchers in them."""

    name: ToolName
    args: Annotated[Any, After(_is_object)] = None
    id: str | None = None
    """The id of the tool, for comparing tools by id, as UiPath does."""


def _call_from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Call = Annotated[ExpectedCall, Before(_call_from_name)]
"""An expected call, or its name alone."""


class Criteria(UserModel):
    """The expectation of an evaluator. Every kind of criteria can narrow down the calls it is about."""

    lists_calls: ClassVar[tuple[str, ...]] = ()
    """The keys that list expected calls, or their names; in `expected_turns` a list for each turn."""
    names_tools: ClassVar[str | None] = None
    """A key that has tools which are not a list of expected calls."""

    ignore_tools: Listed[tuple[ToolName, ...]] = ()
    """Names of tools whose calls are left out."""
    agent: Annotated[str, After(_agent_name)] | None = None
    """Only this agent's calls count."""
    top_level: bool = False
    """Only calls that no other tool made count."""
    parallel: Literal["in_order", "any_order"] = "in_order"
    """With `any_order`, neighbouring calls of one parallel group may come in any order."""

    def call_lists(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the lists of expected calls that are not empty, each with its path."""
        for key in self.lists_calls:
            listed = self.__dict__[key] or ()
            if key != "expected_turns":
                yield from [(key, listed)] if listed else ()
            else:
                yield from [(f"{key}[{turn}]", calls) for turn, calls in enumerate(listed) if calls]

    def call_places(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the same lists with the path of each call."""
        for path, calls in self.call_lists():
            yield path, [f"{path}[{index}]" for index in range(len(calls))]

    def expected_tools(self) -> list[Any]:
        """Return all expected tools: names, or objects with a `name` and perhaps an `id`."""
        named = self.__dict__[self.names_tools] if self.names_tools is not None else ()
        return [*named, *[call for _, calls in self.call_lists() for call in calls]]

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is not part of a copy, which may be changed, nor can all of it be pickled.
        return {key: value for key, value in self.__dict__.items() if key not in ("plans", "takes_all")}

    @cached_property
    def takes_all(self) -> bool:
        """Whether they look at every call, in the order it was made."""
        narrowed = self.ignore_tools or self.top_level or self.agent is not None
        return not narrowed and self.parallel == "in_order"

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """The compiled form of these criteria, by evaluator."""
        return {}


class Config(UserModel):
    """How an evaluator judges, whatever it is given."""

    name: str = ""
    description: str = ""
    threshold: Threshold = 1.0
    """The score from which a trajectory passes."""
    default_evaluation_criteria: Any = None
    """The criteria that are used where none are given."""


class ToolCallConfig(Config):
    """How the evaluators of UiPath's documents judge.

    `tool_names`: with `uipath`, calls are matched by the id of their tool, where they have one, else by name after
    both names were cleaned. Files of UiPath are judged so; everything else is `exact`.
    """

    tool_names: Literal["exact", "uipath"] = "exact"
