"""What users write for evaluators, criteria and configuration, and UiPath's calling style.

Facts of UiPath's package (2.14): a call whose span has a tool id is matched by that id alone, with the expected id or,
if there is none, with the expected name; other calls are matched by name, after both names are cleaned as the LangChain
runtime cleans them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, nearest, pattern_problem, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.matchers import ArgsPolicy, tool_names
from rightcall.values.trajectory import ToolCall, Trajectory

from ._user_model import After, Before, Bounds, Made, UserModel

_NOT_ALLOWED = lazy_pattern("[^a-zA-Z0-9_-]")
_LONGEST = 64


def tool_name(value: str) -> str:
    """Return the exact name of a tool. Raises `ValueError`."""
    if problem := pattern_problem(_written_name(value)):
        raise ValueError(problem)
    return value


def _written_name(value: str) -> str:
    if not 0 < len(value) <= DEFAULT_LIMITS.name_length:
        raise ValueError(f"a tool's name has 1 to {DEFAULT_LIMITS.name_length:,} characters, this one {len(value):,}")
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

ToolName: TypeAlias = Annotated[str, After(_written_name)]
"""The name of a tool. Whether it may have a `*` in it, which stands for any characters, is up to the criteria."""
AgentName: TypeAlias = Annotated[str, After(_agent_name)]
Threshold: TypeAlias = Annotated[float, Bounds(least=0, most=1)]


def number_in_text(value: Any) -> Any:
    """Return the number in a text: `timeout: "60"` has always been accepted."""
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


def _call_from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Call = Annotated[ExpectedCall, Before(_call_from_name)]
"""An expected call, or its name alone."""


Parallel: TypeAlias = Literal["in_order", "recorded", "any_order", "overlap"]
"""Which calls have no order: none, those of one recorded group, those of one group, those that ran at once."""


Failed: TypeAlias = Literal["count", "ignore", "ignore_suspected"]
"""What to do with calls that failed: they count, or are left out, with or without those that may have failed."""


class Criteria(UserModel):
    """The expectation of an evaluator. Every kind of criteria can narrow down the calls it is about."""

    lists_calls: ClassVar[tuple[str, ...]] = ()
    """The keys that list expected calls, or their names; in `expected_turns` a list for each turn."""
    names_tools: ClassVar[str | None] = None
    """A key whose tools are not a list of expected calls, such as `never`."""
    selects_by_outcome: ClassVar[bool] = True
    """Whether `failed` applies to all calls, so that failed ones are left out before anything is judged."""

    ignore_tools: Listed[tuple[ToolName, ...]] = ()
    """Names of tools whose calls are left out."""
    agent: AgentName | None = None
    """Only this agent's calls count."""
    failed: Failed = "count"
    """Whether calls that failed count: `ignore` leaves them out, unless they are expected to fail.

    A call whose result only reads like an error may have failed. `ignore_suspected` leaves it out, too.
    """
    wildcards: bool = False
    """Whether `*` in the name of a tool stands for any characters. Without it, a `*` is a mistake."""
    top_level: bool = False
    """Only calls that no other tool made count."""
    turn: Annotated[int, Bounds(least=0)] | None = None
    """Only calls made in this turn of the conversation count, from 0."""
    parallel: Parallel = "in_order"
    """Which neighbouring calls may come in any order.

    `recorded` are those of one recorded group. With `any_order`, a group that was not recorded is unknown. With
    `overlap`, they are those that all ran at the same time.
    """

    def call_lists(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the lists of expected calls that are not empty, each with its path."""
        for key in self.lists_calls:
            listed = self.__dict__[key] or ()
            if key != "expected_turns":
                yield from [(key, listed)] if listed else ()
            else:
                yield from [(f"{key}[{turn}]", calls) for turn, calls in enumerate(listed) if calls]

    def call_places(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the same lists, with the path of each call."""
        for path, calls in self.call_lists():
            yield path, [f"{path}[{index}]" for index in range(len(calls))]

    def expected_tools(self) -> list[Any]:
        """Return all expected tools: names, or objects with a `name` and perhaps an `id`."""
        named = self.__dict__[self.names_tools] if self.names_tools is not None else ()
        return [*named, *[call for _, calls in self.call_lists() for call in calls]]

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is not part of a copy, which may be changed, nor can all of it be pickled.
        return {key: value for key, value in self.__dict__.items() if key not in _DERIVED}

    @cached_property
    def takes_all(self) -> bool:
        """Whether every call is selected, in the order in which it was made, except in recorded groups."""
        narrowed = self.ignore_tools or self.top_level or self.agent is not None or self.turn is not None
        counts_all = self.failed == "count" or not self.selects_by_outcome
        return not narrowed and counts_all and self.parallel in ("in_order", "recorded")

    @cached_property
    def ignored(self) -> Set[str]:
        """The tools whose calls are left out."""
        return tool_names(self.ignore_tools) if self.wildcards else frozenset(self.ignore_tools)

    @cached_property
    def failing(self) -> Set[str]:
        """The tools that have a call that is expected to fail."""
        expected = [each for each in self.expected_tools() if getattr(each, "status", None) == "error"]
        return tool_names([each.name for each in expected])

    def names_with_stars(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield the names of expected tools that have a `*` in them, each with the path that leads to it."""
        named = self.__dict__[self.names_tools] if self.names_tools is not None else ()
        own = [((str(self.names_tools), key if isinstance(named, dict) else at), key) for at, key in enumerate(named)]
        listed = [((*_steps(path), at), each) for path, calls in self.call_lists() for at, each in enumerate(calls)]
        for path, each in (*own, *listed):
            name = getattr(each, "name", each)
            if isinstance(name, str) and "*" in name:
                yield path, name

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """The compiled form of these criteria, by evaluator."""
        return {}


_DERIVED = {"failing", "ignored", "plans", "takes_all"}


def _steps(path: str) -> tuple[str | int, ...]:
    """Return the steps of a path such as `expected_turns[1]`."""
    key, bracket, number = path.partition("[")
    return (key, int(number[:-1])) if bracket else (key,)


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
