"""Generators as tools: the span covers the iteration, and what passes through them is left alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from rightcall import ToolCall, capture, tool
from rightcall.limits import DEFAULT_LIMITS
from rightcall.running.tracing import Captured


@tool
def pages(count: int) -> Iterator[int]:
    yield from range(count)


@tool
async def async_pages(count: int) -> AsyncIterator[int]:
    for page in range(count):
        await asyncio.sleep(0)
        yield page


@tool
def echo() -> Generator[str, str, str]:
    """Yields what it is sent in capitals, survives a KeyError, and returns what it was sent last."""
    said = "ready"
    while said != "stop":
        try:
            said = yield said.upper()
        except KeyError:
            said = "caught"
    return said


@tool
async def async_echo() -> AsyncGenerator[str, str]:
    said = "ready"
    while said != "stop":
        try:
            said = yield said.upper()
        except KeyError:
            said = "caught"


@tool
def inner() -> None:
    return None


def only_call(captured: Captured) -> ToolCall:
    [call] = captured.trajectory().calls
    return call


@pytest.mark.parametrize("is_captured", [True, False])
def test_a_generator_is_one_call_with_the_list_of_what_it_yields(is_captured: bool) -> None:
    with capture() if is_captured else contextlib.nullcontext() as captured:
        assert list(pages(3)) == [0, 1, 2]

    if captured is not None:
        call = only_call(captured)
        assert (call.args, call.output, call.error) == ({"count": 3}, [0, 1, 2], None)


@pytest.mark.parametrize("is_captured", [True, False])
def test_an_async_generator_is_one_call_with_the_list_of_what_it_yields(is_captured: bool) -> None:
    async def run() -> list[int]:
        return [page async for page in async_pages(3)]

    with capture() if is_captured else contextlib.nullcontext() as captured:
        assert asyncio.run(run()) == [0, 1, 2]

    if captured is not None:
        call = only_call(captured)
        assert (call.args, call.output, call.error) == ({"count": 3}, [0, 1, 2], None)


@pytest.mark.parametrize("is_captured", [True, False])
def test_what_is_sent_thrown_and_returned_passes_through(is_captured: bool) -> None:
    with capture() if is_captured else contextlib.nullcontext():
        talk = echo()
        heard = [next(talk), talk.send("hello"), talk.throw(KeyError("oh")), talk.send("there")]
        with pytest.raises(StopIteration) as end:
            talk.send("stop")

    assert heard == ["READY", "HELLO", "CAUGHT", "THERE"]
    assert end.value.value == "stop"


@pytest.mark.parametrize("is_captured", [True, False])
def test_what_is_sent_and_thrown_passes_through_an_async_generator(is_captured: bool) -> None:
    async def run() -> list[str]:
        talk = async_echo()
        heard = [await anext(talk), await talk.asend("hello"), await talk.athrow(KeyError("oh"))]
        with pytest.raises(StopAsyncIteration):
            await talk.asend("stop")
        return heard

    with capture() if is_captured else contextlib.nullcontext():
        assert asyncio.run(run()) == ["READY", "HELLO", "CAUGHT"]


def test_a_generator_that_is_closed_early_is_a_call_with_what_it_yielded() -> None:
    closed = []

    @tool
    def stream() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    with capture() as captured:
        stream_of = stream()
        next(stream_of)
        stream_of.close()  # type: ignore[attr-defined]

    call = only_call(captured)
    assert (call.output, call.error, closed) == ([1], None, [True])
    assert call.end_ns is not None


def test_an_async_generator_that_is_closed_early_is_a_call_with_what_it_yielded() -> None:
    async def run() -> None:
        stream = async_pages(5)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]

    with capture() as captured:
        asyncio.run(run())

    call = only_call(captured)
    assert (call.output, call.error) == ([0], None)


def test_a_generator_that_raises_is_a_call_that_went_wrong() -> None:
    @tool
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("page 2 is missing")

    with capture() as captured, pytest.raises(ValueError, match="page 2"):
        list(broken())

    assert only_call(captured).error == "page 2 is missing"


def test_only_what_the_generator_itself_calls_is_below_it() -> None:
    @tool
    def outer() -> Iterator[int]:
        inner()
        yield 1
        yield 2

    with capture() as captured:
        for _ in outer():
            inner()

    calls = captured.trajectory().calls
    assert [call.name for call in calls] == ["outer", "inner", "inner", "inner"]
    assert [call.parent_id for call in calls] == [None, calls[0].span_id, None, None]


def test_of_an_endless_stream_no_output_is_recorded_but_that_it_was_left_out() -> None:
    with capture() as captured:
        assert sum(1 for _ in pages(DEFAULT_LIMITS.recorded_items + 1)) == DEFAULT_LIMITS.recorded_items + 1

    [span] = captured.spans
    assert only_call(captured).unrecorded == {"output"}
    assert span.attributes["rightcall.left_out.output.value"] == "more than 10,000 values were yielded"


def test_concurrent_async_generators_do_not_mix() -> None:
    async def consume(count: int) -> list[int]:
        return [page async for page in async_pages(count)]

    async def run() -> list[list[int]]:
        return await asyncio.gather(*(consume(count) for count in range(5)))

    with capture() as captured:
        asyncio.run(run())

    outputs: list[Any] = [call.output for call in captured.trajectory().calls]
    assert sorted(outputs) == [list(range(count)) for count in range(5)]
