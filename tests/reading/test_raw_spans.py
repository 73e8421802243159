"""Spans as they were recorded, from the SDK and from every container."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode
from tests.reading.traces import TRACE, line, request, span

from rightcall import InputError
from rightcall.reading import raw_span, raw_spans
from rightcall.values.trajectory import RawEvent, RawSpan

EVENT = {"name": "exception", "timeUnixNano": "7", "attributes": [{"key": "a", "value": {"stringValue": "b"}}]}
FULL = span(
    1,
    {"tool.name": "search", "n": 5},
    parent=2,
    name="search",
    kind=3,
    status={"code": 2, "message": "broke"},
    events=[EVENT],
)
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
READ = RawSpan(
    name="search",
    span_id="0000000000000001",
    trace_id=TRACE,
    parent_id="0000000000000002",
    start_ns=1000,
    end_ns=1500,
    kind="client",
    status="error",
    message="broke",
    scope="framework",
    service="shop",
    attributes={"tool.name": "search", "n": 5},
    events=(RawEvent("exception", 7, {"a": "b"}),),
)


def document(*spans: dict[str, Any]) -> dict[str, Any]:
    made = request(*spans, scope="framework")
    made["resourceSpans"][0]["resource"] = RESOURCE
    return made


def in_protobuf(*spans: dict[str, Any]) -> bytes:
    packed = [
        {
            key: base64.b64encode(bytes.fromhex(held)).decode() if key.endswith("Id") else held
            for key, held in each.items()
        }
        for each in spans
    ]
    return bytes(json_format.ParseDict(document(*packed), ExportTraceServiceRequest()).SerializeToString())


def test_a_span_of_the_sdk_has_everything_that_was_recorded() -> None:
    tracer = TracerProvider(resource=Resource({"service.name": "shop"})).get_tracer("framework")
    with tracer.start_as_current_span("outer") as outer:
        inner = tracer.start_span("inner", kind=SpanKind.CLIENT, attributes={"n": 1, "tags": ["a"]})
        inner.add_event("said", {"a": "b"}, timestamp=7)
        inner.set_status(Status(StatusCode.ERROR, "broke"))
        inner.end()

    read = raw_span(inner)

    assert (read.name, read.kind, read.status, read.message) == ("inner", "client", "error", "broke")
    assert (read.scope, read.service) == ("framework", "shop")
    assert read.parent_id == raw_span(outer).span_id
    assert read.trace_id == raw_span(outer).trace_id
    assert (read.attributes["n"], list(read.attributes["tags"])) == (1, ["a"])
    assert read.events == (RawEvent("said", 7, {"a": "b"}),)
    assert read.start_ns is not None
    assert read.end_ns is not None
    assert read.start_ns <= read.end_ns
    assert (raw_span(outer).kind, raw_span(outer).status) == ("internal", "unset")


def test_an_exception_is_an_event() -> None:
    tracer = TracerProvider().get_tracer("framework")
    with contextlib.suppress(ValueError), tracer.start_as_current_span("x") as broken:
        raise ValueError("no")

    [event] = raw_span(broken).events

    assert (event.name, event.attributes["exception.message"]) == ("exception", "no")


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(document(FULL)).encode(),
        json.dumps(document(FULL), indent=2).encode(),
        gzip.compress(json.dumps(document(FULL)).encode()),
        in_protobuf(FULL),
        json.dumps({"trace": document(FULL)}).encode(),
        json.dumps([document(FULL)]).encode(),
    ],
    ids=["json", "over lines", "packed", "protobuf", "wrapped", "in a list"],
)
def test_otlp_in_any_form_is_the_same_span(data: bytes) -> None:
    assert list(raw_spans(data)) == [READ]


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("SPAN_KIND_SERVER", {"code": "STATUS_CODE_OK"}, ("server", "ok")),
        (1, {"code": 1}, ("internal", "ok")),
        (0, {}, (None, "unset")),
        (99, None, (None, "unset")),
        ([1], {"code": [2]}, (None, "unset")),
    ],
)
def test_kinds_and_codes_are_known_by_number_and_by_name(kind: Any, status: Any, expected: Any) -> None:
    [read] = raw_spans(line(span(1, kind=kind, status=status)))

    assert (read.kind, read.status) == expected


def test_lines_that_are_broken_cost_themselves_only() -> None:
    data = line(span(1)) + b'{"torn": \n' + b"\n" + line(span(2), span(3))

    assert [read.span_id[-1] for read in raw_spans(data)] == ["1", "2", "3"]


def test_spans_of_another_container_are_taken_as_far_as_they_go() -> None:
    zipkin = [{"traceId": TRACE, "id": "a" * 16, "name": "look", "timestamp": 5, "duration": 1, "tags": {"k": "v"}}]

    [read] = raw_spans(json.dumps(zipkin).encode())

    assert (read.name, read.span_id, read.start_ns, read.attributes) == ("look", "a" * 16, 5000, {"k": "v"})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"5",
        b'[{"role": "user", "content": "hello"}]',
        b"no json",
        line({"name": "x", "startTimeUnixNano": 1}),
    ],
    ids=["nothing", "empty", "number", "messages", "text", "no id"],
)
def test_where_there_are_no_spans_there_are_none(data: bytes) -> None:
    assert list(raw_spans(data)) == []


def test_bytes_that_begin_like_a_request_and_are_none_are_told() -> None:
    with pytest.raises(InputError, match="protobuf"):
        list(raw_spans(b"\x0a\xff\xff\xff\xff"))
