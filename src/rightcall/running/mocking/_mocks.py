"""The mocks of a case, which answer tool calls, and observers of real tools, during one run.

This includes tools with UiPath's own `@mockable`: it asks a mocker in a context variable of UiPath's package, which we
set. The package is not imported for that, only used if the agent has imported it.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Protocol, TypeGuard

import msgspec

from rightcall.errors import CriteriaError, InputError, MockError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits
from rightcall.matching.matchers import CallPattern, Expectation, NamePattern, compile_value
from rightcall.running.frameworks import stand_in_for_frameworks
from rightcall.running.tracing import (
    ToolAnswer,
    ToolObserver,
    plain_arguments,
    propagate,
    thread_patches,
    tool_observer,
    tool_stub,
)
from rightcall.values.decoding import admit
from rightcall.values.trajectory import ToolCall

_UIPATH_MODULE = "uipath.eval.mocks._mock_context"
KeyPath = tuple[str | int, ...]

_OUTCOMES = ("returns", "sequence", "raises", "then")
_KEYS = ("when", "positional", *_OUTCOMES, "each")


def exception_named(name: str, arguments: Sequence[Any], where: str) -> Exception:
    """Make an exception of the type with this name: `KeyError`, `RateLimitError`, `shop.errors.SoldOut`.

    A name with a module is looked up in that module, if it is imported; a name without one among Python's exceptions,
    then in all imported modules.

    Raises:
        MockError: no type, or more than one, has this name, or it is not an `Exception`.
    """
    kind = _type_named(name, where)
    try:
        return kind(*arguments)
    except Exception:  # noqa: BLE001 - some constructors need more arguments; agents only look at the type
        made: Exception = kind.__new__(kind, *arguments)
        made.args = tuple(arguments)
        return made


def _type_named(name: str, where: str) -> type[Exception]:
    found = list(dict.fromkeys(_candidates(name)))
    if not found:
        known = [each for each in dir(builtins) if _is_exception(getattr(builtins, each))]
        raise MockError(
            f"{where} raises {shown(name)}, which is neither an exception of Python nor in a loaded module; "
            f"{nearest(name, known) if '.' not in name else 'is its module imported by the agent?'}"
        )
    if len(found) > 1:
        places = ", ".join(sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in found)[:5])
        raise MockError(f"{where} raises {shown(name)}, and there are several: {places}; write it with its module")
    return found[0]


def _candidates(name: str) -> Iterator[type[Exception]]:
    own = vars(builtins).get(name)
    if _is_exception(own):
        yield own
        return
    module_name, dot, inner = name.rpartition(".")
    if not dot:
        for module in list(sys.modules.values()):
            # Not `getattr(module, name)`: a module's `__getattr__` (PEP 562) may import something.
            value = getattr(module, "__dict__", {}).get(name)
            if _is_exception(value):
                yield value
    while module_name:
        found = _inside(sys.modules.get(module_name), inner)
        if found is not None:
            yield found
            return
        module_name, _, last = module_name.rpartition(".")
        inner = f"{last}.{inner}"


def _inside(module: ModuleType | None, path: str) -> type[Exception] | None:
    value: Any = module
    for step in path.split("."):
        if not isinstance(value, (ModuleType, type)):
            return None
        value = vars(value).get(step)
    return value if _is_exception(value) else None


def _is_exception(value: Any) -> TypeGuard[type[Exception]]:
    return isinstance(value, type) and issubclass(value, Exception)


class MockLog:
    """Which tools a mock was asked to answer for, and the calls that it could not answer."""

    def __init__(self) -> None:
        self._log_lock = threading.Lock()
        self._problems: list[MockError] = []
        self._asked: set[str] = set()

    def was_asked(self, tool: str) -> bool:
        """Whether any call of a tool came here. If not, a mocked tool that was called ran for real."""
        return tool in self._asked

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The calls that could not be answered. Each makes the case an error, even if the agent handled it."""
        with self._log_lock:
            return tuple(self._problems)

    def _answer_logged(self, tool: str, find: Callable[[], ToolAnswer | None]) -> ToolAnswer | None:
        """Return the answer of `find`, and log the call, whether or not there is an answer."""
        self._asked.add(tool)
        try:
            return find()
        except MockError as problem:
            with self._log_lock:
                self._problems.append(problem)
            raise


class ToolMock(Protocol):
    """Answers tool calls: `Mocks` or a `Replay`."""

    def answer(self, tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        """Return the answer to a call; None to leave it to the next mock."""


@contextmanager
def use_mocks(*mocks: ToolMock) -> Iterator[None]:
    """Let mocks answer tool calls, in this context and in the threads and tasks it starts.

    Mocks answer for decorated functions, for tools of MCP sessions, and for tools of the frameworks in `ADAPTERS` of
    `rightcall.running.frameworks`.

    The first mock that has an answer is used. If none has, the mocks of an outer block are asked; then the tool runs.
    """
    outer = tool_stub.get()

    def ask(tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        for mock in mocks:
            answer = mock.answer(tool, args)
            if answer is not None:
                return answer
        return outer(tool, args) if outer is not None else None

    stand_in_for_frameworks()
    with thread_patches, _uipath_mocker():
        token = tool_stub.set(ask)
        try:
            yield
        finally:
            tool_stub.reset(token)


standing_in = use_mocks
"""An earlier name of `use_mocks`, kept for compatibility."""


@contextmanager
def recording_to(observer: ToolObserver) -> Iterator[None]:
    """Report the results of real tools to an observer, in this context and in the threads and tasks it starts."""
    stand_in_for_frameworks()
    with thread_patches, _uipath_mocker():
        token = tool_observer.set(observer)
        try:
            yield
        finally:
            tool_observer.reset(token)


@contextmanager
def _uipath_mocker() -> Iterator[None]:
    """Act as the mocker of UiPath's `@mockable`, if that is imported."""
    variable = getattr(sys.modules.get(_UIPATH_MODULE), "mocker_context", None)
    if not isinstance(variable, ContextVar):
        yield
        return
    propagate(variable)
    token = variable.set(_UiPathMocker())
    try:
        yield
    finally:
        variable.reset(token)


class _UiPathMocker:
    """A mocker with UiPath's interface."""

    async def response(self, func: Callable[..., Any], params: dict[str, Any], invocation: Any) -> Any:
        """Return the stub's answer to a call, or what the function itself returns.

        Raises:
            UiPathNoMockFoundError: there is neither an answer nor an observer; then UiPath calls the function.
        """
        args, kwargs = invocation
        tool, named = str(params.get("name")), plain_arguments(func, args, kwargs)
        stub, observer = tool_stub.get(), tool_observer.get()
        answer = stub(tool, named) if stub is not None else None
        if answer is not None:
            return answer.given()
        no_mock = getattr(sys.modules.get(_UIPATH_MODULE), "UiPathNoMockFoundError", None)
        if observer is None and no_mock is not None:
            raise no_mock
        try:
            value = func(*args, **kwargs)
            value = await value if inspect.isawaitable(value) else value
        except Exception as error:
            if observer is not None:
                observer(tool, named, ToolAnswer(error=error))
            raise
        if observer is not None:
            observer(tool, named, ToolAnswer(value))
        return value


class Mocks(MockLog):
    """The mocks of one run of a case. Sequences advance as they are used, so each run needs its own.

    Only the tools named here are mocked. Names are only compared with those of called tools: nothing is looked up,
    imported or called because a file names it. `*` in a name stands for any characters; an exact name takes precedence.
    """

    def __init__(self, rules: Mapping[str, tuple[Rule, ...]]) -> None:
        super().__init__()
        self._rules = rules
        self._starred = [(NamePattern.of(tool), value) for tool, value in rules.items() if "*" in tool]

    @classmethod
    def of(cls, written: Mapping[str, Any], limits: Limits = DEFAULT_LIMITS) -> Mocks:
        """Compile the mocks of an eval set: for each tool a rule, or a list of rules, of which the first match answers.

        `when` limits a rule to calls with certain arguments, compared like expected arguments (others are ignored);
        `positional` compares the first arguments by position. Without them a rule matches every call. A rule has one of
        `returns`, a value; `sequence`, the values of successive calls; `raises`, the name of an exception, or
        `{type, message}`; `then`, a list of `{returns: …}` and `{raises: …}`, of which the last is repeated. With
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
        """Return the rules for the exact name of a tool, else for the first name with `*` that it matches."""
        rules = self._rules.get(tool)
        return rules or next((starred for pattern, starred in self._starred if pattern.matches(tool)), None)


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
    """The answer to one call: a value, or the name of an exception."""

    value: Any = None
    raises: str | None = None
    message: str | None = None

    def answer(self, where: str) -> ToolAnswer:
        """Return a new copy of the answer, so that an agent that modifies it does not change the next one."""
        if self.raises is None:
            return ToolAnswer(admit(self.value))
        return ToolAnswer(error=exception_named(self.raises, () if self.message is None else (self.message,), where))


class Rule:
    """One rule of a mock: which calls it matches, and their outcomes in order."""

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
        """Whether the rule matches a call with these arguments, given in the order of the tool's parameters."""
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
    """Return the key of the first argument whose expectation is invalid on its own, if any."""
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
        raise _wrong(tool, f"the message of an exception is a string, not {shown(message)}", (*at, "message"))
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
