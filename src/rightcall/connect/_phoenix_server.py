"""Phoenix: traces by its REST API, in OTLP; verdicts as annotations.

Trace ids are listed first, and then whole traces fetched: they may have spans outside the time window of the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

import msgspec

from rightcall.errors import InputError, TraceServerError, nearest

from ._address import Query
from ._servers import Mark
from ._web import NotFoundError, Web, batches, bounded_pages, chronological, iso_time, one_line

_PAGE = 1000
"""Traces or spans per request: the server's limit."""
_TOGETHER = 20
"""Traces whose spans are requested at once. Their ids are in the URL, which servers limit to some 8,000 bytes."""
_ANNOTATIONS = 100
_NAMED = 8
"""How many projects an error lists."""
_NOT_IN_PATHS = frozenset("/?#")
"""Characters that Phoenix does not accept for a name in a path; such a project is requested by its id."""
DEFAULT_PLACE = "default"
KEY_VARIABLES = ("PHOENIX_API_KEY",)


class _Project(msgspec.Struct):
    id: str = ""
    name: str = ""


class _Projects(msgspec.Struct):
    data: list[_Project]
    next_cursor: str | None = None


class _Trace(msgspec.Struct):
    trace_id: str


class _Traces(msgspec.Struct):
    data: list[_Trace]
    next_cursor: str | None = None


class _Spans(msgspec.Struct):
    data: list[msgspec.Raw]
    next_cursor: str | None = None


class _Owner(msgspec.Struct):
    trace_id: str | None = None
    traceId: str | None = None  # noqa: N815 - the name in OTLP/JSON


class _Inserted(msgspec.Struct):
    data: list[msgspec.Raw] = []


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers with the key."""
    return {"authorization": f"Bearer {keys[0]}"}


class Phoenix:
    """A Phoenix project."""

    def __init__(self, web: Web, place: str) -> None:
        self._web = web
        self._place = place or DEFAULT_PLACE
        self._known_path = ""

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first.

        Raises:
            InputError: Phoenix does not support the query.
            TraceServerError: the request fails, or the server has no such project.
        """
        if query.tag is not None:
            raise InputError("Phoenix has no tags on traces; give a condition with filter=")
        if query.traces:
            return list(query.traces)
        fixed = [("sort", "start_time"), ("order", "desc"), ("limit", str(min(_PAGE, query.limit or _PAGE)))]
        wanted = {"session_identifier": query.session, "filter": query.filter}
        wanted |= {"start_time": iso_time(query.since_ns), "end_time": iso_time(query.until_ns)}
        given = [*fixed, *[(name, value) for name, value in wanted.items() if value is not None]]

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            asked = given if cursor is None else [*given, ("cursor", cursor)]
            try:
                answer = self._web.get(f"{self._path()}/traces", asked, as_type=_Traces)
            except NotFoundError:
                raise self._unknown_project() from None
            return [trace.trace_id for trace in answer.data], answer.next_cursor

        return chronological(bounded_pages(page), query.limit)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace with its id. Raises `TraceServerError`."""
        for wanted in batches(trace_ids, _TOGETHER):
            spans: dict[str, list[bytes]] = {trace_id: [] for trace_id in wanted}
            for span in self._spans(wanted):
                owner = msgspec.json.decode(span, type=_Owner)
                spans.setdefault(owner.traceId or owner.trace_id or "", []).append(one_line(span))
            for trace_id in wanted:
                if spans[trace_id]:
                    yield trace_id, b'{"data":[' + b",".join(spans[trace_id]) + b"]}"

    def push(self, marks: Sequence[Mark]) -> None:
        """Write annotations. Phoenix replaces those with the same name and identifier. Raises `TraceServerError`."""
        for path, key in (("/v1/trace_annotations", "trace_id"), ("/v1/span_annotations", "span_id")):
            chosen = [mark for mark in marks if (mark.span_id is not None) == (key == "span_id")]
            for some in batches(chosen, _ANNOTATIONS):
                body = {"data": [{key: getattr(mark, key), **_annotation(mark)} for mark in some]}
                self._web.post(path, body, [("sync", "true")], as_type=_Inserted)

    def _spans(self, trace_ids: Sequence[str]) -> Iterator[msgspec.Raw]:
        given = [("limit", str(_PAGE)), *[("trace_id", trace_id) for trace_id in trace_ids]]

        def page(cursor: str | None) -> tuple[list[msgspec.Raw], str | None]:
            asked = given if cursor is None else [*given, ("cursor", cursor)]
            try:
                answer = self._web.get(f"{self._path()}/spans/otlpv1", asked, as_type=_Spans)
            except NotFoundError:
                raise self._unknown_project() from None
            return answer.data, answer.next_cursor

        return bounded_pages(page)

    def _path(self) -> str:
        """Return the path of the project. Raises `TraceServerError`."""
        if not self._known_path:
            name = self._place
            if set(name) & _NOT_IN_PATHS:
                found = [project.id for project in self._projects() if project.name == name]
                if not found:
                    raise self._unknown_project()
                name = found[0]
            self._known_path = f"/v1/projects/{quote(name, safe='')}"
        return self._known_path

    def _projects(self) -> Iterator[_Project]:
        def page(cursor: str | None) -> tuple[list[_Project], str | None]:
            asked = [] if cursor is None else [("cursor", cursor)]
            answer = self._web.get("/v1/projects", asked, as_type=_Projects)
            return answer.data, answer.next_cursor

        return bounded_pages(page)

    def _unknown_project(self) -> TraceServerError:
        try:
            names = [project.name for project in self._projects()]
        except NotFoundError as problem:
            return TraceServerError(f"{problem}; is this the address of Phoenix?")
        return TraceServerError(f"Phoenix has no project {self._place[:80]!r}; {nearest(self._place, names[:_NAMED])}")


def _annotation(mark: Mark) -> dict[str, object]:
    result: dict[str, object] = {"label": mark.label, "explanation": mark.explanation}
    if mark.score is not None:
        result["score"] = mark.score
    return {
        "name": mark.name,
        "annotator_kind": "CODE",
        "identifier": mark.id,
        "result": result,
        "metadata": mark.metadata,
    }
