"""Runs that are read from spans of the SDK without building them, against the same runs built."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import FunctionType, MappingProxyType
from typing import Any
from unittest.mock import patch

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext
from opentelemetry.trace.status import Status, StatusCode
from tests.reading.changes import scopes
from tests.reading.corpus import recordings

from rightcall import read_spans
from rightcall.limits import KEEPING_MESSAGES
from rightcall.reading import Turn, read_turns
from rightcall.reading.runs._simple_runs import LiveRuns
from rightcall.reading.spans import plain_attributes
from rightcall.values.trajectory import Trajectory

_SCRUBBED = "[Scrubbed due to 'password']"
_TOLD = "Tool Name: a_b\nTool Arguments: {}"


class _Text(str):
    """A text of another type, as enumerations and numpy have them."""

    __slots__ = ()


def _live(place: int, **more: Any) -> ReadableSpan:
    held = {"tool.name": "search", "input.value": json.dumps({"n": place}), "output.value": '{"content": "ok"}'}
    given = {"name": "search", "start_time": place, "end_time": place + 1, "attributes": held, **more}
    return ReadableSpan(**given)


def _as_recorded(given: list[Any]) -> Trajectory:
    """One recording, its messages kept, as the runner has it of a case."""
    return read_turns([Turn(spans=given, asked="x")], is_conversation=False, limits=KEEPING_MESSAGES)


def _both(
    given: list[Any], reading: Callable[[list[Any]], Trajectory] = read_spans
) -> tuple[Trajectory, Trajectory, bool]:
    """What is read, what is built of the same spans, and whether the first was read directly."""
    direct: list[Trajectory] = []
    trajectory_of = LiveRuns.trajectory_of

    def counting(self: LiveRuns, read: Any) -> Trajectory | None:
        found = trajectory_of(self, read)
        direct.extend([] if found is None else [found])
        return found

    with patch.object(LiveRuns, "trajectory_of", counting):
        first = reading(given)
    with patch.object(LiveRuns, "trajectory_of", return_value=None):
        return first, reading(given), bool(direct)


@pytest.mark.parametrize("reading", [read_spans, _as_recorded])
def test_spans_that_are_all_calls_are_read_directly(reading: Callable[[list[Any]], Trajectory]) -> None:
    direct, built, is_direct = _both([_live(place) for place in range(5)], reading)

    assert is_direct
    assert repr(direct) == repr(built)
    assert [call.args for call in direct.calls] == [{"n": place} for place in range(5)]


@pytest.mark.parametrize(
    "more",
    [
        {"status": Status(StatusCode.ERROR, "boom")},
        {"start_time": 0},
        {"start_time": None},
        {"end_time": None},
        {"parent": SpanContext(1, 2, is_remote=False)},
        {"instrumentation_scope": InstrumentationScope("another")},
        {"attributes": None},
        {"attributes": {"tool.name": "search", "input.value": "{}"}},
        {"attributes": {"tool.name": "search", "input.value": "[]", "output.value": "x"}},
        {"attributes": {"tool.name": "search", "input.value": "{}", "output.value": "x", "error.type": "E"}},
        {"attributes": {"tool.name": "search", "input.value": "{}", "output.value": "x", "reward": 1}},
        {"attributes": {"tool.name": "final_answer", "input.value": "{}", "output.value": "x"}},
        {"attributes": {"openinference.span.kind": "LLM", "input.value": "Hi", "output.value": "Ho"}},
        {"attributes": {"span_type": True, "tool.name": "search", "input.value": "{}", "output.value": "x"}},
        {"attributes": {"tool.name": "A b", "tool.description": _TOLD, "input.value": "{}", "output.value": "x"}},
        {"name": "invoke_agent shop"},
        {"name": "handoff to shop"},
        {"name": "search.workflow"},
        {"name": _Text("search")},
    ],
    ids=lambda more: ", ".join([str(key) for key in (more.get("attributes") or more)]),
)
def test_other_spans_are_built(more: dict[str, Any]) -> None:
    direct, built, is_direct = _both([_live(0), _live(1, **more), _live(2)])

    assert not is_direct
    assert repr(direct) == repr(built)


def test_spans_with_one_id_are_built() -> None:
    context = SpanContext(1, 2, is_remote=False)

    direct, built, is_direct = _both([_live(place, context=context) for place in range(2)])

    assert not is_direct
    assert repr(direct) == repr(built)


def test_spans_as_the_sdk_exports_them_are_read_directly_with_their_ids() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for place in range(3):
        with provider.get_tracer("shop").start_as_current_span("search") as span:
            span.set_attributes(_live(place).attributes)

    direct, built, is_direct = _both(list(exporter.get_finished_spans()))

    assert is_direct
    assert repr(direct) == repr(built)
    assert [call.span_id for call in direct.calls] == [
        format(span.context.span_id, "016x") for span in exporter.get_finished_spans() if span.context
    ]
    assert direct.metadata["instrumentation"] == ["shop"]


def test_a_class_that_counts_its_times_anew_is_read_by_its_properties() -> None:
    class Shifted(ReadableSpan):  # type: ignore[misc]
        @property
        def start_time(self) -> int | None:
            return (self._start_time or 0) + 100

        @property
        def end_time(self) -> int | None:
            return (self._end_time or 0) + 100

    held = {"tool.name": "search", "input.value": "{}", "output.value": "ok"}

    direct, built, is_direct = _both([Shifted("search", attributes=held, start_time=1, end_time=2)])

    assert is_direct
    assert repr(direct) == repr(built)
    assert direct.calls[0].start_ns == 101


@pytest.mark.parametrize("limits", [{"max_span_attributes": 3}, {"max_events": 0}], ids=["attributes", "events"])
def test_spans_of_which_the_sdk_dropped_something_are_built_also_where_their_like_was_read(
    limits: dict[str, int],
) -> None:
    assert _both(_ended(SpanLimits()))[2]

    direct, built, is_direct = _both(_ended(SpanLimits(**limits), "exception"))

    assert not is_direct
    assert repr(direct) == repr(built)


def _ended(limits: SpanLimits, *events: str) -> list[Any]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("shop").start_as_current_span("search", attributes={"note": "x"}) as span:
        span.set_attributes(_live(0).attributes)
        for event in events:
            span.add_event(event)
    return list(exporter.get_finished_spans())


def _booking(held: dict[str, Any]) -> dict[str, Any]:
    return {**held, "tool.name": "book"}


_BY_ANOTHER_CODE = lambda span: MappingProxyType(_booking(span._attributes))  # noqa: E731
_BY_ANOTHER_VIEW = FunctionType(ReadableSpan.attributes.fget.__code__, {"MappingProxyType": _booking})


@pytest.mark.parametrize("shown", [_BY_ANOTHER_CODE, _BY_ANOTHER_VIEW], ids=["code", "view"])
def test_a_class_that_shows_other_attributes_than_it_has_is_built(shown: Callable[[Any], Any]) -> None:
    class Booking(ReadableSpan):  # type: ignore[misc]
        attributes = property(shown)

    held = {"tool.name": "search", "input.value": "{}", "output.value": "ok"}

    direct, built, is_direct = _both([Booking("search", attributes=held, start_time=1, end_time=2)])

    assert not is_direct
    assert repr(direct) == repr(built)
    assert direct.calls[0].name == "book"


def _recorded() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The name, the scope and the attributes of a recorded span for each set of names of attributes."""
    met = set()
    for files in recordings().values():
        for _, scoped in scopes(json.loads(files["otlp.json"])) if "otlp.json" in files else ():
            scope = scoped.get("scope", {}).get("name", "")
            for span in scoped["spans"]:
                attributes = plain_attributes(span.get("attributes"))
                if (key := (scope, *sorted(attributes))) not in met:
                    met.add(key)
                    yield span["name"], scope, attributes


def _made(name: str, scope: str, attributes: dict[str, Any]) -> ReadableSpan:
    context, made_by = SpanContext(7, 1, is_remote=False), InstrumentationScope(scope)
    return ReadableSpan(name, context, attributes=attributes, instrumentation_scope=made_by, start_time=1, end_time=2)


_VALUES: tuple[Any, ...] = (
    "",
    "N/A",
    _SCRUBBED,
    "[]",
    "{",
    '"a text"',
    '"{}"',
    "21.5",
    "Error: no such tool",
    '{"INVALID_JSON": "{"}',
    '{"error": "This tool call is rejected."}',
    '{"content": "{}", "output": {}, "args": [], "kwargs": {}}',
    json.dumps({"text": "x" * 500}),
    json.dumps({"of": json.loads("[" * 150 + "]" * 150)}),
    json.dumps(_SCRUBBED),
    _Text('{"a": 1}'),
    7,
    True,
    ("a", "b"),
)
"""What is put in the place of each attribute."""


def test_recorded_spans_are_read_the_same_whatever_one_of_their_values_is() -> None:
    different, direct_ones = [], 0
    for name, scope, attributes in _recorded():
        direct, built, is_direct = _both([_made(name, scope, attributes)])
        assert repr(direct) == repr(built), name
        for held in [{**attributes, key: value} for key in attributes for value in _VALUES] if is_direct else ():
            direct, built, is_direct = _both([_made(name, scope, held)])
            direct_ones += is_direct
            if repr(direct) != repr(built):
                different.append((name, scope, held))

    assert not different
    assert direct_ones > 1_000  # most of what is compared would otherwise be built both times
