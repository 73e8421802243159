"""The recordings that are sent: every OTLP document of the corpus, as bytes of protobuf."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from tests.reading import corpus


@dataclass(frozen=True)
class Recording:
    """One run: its name, and its OTLP as an exporter sends it."""

    name: str
    wire: bytes

    @property
    def key(self) -> str:
        """The name as the name of a project, a folder or a file."""
        return self.name.replace("/", "--").replace("+", "-and-")

    @property
    def spans(self) -> int:
        """How many spans it has."""
        resources = TracesData.FromString(self.wire).resource_spans
        return sum([len(scope.spans) for resource in resources for scope in resource.scope_spans])


def recordings() -> list[Recording]:
    """Every run of the corpus that has spans."""
    return [
        Recording(name, _with_own_traces(files["otlp.pb"], name))
        for name, files in sorted(corpus.recordings().items())
        if "otlp.pb" in files
    ]


def with_resource(wire: bytes, key: str, value: str) -> bytes:
    """The same spans, from resources that have one more attribute."""
    document = TracesData.FromString(wire)
    for resource in document.resource_spans:
        attribute = resource.resource.attributes.add()
        attribute.key, attribute.value.string_value = key, value
    return bytes(document.SerializeToString())


def _with_own_traces(wire: bytes, name: str) -> bytes:
    """The same spans, in traces of the recording's own: some recordings share an id, which a server takes for one."""
    document = TracesData.FromString(wire)
    for resource in document.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                span.trace_id = hashlib.sha256(name.encode() + span.trace_id).digest()[:16]
    return bytes(document.SerializeToString())
