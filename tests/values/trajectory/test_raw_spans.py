"""Spans that are kept: as many as there is room for, as they were, on one line whatever is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall import InputError
from rightcall.limits import Limits
from rightcall.values.trajectory import KeptSpans, RawEvent, RawSpan, spans_by_id


def span(number: int, **attributes: Any) -> RawSpan:
    return RawSpan(name=f"span {number}", span_id=f"{number:016x}", attributes=attributes)


FULL = RawSpan(
    name="search",
    span_id="1" * 16,
    trace_id="2" * 32,
    parent_id="3" * 16,
    start_ns=5,
    end_ns=2**64 - 1,
    kind="client",
    status="error",
    message="no such product",
    scope="instrumentation",
    service="shop",
    attributes={"tool.name": "search", "n": 1, "tags": ["a", "b"]},
    events=(RawEvent("exception", 7, {"exception.message": "no"}),),
)


def test_a_span_comes_back_with_everything_it_said() -> None:
    kept = KeptSpans.of([FULL])

    assert kept.by_id() == {FULL.span_id: FULL}
    assert kept.left_out == 0


STRANGE = [
    float("nan"),
    float("inf"),
    -0.0,
    2**64,
    2**70,
    "\ud800",
    "a\0b",
    "\n\r\u2028",
    "null",
    {"$float": "nan"},
    "é",
]


@pytest.mark.parametrize("value", STRANGE, ids=ascii)
def test_any_value_comes_back_as_it_was_and_stays_on_one_line(value: Any) -> None:
    kept = KeptSpans.of([span(1, value=value, inside=[value])])

    assert repr(kept.by_id()[span(1).span_id].attributes) == repr({"value": value, "inside": [value]})
    assert "\n" not in kept.text
    kept.check()


@examples(60)
@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.floats() | st.none()), max_size=6))
def test_whatever_spans_say_they_are_read_back_and_pass_the_check(said: list[dict[str, Any]]) -> None:
    spans = [RawSpan(name="x", span_id=str(number), attributes=held) for number, held in enumerate(said)]

    kept = KeptSpans.of(spans)

    kept.check()
    assert "\n" not in kept.text
    assert repr(list(kept.by_id().values())) == repr(spans)


def test_where_there_is_not_room_for_all_calls_come_first_and_the_rest_is_counted() -> None:
    spans = [span(number, text="x" * 100) for number in range(100)]
    calls = {span(number).span_id for number in range(50, 60)}

    kept = KeptSpans.of(spans, calls, Limits(kept_bytes=3000))

    found = kept.by_id()
    assert calls < set(found)
    assert list(found) == sorted(found)
    assert len(found) + kept.left_out == 100
    assert len(kept.text) <= 3002
    kept.check(Limits(kept_bytes=3000))


def test_one_span_that_is_too_large_does_not_cost_the_others() -> None:
    large = RawSpan(name="large", span_id="large", attributes={"many": ["x" * 50] * 100})

    kept = KeptSpans.of([large, span(1), span(2)], {"large"}, Limits(kept_bytes=4000))

    assert set(kept.by_id()) == {span(1).span_id, span(2).span_id}
    assert kept.left_out == 1


def test_a_long_text_is_cut_and_says_so() -> None:
    told = RawSpan(
        name="model", span_id="1", attributes={"prompt": "é" * 500}, events=(RawEvent("x", None, {"body": "y" * 101}),)
    )

    [found] = KeptSpans.of([told], limits=Limits(kept_text=100)).by_id().values()

    assert found.attributes["prompt"] == "é" * 100 + "… [400 more characters]"
    assert found.events[0].attributes["body"] == "y" * 100 + "… [1 more characters]"


@pytest.mark.parametrize("value", [object(), 10**5000, print], ids=["object", "integer", "function"])
def test_what_cannot_be_written_is_left_out_and_counted(value: Any) -> None:
    kept = KeptSpans.of([span(1, odd=value), span(2)])

    assert (set(kept.by_id()), kept.left_out) == ({span(2).span_id}, 1)


def test_a_value_without_end_is_left_out() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    kept = KeptSpans.of([span(1, deep=deep), span(2)])

    assert (set(kept.by_id()), kept.left_out) == ({span(2).span_id}, 1)
    while deep:  # taken apart by hand: so deep a list is not freed otherwise
        [deep] = deep


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ('[], "case_id": "other"', 0),
        ("[]}\n{}", 0),
        ("[1,\n2]", 0),
        ("{}", 0),
        ("", 0),
        ('["\ud800"]', 0),
        ("[]", -1),
        ("[" + "1, " * 400_000 + "1]", 0),
    ],
    ids=["more keys", "more lines", "a line break", "an object", "nothing", "no text", "fewer than none", "too much"],
)
def test_a_text_that_could_be_more_than_a_list_is_refused(text: str, left_out: int) -> None:
    with pytest.raises(InputError):
        KeptSpans(text, left_out).check()


def test_with_all_of_them_left_out_they_are_counted() -> None:
    kept = KeptSpans(KeptSpans.of([span(1), span(2)]).text, 3)

    assert kept.without_spans() == KeptSpans("[]", 5)


def test_what_is_no_span_is_counted_and_the_others_are_read() -> None:
    items = json.loads(KeptSpans.of([span(1)]).text)

    assert spans_by_id([5, *items, {"name": 5, "span_id": "x"}, None]) == ({span(1).span_id: span(1)}, 3)
