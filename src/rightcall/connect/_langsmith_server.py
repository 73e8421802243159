"""LangSmith: traces and their runs by its interface; verdicts as feedback.

The second version of the interface is asked first; installations without it answer the first one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.errors import InputError, TraceServerError

from ._address import Query
from ._marks import Mark
from ._paging import bounded_pages, chronological, iso_time, one_line
from ._web import NotFoundError, Web

_PAGE = 100
_SELECTED = (
    *("ID", "NAME", "RUN_TYPE", "STATUS", "START_TIME", "END_TIME", "ERROR", "EXTRA", "INPUTS", "OUTPUTS"),
    *("PARENT_RUN_IDS", "TRACE_ID", "THREAD_ID", "DOTTED_ORDER", "REFERENCE_EXAMPLE_ID", "PROMPT_TOKENS"),
    *("COMPLETION_TOKENS", "TAGS"),
)
KEY_VARIABLES = ("LANGSMITH_API_KEY",)


class _Project(msgspec.Struct):
    id: str


class _Run(msgspec.Struct):
    id: str = ""
    trace_id: str | None = None


class _Root(msgspec.Struct):
    root_run: _Run | None = None


class _Roots(msgspec.Struct):
    items: list[_Root] = []
    next_cursor: str | None = None


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _Cursors(msgspec.Struct):
    next: str | None = None


class _OldRoots(msgspec.Struct):
    runs: list[_Run] = []
    cursors: _Cursors = msgspec.field(default_factory=_Cursors)


class _OldRuns(msgspec.Struct):
    runs: list[msgspec.Raw] = []
    cursors: _Cursors = msgspec.field(default_factory=_Cursors)


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"x-api-key": keys[0]}


class LangSmith:
    """A project of a LangSmith, by its name."""

    def __init__(self, web: Web, place: str) -> None:
        self._web, self._place = web, place
        self._known_id = ""
        self._is_new = True

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that are wanted, the oldest first.

        Raises:
            InputError: no project is given.
            TraceServerError: the server cannot be asked, or has no such project.
        """
        if query.traces:
            return list(query.traces)
        try:
            return chronological(self._new_roots(query), query.limit)
        except NotFoundError:
            self._is_new = False
            return chronological(self._old_roots(query), query.limit)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each trace, whole, with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            runs = [one_line(run) for run in self._runs(trace_id)]
            if runs:
                yield trace_id, b'{"runs":[' + b",".join(runs) + b"]}"

    def push(self, marks: Sequence[Mark]) -> None:
        """Write feedback. The same id replaces it. Raises `TraceServerError`."""
        for mark in marks:
            feedback: dict[str, Any] = {
                "id": mark.id,
                "run_id": mark.span_id or mark.trace_id,
                "trace_id": mark.trace_id,
                "key": mark.name,
                "value": mark.label,
                "comment": mark.explanation,
                "feedback_source": {"type": "api", "metadata": mark.metadata},
            }
            if mark.score is not None:
                feedback["score"] = mark.score
            self._web.send("POST", "/api/v1/feedback", feedback)

    def _new_roots(self, query: Query) -> Iterator[str]:
        # Without a time the server looks at the last day only.
        body: dict[str, Any] = {
            "project_id": self._project_id(),
            "page_size": _PAGE,
            "min_start_time": iso_time(query.since_ns or 0),
            "max_start_time": iso_time(query.until_ns or time.time_ns()),
        }
        condition = _condition(query)
        if condition:
            body["trace_filter"] = condition

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._web.post("/api/v2/traces/query", asked, as_type=_Roots)
            return [root.root_run.id for root in answer.items if root.root_run], answer.next_cursor

        return bounded_pages(page)

    def _old_roots(self, query: Query) -> Iterator[str]:
        body: dict[str, Any] = {
            "session": [self._project_id()],
            "is_root": True,
            "limit": _PAGE,
            "select": ["id", "trace_id"],
            "order": "desc",
        }
        times = {"start_time": iso_time(query.since_ns), "end_time": iso_time(query.until_ns)}
        body |= {name: value for name, value in times.items() if value is not None}
        condition = _condition(query)
        if condition:
            body["filter"] = condition

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._web.post("/api/v1/runs/query", asked, as_type=_OldRoots)
            return [run.trace_id or run.id for run in answer.runs], answer.cursors.next

        return bounded_pages(page)

    def _runs(self, trace_id: str) -> Sequence[msgspec.Raw]:
        if self._is_new:
            given = [("project_id", self._project_id()), *[("selects", name) for name in _SELECTED]]
            path = f"/api/v2/traces/{quote(trace_id, safe='')}/runs"
            try:
                return self._web.get(path, given, as_type=_Items).items
            except NotFoundError:
                self._is_new = False
        body = {"trace": trace_id, "limit": _PAGE}

        def page(cursor: str | None) -> tuple[list[msgspec.Raw], str | None]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._web.post("/api/v1/runs/query", asked, as_type=_OldRuns)
            return answer.runs, answer.cursors.next

        return list(bounded_pages(page))

    def _project_id(self) -> str:
        if not self._known_id:
            if not self._place:
                raise InputError("LangSmith keeps traces in projects: langsmith:///my-project")
            found = self._web.get("/api/v1/sessions", [("name", self._place)], as_type=list[_Project])
            if not found:
                raise TraceServerError(f"LangSmith has no project {self._place[:80]!r}")
            self._known_id = found[0].id
        return self._known_id


def _condition(query: Query) -> str:
    """Return the filter, in LangSmith's language for queries."""
    parts = [query.filter] if query.filter else []
    if query.session is not None:
        key, value = msgspec.json.encode("session_id").decode(), msgspec.json.encode(query.session).decode()
        parts.append(f"and(eq(metadata_key, {key}), eq(metadata_value, {value}))")
    if query.tag is not None:
        parts.append(f"has(tags, {msgspec.json.encode(query.tag).decode()})")
    return parts[0] if len(parts) == 1 else f"and({', '.join(parts)})" if parts else ""
