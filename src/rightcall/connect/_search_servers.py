"""Tempo and Jaeger: searches that return so many traces at the most, and have no pages; traces in OTLP.

A search that returns as many traces as it may has left some out. Its window is then cut in two, and both halves are
searched, until each returns less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.errors import InputError, TraceServerError

from ._address import Query
from ._marks import Mark
from ._paging import iso_time, one_line
from ._web import NotFoundError, Web

_MOST = 500
"""Traces that a search is asked for."""
_SECOND = 10**9
_LONG_AGO = 3650 * 86_400 * _SECOND
_AGENTS = "{ span.gen_ai.operation.name != nil || span.openinference.span.kind != nil }"
"""What Tempo looks for by itself: spans of the two conventions for agents."""


_NULL = msgspec.Raw(b"null")


class _Found(msgspec.Struct):
    traceID: str = ""  # noqa: N815 - the server's name
    startTimeUnixNano: str | int | None = None  # noqa: N815 - the server's name


class _Search(msgspec.Struct):
    traces: list[_Found] = []


class _Traced(msgspec.Struct):
    trace: msgspec.Raw = _NULL


class _Process(msgspec.Struct):
    traceID: str = ""  # noqa: N815 - the server's name
    spans: list[dict[str, Any]] = []


class _OldTraces(msgspec.Struct):
    data: list[msgspec.Raw] | None = None


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


def searched(
    search: Callable[[int, int], dict[str, int]], query: Query, *, now: Callable[[], int] = time.time_ns
) -> list[str]:
    """Return the ids of all traces in the window of a query, the oldest first.

    Args:
        search: Returns the start of each trace that a window has, by id; `_MOST` of them at the most.
        query: The window, and how many of the newest are wanted.
        now: What says which time it is, in nanoseconds.

    Raises:
        TraceServerError: one second has more traces than a search returns.
    """
    until = query.until_ns if query.until_ns is not None else now() + _SECOND
    found: dict[str, int] = {}
    windows = [(query.since_ns if query.since_ns is not None else until - _LONG_AGO, until)]
    while windows:
        since, until = windows.pop()
        part = search(since, until)
        if len(part) >= _MOST and until - since > _SECOND:
            middle = (since + until) // 2
            windows += [(since, middle), (middle, until)]  # the later one is searched first
            continue
        if len(part) >= _MOST:
            raise TraceServerError(f"a second has more than {_MOST} traces, which no search returns; give filter=")
        found |= part
        if query.limit is not None and len(found) >= query.limit:
            break
    newest_last = sorted(found, key=lambda trace_id: (found[trace_id], trace_id))
    return newest_last[-query.limit :] if query.limit is not None else newest_last


class Tempo:
    """A tenant of a Tempo."""

    def __init__(self, web: Web, place: str) -> None:
        self._web = web

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that are wanted, the oldest first. Raises `TraceServerError`."""
        if query.traces:
            return list(query.traces)
        condition = query.filter or _tempo_condition(query)

        def search(since: int, until: int) -> dict[str, int]:
            # Tempo counts whole seconds, and takes neither bound in halves.
            bounds = [("start", str(since // _SECOND)), ("end", str(-(-until // _SECOND)))]
            asked = [("q", condition), ("limit", str(_MOST)), ("spss", "1"), *bounds]
            answer = self._web.get("/api/search", asked, as_type=_Search)
            return {each.traceID.zfill(32): int(each.startTimeUnixNano or 0) for each in answer.traces}

        return searched(search, query)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each trace, whole, with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            name = quote(trace_id, safe="")
            try:
                document = self._web.get(f"/api/v2/traces/{name}", as_type=_Traced).trace
            except NotFoundError:  # before version 2.7 there is the first version of this only
                document = self._web.get(f"/api/traces/{name}", as_type=msgspec.Raw)
            if bytes(document) != b"null":
                yield trace_id, one_line(document)

    def push(self, marks: Sequence[Mark]) -> None:
        """Refuse: Tempo keeps spans and nothing beside them. Raises `InputError`."""
        raise InputError(
            "Tempo takes no verdicts; send them to a server for logs: --push-to otlp+http://localhost:4318"
        )


class Jaeger:
    """The traces of one service in a Jaeger."""

    def __init__(self, web: Web, place: str) -> None:
        self._web, self._service = web, place
        self._is_new = True

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that are wanted, the oldest first.

        Raises:
            InputError: no service is given, or the query asks for what Jaeger does not have.
            TraceServerError: the server cannot be asked.
        """
        if query.traces:
            return list(query.traces)
        if not self._service:
            raise InputError("Jaeger keeps traces by service: jaeger://localhost:16686/my-service")
        if query.session is not None:
            raise InputError("Jaeger knows no sessions; give tag=NAME=VALUE with the attribute that has it")
        try:
            return searched(lambda since, until: self._new_search(query, since, until), query)
        except NotFoundError:
            self._is_new = False
            return searched(lambda since, until: self._old_search(query, since, until), query)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each trace, whole, with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            name = quote(trace_id, safe="")
            if self._is_new:
                try:
                    document = self._web.get(f"/api/v3/traces/{name}", as_type=_Result).result
                except NotFoundError:
                    self._is_new = False
                else:
                    if bytes(document) != b"null":
                        yield trace_id, one_line(document)
                    continue
            yield trace_id, one_line(self._web.get(f"/api/traces/{name}", as_type=msgspec.Raw))

    def push(self, marks: Sequence[Mark]) -> None:
        """Refuse: Jaeger keeps spans and nothing beside them. Raises `InputError`."""
        raise InputError(
            "Jaeger takes no verdicts; send them to a server for logs: --push-to otlp+http://localhost:4318"
        )

    def _new_search(self, query: Query, since: int, until: int) -> dict[str, int]:
        asked = [
            ("query.service_name", self._service),
            ("query.start_time_min", iso_time(since) or ""),
            ("query.start_time_max", iso_time(until) or ""),
            ("query.search_depth", str(_MOST)),
            *[(f"query.attributes[{name}]", value) for name, value in _attributes(query).items()],
        ]
        answer = self._web.get("/api/v3/traces", asked, as_type=_Result)
        found: dict[str, int] = {}
        otlp = msgspec.json.decode(answer.result, type=_Otlp | None) or _Otlp()
        for resource in otlp.resourceSpans:
            for span in [span for scope in resource.scopeSpans for span in scope.spans]:
                start = int(span.startTimeUnixNano)
                found[span.traceId] = min(start, found.get(span.traceId, start))
        return found

    def _old_search(self, query: Query, since: int, until: int) -> dict[str, int]:
        bounds = [("start", str(since // 1000)), ("end", str(until // 1000)), ("limit", str(_MOST))]
        tags = _attributes(query)
        given = [("tags", msgspec.json.encode(tags).decode())] if tags else []
        answer = self._web.get("/api/traces", [("service", self._service), *bounds, *given], as_type=_OldTraces)
        found: dict[str, int] = {}
        for document in answer.data or []:
            trace = msgspec.json.decode(document, type=_Process)
            starts = [span["startTime"] for span in trace.spans if isinstance(span.get("startTime"), int)]
            found[trace.traceID] = min(starts, default=0) * 1000
        return found


def _tempo_condition(query: Query) -> str:
    """Return the query, in TraceQL."""
    parts = []
    if query.session is not None:
        parts.append(f"{{ span.session.id = {msgspec.json.encode(query.session).decode()} }}")
    if query.tag is not None:
        name, _, value = query.tag.partition("=")
        parts.append(f"{{ .{name} = {msgspec.json.encode(value).decode()} }}")
    return " && ".join(parts) or _AGENTS


def _attributes(query: Query) -> dict[str, str]:
    """Return the attributes that spans must have: those of `tag` and `filter`, as NAME=VALUE."""
    found: dict[str, str] = {}
    for condition in filter(None, (query.tag, query.filter)):
        name, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"Jaeger looks for attributes: write NAME=VALUE instead of {condition[:80]!r}")
        found[name] = value
    return found
