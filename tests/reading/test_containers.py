"""One run is the same run in every container."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.reading import corpus

from rightcall.reading import read, read_spans
from rightcall.reading.spans._span import plain_attributes

RUNS = [
    "google-adk/nested-1.14.1",
    "langgraph-dup-oi+openllmetry/trip-react",
    "strands/nested-1.62.0",
    "vercel-ai/trip-v6",
]


def parsed(data: bytes) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    request.ParseFromString(data)
    return request


def scoped(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [held for resource in document["resourceSpans"] for held in resource["scopeSpans"]]


def as_lines(document: dict[str, Any]) -> bytes:
    spans = [{"scopeSpans": [{**held, "spans": [span]}]} for held in scoped(document) for span in held["spans"]]
    return b"\n".join(json.dumps({"resourceSpans": [span]}).encode() for span in spans)


def tags(attributes: Any) -> list[dict[str, Any]]:
    return [{"key": key, "type": "string", "value": value} for key, value in plain_attributes(attributes).items()]


def as_jaeger(document: dict[str, Any]) -> bytes:
    traces: dict[str, list[dict[str, Any]]] = {}
    for held in scoped(document):
        for span in held["spans"]:
            start = int(span["startTimeUnixNano"]) // 1000
            status = span.get("status", {})
            made = {
                "traceID": span["traceId"],
                "spanID": span["spanId"],
                "operationName": span["name"],
                "references": [{"refType": "CHILD_OF", "spanID": span.get("parentSpanId", "")}],
                "startTime": start,
                "duration": int(span["endTimeUnixNano"]) // 1000 - start,
                "tags": [
                    *tags(span.get("attributes")),
                    {"key": "otel.status_code", "value": "ERROR" if status.get("code") == 2 else "OK"},
                    {"key": "otel.status_description", "value": status.get("message")},
                    {"key": "otel.scope.name", "value": held.get("scope", {}).get("name")},
                ],
                "logs": [
                    {"fields": [{"key": "event", "value": event["name"]}, *tags(event.get("attributes"))]}
                    for event in span.get("events", [])
                ],
            }
            traces.setdefault(span["traceId"], []).append(made)
    data = [{"traceID": trace, "spans": spans, "processes": {}} for trace, spans in traces.items()]
    return json.dumps({"data": data}).encode()


FORMS: dict[str, Callable[[bytes, dict[str, Any]], bytes]] = {
    "protobuf": lambda data, _: data,
    "protobuf in gzip": lambda data, _: gzip.compress(data),
    "protobuf in zstd": lambda data, _: zstandard.compress(data),
    "protobuf with lengths": lambda data, _: len(data).to_bytes(4, "big") + data,
    "base64 ids": lambda data, _: json.dumps(json_format.MessageToDict(parsed(data))).encode(),
    "snake_case": lambda data, _: json.dumps(
        json_format.MessageToDict(parsed(data), preserving_proto_field_name=True)
    ).encode(),
    "Tempo": lambda _, document: json.dumps({"batches": document["resourceSpans"]}).encode(),
    "Tempo's trace": lambda _, document: json.dumps({"trace": document}).encode(),
    "lines": lambda _, document: as_lines(document),
    "lines in gzip": lambda _, document: gzip.compress(as_lines(document)),
    "Jaeger": lambda _, document: as_jaeger(document),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_the_same_in(form: str, run: str) -> None:
    files = corpus.inputs(run)
    document = json.loads(files["otlp.json"])
    shown = [
        [(call.name, call.args, call.output, call.error, call.call_id, call.parent_id) for call in trajectory.calls]
        for trajectory in read(FORMS[form](files["otlp.pb"], document))
    ]
    plain = [
        [(call.name, call.args, call.output, call.error, call.call_id, call.parent_id) for call in trajectory.calls]
        for trajectory in read(document)
    ]

    assert shown == plain


@pytest.mark.parametrize("run", RUNS[:3])
def test_dicts_of_spans_are_one_trajectory(run: str) -> None:
    spans = [json.loads(line) for line in corpus.inputs(run)["spans.jsonl"].splitlines()]
    [trajectory] = read(corpus.inputs(run)["spans.jsonl"], grouping="file")

    assert read_spans(spans).calls == trajectory.calls


def test_requests_in_several_files_are_one_source(tmp_path: Any) -> None:
    files = corpus.recordings()["_containers/pydantic-ai-fmt5-trip"]
    paths = []
    for number in range(4):
        path = tmp_path / f"{number}"
        path.write_bytes(files[f"wire_{number}.binpb"])
        paths.append(str(path))
    [trajectory] = read(paths)

    assert len(trajectory.calls) == 6
