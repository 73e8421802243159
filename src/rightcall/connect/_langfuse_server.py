"""Langfuse: traces with their observations by its public API; verdicts as scores.

Version 4 lists observations by cursor. Version 3 responds to such a request with 404, or 501 in later releases, and
lists traces by page. Sources: `fern/apis/server/definition` in langfuse/langfuse and, for version 4, the client
langfuse 5.0.4.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.errors import InputError, TraceServerError

from ._address import Query
from ._servers import Mark
from ._web import (
    BAD_REQUEST,
    NotFoundError,
    RefusedError,
    Web,
    batches,
    bounded_pages,
    chronological,
    iso_time,
    one_line,
)

_PAGE = 1000
_OLD_PAGE = 100
"""The server's limits on observations (`_PAGE`) and traces (`_OLD_PAGE`) per request."""
_SCORES = 50
_FIELDS = "core,basic,time,io,metadata,model,usage,trace_context"
_EXPANDED = "attributes,resourceAttributes,scope"
"""Metadata to return whole instead of 200 characters: they contain the attributes of OpenTelemetry spans."""
KEY_VARIABLES = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")


class _Meta(msgspec.Struct):
    cursor: str | None = None
    totalPages: int = 0  # noqa: N815 - the server's name


class _Owned(msgspec.Struct):
    traceId: str | None = None  # noqa: N815 - the server's name


class _Owners(msgspec.Struct):
    data: list[_Owned] = []
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Observations(msgspec.Struct):
    data: list[msgspec.Raw] = []
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Trace(msgspec.Struct):
    id: str


class _Traces(msgspec.Struct):
    data: list[_Trace] = []
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Score(msgspec.Struct):
    id: str
    timestamp: str


class _Scores(msgspec.Struct):
    data: list[_Score] = []


class _Rejected(msgspec.Struct):
    errors: list[Any] = []


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers with the public and the secret key."""
    return {"authorization": f"Basic {b64encode(':'.join(keys).encode()).decode()}"}


class Langfuse:
    """The Langfuse project that the keys belong to."""

    def __init__(self, web: Web, place: str) -> None:
        self._web = web
        self._lists_observations = True

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first. Raises `TraceServerError`."""
        if query.traces:
            return list(query.traces)
        try:
            return chronological(self._by_observations(query), query.limit)
        except NotFoundError:
            self._lists_observations = False
            return chronological(self._by_traces(query), query.limit)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            document = self._observations(trace_id) if self._lists_observations else self._trace(trace_id)
            if document is not None:
                yield trace_id, document

    def push(self, marks: Sequence[Mark]) -> None:
        """Write scores, and replace those with the same ids. Raises `TraceServerError`."""
        for some in batches(marks, _SCORES):
            times = self._times(some)
            scores = [{**_score(mark), **({"timestamp": times[mark.id]} if mark.id in times else {})} for mark in some]
            try:
                answer = self._web.send("POST", "/api/public/scores", scores)
            except RefusedError as problem:
                if problem.status != BAD_REQUEST:
                    raise
                # Version 3 accepts one score per request, and replaces the one with the same id.
                for score in scores:
                    self._web.send("POST", "/api/public/scores", score)
                continue
            rejected = _rejected(answer)
            if rejected:
                raise TraceServerError(f"Langfuse refuses {len(rejected)} scores: {str(rejected[0])[:200]}")

    def _times(self, marks: Sequence[Mark]) -> dict[str, str]:
        """Return the times of existing scores: version 4 replaces a score only if both id and time are the same."""
        asked = [("id", ",".join([mark.id for mark in marks])), ("limit", str(_SCORES))]
        try:
            found = self._web.get("/api/public/v3/scores", asked, as_type=_Scores).data
        except NotFoundError:  # version 3, which compares ids only
            return {}
        return {score.id: score.timestamp for score in found}

    def _by_observations(self, query: Query) -> Iterator[str]:
        wanted = {"fromStartTime": iso_time(query.since_ns), "toStartTime": iso_time(query.until_ns)}
        if any((query.filter, query.session, query.tag)):
            wanted["filter"] = _conditions(query, "startTime")
        given = [("limit", str(_PAGE)), ("fields", "core"), *_present(wanted)]

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            asked = given if cursor is None else [*given, ("cursor", cursor)]
            answer = self._web.get("/api/public/v2/observations", asked, as_type=_Owners)
            return [each.traceId for each in answer.data if each.traceId], answer.meta.cursor

        return bounded_pages(page)

    def _by_traces(self, query: Query) -> Iterator[str]:
        wanted = {"fromTimestamp": iso_time(query.since_ns), "toTimestamp": iso_time(query.until_ns)}
        wanted |= {"sessionId": query.session, "tags": query.tag}
        if query.filter is not None:
            wanted["filter"] = _conditions(query, "timestamp")
        given = [("limit", str(_OLD_PAGE)), ("orderBy", "timestamp.desc"), ("fields", "core"), *_present(wanted)]

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            number = int(cursor or "1")
            answer = self._web.get("/api/public/traces", [*given, ("page", str(number))], as_type=_Traces)
            following = str(number + 1) if number < answer.meta.totalPages and answer.data else None
            return [trace.id for trace in answer.data], following

        return bounded_pages(page)

    def _observations(self, trace_id: str) -> bytes | None:
        given = [("traceId", trace_id), ("limit", str(_PAGE)), ("fields", _FIELDS), ("expandMetadata", _EXPANDED)]

        def page(cursor: str | None) -> tuple[list[msgspec.Raw], str | None]:
            asked = given if cursor is None else [*given, ("cursor", cursor)]
            try:
                answer = self._web.get("/api/public/v2/observations", asked, as_type=_Observations)
            except NotFoundError:
                self._lists_observations = False
                raise
            return answer.data, answer.meta.cursor

        try:
            items = [one_line(each) for each in bounded_pages(page)]
        except NotFoundError:
            return self._trace(trace_id)
        name = msgspec.json.encode(trace_id)
        return b'{"trace":{"id":' + name + b'},"observations":[' + b",".join(items) + b"]}" if items else None

    def _trace(self, trace_id: str) -> bytes | None:
        try:
            return one_line(self._web.get(f"/api/public/traces/{quote(trace_id, safe='')}", as_type=msgspec.Raw))
        except NotFoundError:
            return None


def _present(values: dict[str, str | None]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in values.items() if value is not None]


def _conditions(query: Query, time: str) -> str:
    """Return the filter as JSON: a list of conditions, each with its column. Raises `InputError`.

    With a filter the server ignores all other parameters, so times, session and tag have to be part of it.
    """
    found: list[Any] = []
    if query.filter is not None:
        try:
            found += msgspec.json.decode(query.filter, type=list[dict[str, Any]])
        except msgspec.DecodeError:
            raise InputError(
                "Langfuse's filter is a list of conditions in JSON, such as "
                'filter=[{"type":"string","column":"name","operator":"=","value":"shop"}]'
            ) from None
    for operator, moment in ((">=", query.since_ns), ("<", query.until_ns)):
        if moment is not None:
            found.append({"type": "datetime", "column": time, "operator": operator, "value": iso_time(moment)})
    if query.session is not None:
        found.append({"type": "string", "column": "sessionId", "operator": "=", "value": query.session})
    if query.tag is not None:
        found.append({"type": "arrayOptions", "column": "tags", "operator": "any of", "value": [query.tag]})
    return msgspec.json.encode(found).decode()


def _score(mark: Mark) -> dict[str, Any]:
    is_number = mark.score is not None
    score: dict[str, Any] = {
        "id": mark.id,
        "traceId": mark.trace_id,
        "name": mark.name,
        "value": mark.score if is_number else mark.label,
        "dataType": "NUMERIC" if is_number else "CATEGORICAL",
        "comment": f"{mark.label}: {mark.explanation}",
        "metadata": mark.metadata,
    }
    if mark.span_id is not None:
        score["observationId"] = mark.span_id
    if mark.time_ns is not None:
        score["timestamp"] = iso_time(mark.time_ns)
    return score


def _rejected(answer: bytes) -> list[Any]:
    try:
        return msgspec.json.decode(answer, type=_Rejected).errors
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
