"""One expected call by any of its parts: a name that may be a pattern, arguments, output, status, agent and turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from msgspec import UNSET
from msgspec.structs import replace

from rightcall.errors import ExpectationError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.results import Difference, value_text
from rightcall.values.trajectory import ToolCall, has_failed

from ._expectations import SOURCES
from ._moments import Moment
from ._names import NamePattern
from ._patterns import NOT_LITERAL, ArgsPolicy, CallPattern, OutputPattern, Pattern

Status: TypeAlias = Literal["ok", "error"]
STATUSES: tuple[str, ...] = get_args(Status)

PartName: TypeAlias = Literal["args", "output", "status", "agent", "turn"]


def call_pattern(
    name: str,
    args: Any = None,
    policy: ArgsPolicy = "subset",
    *,
    output: Any = UNSET,
    status: Status | None = None,
    agent: str | None = None,
    turn: int | None = None,
    wildcards: bool = True,
    where: str = "expected",
    limits: Limits = DEFAULT_LIMITS,
) -> Pattern:
    """The pattern of one written call. A part that is not given is not compared.

    A name and arguments alone are a `CallPattern`, which an index can answer. With `wildcards`, `*` in the name stands
    for any characters.

    Raises:
        ExpectationError: a part is not what it should be.
    """
    of_args = CallPattern(name, args, policy, where=f"{where}.args", limits=limits, allows=SOURCES)
    parts: list[CallPart] = [] if of_args.accepts_all else [ArgsPart(of_args)]
    if output is not UNSET:
        parts.append(OutputPart(OutputPattern(name, output, where=f"{where}.output", limits=limits)))
    parts += _fields(status, agent, turn, where)
    is_pattern = wildcards and "*" in name
    if not is_pattern and len(parts) == (not of_args.accepts_all):
        return of_args
    return PartsPattern(NamePattern.of(name) if is_pattern else name, of_args, parts)


class CallPart(ABC):
    """One part of an expected call."""

    __slots__ = ()

    part: ClassVar[PartName]
    spends: bool = False
    needs_moment: bool = False

    @abstractmethod
    def accepts(self, call: ToolCall, moment: Moment | None) -> bool | None:
        """Return whether a call has this part as expected; `None` where the trace does not tell."""

    @abstractmethod
    def differences_from(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        """Where the part is not as expected; nothing where the trace does not tell."""


class ArgsPart(CallPart):
    """The arguments of a call."""

    __slots__ = ("_pattern", "needs_moment", "spends")

    part = "args"

    def __init__(self, pattern: CallPattern) -> None:
        self._pattern = pattern
        self.spends = pattern.spends
        self.needs_moment = pattern.needs_moment

    def accepts(self, call: ToolCall, moment: Moment | None) -> bool | None:
        return self._pattern.accepts_at(call, moment)

    def differences_from(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        return self._pattern.differences_at(call, moment)


class OutputPart(CallPart):
    """The output of a call."""

    __slots__ = ("_pattern", "spends")

    part = "output"

    def __init__(self, pattern: OutputPattern) -> None:
        self._pattern = pattern
        self.spends = pattern.spends

    def accepts(self, call: ToolCall, moment: Moment | None) -> bool | None:
        return self._pattern.accepts(call)

    def differences_from(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        found = self._pattern.differences_from(call)
        return tuple([replace(each, path="output" + each.path.removeprefix("$")) for each in found])


class StatusPart(CallPart):
    """Whether a call went well. A result that only reads like an error may be either."""

    __slots__ = ("_fails", "_status")

    part = "status"

    def __init__(self, status: Status) -> None:
        self._status = status
        self._fails = status == "error"

    def accepts(self, call: ToolCall, moment: Moment | None) -> bool | None:
        failed = has_failed(call)
        return None if failed is None else failed is self._fails

    def differences_from(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        if self.accepts(call, moment) is not False:
            return ()
        return (Difference("status", self._status, "ok" if self._fails else f"error {value_text(call.error)}"),)


class FieldPart(CallPart):
    """The agent that made a call, or the turn it was made in."""

    __slots__ = ("_value", "part")

    part: Literal["agent", "turn"]  # type: ignore[misc]

    def __init__(self, part: Literal["agent", "turn"], value: str | int) -> None:
        self.part = part
        self._value = value

    def accepts(self, call: ToolCall, moment: Moment | None) -> bool | None:
        found = getattr(call, self.part)
        return None if found is None else bool(found == self._value)

    def differences_from(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        if self.accepts(call, moment) is not False:
            return ()
        return (Difference(self.part, value_text(self._value), value_text(getattr(call, self.part))),)


class PartsPattern(Pattern):
    """An expected call by several of its parts, or by a name with `*`: all of them have to be as expected."""

    __slots__ = ("_name_pattern", "_of_args", "parts")

    part = "args"

    def __init__(self, name: str | NamePattern, of_args: CallPattern, parts: Sequence[CallPart]) -> None:
        self._name_pattern = None if isinstance(name, str) else name
        self.name = name if isinstance(name, str) else name.written
        self._of_args = of_args
        self.parts = parts
        self.accepts_all = not parts
        self.index = None
        self.is_plain = False
        self.is_delicate = False
        self.literal = NOT_LITERAL
        self.spends = any([part.spends for part in parts])
        self.needs_moment = any([part.needs_moment for part in parts])

    @property
    def args(self) -> Any:
        """The expected arguments."""
        return self._of_args.args

    def takes(self, name: str) -> bool:
        return name == self.name if self._name_pattern is None else self._name_pattern.matches(name)

    def accepts(self, call: ToolCall) -> bool | None:
        return self.accepts_at(call, None)

    def accepts_at(self, call: ToolCall, moment: Moment | None) -> bool | None:
        known = True
        for part in self.parts:
            accepted = part.accepts(call, moment)
            if accepted is False:
                return False
            known = known and accepted is True
        return True if known else None

    def accepts_part(self, value: Any) -> bool:
        raise TypeError("a call of several parts is not compared by one of them")

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        return self.differences_at(call, None)

    def differences_at(self, call: ToolCall, moment: Moment | None) -> tuple[Difference, ...]:
        return tuple([each for found in self.differences_by_part(call, moment).values() for each in found])

    def differences_by_part(self, call: ToolCall, moment: Moment | None) -> Mapping[PartName, tuple[Difference, ...]]:
        """The differences of each part that is surely not as expected."""
        return {
            part.part: part.differences_from(call, moment) for part in self.parts if part.accepts(call, moment) is False
        }


def _fields(status: Any, agent: Any, turn: Any, where: str) -> list[CallPart]:
    parts: list[CallPart] = []
    if status is not None:
        if status not in STATUSES:
            raise ExpectationError(
                f"{where}.status is 'ok' or 'error', not {shown(status)}; {nearest(str(status), STATUSES)}"
            )
        parts.append(StatusPart(status))
    if agent is not None:
        if not isinstance(agent, str) or "*" in agent:
            raise ExpectationError(f"{where}.agent is the whole name of an agent, not {shown(agent)}")
        parts.append(FieldPart("agent", agent))
    if turn is not None:
        if isinstance(turn, bool) or not isinstance(turn, int) or turn < 0:
            raise ExpectationError(f"{where}.turn is the number of a turn, from 0, not {shown(turn)}")
        parts.append(FieldPart("turn", turn))
    return parts
