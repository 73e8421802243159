"""What type checkers see of decorated functions: `mypy` checks this file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import assert_type, overload

import pytest

from rightcall import capture, tool, traced
from rightcall.running.tracing import mock_tool_span, mockable


@traced()
@mockable(example_calls=[])
@mock_tool_span
async def get_temperature(city: str, *, unit: str = "C") -> dict[str, float]:
    return {unit: float(len(city))}


@tool
def search(query: str, limit: int = 5) -> list[str]:
    return [query] * limit


@traced
@mockable
@tool("pages")
def pages(count: int) -> Iterator[int]:
    yield from range(count)


class Shop:
    @tool
    def price(self, sku: str) -> float:
        return float(len(sku))

    @classmethod
    @tool()
    def named(cls, name: str) -> Shop:
        return cls()


@overload
def double(value: int) -> int: ...
@overload
def double(value: str) -> str: ...
@tool
def double(value: int | str) -> int | str:
    return value * 2


def test_types_are_those_of_the_functions() -> None:
    keeps: Callable[[str], Awaitable[dict[str, float]]] = get_temperature

    with capture() as captured:
        assert_type(search("laptop"), list[str])
        assert_type(search(query="laptop", limit=1), list[str])
        assert_type(list(pages(2)), list[int])
        assert_type(Shop().price("P1"), float)
        assert_type(Shop.named("corner"), Shop)
        assert_type(double(1), int)
        assert_type(double("a"), str)
        asyncio.run(get_temperature("Rome", unit="F"))

    assert keeps is get_temperature
    assert len(captured.spans) == 8


def test_wrong_arguments_are_seen() -> None:
    with pytest.raises(TypeError, match="positional arguments"):
        search("laptop", 2, 3)  # type: ignore[call-arg]
