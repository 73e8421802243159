"""The wrapper around a decorated function, one for each kind of function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._context_propagation import ToolAnswer, is_idle
from ._tool_marks import Marks, attach_marks

if TYPE_CHECKING:
    from ._decorated_call import Call


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
        """Note that the generator is about to run."""
        if self._call is not None:
            self._call.enter()

    def pause(self, value: Any) -> None:
        """Note that the generator has yielded a value."""
        if self._call is None:
            return
        self._call.leave()
        if self._call.keeps(len(self._values)):
            self._values.append(value)
        else:
            self._is_cut = True

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Close the generator before its end, and end the call."""
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        self.end()

    def end(self) -> None:
        """End the call: there are no more values, or the caller wants none."""
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
