"""An expected call by any of its parts: a name or name pattern, arguments, output, status, agent and turn."""

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

from ._expectations import BEYOND, SOURCES, CallMoment
from ._names import ArgsPolicy, NamePattern
from ._patterns import NOT_LITERAL, CallPattern, OutputPattern, Pattern

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
    nth: int | None = None,
    as_text: bool = False,
    wildcards: bool = True,
    names: bool = False,
    where: str = "expected",
    limits: Limits = DEFAULT_LIMITS,
) -> Pattern:
    """Return the pattern of one expected call. Parts that are not given are not compared.

    A name with arguments alone becomes a `CallPattern`, which an index can answer. With `as_text`, outputs are compared
    as exact text; with `wildcards`, `*` in the name stands for any characters; with `names`, the arguments may contain
    `$bind` and `$ref`, which match any value until their names are resolved.

    Raises:
        ExpectationError: a part is not what it should be.
    """
    allows = BEYOND if names else SOURCES
    of_args = CallPattern(name, args, policy, where=f"{where}.args", limits=limits, allows=allows)
    is_pattern = wildcards and "*" in name
    is_alone = status is None and agent is None and turn is None and nth is None
    if is_alone and not is_pattern and output is UNSET:
        return of_args
    parts: list[CallPart] = [] if of_args.accepts_all else [ArgsPart(of_args)]
    if output is not UNSET:
        parts.append(OutputPart(OutputPattern(name, output, text=as_text, where=f"{where}.output", limits=limits)))
    parts += _fields(status, agent, turn, where)
    if not is_pattern and nth is None and len(parts) == (not of_args.accepts_all):
        return of_args
    return PartsPattern(NamePattern.of(name) if is_pattern else name, of_args, parts, _checked_nth(nth, where))


class CallPart(ABC):
    """One part of an expected call."""

    __slots__ = ()

    part: ClassVar[PartName]
    spends: bool = False
    needs_moment: bool = False

    @property
    @abstractmethod
    def shown(self) -> Any:
        """The expected value, as it is written."""

    @abstractmethod
    def accepts(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        """Return whether this part of a call is as expected; `None` if it was not recorded."""

    @abstractmethod
    def differences_from(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        """Return where this part differs from the expectation; empty if it was not recorded."""


class ArgsPart(CallPart):
    """The arguments of a call."""

    __slots__ = ("_pattern", "needs_moment", "spends")

    part = "args"

    def __init__(self, pattern: CallPattern) -> None:
        self._pattern = pattern
        self.spends = pattern.spends
        self.needs_moment = pattern.needs_moment

    @property
    def shown(self) -> Any:
        return self._pattern.args

    def accepts(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        return self._pattern.accepts_at(call, moment)

    def differences_from(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        return self._pattern.differences_at(call, moment)


class OutputPart(CallPart):
    """The output of a call."""

    __slots__ = ("_pattern", "spends")

    part = "output"

    def __init__(self, pattern: OutputPattern) -> None:
        self._pattern = pattern
        self.spends = pattern.spends

    @property
    def shown(self) -> Any:
        return self._pattern.output

    def accepts(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        return self._pattern.accepts(call)

    def differences_from(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        found = self._pattern.differences_from(call)
        return tuple([replace(each, path="output" + each.path.removeprefix("$")) for each in found])


class StatusPart(CallPart):
    """Whether a call succeeded. Unknown for a result that only reads like an error."""

    __slots__ = ("_fails", "_status")

    part = "status"

    def __init__(self, status: Status) -> None:
        self._status = status
        self._fails = status == "error"

    @property
    def shown(self) -> Any:
        return self._status

    def accepts(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        failed = has_failed(call)
        return None if failed is None else failed is self._fails

    def differences_from(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        if self.accepts(call, moment) is not False:
            return ()
        return (Difference("status", self._status, "ok" if self._fails else f"error {value_text(call.error)}"),)


class FieldPart(CallPart):
    """The agent that made a call, or the turn in which it was made."""

    __slots__ = ("_value", "part")

    part: Literal["agent", "turn"]  # type: ignore[misc]

    def __init__(self, part: Literal["agent", "turn"], value: str | int) -> None:
        self.part = part
        self._value = value

    @property
    def shown(self) -> Any:
        return self._value

    def accepts(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        found = getattr(call, self.part)
        return None if found is None else bool(found == self._value)

    def differences_from(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        if self.accepts(call, moment) is not False:
            return ()
        return (Difference(self.part, value_text(self._value), value_text(getattr(call, self.part))),)


class PartsPattern(Pattern):
    """An expected call by several parts, or by a name with `*`. All parts have to be as expected."""

    __slots__ = ("_name_pattern", "_of_args", "nth", "parts", "takes_every_name")

    part = "args"

    def __init__(
        self, name: str | NamePattern, of_args: CallPattern, parts: Sequence[CallPart], nth: int | None = None
    ) -> None:
        self.nth = nth
        self._name_pattern = None if isinstance(name, str) else name
        self.name = name if isinstance(name, str) else name.written
        self.takes_every_name = self._name_pattern is not None and self._name_pattern.takes_all
        self._of_args = of_args
        self.parts = parts
        self.accepts_all = not parts  # of the calls that `nth` selects
        self.index = None
        self.is_plain = False
        self.is_delicate = False
        self.is_equality = False
        self.literal = NOT_LITERAL
        self.spends = any([part.spends for part in parts])
        self.needs_moment = any([part.needs_moment for part in parts])

    @property
    def args(self) -> Any:
        """The expected arguments."""
        return self._of_args.args

    @property
    def shown(self) -> dict[str, Any]:
        """All expected parts in one object, as shown between the brackets of a call."""
        args = self.args if isinstance(self.args, dict) else {"args": self.args}
        beside = {part.part: part.shown for part in self.parts if part.part != "args"}
        return {**args, **beside, **({} if self.nth is None else {"nth": self.nth})}

    def takes(self, name: str) -> bool:
        return name == self.name if self._name_pattern is None else self._name_pattern.matches(name)

    def accepts(self, call: ToolCall) -> bool | None:
        return self.accepts_at(call, None)

    def accepts_at(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        known = True
        for part in self.parts:
            accepted = part.accepts(call, moment)
            if accepted is False:
                return False
            known = known and accepted is True
        return True if known else None

    def unknown_parts(self, call: ToolCall, moment: CallMoment | None) -> tuple[str, ...]:
        return tuple([part.part for part in self.parts if part.accepts(call, moment) is None])

    def accepts_part(self, value: Any) -> bool:
        raise AssertionError("a call of several parts is not compared by one of them")

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        return self.differences_at(call, None)

    def differences_at(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        return tuple([each for found in self.differences_by_part(call, moment).values() for each in found])

    def differences_by_part(
        self, call: ToolCall, moment: CallMoment | None
    ) -> Mapping[PartName, tuple[Difference, ...]]:
        """Return the differences of each part that surely differs."""
        return {
            part.part: part.differences_from(call, moment) for part in self.parts if part.accepts(call, moment) is False
        }


def _checked_nth(nth: Any, where: str) -> int | None:
    if nth is None or (isinstance(nth, int) and not isinstance(nth, bool) and nth != 0):
        return nth
    raise ExpectationError(f"{where}.nth is 1 for the first call of the tool, -1 for the last, not {shown(nth)}")


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
