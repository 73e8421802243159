"""Recorded runs as tables of spans, written in every way that exporters write them."""

from __future__ import annotations

import base64
import functools
import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from tests.reading import corpus

_ID = re.compile(
    r'(?<="traceId": ")[0-9a-f]{32}|(?<="spanId": ")[0-9a-f]{16}|(?<="parentSpanId": ")[0-9a-f]{16}'
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_VARIES = re.compile(_ID.pattern + r'|(?<=imeUnixNano": ")\d{19}')
_START = re.compile(r'(?<="startTimeUnixNano": ")\d{19}')
_DIGITS = 19
_HEXADECIMAL = re.compile("[0-9a-f]")
_CODES = ("Unset", "Ok", "Error")
_ANY = pa.struct(
    [
        ("string_value", pa.string()),
        ("bool_value", pa.bool_()),
        ("int_value", pa.int64()),
        ("double_value", pa.float64()),
        ("array_value", pa.string()),
    ]
)

Span = dict[str, Any]
"""A span: ids, `name`, `start` and `end`, `attributes`, `code`, `message`, `scope`, and `events`."""


@functools.cache
def recorded() -> dict[str, Any]:
    """The OTLP document of every recorded run that has one, by the name of the run."""
    found = {}
    for name in corpus.names():
        files = corpus.recordings()[name]
        if "otlp.json" in files:
            found[name] = json.loads(files["otlp.json"])
    return found


def copies(document: Any, generator: random.Random) -> Iterator[Any]:
    """Copies of a document, each with ids of its own for traces, spans, conversations and sessions."""
    make = copier(document, generator)
    while True:
        yield json.loads(make(None))


def copier(document: Any, generator: random.Random) -> Callable[[int | None], str]:
    """What makes such copies, as text; their first span begins at the time given, if one is."""
    text = json.dumps(document)
    between, held = _VARIES.split(text), _VARIES.findall(text)
    ids = [each for each in dict.fromkeys(held) if not each.isdecimal() or len(each) != _DIGITS]
    first = min(int(each) for each in _START.findall(text))

    def make(start: int | None) -> str:
        by = 0 if start is None else start - first
        fresh = {each: _fresh(each, generator) for each in ids}
        parts = [between[0]]
        for each, following in zip(held, between[1:], strict=True):
            parts += (fresh.get(each) or str(int(each) + by), following)
        return "".join(parts)

    return make


def _fresh(held: str, generator: random.Random) -> str:
    digits = iter(f"{generator.getrandbits(128):032x}")
    return _HEXADECIMAL.sub(lambda _: next(digits), held)


def spans_of(document: Any) -> list[Span]:
    """The spans of an OTLP document, with plain values."""
    return [
        {
            "trace_id": span["traceId"],
            "span_id": span["spanId"],
            "parent_id": span.get("parentSpanId") or None,
            "name": span["name"],
            "start": int(span["startTimeUnixNano"]),
            "end": int(span["endTimeUnixNano"]),
            "attributes": {pair["key"]: _value(pair["value"]) for pair in span.get("attributes", ())},
            "code": int(span.get("status", {}).get("code", 0)),
            "message": span.get("status", {}).get("message", ""),
            "scope": scoped.get("scope", {}).get("name", ""),
            "events": [
                {
                    "name": event["name"],
                    "time": int(event["timeUnixNano"]),
                    "attributes": {pair["key"]: _value(pair["value"]) for pair in event.get("attributes", ())},
                }
                for event in span.get("events", ())
            ],
        }
        for resource in document["resourceSpans"]
        for scoped in resource["scopeSpans"]
        for span in scoped["spans"]
    ]


def without_scopes(document: Any) -> Any:
    """A document that says of no span which instrumentation made it, as some tables do not."""
    return {
        "resourceSpans": [
            {"scopeSpans": [{"spans": scoped["spans"]} for scoped in resource["scopeSpans"]]}
            for resource in document["resourceSpans"]
        ]
    }


def _value(held: dict[str, Any]) -> Any:
    value: Any
    kind, value = next(iter(held.items()), ("", None))
    if kind == "intValue":
        return int(value)
    if kind == "arrayValue":
        return [_value(each) for each in value.get("values", ())]
    if kind == "kvlistValue":
        return {pair["key"]: _value(pair["value"]) for pair in value.get("values", ())}
    return value


def clickhouse(spans: list[Span]) -> pa.Table:
    """As the collector's exporter for ClickHouse writes them: every value of an attribute is text."""
    texts = pa.map_(pa.string(), pa.string())
    return pa.table(
        {
            "Timestamp": pa.array([span["start"] for span in spans], pa.timestamp("ns")),
            "TraceId": [span["trace_id"] for span in spans],
            "SpanId": [span["span_id"] for span in spans],
            "ParentSpanId": [span["parent_id"] or "" for span in spans],
            "SpanName": pa.array([span["name"] for span in spans]).dictionary_encode(),
            "SpanKind": ["Internal" for _ in spans],
            "ResourceAttributes": pa.array([[("service.name", "agent")] for _ in spans], texts),
            "ScopeName": [span["scope"] for span in spans],
            "SpanAttributes": pa.array([_texts(span["attributes"]) for span in spans], texts),
            "Duration": pa.array([span["end"] - span["start"] for span in spans], pa.uint64()),
            "StatusCode": [_CODES[span["code"]] for span in spans],
            "StatusMessage": [span["message"] for span in spans],
            "Events.Timestamp": pa.array([_each(span, "time") for span in spans], pa.list_(pa.timestamp("ns"))),
            "Events.Name": pa.array([_each(span, "name") for span in spans], pa.list_(pa.string())),
            "Events.Attributes": pa.array(
                [[_texts(held) for held in _each(span, "attributes")] for span in spans], pa.list_(texts)
            ),
        }
    )


def flat_json(spans: list[Span]) -> pa.Table:
    """Columns in snake_case, ids as bytes, attributes and events as JSON."""
    return pa.table(
        {
            "start_time_unix_nano": pa.array([span["start"] for span in spans], pa.int64()),
            "duration_time_unix_nano": pa.array([span["end"] - span["start"] for span in spans], pa.int64()),
            "trace_id": pa.array([bytes.fromhex(span["trace_id"]) for span in spans], pa.binary(16)),
            "span_id": pa.array([bytes.fromhex(span["span_id"]) for span in spans], pa.binary(8)),
            "parent_span_id": pa.array([bytes.fromhex(span["parent_id"] or "0" * 16) for span in spans], pa.binary(8)),
            "name": [span["name"] for span in spans],
            "kind": pa.array([1 for _ in spans], pa.int32()),
            "status_code": pa.array([span["code"] for span in spans], pa.int32()),
            "status_status_message": [span["message"] for span in spans],
            "resource_attributes": ['{"service.name": "agent"}' for _ in spans],
            "scope_name": [span["scope"] for span in spans],
            "span_attributes": [json.dumps(span["attributes"]) for span in spans],
            "events_json": [json.dumps(_json_events(span)) for span in spans],
        }
    )


def nested(spans: list[Span]) -> pa.Table:
    """As OTLP has them: typed values, structs of status and scope, camelCase, ids as base64."""
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", _ANY)]))
    event = pa.struct([("timeUnixNano", pa.uint64()), ("name", pa.string()), ("attributes", pairs)])
    return pa.table(
        {
            "traceId": [_base64(span["trace_id"]) for span in spans],
            "spanId": [_base64(span["span_id"]) for span in spans],
            "parentSpanId": [_base64(span["parent_id"]) for span in spans],
            "name": pa.array([span["name"] for span in spans], pa.large_string()),
            "startTimeUnixNano": pa.array([span["start"] for span in spans], pa.uint64()),
            "endTimeUnixNano": pa.array([span["end"] for span in spans], pa.uint64()),
            "attributes": pa.array([_pairs(span["attributes"]) for span in spans], pairs),
            "status": pa.array([{"message": span["message"], "code": _otlp_code(span)} for span in spans]),
            "instrumentationScope": pa.array([{"name": span["scope"], "version": "1"} for span in spans]),
            "events": pa.array(
                [
                    [
                        {"timeUnixNano": held["time"], "name": held["name"], "attributes": _pairs(held["attributes"])}
                        for held in span["events"]
                    ]
                    for span in spans
                ],
                pa.list_(event),
            ),
        }
    )


def phoenix(spans: list[Span]) -> pa.Table:
    """As Phoenix's dataframe of spans: a column an attribute, and nothing of scopes."""
    keys = sorted({key for span in spans for key in span["attributes"]})
    kind = "openinference.span.kind"
    event = pa.struct([("name", pa.string()), ("timestamp", pa.timestamp("ns")), ("attributes", pa.string())])
    times = {key: pa.array([span[key] for span in spans], pa.timestamp("ns", "UTC")) for key in ("start", "end")}
    return pa.table(
        {
            "name": [span["name"] for span in spans],
            "span_kind": [span["attributes"].get(kind) for span in spans],
            "parent_id": [span["parent_id"] for span in spans],
            "start_time": times["start"],
            "end_time": times["end"],
            "status_code": [_CODES[span["code"]].upper() for span in spans],
            "status_message": [span["message"] for span in spans],
            "events": pa.array(
                [
                    [
                        {"name": held["name"], "timestamp": held["time"], "attributes": json.dumps(held["attributes"])}
                        for held in span["events"]
                    ]
                    for span in spans
                ],
                pa.list_(event),
            ),
            "context.span_id": [span["span_id"] for span in spans],
            "context.trace_id": [span["trace_id"] for span in spans],
            **{
                f"attributes.{key}": _column([span["attributes"].get(key) for span in spans])
                for key in keys
                if key != kind
            },
        }
    )


def mlflow(spans: list[Span]) -> pa.Table:
    """As MLflow's traces: a row a trace, all of it as JSON, and nothing of scopes."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span["trace_id"], []).append(span)
    return pa.table(
        {
            "trace_id": [f"tr-{trace}" for trace in traces],
            "trace": [json.dumps(_mlflow_trace(trace, held)) for trace, held in traces.items()],
            "state": ["OK" for _ in traces],
        }
    )


def objects(spans: list[Span]) -> pa.Table:
    """As the SDK prints spans: ids and status in structs, times as text, attributes as a struct."""
    keys = sorted({key for span in spans for key in span["attributes"]})
    columns = [_column([span["attributes"].get(key) for span in spans]) for key in keys]
    event = pa.struct([("name", pa.string()), ("timestamp", pa.string()), ("attributes", pa.string())])
    return pa.table(
        {
            "name": [span["name"] for span in spans],
            "context": pa.array(
                [{"trace_id": f"0x{span['trace_id']}", "span_id": f"0x{span['span_id']}"} for span in spans]
            ),
            "parent_id": [span["parent_id"] and f"0x{span['parent_id']}" for span in spans],
            "start_time": [_iso(span["start"]) for span in spans],
            "end_time": [_iso(span["end"]) for span in spans],
            "status": pa.array(
                [{"status_code": _CODES[span["code"]].upper(), "description": span["message"]} for span in spans]
            ),
            "attributes": pa.StructArray.from_arrays(columns, keys),
            "events": pa.array(
                [
                    [
                        {
                            "name": held["name"],
                            "timestamp": _iso(held["time"]),
                            "attributes": json.dumps(held["attributes"]),
                        }
                        for held in span["events"]
                    ]
                    for span in spans
                ],
                pa.list_(event),
            ),
        }
    )


KINDS: dict[str, Callable[[list[Span]], pa.Table]] = {
    "clickhouse": clickhouse,
    "flat_json": flat_json,
    "nested": nested,
    "objects": objects,
    "phoenix": phoenix,
    "mlflow": mlflow,
}
"""Every kind of table."""

WITHOUT_SCOPES = ("objects", "phoenix", "mlflow")
"""Those that do not say which instrumentation made a span."""


def _mlflow_trace(trace: str, spans: list[Span]) -> dict[str, Any]:
    return {
        "info": {"trace_id": f"tr-{trace}", "state": "OK"},
        "data": {
            "spans": [
                {
                    "trace_id": _base64(span["trace_id"]),
                    "span_id": _base64(span["span_id"]),
                    "parent_span_id": _base64(span["parent_id"]),
                    "name": span["name"],
                    "start_time_unix_nano": span["start"],
                    "end_time_unix_nano": span["end"],
                    "attributes": span["attributes"],
                    "status": {"code": _otlp_code(span), "message": span["message"]},
                    "events": _json_events(span),
                }
                for span in spans
            ]
        },
    }


def _iso(time: int) -> str:
    seconds, rest = divmod(time, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def _otlp_code(span: Span) -> str:
    return f"STATUS_CODE_{_CODES[span['code']].upper()}"


def _json_events(span: Span) -> list[dict[str, Any]]:
    return [
        {"name": held["name"], "time_unix_nano": held["time"], "attributes": held["attributes"]}
        for held in span["events"]
    ]


def _each(span: Span, field: str) -> list[Any]:
    return [event[field] for event in span["events"]]


def _texts(attributes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in attributes.items()]


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any(value)} for key, value in attributes.items()]


def _any(value: Any) -> dict[str, Any]:
    names = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    if type(value) in names:
        return {names[type(value)]: value}
    return {"string_value": json.dumps(value)}


def _base64(digits: str | None) -> str | None:
    return None if digits is None else base64.b64encode(bytes.fromhex(digits)).decode()


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return pa.array(texts, pa.string())
