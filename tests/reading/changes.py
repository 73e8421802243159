"""Ways to write one trace down that should make no difference to what is read from it."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Document = dict[str, Any]
Source = bytes | list[bytes]
Change = Callable[[Document, random.Random], Source]

ELSEWHERE = "00f067aa0ba902b7"
SHIFT = 3_600_000_000_123
_IDS = ("traceId", "spanId", "parentSpanId")
_TIMES = ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano")
_STATUS = {0: "STATUS_CODE_UNSET", 1: "STATUS_CODE_OK", 2: "STATUS_CODE_ERROR"}
_KIND = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_HTTP = [{"key": "http.request.method", "value": {"stringValue": "POST"}}]


def written(document: Document) -> bytes:
    """A document as exporters write it."""
    return json.dumps(document).encode()


def scopes(document: Document) -> Iterator[tuple[Document, Document]]:
    """Each resource with each of its scopes."""
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            yield resource, scoped


def spans(document: Document) -> list[Document]:
    """Every span."""
    return [span for _, scoped in scopes(document) for span in scoped["spans"]]


def renamed(identity: str) -> str:
    """Another id of the same length, always the same for the same."""
    return f"{(int(identity, 16) * 0x9E3779B97F4A7C15 + 0x1234567) % (1 << 4 * len(identity)):0{len(identity)}x}"


def shuffled(document: Document, chance: random.Random) -> bytes:
    """Resources, scopes and spans in another order."""
    chance.shuffle(document["resourceSpans"])
    for resource in document["resourceSpans"]:
        chance.shuffle(resource["scopeSpans"])
    for _, scoped in scopes(document):
        chance.shuffle(scoped["spans"])
    return written(document)


def one_span_a_line(document: Document, chance: random.Random) -> bytes:
    """A request for each span, a line for each request."""
    lines = [written(_alone(resource, scoped, span)) for resource, scoped, span in _each(document)]
    chance.shuffle(lines)
    return b"\n".join(lines)


def two_files(document: Document, chance: random.Random) -> list[bytes]:
    """Some of the spans in one file, the others in another."""
    parts: list[list[bytes]] = [[], []]
    for resource, scoped, span in _each(document):
        chance.choice(parts).append(written(_alone(resource, scoped, span)))
    return [b"\n".join(part) for part in parts if part]


def gzip_in_pieces(document: Document, chance: random.Random) -> bytes:
    """Packed in pieces that are cut anywhere, as programs do that append to a file."""
    plain = written(document)
    cut = chance.randrange(1, len(plain))
    return gzip.compress(plain[:cut]) + gzip.compress(plain[cut:])


def zstd(document: Document, chance: random.Random) -> bytes:
    """Packed with zstd."""
    import zstandard

    return zstandard.ZstdCompressor().compress(written(document))


def pretty(document: Document, chance: random.Random) -> bytes:
    """For people to read."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def crlf(document: Document, chance: random.Random) -> bytes:
    """The same with the ends of lines that Windows has."""
    return pretty(document, chance).replace(b"\n", b"\r\n")


def byte_order_mark(document: Document, chance: random.Random) -> bytes:
    """With the mark that some editors put first."""
    return b"\xef\xbb\xbf" + written(document)


def utf_16(document: Document, chance: random.Random) -> bytes:
    """As PowerShell writes what is sent into a file."""
    return json.dumps(document, ensure_ascii=False).encode("utf-16")


def base64_ids(document: Document, chance: random.Random) -> bytes:
    """Ids as protobuf's own JSON has them."""
    return _with_ids(document, lambda text: base64.b64encode(bytes.fromhex(text)).decode())


def upper_case_ids(document: Document, chance: random.Random) -> bytes:
    """Ids in capital letters."""
    return _with_ids(document, str.upper)


def renamed_ids(document: Document, chance: random.Random) -> bytes:
    """Other ids."""
    return _with_ids(document, renamed)


def snake_case(document: Document, chance: random.Random) -> bytes:
    """Keys as Python's protobuf writes them."""

    def renamed_keys(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed_keys(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key): renamed_keys(value[key]) for key in value}

    return written(renamed_keys(document))


def names_of_enums(document: Document, chance: random.Random) -> bytes:
    """Kinds and states by name."""
    for span in spans(document):
        if "kind" in span:
            span["kind"] = f"SPAN_KIND_{_KIND[span['kind']]}"
        if "code" in span.get("status", {}):
            span["status"]["code"] = _STATUS[span["status"]["code"]]
    return written(document)


def integer_times(document: Document, chance: random.Random) -> bytes:
    """Times as numbers."""
    return _with_times(document, int)


def shifted_clock(document: Document, chance: random.Random) -> bytes:
    """An hour later."""
    return _with_times(document, lambda text: str(int(text) + SHIFT))


def attributes_shuffled(document: Document, chance: random.Random) -> bytes:
    """Attributes in another order."""
    for span in spans(document):
        chance.shuffle(span.get("attributes", []))
    return written(document)


def attributes_added(document: Document, chance: random.Random) -> bytes:
    """What a processor may add to each span."""
    for number, span in enumerate(spans(document)):
        more = [
            {"key": "deployment.environment.name", "value": {"stringValue": "production"}},
            {"key": "thread.id", "value": {"intValue": str(number)}},
            {"key": "code.function.name", "value": {"stringValue": "main"}},
        ]
        span["attributes"] = [*more[:1], *span.get("attributes", []), *more[1:]]
    return written(document)


def spans_twice(document: Document, chance: random.Random) -> bytes:
    """An exporter's second try, in another order."""
    for _, scoped in scopes(document):
        again = copy.deepcopy(scoped["spans"])
        chance.shuffle(again)
        scoped["spans"] += again
    return written(document)


def foreign_spans(document: Document, chance: random.Random) -> bytes:
    """Health checks beside the run."""
    for number in range(3):
        document["resourceSpans"].append(_health(document, number, chance))
    return written(document)


def foreign_lines(document: Document, chance: random.Random) -> bytes:
    """Lines of another program between those of the exporter."""
    lines = one_span_a_line(document, chance).split(b"\n")
    lines.insert(chance.randrange(len(lines)), b'{"level": "info", "message": "listening on port 8080"}')
    lines.insert(chance.randrange(len(lines)), b"")
    return b"\n".join(lines)


def server_around(document: Document, chance: random.Random) -> bytes:
    """Each trace inside of the span of a web server."""
    for scoped, roots in _roots(document):
        trace = roots[0]["traceId"]
        for span in roots:
            span["parentSpanId"] = trace[:16]
        scoped["spans"].append(_server(roots, trace, f"POST /{trace}"))
    return written(document)


def spans_between(document: Document, chance: random.Random) -> bytes:
    """A client's span between each span and its parent."""
    for _, scoped in scopes(document):
        for span in list(scoped["spans"]):
            if span.get("parentSpanId") and chance.random() < 0.5:
                between = _server([span], span["traceId"], "HTTP POST")
                between["spanId"], between["parentSpanId"] = renamed(span["spanId"]), span["parentSpanId"]
                span["parentSpanId"] = between["spanId"]
                scoped["spans"].append(between)
    return written(document)


def remote_parent(document: Document, chance: random.Random) -> bytes:
    """Each trace called by another service."""
    for span in spans(document):
        if not span.get("parentSpanId"):
            span["parentSpanId"] = ELSEWHERE
    return written(document)


def protobuf(document: Document, chance: random.Random) -> bytes:
    """As exporters send it."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    held = json.loads(base64_ids(document, chance))
    request = json_format.ParseDict(held, ExportTraceServiceRequest(), ignore_unknown_fields=True)
    return bytes(request.SerializeToString())


CHANGES: dict[str, Change] = {
    change.__name__.replace("_", " "): change
    for change in (
        shuffled,
        one_span_a_line,
        two_files,
        gzip_in_pieces,
        zstd,
        pretty,
        crlf,
        byte_order_mark,
        utf_16,
        base64_ids,
        upper_case_ids,
        renamed_ids,
        snake_case,
        names_of_enums,
        integer_times,
        shifted_clock,
        attributes_shuffled,
        attributes_added,
        spans_twice,
        foreign_spans,
        foreign_lines,
        server_around,
        spans_between,
        remote_parent,
        protobuf,
    )
}


def _each(document: Document) -> Iterator[tuple[Document, Document, Document]]:
    for resource, scoped in scopes(document):
        for span in scoped["spans"]:
            yield resource, scoped, span


def _alone(resource: Document, scoped: Document, span: Document) -> Document:
    return {"resourceSpans": [{**resource, "scopeSpans": [{**scoped, "spans": [span]}]}]}


def _with_ids(document: Document, change: Callable[[str], str]) -> bytes:
    for span in spans(document):
        for held in (span, *span.get("links", [])):
            for key in _IDS:
                if held.get(key):
                    held[key] = change(held[key])
    return written(document)


def _with_times(document: Document, change: Callable[[str], Any]) -> bytes:
    for span in spans(document):
        for held in (span, *span.get("events", [])):
            for key in _TIMES:
                if key in held:
                    held[key] = change(str(held[key]))
    return written(document)


def _roots(document: Document) -> list[tuple[Document, list[Document]]]:
    """The roots of each trace, with a scope that has one of them."""
    found: dict[str, tuple[Document, list[Document]]] = {}
    for _, scoped in scopes(document):
        for span in scoped["spans"]:
            if not span.get("parentSpanId"):
                found.setdefault(span["traceId"], (scoped, []))[1].append(span)
    return list(found.values())


def _server(inner: list[Document], trace: str, name: str) -> Document:
    """The span of a server around others; it begins before them and ends after them."""
    return {
        "traceId": trace,
        "spanId": trace[:16],
        "name": name,
        "kind": 2,
        "startTimeUnixNano": str(min(int(span["startTimeUnixNano"]) for span in inner) - 1_000),
        "endTimeUnixNano": str(max(int(span["endTimeUnixNano"]) for span in inner) + 1_000),
        "attributes": _HTTP,
        "status": {},
    }


def _health(document: Document, number: int, chance: random.Random) -> Document:
    time = chance.choice(spans(document))
    trace = f"{chance.getrandbits(128):032x}"
    return {
        "resource": {"attributes": []},
        "scopeSpans": [{"scope": {"name": "fastapi"}, "spans": [_server([time], trace, "GET /health")]}],
    }
