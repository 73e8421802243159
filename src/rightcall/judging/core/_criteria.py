"""What users write for evaluators: criteria and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictStr,
    field_validator,
)

from rightcall.errors import nearest, pattern_problem, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.matchers import ArgsPolicy

from ._mistakes import UserModel


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
Listed = Annotated[ItemsT, BeforeValidator(_listed)]
"""Expectations in order: a set has none."""

NotEmpty = Annotated[ItemsT, BeforeValidator(_listed), AfterValidator(_not_empty)]
"""Expectations that must not be empty: nothing expected is a mistake here, not a score."""

ToolName: TypeAlias = Annotated[StrictStr, AfterValidator(tool_name)]
Threshold: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]


_POLICIES: tuple[str, ...] = get_args(ArgsPolicy)


def _policy(value: Any) -> Any:
    written = value.lower() if isinstance(value, str) else ""
    if written not in _POLICIES:
        raise ValueError(f"unknown argument policy {shown(value)}; {nearest(written, _POLICIES)}")
    return written


Policy: TypeAlias = Annotated[ArgsPolicy, BeforeValidator(_policy)]


class ExpectedCall(UserModel):
    """One expected call: the tool's name and, where they matter, its arguments with any matchers in them."""

    name: ToolName
    args: Any = None
    id: StrictStr | None = None
    """The id of the tool, for comparing tools by id, as UiPath does."""

    @field_validator("args")
    @classmethod
    def _is_object(cls, value: Any) -> Any:
        if isinstance(value, (str, bytes, int, float, list, tuple)):
            raise ValueError(f"arguments are an object, not {shown(value)}")
        return value


def _call_from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Call = Annotated[ExpectedCall, BeforeValidator(_call_from_name)]
"""An expected call, or its name alone."""


class Criteria(UserModel):
    """The expectation of an evaluator. Every kind of criteria can narrow down the calls it is about."""

    ignore_tools: Listed[tuple[ToolName, ...]] = ()
    """Names of tools whose calls are left out."""
    agent: Annotated[StrictStr, AfterValidator(_agent_name)] | None = None
    """Only this agent's calls count."""
    top_level: StrictBool = False
    """Only calls that no other tool made count."""
    parallel: Literal["in_order", "any_order"] = "in_order"
    """With `any_order`, neighbouring calls of one parallel group may come in any order."""

    def __copy__(self) -> Criteria:
        return _without_plans(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Criteria:
        return _without_plans(super().__deepcopy__(memo))

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        kept = {key: value for key, value in state["__dict__"].items() if key not in _DERIVED}
        return {**state, "__dict__": kept}

    @cached_property
    def takes_all(self) -> bool:
        """Whether they look at every call, in the order it was made."""
        narrowed = self.ignore_tools or self.top_level or self.agent is not None
        return not narrowed and self.parallel == "in_order"

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """The compiled form of these criteria, by evaluator."""
        return {}


_DERIVED = ("plans", "takes_all")


def _without_plans(copied: Criteria) -> Criteria:
    """Drop what was compiled: a copy may be changed."""
    for name in _DERIVED:
        copied.__dict__.pop(name, None)
    return copied


class Config(UserModel):
    """How an evaluator judges, whatever it is given."""

    name: StrictStr = ""
    description: StrictStr = ""
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
