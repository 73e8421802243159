"""Arguments and outputs in spans: read back they are what they were, and nothing they are breaks a tool."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from pathlib import PurePosixPath
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import example, given, strategies as st

from rightcall import capture, tool
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.matchers import equal


@tool
def give(value: Any) -> Any:
    return value


def through_a_span(value: Any) -> tuple[Any, Any]:
    """A value as an argument and as an output, as the reader gives them."""
    with capture() as captured:
        give(value)
    [call] = captured.trajectory().calls
    assert call.args is not None
    assert call.unrecorded == frozenset()
    return call.args["value"], call.output


TEXTS = st.text(st.characters(exclude_categories=())).filter(lambda text: text.lstrip()[:1] not in ("{", "["))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "content", "text"]), inner),
    max_leaves=8,
)


@given(VALUES.filter(lambda value: not (isinstance(value, dict) and value.keys() == {"content"})))
@example(2**80)
@example("N/A")
@example("<not specified>")
@example('"quoted"')
@example("\ud800")
@example("")
@example({"content": 1, "more": 2})
@example(float("nan"))
@example([None])
def test_a_value_is_read_as_it_was(value: Any) -> None:
    argument, output = through_a_span(value)

    assert equal(value, argument)
    assert equal(value, output)


@pytest.mark.parametrize("content", [{"temperature": 25.0}, [1], 3, None, "sunny", {"content": 1}])
def test_an_object_with_content_alone_stands_for_its_content(content: Any) -> None:
    _, output = through_a_span({"content": content})

    assert output == content


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]"])
def test_a_text_that_reads_as_an_object_or_a_list_is_that(text: str) -> None:
    _, output = through_a_span(text)

    assert output in ({"a": 1}, [1, 2])


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: Any


class Query(pydantic.BaseModel):
    text: str
    limit: int = 5


class Row(msgspec.Struct):
    id: int


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Treacherous(pydantic.BaseModel):
    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return "<treacherous>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (Colour.RED, "red"),
        (Point(1, Point(2, None)), {"x": 1, "y": {"x": 2, "y": None}}),
        (Query(text="laptop"), {"text": "laptop", "limit": 5}),
        (Row(7), {"id": 7}),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (b"ab", "b'ab'"),
        ([Opaque()], ["<opaque>"]),
        ([Unshowable()], ["<Unshowable>"]),
        (Treacherous(), "<treacherous>"),
        ({1: "a"}, {"1": "a"}),
        ({(1, 2): "a"}, "{(1, 2): 'a'}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_becomes_what_it_stands_for_or_its_repr(value: Any, shown: Any) -> None:
    assert through_a_span(value) == (shown, shown)


@pytest.mark.parametrize("value", [Opaque(), Unshowable(), object()], ids=["opaque", "unshowable", "object"])
def test_an_object_that_no_model_can_give_is_not_an_argument(value: Any) -> None:
    with capture() as captured:
        give(value)

    [call] = captured.trajectory().calls
    assert call.args == {}
    assert call.unrecorded == frozenset()


def test_a_repr_is_cut_short() -> None:
    argument, output = through_a_span(bytes(100_000))

    assert len(argument) == len(output) == 1_000
    assert output.endswith("…")


def test_a_value_without_end_does_not_break_the_tool() -> None:
    endless: list[Any] = []
    endless.append(endless)

    assert through_a_span(endless) == ("[[...]]", "[[...]]")


def test_what_is_too_large_is_not_recorded_rather_than_cut() -> None:
    text = "x" * (DEFAULT_LIMITS.recorded_bytes + 1)

    with capture() as captured:
        give(text)

    [call], [span] = captured.trajectory().calls, captured.spans
    assert call.unrecorded == {"args", "output"}
    assert span.attributes["rightcall.left_out.output.value"] == "1,048,577 characters"
    assert "rightcall.left_out.input.value" in span.attributes
