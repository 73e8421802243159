"""Answer for tools, or observe them, for the length of a `with` block, and find the exceptions that answers name.

Tools with UiPath's own `@mockable` are included: it asks a mocker in a context variable of UiPath's package, where we
put ours. Nothing is imported for that: an agent that does not use the package has not loaded it.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Protocol, TypeGuard

from rightcall.errors import MockError, nearest, shown
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

_UIPATH_MODULE = "uipath.eval.mocks._mock_context"


def exception_named(name: str, arguments: Sequence[Any], where: str) -> Exception:
    """Make an exception of the type with this name: `KeyError`, `RateLimitError`, `shop.errors.SoldOut`.

    A name with a module is looked up in that module, if it is loaded; one without among the exceptions of Python, then
    in all loaded modules.

    Raises:
        MockError: no type, or more than one, has this name, or it is not an `Exception`.
    """
    kind = _type_named(name, where)
    try:
        return kind(*arguments)
    except Exception:  # noqa: BLE001 - some need more arguments; the type is what an agent looks at
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
            # `__dict__` and not `getattr`: a module's `__getattr__` (PEP 562) may import something.
            held = getattr(module, "__dict__", {}).get(name)
            if _is_exception(held):
                yield held
    while module_name:
        found = _inside(sys.modules.get(module_name), inner)
        if found is not None:
            yield found
            return
        module_name, _, last = module_name.rpartition(".")
        inner = f"{last}.{inner}"


def _inside(module: ModuleType | None, path: str) -> type[Exception] | None:
    held: Any = module
    for step in path.split("."):
        if not isinstance(held, (ModuleType, type)):
            return None
        held = vars(held).get(step)
    return held if _is_exception(held) else None


def _is_exception(value: Any) -> TypeGuard[type[Exception]]:
    return isinstance(value, type) and issubclass(value, Exception)


class MockLog:
    """The tools that a mock was asked for, and the calls that it could not answer."""

    def __init__(self) -> None:
        self._log_lock = threading.Lock()
        self._problems: list[MockError] = []
        self._asked: set[str] = set()

    def was_asked(self, tool: str) -> bool:
        """Whether a call of a tool came here. A mocked tool that ran without that ran for real."""
        return tool in self._asked

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The calls that could not be answered. Each is an error of the case, even if the agent handled it."""
        with self._log_lock:
            return tuple(self._problems)

    def _answer_logged(self, tool: str, find: Callable[[], ToolAnswer | None]) -> ToolAnswer | None:
        """Return the answer that `find` finds, and note the call, also if there is no answer."""
        self._asked.add(tool)
        try:
            return find()
        except MockError as problem:
            with self._log_lock:
                self._problems.append(problem)
            raise


class ToolMock(Protocol):
    """Anything that answers calls: `Mocks`, a `Replay`."""

    def answer(self, tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        """Return the answer to a call; None to leave it to the next mock."""


@contextmanager
def use_mocks(*mocks: ToolMock) -> Iterator[None]:
    """Let mocks answer calls of tools, in this context and in the threads and tasks it starts.

    That is decorated functions, and the tools of Pydantic AI, LangChain, OpenAI Agents, Google ADK and MCP sessions.

    The first mock with an answer gives it. If none has one, the mocks of an outer block are asked, and then the tool
    runs.
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
"""The earlier name of `use_mocks`."""


@contextmanager
def recording_to(observer: ToolObserver) -> Iterator[None]:
    """Report what the real tools return to an observer, such as a `Recorder`, in this context and what it starts."""
    stand_in_for_frameworks()
    with thread_patches, _uipath_mocker():
        token = tool_observer.set(observer)
        try:
            yield
        finally:
            tool_observer.reset(token)


@contextmanager
def _uipath_mocker() -> Iterator[None]:
    """Be the mocker of UiPath's `@mockable`, if that is loaded."""
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
    """Answers as UiPath's mockers do."""

    async def response(self, func: Callable[..., Any], params: dict[str, Any], invocation: Any) -> Any:
        """Return the stub's answer to a call, or what the function itself returns.

        Raises:
            UiPathNoMockFoundError: there is neither an answer nor an observer: UiPath's decorator calls the function.
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
