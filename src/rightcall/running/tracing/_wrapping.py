"""The one wrapper around a decorated function, for each kind of function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._flowing import is_idle
from ._marks import Marks, attach_marks
from ._standing import Answer

if TYPE_CHECKING:
    from ._calls import Call


def wrap(marks: Marks) -> Callable[..., Any]:
    """What stands in the place of a function: it looks like it, and leaves one span for each call."""
    function = marks.function
    for is_kind, make in _KINDS:
        if is_kind(function):
            return _dressed(make(marks), marks)
    return _dressed(_plain(marks), marks)


def _dressed(wrapper: Callable[..., Any], marks: Marks) -> Callable[..., Any]:
    functools.update_wrapper(wrapper, marks.function)
    if not hasattr(marks.function, "__name__"):
        wrapper.__name__ = wrapper.__qualname__ = marks.name
    attach_marks(wrapper, marks)
    return wrapper


def _call(marks: Marks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """One call that somebody is interested in."""
    made: Call = _calls().Call(marks, args, kwargs)
    return made


@functools.cache
def _calls() -> Any:
    # Most programs with decorated functions are not watched, and need not load what that takes.
    from . import _calls as calls

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
    """What a function that is not `async`, but returned a coroutine, comes to: the call ends when that does."""
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
            except BaseException as error:  # noqa: BLE001 - it was thrown into the generator, which gets it
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
            except BaseException as error:  # noqa: BLE001 - it was thrown into the generator, which gets it
                step, given = source.athrow, error

    return wrapper


class _Iteration:
    """A call that yields values. Its span is the current one only while the generator itself runs."""

    __slots__ = ("_call", "_is_cut", "_values")

    def __init__(self, call: Call | None) -> None:
        self._call = call
        self._values: list[Any] = []
        self._is_cut = False

    def source(self, function: Callable[..., Any], args: Any, kwargs: Any, stand_in: Callable[[Answer], Any]) -> Any:
        """The generator to iterate over: the function's own, or what yields the answer of whoever stands in."""
        try:
            answer = self._call.answer() if self._call is not None else None
            return function(*args, **kwargs) if answer is None else stand_in(answer)
        except BaseException as error:
            self.fail(error)
            raise

    def resume(self) -> None:
        """The generator is about to run."""
        if self._call is not None:
            self._call.enter()

    def pause(self, value: Any) -> None:
        """The generator has yielded a value."""
        if self._call is None:
            return
        self._call.leave()
        if self._call.keeps(len(self._values)):
            self._values.append(value)
        else:
            self._is_cut = True

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Nobody wants more values, and the generator is told so."""
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        self.end()

    def end(self) -> None:
        """There are no more values, or nobody wants them."""
        if self._call is not None:
            self._call.leave()
            self._call.returned_many(self._values, self._is_cut)

    def fail(self, error: BaseException) -> None:
        """The generator raised."""
        if self._call is not None:
            self._call.leave()
            self._call.raised(error)


def _yielding(answer: Answer) -> Generator[Any, Any, None]:
    """What stands in for a generator: it yields the values of a list, and anything else as its only value."""
    value = answer.given()
    yield from value if isinstance(value, list) else [value]


async def _yielding_async(answer: Answer) -> AsyncGenerator[Any, None]:
    for value in _yielding(answer):
        yield value


_KINDS = (
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isgeneratorfunction, _generator),
)
