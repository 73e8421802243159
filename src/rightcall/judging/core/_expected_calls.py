"""What users write of expected calls, how evaluators are configured, and UiPath's calling style.

Facts of UiPath's package (2.14): a call whose span has a tool id is matched by that id alone, with the expected id or,
if there is none, with the expected name; other calls are matched by name, after both names are cleaned as the LangChain
runtime cleans them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.matchers import ArgsPolicy
from rightcall.values.trajectory import ToolCall, Trajectory

from ._user_model import After, Before, Bounds, Length, Made, UserModel

_NOT_ALLOWED = lazy_pattern("[^a-zA-Z0-9_-]")
_LONGEST = 64


def _agent_name(value: str) -> str:
    if "*" in value:
        raise ValueError(f"{shown(value)} has a '*', but an agent's name is compared exactly: write the whole name")
    return value


ItemsT = TypeVar("ItemsT")
NotEmpty = Annotated[ItemsT, Length(1, told="is empty; expect at least one")]
"""Expectations that must not be empty: nothing expected is a mistake here, not a score."""

_MOST_OF_NAME = DEFAULT_LIMITS.name_length
ToolName: TypeAlias = Annotated[
    str, Length(1, _MOST_OF_NAME, f"a tool's name has 1 to {_MOST_OF_NAME:,} characters, this one {{:,}}")
]
"""The name of a tool. Whether it may have a `*` in it, which stands for any characters, is up to the criteria."""
AgentName: TypeAlias = Annotated[str, After(_agent_name)]
Threshold: TypeAlias = Annotated[float, Bounds(least=0, most=1)]


def number_in_text(value: Any) -> Any:
    """Return the number in a string: `timeout: "60"` has always been accepted."""
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
    args: Annotated[Any, Made(_is_object)] = None
    id: str | None = None
    """The id of the tool, for comparing tools by id, as UiPath does."""
    output: Any = None
    """What the tool returns, with any matchers in it."""
    status: Literal["ok", "error"] | None = None
    """Whether the call succeeded."""
    agent: AgentName | None = None
    """The agent that made the call."""
    turn: Annotated[int, Bounds(least=0)] | None = None
    """The turn of the conversation it was made in, from 0."""
    nth: int | None = None
    """Which call of the tool is meant: 1 for the first, -1 for the last."""

    @property
    def parts(self) -> dict[str, Any]:
        """What is expected of the call beside its name and arguments."""
        given = self.model_fields_set
        # Most calls have nothing beside: asking for each part would take a tenth of the time of reading the call.
        return {} if given <= _PLAIN else {key: self.__dict__[key] for key in _PARTS if key in given}


_PARTS = ("output", "status", "agent", "turn", "nth")
_PLAIN = frozenset({"name", "args", "id"})


def are_names_and_args(steps: Sequence[Any] | None) -> bool:
    """Return whether steps are given, and are calls with nothing but names and arguments.

    Their models have checked these completely. A group, `nth` or the id of a tool may still be wrong.
    """
    return steps is not None and all(
        [isinstance(step, ExpectedCall) and step.model_fields_set <= _CHECKED for step in steps]
    )


_CHECKED = {"name", "args"}


def _call_from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Call = Annotated[ExpectedCall, Before(_call_from_name)]
"""An expected call, or its name alone."""


class Config(UserModel):
    """How an evaluator judges, whatever it is given."""

    name: str = ""
    description: str = ""
    threshold: Threshold = 1.0
    """The score from which a trajectory passes."""
    default_evaluation_criteria: Any = None
    """The criteria that are used if none are given."""


class ToolCallConfig(Config):
    """How the evaluators of UiPath's documents judge.

    `tool_names`: with `uipath`, calls are matched by the id of their tool, where they have one, else by name after
    both names were cleaned. Files of UiPath are judged so; everything else is `exact`.
    """

    tool_names: Literal["exact", "uipath"] = "exact"


class Naming(msgspec.Struct, frozen=True):
    """The expected tools, by id and by name."""

    by_id: dict[str, str]
    by_name: dict[str, str]

    @classmethod
    def of(cls, expected: Iterable[Any]) -> Naming:
        """Return the naming of expected tools: names, or objects with a `name` and perhaps an `id`.

        Raises:
            CriteriaError: two tools have one name and different ids.
        """
        made = cls({}, {})
        ids: dict[str, str | None] = {}
        for each in expected:
            name, tool_id = (each, None) if isinstance(each, str) else (each.name, each.id)
            if ids.setdefault(name, tool_id) != tool_id:
                raise CriteriaError(f"{shown(name)} is expected with different tool ids; give each tool its own name")
            made.by_id.setdefault(name if tool_id is None else tool_id, name)
            made.by_name.setdefault(cleaned(name), name)
        return made

    def renamed(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory with its calls renamed to the expected tools that they belong to."""
        calls = [self._renamed(call) for call in trajectory.calls]
        return msgspec.structs.replace(trajectory, calls=tuple(calls))

    def _renamed(self, call: ToolCall) -> ToolCall:
        if call.tool_id is None:
            name = self.by_name.get(cleaned(call.name), call.name)
        else:
            name = self.by_id.get(call.tool_id) or f"{call.name} (tool id {call.tool_id})"
        return call if name == call.name else msgspec.structs.replace(call, name=name)


def cleaned(name: str) -> str:
    """Return a tool's name as a runtime shows it to models: spaces as `_`, no other signs, at most 64 characters."""
    return _NOT_ALLOWED.sub("", "_".join(name.split()))[:_LONGEST]


class AgentExecution(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run of an agent: its input, its output and its OpenTelemetry spans."""

    agent_input: Any = None
    agent_output: Any = None
    agent_trace: Sequence[Any] = ()
    expected_agent_behavior: str | None = None
    simulation_instructions: str = ""

    @property
    def workload_output(self) -> Any:
        """The output, by its name in newer documents."""
        return self.agent_output

    @property
    def workload_trace(self) -> Sequence[Any]:
        """The spans, by their name in newer documents."""
        return self.agent_trace

    @cached_property
    def trajectory(self) -> Trajectory:
        """The tool calls in the spans, read once."""
        # Reading spans takes many modules, and judging lists of calls needs none of them.
        from rightcall.reading import read_spans

        read = read_spans(self.agent_trace)
        # These are all spans of the run, so without tool spans there were no calls. If a span was not understood, or
        # calls were found and the reader knows that others are missing, the trajectory stays incomplete.
        is_whole = read.calls_recorded or not (read.calls or read.not_understood)
        return msgspec.structs.replace(read, input=self.agent_input, output=self.agent_output, calls_recorded=is_whole)
