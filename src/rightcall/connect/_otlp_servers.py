"""Servers that speak OTLP: Jaeger and Tempo, which store spans only, and verdicts as log records for any server.

For Jaeger, version 3 of its API is preferred, and version 1 is used if the server does not have it. Sources for Jaeger:
docs/apis/api_v3_http.md in jaegertracing/jaeger, and `http_gateway.go` and `http_handler.go` of its query service; for
Tempo: "Tempo HTTP API" in Grafana's documentation. The event of a verdict and its attributes are those of
OpenTelemetry's conventions for generative AI (gen-ai-events, in development).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, TraceServerError, nearest
from rightcall.version import SCOPE, __version__

from ._address import Query
from ._servers import Mark
from ._web import (
    BAD_REQUEST,
    MOST,
    SECOND,
    NotFoundError,
    RefusedError,
    SpanServer,
    TooLongError,
    Web,
    WebPageError,
    batches,
    iso_time,
    one_line,
    searched,
)

_NULL = msgspec.Raw(b"null")
_MOST_NAMES = 8
"""How many services an error lists."""
_AGENTS = "{ span.gen_ai.operation.name != nil || span.openinference.span.kind != nil }"
"""The default search: spans with attributes of OpenTelemetry's GenAI conventions, or of OpenInference."""
_PLAIN_NAME = lazy_pattern(r"[A-Za-z_][\w.\-/]*")
_EVENT = "gen_ai.evaluation.result"
_RECORDS = 500
_SEVERITY = 9
"""INFO in OpenTelemetry's log data model."""
KEY_VARIABLES = ("OTEL_EXPORTER_OTLP_TOKEN",)


class _Result(msgspec.Struct):
    result: msgspec.Raw = _NULL


class _OtlpSpan(msgspec.Struct):
    traceId: str = ""  # noqa: N815 - OTLP's name
    startTimeUnixNano: str | int = 0  # noqa: N815 - OTLP's name


class _Scope(msgspec.Struct):
    spans: list[_OtlpSpan] = []


class _Resource(msgspec.Struct):
    scopeSpans: list[_Scope] = []  # noqa: N815 - OTLP's name


class _Otlp(msgspec.Struct):
    resourceSpans: list[_Resource] = []  # noqa: N815 - OTLP's name


class _OldSpan(msgspec.Struct):
    startTime: int = 0  # noqa: N815 - the server's name


class _OldTrace(msgspec.Struct):
    traceID: str = ""  # noqa: N815 - the server's name
    spans: list[_OldSpan] = []


class _OldTraces(msgspec.Struct):
    data: list[_OldTrace] | None = None


class _Services(msgspec.Struct):
    data: list[str] | None = None


class Jaeger(SpanServer):
    """The traces of one service in Jaeger."""

    def __init__(self, web: Web, place: str) -> None:
        super().__init__(web)
        self._service = place
        self._is_new = True

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first.

        Raises:
            InputError: no service is given, or Jaeger does not support the query.
            TraceServerError: the request fails, or the server has no such service.
        """
        if query.traces:
            return list(query.traces)
        if not self._service:
            raise InputError("Jaeger keeps traces by service: jaeger://localhost:16686/my-service")
        if query.session is not None:
            raise InputError("Jaeger has no sessions; give tag=NAME=VALUE with the attribute that holds the session")
        tags = _attributes(query)
        # Older servers ignore `query.attributes` in version 3, and would return all traces: so version 1 comes first.
        ways = [self._old_search, self._new_search] if tags else [self._new_search, self._old_search]
        found = self._first_known(ways, tags, query)
        if not found:
            self._check_service()
        return found

    def _first_known(
        self, ways: Sequence[Callable[[dict[str, str], int, int], dict[str, int]]], tags: dict[str, str], query: Query
    ) -> list[str]:
        """Search in the first way; if the server does not support it, in the second."""
        first, second = ways
        try:
            return searched(lambda since, until: first(tags, since, until), query)
        except (NotFoundError, WebPageError):
            return searched(lambda since, until: second(tags, since, until), query)

    def _new_search(self, tags: dict[str, str], since: int, until: int) -> dict[str, int]:
        # Jaeger 2.20 accepts names in camelCase only, earlier versions other spellings; unknown names are ignored.
        begin, end = iso_time(since) or "", iso_time(until) or ""
        asked = [
            *[(f"query.{name}", self._service) for name in ("serviceName", "service_name")],
            *[(f"query.{name}", begin) for name in ("startTimeMin", "start_time_min")],
            *[(f"query.{name}", end) for name in ("startTimeMax", "start_time_max")],
            *[(f"query.{name}", str(MOST)) for name in ("searchDepth", "search_depth", "num_traces")],
        ]
        if tags:
            asked.append(("query.attributes", msgspec.json.encode(tags).decode()))
        try:
            answer = self._web.get("/api/v3/traces", asked, as_type=_Result)
        except NotFoundError as problem:
            if _is_empty(problem):
                return {}
            raise
        found: dict[str, int] = {}
        otlp = msgspec.json.decode(answer.result, type=_Otlp | None) or _Otlp()
        for resource in otlp.resourceSpans:
            for span in [span for scope in resource.scopeSpans for span in scope.spans]:
                start = int(span.startTimeUnixNano)
                found[span.traceId] = min(start, found.get(span.traceId, start))
        return found

    def _old_search(self, tags: dict[str, str], since: int, until: int) -> dict[str, int]:
        asked = [("service", self._service), ("start", str(since // 1000)), ("end", str(until // 1000))]
        asked += [("limit", str(MOST))]
        if tags:
            asked.append(("tags", msgspec.json.encode(tags).decode()))
        answer = self._web.get("/api/traces", asked, as_type=_OldTraces)
        return {
            trace.traceID: min([span.startTime for span in trace.spans], default=0) * 1000
            for trace in answer.data or []
        }

    def document(self, trace_id: str) -> bytes | None:
        """Return a whole trace; None if the server does not have it. Raises `TraceServerError`."""
        name = quote(trace_id, safe="")
        if self._is_new:
            try:
                # Otherwise Jaeger adjusts times for clock skew, and truncates large traces.
                raw = [("rawTraces", "true"), ("raw_traces", "true")]
                document = self._web.get(f"/api/v3/traces/{name}", raw, as_type=_Result).result
                return one_line(document) if bytes(document) != b"null" else None
            except NotFoundError as problem:
                if _is_empty(problem):
                    return None
                self._is_new = False
            except WebPageError:
                self._is_new = False
        try:
            return one_line(self._web.get(f"/api/traces/{name}", [("raw", "true")], as_type=msgspec.Raw))
        except NotFoundError:
            return None

    def _check_service(self) -> None:
        """Raise `TraceServerError` if the server has other services, and not this one."""
        try:
            names = self._web.get("/api/services", as_type=_Services).data or []
        except (NotFoundError, WebPageError):
            return
        if names and self._service not in names:
            hint = nearest(self._service, sorted(names)[:_MOST_NAMES])
            raise TraceServerError(f"Jaeger has no service {self._service[:80]!r}; {hint}")


def _is_empty(problem: NotFoundError) -> bool:
    """Whether a 404 means that there are no such traces: then it has a JSON error, unlike one for an unknown path."""
    return problem.answer.startswith('{"error"')


def _attributes(query: Query) -> dict[str, str]:
    """Return the attributes that spans must have: those of `tag` and `filter`, as NAME=VALUE."""
    found: dict[str, str] = {}
    for condition in filter(None, (query.tag, query.filter)):
        name, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"Jaeger looks for attributes: write NAME=VALUE instead of {condition[:80]!r}")
        found[name] = value
    return found


class _Found(msgspec.Struct):
    traceID: str = ""  # noqa: N815 - the server's name
    startTimeUnixNano: str | int | None = None  # noqa: N815 - the server's name


class _Search(msgspec.Struct):
    traces: list[_Found] | None = None


class _Traced(msgspec.Struct):
    trace: msgspec.Raw = _NULL
    status: str | int = ""
    message: str = ""


class Tempo(SpanServer):
    """The traces of one tenant in Tempo."""

    def __init__(self, web: Web, place: str) -> None:
        super().__init__(web)

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first.

        Raises:
            InputError: the query has a filter, and a session or tag that would have to be part of it.
            TraceServerError: a request to the server fails.
        """
        if query.traces:
            return list(query.traces)
        condition = _condition(query)

        def search(since: int, until: int) -> dict[str, int]:
            # In whole seconds, and the end has to be later than the start (`ParseSearchRequest` in pkg/api).
            bounds = [("start", str(since // SECOND)), ("end", str(-(-until // SECOND)))]
            asked = [("q", condition), ("limit", str(MOST)), ("spss", "1"), *bounds]
            try:
                answer = self._web.get("/api/search", asked, as_type=_Search)
            except RefusedError as problem:
                # "range specified by start and end exceeds 168h0m0s" (grafana/tempo#1900).
                if problem.status == BAD_REQUEST and "exceeds" in problem.answer and "range" in problem.answer:
                    raise TooLongError(str(problem)) from None
                raise
            # Tempo omits leading zeros of an id.
            return {each.traceID.zfill(32): int(each.startTimeUnixNano or 0) for each in answer.traces or []}

        return searched(search, query)

    def document(self, trace_id: str) -> bytes | None:
        """Return a whole trace; None if the server does not have it. Raises `TraceServerError`."""
        name = quote(trace_id, safe="")
        try:
            answer = self._web.get(f"/api/v2/traces/{name}", as_type=_Traced)
        except NotFoundError:  # the trace is gone, or this is Tempo before 2.7, which has version 1 only
            try:
                return one_line(self._web.get(f"/api/traces/{name}", as_type=msgspec.Raw))
            except NotFoundError:
                return None
        if answer.status in ("PARTIAL", 1):  # larger than `max_bytes_per_trace`; version 1 responds with an error then
            self._web.leave_out(trace_id, f"Tempo gives a part of it only ({answer.message[:200]})")
            return None
        return one_line(answer.trace) if bytes(answer.trace) != b"null" else None


def _condition(query: Query) -> str:
    """Return the query in TraceQL. Raises `InputError`."""
    if query.filter is not None:
        if query.session is not None or query.tag is not None:
            raise InputError("Tempo's filter is a whole query in TraceQL; put the session or the tag into it")
        return query.filter
    parts = []
    if query.session is not None:
        session = _text(query.session)
        # `session.id` is of OpenTelemetry's general conventions and OpenInference, the other of its GenAI conventions.
        parts.append(f"{{ span.session.id = {session} || span.gen_ai.conversation.id = {session} }}")
    if query.tag is not None:
        name, equals, value = query.tag.partition("=")
        if not equals:
            raise InputError(f"Tempo looks for attributes: write tag=NAME=VALUE instead of {query.tag[:80]!r}")
        parts.append(f"{{ .{name if _PLAIN_NAME.fullmatch(name) else _text(name)} = {_text(value)} }}")
    return " && ".join(parts) or _AGENTS


def _text(value: str) -> str:
    return msgspec.json.encode(value).decode()


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers with the key."""
    return {"authorization": f"Bearer {keys[0]}"}


class OtlpLogs:
    """A server that receives OTLP log records."""

    def __init__(self, web: Web, place: str) -> None:
        self._web = web

    def push(self, marks: Sequence[Mark]) -> None:
        """Send a record for each verdict, with its id as an attribute. Raises `TraceServerError`."""
        for some in batches(marks, _RECORDS):
            scope = {"name": SCOPE, "version": __version__}
            logs = {"scope": scope, "logRecords": [_record(mark) for mark in some]}
            resource = {"attributes": _record_attributes({"service.name": "rightcall"})}
            self._web.send("POST", "/v1/logs", {"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]})


def _record(mark: Mark) -> dict[str, Any]:
    values: dict[str, Any] = {
        "gen_ai.evaluation.name": mark.name,
        "gen_ai.evaluation.score.label": mark.label,
        "gen_ai.evaluation.explanation": mark.explanation,
        "rightcall.id": mark.id,
        **{f"rightcall.{name}": value for name, value in mark.metadata.items()},
    }
    if mark.score is not None:
        values["gen_ai.evaluation.score.value"] = float(mark.score)
    if mark.label == "error":
        values["error.type"] = "evaluation_error"
    record: dict[str, Any] = {
        "timeUnixNano": str(mark.time_ns or 0),
        "severityNumber": _SEVERITY,
        "eventName": _EVENT,
        "traceId": mark.trace_id,
        "attributes": _record_attributes(values),
    }
    return record | ({"spanId": mark.span_id} if mark.span_id is not None else {})


def _record_attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for name, value in values.items()
    ]
