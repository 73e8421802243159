"""Where a value comes from: `$from` asks whether an agent had seen it before, and which arguments are made up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from rightcall.errors import ExpectationError, LimitError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, spend
from rightcall.values.results import value_text
from rightcall.values.trajectory import Clock, ToolCall, Trajectory

from ._expectations import SOURCES, Compiler, Expectation, is_matcher
from ._moments import CallMoment
from ._names import tool_names
from ._operand import Matcher, Operand
from ._shelf import Shelf, ValuePath, leaves_of

ANYWHERE = "anywhere"
_PARTS = ("output", "args", "input")
_TRIED = 16
"""Places that are looked at in one step."""


class Source(msgspec.Struct, frozen=True):
    """Where a value should come from: a part of earlier calls of a tool, what the run was given, or anywhere."""

    tool: str | None
    """The tool, whose name may have `*` in it; `None` for the input, or anywhere."""
    part: Literal["output", "args", "input", "anywhere"]
    path: ValuePath | None = None

    @property
    def phrase(self) -> str:
        """The source as the end of a sentence that says that a value is not there."""
        at = "" if self.path is None or self.path.written == "$" else f" at {self.path.written}"
        if self.part == "anywhere":
            return "is in no output before it and not in the input"
        if self.part == "input":
            return f"is not in the input{at}"
        part = "output" if self.part == "output" else "arguments"
        return f"is in no {part} of `{self.tool}` before it{at}"


def source_of(operand: Operand) -> Source:
    """The source that `$from` says.

    Raises:
        ExpectationError: it says none.
    """
    written, where = operand.value, operand.where
    if written == ANYWHERE:
        return Source(None, "anywhere")
    if isinstance(written, str):
        return Source(_tool(written, where), "output")
    if not isinstance(written, dict):
        wanted = "the name of a tool, 'anywhere', or an object such as {call: search, output: $.id}"
        raise operand.wrong(wanted, written)
    for key in written:
        if key not in ("call", *_PARTS):
            raise ExpectationError(f"{where}: unknown key {shown(key)}; {nearest(str(key), ('call', *_PARTS))}")
    parts = [part for part in _PARTS if part in written]
    if len(parts) > 1:
        raise ExpectationError(f"{where} takes one of {', '.join(_PARTS)}, not {' and '.join(parts)}")
    if ("call" in written) == (parts == ["input"]):
        missing = "'call' names the tool; without it, 'input' is what the run was given"
        raise ExpectationError(f"{where}: {missing}, not {shown(written)}")
    path = ValuePath.of(written[parts[0]], f"{where}.{parts[0]}", operand.compiler.limits) if parts else None
    if parts == ["input"]:
        return Source(None, "input", path)
    part: Literal["output", "args"] = "args" if parts == ["args"] else "output"
    return Source(_tool(written["call"], f"{where}.call"), part, path)


def _tool(name: Any, where: str) -> str:
    if not isinstance(name, str) or not name:
        raise ExpectationError(f"{where} takes the name of a tool, not {shown(name)}")
    return name


class FromSource(Expectation):
    """A value that was seen at a source before. What had been seen depends on the moment of the call."""

    __slots__ = ("source",)

    needs_moment = True

    def __init__(self, source: Source) -> None:
        self.source = source

    def matches(self, actual: Any) -> bool:
        raise TypeError("where a value comes from is not known without the moment of its call")

    def at(self, moment: CallMoment) -> Expectation:
        def test(actual: Any) -> bool:
            held = history_of(moment.trajectory).has_seen(self.source, actual, moment.position)
            return held is True or (held is None and not moment.surely)

        return Matcher(test)


def history_of(trajectory: Trajectory) -> History:
    """The history of a run, made once for each trajectory."""
    # A cache beside the values, as `cached_property` has it: a trajectory never changes.
    kept = trajectory.__dict__
    found: History | None = kept.get("_history")
    return found if found is not None else kept.setdefault("_history", History(trajectory))


def seen_before(trajectory: Trajectory, position: int, value: Any, tool: str | None) -> bool:
    """Return whether an agent had surely seen a value when it made a call: in an output of a tool, or anywhere."""
    source = Source(None, "anywhere") if tool is None else Source(tool, "output")
    try:
        with Budget():
            return history_of(trajectory).has_seen(source, value, position) is True
    except LimitError:  # too long to look for, so nothing is claimed
        return False


class History:
    """What the agent of one run had seen at each of its calls: earlier outputs, and what it was given."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._run = trajectory
        self._calls = trajectory.calls
        self._unordered = sorted(trajectory.unordered)
        self._clock = Clock(trajectory)
        self._shelves: dict[Source, tuple[Shelf, list[int]]] = {}

    def has_seen(self, source: Source, value: Any, position: int) -> bool | None:
        """Return whether a value was seen at a source before the call at `position`; `None` if the trace can't tell.

        Raises:
            LimitError: looking for it takes more steps than are left.
        """
        if source.path is not None:
            return self._has_seen(source, value, position)
        leaves = leaves_of(value)
        spend(1 + len(leaves) // 4)
        answers = {self._has_seen(source, leaf, position) for leaf in leaves}
        return False if False in answers else None if None in answers else True

    def unseen(self, source: Source, value: Any, position: int) -> Any:
        """The first part of a value that was surely not seen; the value itself where it counts as a whole."""
        if source.path is not None:
            return value
        return next((leaf for leaf in leaves_of(value) if self._has_seen(source, leaf, position) is False), value)

    def sample(self, source: Source, position: int) -> tuple[int, list[str]]:
        """How many different values were surely seen at a source before a call, and the first of them as text."""
        shelves = [self._shelf(each) for each in _single(source)]
        counted = [
            shelf.sample(lambda number, each=each: self._is_earlier(each, number, position) is True)  # type: ignore[misc]
            for each, (shelf, _) in zip(_single(source), shelves, strict=True)
        ]
        return sum([count for count, _ in counted]), [text for _, texts in counted for text in texts][:3]

    def _has_seen(self, source: Source, value: Any, position: int) -> bool | None:
        known = True
        for each in _single(source):
            shelf, unrecorded = self._shelf(each)
            for holders in shelf.holders(value):
                earlier = self._earlier(each, holders, position)
                if earlier is True:
                    return True
                known = known and earlier is False
            known = known and self._earlier(each, unrecorded, position) is False
        return False if known and (source.part == "input" or self._run.calls_recorded) else None

    def _earlier(self, source: Source, numbers: list[int], position: int) -> bool | None:
        """Return whether one of several places was surely seen before, or may have been."""
        answer: bool | None = False
        for tried, number in enumerate(numbers):
            if tried % _TRIED == 0:
                spend(1)
            earlier = self._is_earlier(source, number, position)
            if earlier is True:
                return True
            answer = answer if earlier is False else None
        return answer

    def _is_earlier(self, source: Source, number: int, position: int) -> bool | None:
        if source.part == "input":
            turn = self._calls[position].turn
            return True if number == 0 else None if turn is None else number <= turn
        return self._had_ended(number, position)

    def _had_ended(self, earlier: int, position: int) -> bool | None:
        """Return whether what came of one call was known when another was made."""
        first, second = self._calls[earlier], self._calls[position]
        if earlier == position or (first.group is not None and first.group == second.group):
            return False
        if self._clock.made(earlier, position):
            return False
        if self._is_unordered(earlier, position):
            return None
        if earlier > position:
            return False
        return first.end_ns is None or second.start_ns is None or first.end_ns <= second.start_ns

    def _is_unordered(self, one: int, other: int) -> bool:
        low, high = min(one, other), max(one, other)
        place = bisect_right(self._unordered, (low, len(self._calls)))
        return place > 0 and high < self._unordered[place - 1][1]

    def _shelf(self, source: Source) -> tuple[Shelf, list[int]]:
        """What was seen at a source, and where something was seen that the trace did not record."""
        found = self._shelves.get(source)
        if found is None:
            entries = list(self._inputs() if source.part == "input" else self._parts(source))
            shelf = Shelf([(number, value) for number, value in entries if value is not _UNRECORDED], source.path)
            found = shelf, [number for number, value in entries if value is _UNRECORDED]
            self._shelves[source] = found
        return found

    def calls_of(self, tool: str | None, end: int) -> Iterator[tuple[int, ToolCall]]:
        """Yield the calls of a tool before a position, each with its own; those of all tools if none is named."""
        names = None if tool is None else tool_names([tool])
        for position, call in enumerate(self._calls[:end]):
            if names is None or call.name in names:
                yield position, call

    def _parts(self, source: Source) -> Iterator[tuple[int, Any]]:
        for position, call in self.calls_of(source.tool, len(self._calls)):
            yield from [(position, value) for value in _part_of(call, source.part)]

    def _inputs(self) -> Iterator[tuple[int, Any]]:
        """What the run was given, and then each turn, by its number."""
        run = self._run
        if run.input is None and not run.turn_inputs:
            yield 0, _UNRECORDED
        if run.input is not None:
            yield 0, run.input
        yield from ((turn, _UNRECORDED if given is None else given) for turn, given in enumerate(run.turn_inputs))


_UNRECORDED = object()


def _single(source: Source) -> tuple[Source, ...]:
    """The sources that one is made of."""
    return _EVERYWHERE if source.part == "anywhere" else (source,)


_EVERYWHERE = (Source(None, "output"), Source(None, "input"))


def _part_of(call: ToolCall, part: str) -> list[Any]:
    """The output or the arguments of a call, if there are any."""
    if part == "args":
        return [_UNRECORDED if call.args is None and "args" in call.unrecorded else call.args]
    if call.output is not None or "output" not in call.unrecorded:
        return [] if call.output is None and call.error is not None else [call.output]
    return [] if call.error is not None else [_UNRECORDED]


_MOST = 20


class MadeUp(msgspec.Struct, frozen=True):
    """An argument that was seen at no source before."""

    argument: str
    """The path of the argument, as people write it: `id`, `seats[0]`."""
    value: Any
    """What was not seen: the argument, or the first value inside of it."""
    source: Source
    seen: int
    """How many different values were seen at the source before the call."""
    examples: tuple[str, ...]
    """The first of these as text."""
    was_called: bool = True
    """Whether a call of the source's tool came before. If none did, its name may be misspelt."""

    def __str__(self) -> str:
        told = f"{self.argument} {value_text(self.value, 60)} {self.source.phrase}"
        if not self.was_called:
            return f"{told} (no call of it came before)"
        if not self.seen:
            return f"{told} (nothing there)"
        more = ", …" if self.seen > len(self.examples) else ""
        return f"{told} ({self.seen:,} value{'s' * (self.seen > 1)} there: {', '.join(self.examples)}{more})"


def made_up_values(expected: Any, call: ToolCall, moment: CallMoment | None) -> tuple[MadeUp, ...]:
    """The arguments of a call that surely do not come from where the expected arguments say, at most 20 of them.

    Those inside of another matcher, such as `$anyOf`, are not reported: they are one way of several.
    """
    if moment is None or call.args is None:
        return ()
    found: list[MadeUp] = []
    with Budget():
        try:
            for path, source, value in _asked(expected, call.args, ""):
                if (
                    len(found) < _MOST
                    and history_of(moment.trajectory).has_seen(source, value, moment.position) is False
                ):
                    found.append(_told(path, source, value, moment))
        except LimitError:
            pass  # The verdict is settled by now: an explanation that is too expensive is shorter.
    return tuple(found)


def _told(path: str, source: Source, value: Any, moment: CallMoment) -> MadeUp:
    history = history_of(moment.trajectory)
    seen, examples = history.sample(source, moment.position)
    was_called = source.tool is None or any(True for _ in history.calls_of(source.tool, moment.position))
    return MadeUp(path, history.unseen(source, value, moment.position), source, seen, tuple(examples), was_called)


def _asked(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Source, Any]]:
    """Every place where a value should come from a source, with the actual value there."""
    if is_matcher(expected):
        if "$from" in expected:
            operand = Operand(expected["$from"], "$from", Compiler(DEFAULT_LIMITS, SOURCES))
            yield path or "the arguments", source_of(operand), actual
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, item in expected.items():
            if key in actual:
                yield from _asked(item, actual[key], f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (item, value) in enumerate(zip(expected, actual, strict=False)):
            yield from _asked(item, value, f"{path}[{index}]")
