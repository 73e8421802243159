"""The decorators `traced`, `tool`, `mockable` and `mock_tool_span`, to be used alone or together, in any order.

However many of them a function has, a call opens one span, and is mocked and recorded once. Names, docstrings,
signatures and types stay as they are. Without a capture, mocks or a configured tracer provider, a decorated function
behaves as without a decorator.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._capture import ToolAnswer, is_idle
from ._tool_marks import Marks, attach_marks, marks_of, new_marks

if TYPE_CHECKING:
    from ._decorated_call import Call

Function = TypeVar("Function", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")


@overload
def traced(function: Function, /) -> Function: ...
@overload
def traced(name: str | None = None, *, span_type: str | None = None) -> Callable[[Function], Function]: ...
def traced(name: Any = None, *, span_type: str | None = None) -> Any:
    """Record each call of a function as a span with its input and output, but not as a tool call.

    Use it as `@traced`, `@traced()` or `@traced("name")`; the name is the span's. With `span_type="tool"`, as in
    UiPath's samples, the function is a tool under its own name.
    """
    is_tool = span_type is not None and span_type.lower() == "tool"

    def marked(marks: Marks, given: str | None) -> Marks:
        return marks._replace(is_traced=True, is_tool=marks.is_tool or is_tool, span_name=given or marks.span_name)

    return _decorator(name, marked)


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(name: str | None = None) -> Callable[[Function], Function]: ...
def tool(name: Any = None) -> Any:
    """Record each call of a function as a tool call: a span with `tool.name`, `input.value` and `output.value`.

    Use it as `@tool`, `@tool()` or `@tool("name")`; the name is the tool's, also in mocks.
    """
    return _decorator(name, lambda marks, given: marks._replace(is_tool=True, tool_name=given or marks.tool_name))


@overload
def mock_tool_span(function: Function, /) -> Function: ...
@overload
def mock_tool_span(name: str | None = None) -> Callable[[Function], Function]: ...
def mock_tool_span(name: Any = None) -> Any:
    """Do the same as `tool`; the name is that of UiPath's samples."""
    return tool(name)


@overload
def mockable(function: Function, /) -> Function: ...
@overload
def mockable(
    *, name: str | None = None, example_calls: Iterable[Any] | None = None
) -> Callable[[Function], Function]: ...
def mockable(function: Any = None, /, *, name: str | None = None, example_calls: Iterable[Any] | None = None) -> Any:
    """Let a function be mocked. Alone it opens no span: use it where something else already records the call.

    Use it as `@mockable`, `@mockable()` or `@mockable(example_calls=[…])`. The examples show what calls return; they
    help to write mocks.
    """

    def marked(marks: Marks, given: str | None) -> Marks:
        examples = marks.example_calls if example_calls is None else tuple(example_calls)
        return marks._replace(is_mockable=True, tool_name=given or marks.tool_name, example_calls=examples)

    decorate = _decorator(name, marked)
    return decorate if function is None else decorate(function)


def _decorator(given: Any, mark: Callable[[Marks, str | None], Marks]) -> Any:
    """Return a decorator; if it was used without parentheses, return the decorated function."""
    if given is None or isinstance(given, str):
        return lambda function: _decorated(function, lambda marks: mark(marks, given or None))
    return _decorated(given, lambda marks: mark(marks, None))


def _decorated(function: Any, mark: Callable[[Marks], Marks]) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorated(function.__func__, mark))
    if isinstance(function, MethodType):
        return MethodType(_decorated(function.__func__, mark), function.__self__)
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"only functions can be decorated, not {function!r:.80}")
    marks = marks_of(function)
    if marks is None:
        return wrap(mark(new_marks(function)))
    made = wrap(mark(marks))
    made.__dict__.update({key: value for key, value in vars(function).items() if key not in vars(made)})
    return made


def wrap(marks: Marks) -> Callable[..., Any]:
    """Return a wrapper that looks like its function and opens one span for each call."""
    function = marks.function
    for is_kind, make in _KINDS:
        if is_kind(function):
            return _finished(make(marks), marks)
    return _finished(_plain(marks), marks)


def _finished(wrapper: Callable[..., Any], marks: Marks) -> Callable[..., Any]:
    functools.update_wrapper(wrapper, marks.function)
    if not hasattr(marks.function, "__name__"):
        wrapper.__name__ = wrapper.__qualname__ = marks.name
    attach_marks(wrapper, marks)
    return wrapper


def _call(marks: Marks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Begin a call that is captured, mocked or observed."""
    made: Call = _calls().Call(marks, args, kwargs)
    return made


@functools.cache
def _calls() -> Any:
    # Loaded with the first recorded call: most programs with decorated functions record none.
    from . import _decorated_call as calls

    return calls


def _plain(marks: Marks) -> Callable[..., Any]:
    function = marks.function

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_idle():
            return function(*args, **kwargs)
        call = _call(marks, args, kwargs)
        call.enter()
        try:
            answer = call.answer()
            value = function(*args, **kwargs) if answer is None else answer.given()
        except BaseException as error:
            call.leave()
            call.raised(error)
            raise
        call.leave()
        if inspect.iscoroutine(value):
            return _awaited(call, value)
        call.returned(value)
        return value

    return wrapper


def _coroutine(marks: Marks) -> Callable[..., Any]:
    function = marks.function

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_idle():
            return await function(*args, **kwargs)
        call = _call(marks, args, kwargs)
        call.enter()
        try:
            answer = call.answer()
            value = await function(*args, **kwargs) if answer is None else answer.given()
        except BaseException as error:
            call.leave()
            call.raised(error)
            raise
        call.leave()
        call.returned(value)
        return value

    return wrapper


async def _awaited(call: Call, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await the coroutine that a plain function returned; the call ends when the coroutine does."""
    call.enter()
    try:
        value = await coroutine
    except BaseException as error:
        call.leave()
        call.raised(error)
        raise
    call.leave()
    call.returned(value)
    return value


def _generator(marks: Marks) -> Callable[..., Any]:
    function = marks.function

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if is_idle():
            return (yield from function(*args, **kwargs))
        iteration = _Iteration(_call(marks, args, kwargs))
        source = iteration.source(function, args, kwargs, _yielding)
        step, given = source.send, None
        while True:
            iteration.resume()
            try:
                item = step(given)
            except StopIteration as end:
                iteration.end()
                return end.value
            except BaseException as error:
                iteration.fail(error)
                raise
            iteration.pause(item)
            try:
                step, given = source.send, (yield item)
            except GeneratorExit:
                with iteration.closing():
                    source.close()
                raise
            except BaseException as error:  # noqa: BLE001 - thrown into the generator, and passed on to it
                step, given = source.throw, error

    return wrapper


def _async_generator(marks: Marks) -> Callable[..., Any]:
    function = marks.function

    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        iteration = _Iteration(None if is_idle() else _call(marks, args, kwargs))
        source = iteration.source(function, args, kwargs, _yielding_async)
        step, given = source.asend, None
        while True:
            iteration.resume()
            try:
                item = await step(given)
            except StopAsyncIteration:
                iteration.end()
                return
            except BaseException as error:
                iteration.fail(error)
                raise
            iteration.pause(item)
            try:
                step, given = source.asend, (yield item)
            except GeneratorExit:
                with iteration.closing():
                    await source.aclose()
                raise
            except BaseException as error:  # noqa: BLE001 - thrown into the generator, and passed on to it
                step, given = source.athrow, error

    return wrapper


class _Iteration:
    """A call that yields values. Its span is current only while the generator itself runs, not between two values."""

    __slots__ = ("_call", "_is_cut", "_values")

    def __init__(self, call: Call | None) -> None:
        self._call = call
        self._values: list[Any] = []
        self._is_cut = False

    def source(self, function: Callable[..., Any], args: Any, kwargs: Any, stub: Callable[[ToolAnswer], Any]) -> Any:
        """Return the generator to iterate over: the function's own, or one that yields the stub's answer."""
        try:
            answer = self._call.answer() if self._call is not None else None
            return function(*args, **kwargs) if answer is None else stub(answer)
        except BaseException as error:
            self.fail(error)
            raise

    def resume(self) -> None:
        """Make the span current: the generator is about to run."""
        if self._call is not None:
            self._call.enter()

    def pause(self, value: Any) -> None:
        """Keep a value that the generator has yielded; its span is not current until it runs again."""
        if self._call is None:
            return
        self._call.leave()
        if self._call.keeps(len(self._values)):
            self._values.append(value)
        else:
            self._is_cut = True

    @contextmanager
    def closing(self) -> Iterator[None]:
        """End the call when the block has closed the generator before its end."""
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        self.end()

    def end(self) -> None:
        """End the call with the values so far."""
        if self._call is not None:
            self._call.leave()
            self._call.returned_many(self._values, self._is_cut)

    def fail(self, error: BaseException) -> None:
        """End the call with the exception that the generator raised."""
        if self._call is not None:
            self._call.leave()
            self._call.raised(error)


def _yielding(answer: ToolAnswer) -> Generator[Any, Any, None]:
    """Yield a stub's answer: the values of a list one by one, anything else as the only value."""
    value = answer.given()
    yield from value if isinstance(value, list) else [value]


async def _yielding_async(answer: ToolAnswer) -> AsyncGenerator[Any, None]:
    for value in _yielding(answer):
        yield value


_KINDS = (
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isgeneratorfunction, _generator),
)
