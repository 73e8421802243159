"""One rule of a mock: which calls it answers, and what with."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, InputError, MockError, nearest, shown
from rightcall.limits import Budget, Limits
from rightcall.matching.matchers import CallPattern, Expectation, compile_value
from rightcall.running.tracing import Answer
from rightcall.values.decoding import admit
from rightcall.values.trajectory import ToolCall

from ._exceptions import exception_named

Place = tuple[str | int, ...]

_OUTCOMES = ("returns", "sequence", "raises", "then")
_KEYS = ("when", "positional", *_OUTCOMES, "each")


class Outcome(msgspec.Struct, frozen=True):
    """What one call is answered with: a value, or an exception by name."""

    value: Any = None
    raises: str | None = None
    message: str | None = None

    def answer(self, where: str) -> Answer:
        """The answer, new each time: what an agent does to a value does not show in the next one."""
        if self.raises is None:
            return Answer(admit(self.value))
        return Answer(error=exception_named(self.raises, () if self.message is None else (self.message,), where))


class Rule:
    """One rule: the calls that it is for, and the outcomes that they have, one after the other."""

    def __init__(self, tool: str, written: Any, place: Place, limits: Limits) -> None:
        self._tool = tool
        self._limits = limits
        _check_keys(tool, written, place)
        self._pattern = _pattern(tool, written, place, limits)
        self._positional = _positional(tool, written, place, limits)
        self._outcomes, self._repeats = _outcomes(tool, written, place, limits)
        self._lock = threading.Lock()
        self._used = 0

    def is_for(self, args: dict[str, Any]) -> bool:
        """Whether it answers a call with these arguments, which are in the order of the tool's parameters."""
        with Budget(self._limits.steps):
            if len(self._positional) > len(args) or not self._pattern.accepts(ToolCall(self._tool, args, None)):
                return False
            return all(item.matches(value) for item, value in zip(self._positional, args.values(), strict=False))

    def answer(self) -> Answer:
        """The next outcome. Raises `MockError` when there is none left."""
        with self._lock:
            number = self._used
            self._used += 1
        if number >= len(self._outcomes) and not self._repeats:
            raise MockError(
                f"the mock of {shown(self._tool)} has a sequence of {len(self._outcomes)}, which is used up: "
                f"this is call {number + 1}"
            )
        return self._outcomes[min(number, len(self._outcomes) - 1)].answer(f"the mock of {shown(self._tool)}")


def _check_keys(tool: str, written: Any, place: Place) -> None:
    if not isinstance(written, Mapping):
        raise _wrong(tool, f"an object such as {{returns: …}} is expected, not {shown(written)}", place)
    for key in written:
        if key not in _KEYS:
            raise _wrong(tool, f"unknown key {shown(key)}; {nearest(str(key), _KEYS)}", (*place, key))
    given = [key for key in _OUTCOMES if key in written]
    if len(given) != 1:
        said = f"not {' and '.join(given)}" if given else "and none is given"
        raise _wrong(tool, f"a rule has one of {', '.join(_OUTCOMES)}, {said}", (*place, *given[-1:]))


def _pattern(tool: str, written: Mapping[str, Any], place: Place, limits: Limits) -> CallPattern:
    when = written.get("when", {})
    if not isinstance(when, Mapping):
        raise _wrong(tool, f"'when' is an object of arguments, not {shown(when)}", (*place, "when"))
    try:
        return CallPattern(tool, when, "subset", where="when", limits=limits)
    except CriteriaError as problem:
        raise _wrong(tool, str(problem), (*place, "when", *_wrong_key(when, limits))) from None


def _wrong_key(when: Mapping[str, Any], limits: Limits) -> Place:
    """The argument whose expectation is wrong, where it is one."""
    for key, value in when.items():
        try:
            CallPattern("", {key: value}, "subset", limits=limits)
        except CriteriaError:
            return (key,)
    return ()


def _positional(tool: str, written: Mapping[str, Any], place: Place, limits: Limits) -> list[Expectation]:
    values, at = written.get("positional", []), (*place, "positional")
    if not isinstance(values, list):
        raise _wrong(tool, f"'positional' is a list of values, not {shown(values)}", at)
    made = []
    for number, value in enumerate(values):
        try:
            made.append(compile_value(value, limits, where=f"positional[{number}]"))
        except CriteriaError as problem:
            raise _wrong(tool, str(problem), (*at, number)) from None
    return made


def _outcomes(tool: str, written: Mapping[str, Any], place: Place, limits: Limits) -> tuple[list[Outcome], bool]:
    """The outcomes of a rule, and whether the last one is repeated."""
    each = written.get("each", False)
    if not isinstance(each, bool) or (each and "returns" not in written):
        raise _wrong(tool, "'each' is true or false, and stands beside 'returns'", (*place, "each"))
    if "sequence" in written or each:
        key = "returns" if each else "sequence"
        values = _list(tool, written[key], (*place, key))
        return [Outcome(_value(tool, item, (*place, key, n), limits)) for n, item in enumerate(values)], False
    if "then" in written:
        values = _list(tool, written["then"], (*place, "then"))
        return [_step(tool, item, (*place, "then", n), limits) for n, item in enumerate(values)], True
    return [_outcome(tool, written, place, limits)], True


def _step(tool: str, written: Any, place: Place, limits: Limits) -> Outcome:
    if not isinstance(written, Mapping) or len(written) != 1 or not written.keys() <= {"returns", "raises"}:
        raise _wrong(tool, f"a step is {{returns: …}} or {{raises: …}}, not {shown(written)}", place)
    return _outcome(tool, written, place, limits)


def _outcome(tool: str, written: Mapping[str, Any], place: Place, limits: Limits) -> Outcome:
    if "returns" in written:
        return Outcome(_value(tool, written["returns"], (*place, "returns"), limits))
    raises, at = written["raises"], (*place, "raises")
    if isinstance(raises, str):
        raises = {"type": raises}
    if not isinstance(raises, Mapping) or not raises.keys() <= {"type", "message"}:
        raise _wrong(tool, f"'raises' is a name or {{type: …, message: …}}, not {shown(raises)}", at)
    name, message = raises.get("type"), raises.get("message")
    if not isinstance(name, str) or not name:
        raise _wrong(tool, f"the type of an exception is its name, not {shown(name)}", at)
    if not isinstance(message, (str, type(None))):
        raise _wrong(tool, f"the message of an exception is a text, not {shown(message)}", (*at, "message"))
    return Outcome(raises=name, message=message)


def _list(tool: str, written: Any, place: Place) -> list[Any]:
    if not isinstance(written, list) or not written:
        raise _wrong(tool, f"a list is expected that is not empty, not {shown(written)}", place)
    return written


def _value(tool: str, written: Any, place: Place, limits: Limits) -> Any:
    try:
        return admit(written, limits, where=str(place[-1]))
    except InputError as problem:
        raise _wrong(tool, str(problem), place) from None


def _wrong(tool: str, message: str, place: Place) -> CriteriaError:
    return CriteriaError(f"the mock of {shown(tool)}: {message}", place)
