"""The mocks of a case, ready to answer the calls of one run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, InputError, MockError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits
from rightcall.matching.matchers import CallPattern, Expectation, NamePattern, compile_value
from rightcall.running.tracing import ToolAnswer
from rightcall.values.decoding import admit
from rightcall.values.trajectory import ToolCall

from ._stubs import MockLog, exception_named

KeyPath = tuple[str | int, ...]

_OUTCOMES = ("returns", "sequence", "raises", "then")
_KEYS = ("when", "positional", *_OUTCOMES, "each")


class Mocks(MockLog):
    """The mocks of one run of a case. Sequences advance as they are used, so each run needs its own.

    Only the tools named here are mocked, and names are only compared with those of called tools: nothing is looked up,
    imported or called because a file names it. `*` in a name stands for any characters; a tool's own name goes first.
    """

    def __init__(self, rules: Mapping[str, tuple[Rule, ...]]) -> None:
        super().__init__()
        self._rules = rules
        self._starred = [(NamePattern.of(tool), held) for tool, held in rules.items() if "*" in tool]

    @classmethod
    def of(cls, written: Mapping[str, Any], limits: Limits = DEFAULT_LIMITS) -> Mocks:
        """Compile the mocks of an eval set: for each tool a rule, or a list of rules. The first one that fits answers.

        A rule may have `when`, the arguments it is for, compared like expected arguments (other arguments are ignored);
        without it, the rule is for every call. `positional` compares the first arguments by position. It has one of
        `returns`, a value; `sequence`, the values of successive calls; `raises`, the name of an exception, or
        `{type, message}`; `then`, a list of `{returns: …}` and `{raises: …}`, the last of which is repeated. With
        `each: true`, `returns` is a sequence.

        Raises:
            CriteriaError: the mocks are invalid; its `path` says where.
        """
        if not isinstance(written, Mapping):
            raise CriteriaError(f"mocks are an object with the names of tools as keys, not {shown(written)}")
        return cls({tool: _rules(tool, rules, limits) for tool, rules in written.items()})

    def answer(self, tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        """Return the answer to a call; None if the tool is not mocked.

        Raises:
            MockError: the tool is mocked, but no rule fits this call, or its sequence is used up.
        """
        rules = self._rules_for(tool)
        if rules is None:
            return None
        return self._answer_logged(tool, lambda: _answer(tool, args, rules))

    def answers_for(self, tool: str) -> bool:
        """Whether a tool is mocked here."""
        return self._rules_for(tool) is not None

    def _rules_for(self, tool: str) -> tuple[Rule, ...] | None:
        """The rules under the name of a tool, or else under the first name with `*` that it fits."""
        rules = self._rules.get(tool)
        return rules or next((held for pattern, held in self._starred if pattern.matches(tool)), None)


def _answer(tool: str, args: dict[str, Any], rules: tuple[Rule, ...]) -> ToolAnswer:
    for rule in rules:
        if rule.is_for(args):
            return rule.answer()
    raise MockError(f"no mock of {shown(tool)} matches {shown(args)}; add a rule for it, or one without 'when'")


def _rules(tool: Any, written: Any, limits: Limits) -> tuple[Rule, ...]:
    if not isinstance(tool, str) or not 0 < len(tool) <= limits.name_length:
        raise CriteriaError(
            f"a tool's name has 1 to {limits.name_length:,} characters; {shown(tool)} is not a name", (tool,)
        )
    if not isinstance(written, list):
        return (Rule(tool, written, (tool,), limits),)
    if not written:
        raise CriteriaError(f"the mock of {shown(tool)} has no rules", (tool,))
    return tuple([Rule(tool, rule, (tool, number), limits) for number, rule in enumerate(written)])


class MockOutcome(msgspec.Struct, frozen=True):
    """The answer to one call: a value, or an exception by name."""

    value: Any = None
    raises: str | None = None
    message: str | None = None

    def answer(self, where: str) -> ToolAnswer:
        """Return a new copy of the answer: an agent that changes a value must not change the next answer."""
        if self.raises is None:
            return ToolAnswer(admit(self.value))
        return ToolAnswer(error=exception_named(self.raises, () if self.message is None else (self.message,), where))


class Rule:
    """One rule of a mock: the calls it is for, and their outcomes, one after the other."""

    def __init__(self, tool: str, written: Any, place: KeyPath, limits: Limits) -> None:
        self._tool = tool
        self._limits = limits
        _check_keys(tool, written, place)
        self._pattern = _pattern(tool, written, place, limits)
        self._positional = _positional(tool, written, place, limits)
        self._outcomes, self._repeats = _outcomes(tool, written, place, limits)
        self._lock = threading.Lock()
        self._used = 0

    def is_for(self, args: dict[str, Any]) -> bool:
        """Whether the rule is for a call with these arguments, given in the order of the tool's parameters."""
        with Budget(self._limits.steps):
            if len(self._positional) > len(args) or not self._pattern.accepts(ToolCall(self._tool, args, None)):
                return False
            return all(item.matches(value) for item, value in zip(self._positional, args.values(), strict=False))

    def answer(self) -> ToolAnswer:
        """Return the next outcome. Raises `MockError` if there is none left."""
        with self._lock:
            number = self._used
            self._used += 1
        if number >= len(self._outcomes) and not self._repeats:
            raise MockError(
                f"the mock of {shown(self._tool)} has a sequence of {len(self._outcomes)}, which is used up: "
                f"this is call {number + 1}"
            )
        return self._outcomes[min(number, len(self._outcomes) - 1)].answer(f"the mock of {shown(self._tool)}")


def _check_keys(tool: str, written: Any, place: KeyPath) -> None:
    if not isinstance(written, Mapping):
        raise _wrong(tool, f"expected an object such as {{returns: …}}, not {shown(written)}", place)
    for key in written:
        if key not in _KEYS:
            raise _wrong(tool, f"unknown key {shown(key)}; {nearest(str(key), _KEYS)}", (*place, key))
    given = [key for key in _OUTCOMES if key in written]
    if len(given) != 1:
        instead = f"not {' and '.join(given)}" if given else "and none is given"
        raise _wrong(tool, f"a rule has one of {', '.join(_OUTCOMES)}, {instead}", (*place, *given[-1:]))


def _pattern(tool: str, written: Mapping[str, Any], place: KeyPath, limits: Limits) -> CallPattern:
    when = written.get("when", {})
    if not isinstance(when, Mapping):
        raise _wrong(tool, f"'when' is an object of arguments, not {shown(when)}", (*place, "when"))
    try:
        return CallPattern(tool, when, "subset", where="when", limits=limits)
    except CriteriaError as problem:
        raise _wrong(tool, str(problem), (*place, "when", *_wrong_key(when, limits))) from None


def _wrong_key(when: Mapping[str, Any], limits: Limits) -> KeyPath:
    """Return the key of the argument whose expectation is invalid, if it is a single one."""
    for key, value in when.items():
        try:
            CallPattern("", {key: value}, "subset", limits=limits)
        except CriteriaError:
            return (key,)
    return ()


def _positional(tool: str, written: Mapping[str, Any], place: KeyPath, limits: Limits) -> list[Expectation]:
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


def _outcomes(tool: str, written: Mapping[str, Any], place: KeyPath, limits: Limits) -> tuple[list[MockOutcome], bool]:
    """Return the outcomes of a rule, and whether the last one is repeated."""
    each = written.get("each", False)
    if not isinstance(each, bool) or (each and "returns" not in written):
        raise _wrong(tool, "'each' is true or false, and needs 'returns'", (*place, "each"))
    if "sequence" in written or each:
        key = "returns" if each else "sequence"
        values = _list(tool, written[key], (*place, key))
        return [MockOutcome(_value(tool, item, (*place, key, n), limits)) for n, item in enumerate(values)], False
    if "then" in written:
        values = _list(tool, written["then"], (*place, "then"))
        return [_step(tool, item, (*place, "then", n), limits) for n, item in enumerate(values)], True
    return [_outcome(tool, written, place, limits)], True


def _step(tool: str, written: Any, place: KeyPath, limits: Limits) -> MockOutcome:
    if not isinstance(written, Mapping) or len(written) != 1 or not written.keys() <= {"returns", "raises"}:
        raise _wrong(tool, f"a step is {{returns: …}} or {{raises: …}}, not {shown(written)}", place)
    return _outcome(tool, written, place, limits)


def _outcome(tool: str, written: Mapping[str, Any], place: KeyPath, limits: Limits) -> MockOutcome:
    if "returns" in written:
        return MockOutcome(_value(tool, written["returns"], (*place, "returns"), limits))
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
    return MockOutcome(raises=name, message=message)


def _list(tool: str, written: Any, place: KeyPath) -> list[Any]:
    if not isinstance(written, list) or not written:
        raise _wrong(tool, f"expected a list that is not empty, not {shown(written)}", place)
    return written


def _value(tool: str, written: Any, place: KeyPath, limits: Limits) -> Any:
    try:
        return admit(written, limits, where=str(place[-1]))
    except InputError as problem:
        raise _wrong(tool, str(problem), place) from None


def _wrong(tool: str, message: str, place: KeyPath) -> CriteriaError:
    return CriteriaError(f"the mock of {shown(tool)}: {message}", place)
