"""LangSmith: traces and their runs by its API; verdicts as feedback.

Version 2 of the API is tried first. Installations before 0.16 have only version 1, and those that keep runs in SmithDB
respond to version 1 with 501. Source: the client, 0.14.17.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.errors import InputError, TraceServerError, nearest

from ._address import Query
from ._servers import Mark
from ._web import CONFLICT, NotFoundError, RefusedError, Web, bounded_pages, chronological, iso_time, one_line

_PAGE = 100
_MOST_NAMES = 8
"""How many projects an error lists."""
_SELECTED = (
    *("ID", "NAME", "RUN_TYPE", "STATUS", "START_TIME", "END_TIME", "ERROR", "EXTRA", "INPUTS", "OUTPUTS"),
    *("PARENT_RUN_IDS", "TRACE_ID", "THREAD_ID", "DOTTED_ORDER", "REFERENCE_EXAMPLE_ID", "PROMPT_TOKENS"),
    *("COMPLETION_TOKENS", "TAGS"),
)
_OLD_SELECTED = [*[name.lower() for name in _SELECTED if name != "THREAD_ID"], "parent_run_id"]
_THREAD_KEYS = ("session_id", "conversation_id", "thread_id")
"""The metadata keys that make runs a thread, according to LangSmith's documentation of threads."""
KEY_VARIABLES = ("LANGSMITH_API_KEY",)


class _Project(msgspec.Struct):
    id: str
    name: str = ""


class _Run(msgspec.Struct):
    id: str = ""
    trace_id: str | None = None


class _Root(msgspec.Struct):
    root_run: _Run | None = None


class _Roots(msgspec.Struct):
    items: list[_Root] | None = None
    next_cursor: str | None = None


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _Cursors(msgspec.Struct):
    next: str | None = None


class _OldRoots(msgspec.Struct):
    runs: list[_Run] = []
    cursors: _Cursors | None = None


class _OldRuns(msgspec.Struct):
    runs: list[msgspec.Raw] = []
    cursors: _Cursors | None = None


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers with the key."""
    return {"x-api-key": keys[0]}


class LangSmith:
    """A LangSmith project, by name or id."""

    def __init__(self, web: Web, place: str) -> None:
        self._web, self._place = web, place
        self._known_id = ""
        self._is_new: bool | None = None
        """Whether the server has version 2 of the API; None before the first request."""

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first.

        Raises:
            InputError: no project is given.
            TraceServerError: the request fails, or the server has no such project.
        """
        if query.traces:
            return list(query.traces)
        try:
            return chronological(self._new_roots(query), query.limit)
        except NotFoundError:
            self._is_new = False
            return chronological(self._old_roots(query), query.limit)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            runs = [one_line(run) for run in self._runs(trace_id)]
            if runs:
                yield trace_id, b'{"runs":[' + b",".join(runs) + b"]}"

    def push(self, marks: Sequence[Mark]) -> None:
        """Write feedback, and replace that with the same id. Raises `InputError` and `TraceServerError`."""
        for mark in marks:
            verdict: dict[str, Any] = {"value": mark.label, "comment": mark.explanation}
            if mark.score is not None:
                verdict["score"] = mark.score
            about = {
                "id": mark.id,
                "run_id": mark.span_id or mark.trace_id,
                "trace_id": mark.trace_id,
                "session_id": self._project_id(),  # SmithDB does not find the run without it
                "key": mark.name,
                "feedback_source": {"type": "api", "metadata": mark.metadata},
            }
            try:
                self._web.send("POST", "/api/v1/feedback", {**about, **verdict})
            except RefusedError as problem:
                if problem.status != CONFLICT:
                    raise
                self._web.send("PATCH", f"/api/v1/feedback/{mark.id}", verdict)

    def _new_roots(self, query: Query) -> Iterator[str]:
        # By default the server searches the last day only.
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
            self._is_new = True
            return [root.root_run.id for root in answer.items or [] if root.root_run], answer.next_cursor

        return bounded_pages(page)

    def _old_roots(self, query: Query) -> Iterator[str]:
        body: dict[str, Any] = {
            "session": [self._project_id()],
            "is_root": True,
            "limit": _PAGE,
            "select": ["id", "trace_id"],
            "order": "desc",
            "start_time": iso_time(query.since_ns or 0),
        }
        # `end_time` compares the end of runs, so the end of the window is part of the filter.
        until = f"lt(start_time, {_quoted(iso_time(query.until_ns) or '')})" if query.until_ns is not None else ""
        condition = _condition(query, until)
        if condition:
            body["filter"] = condition

        def page(cursor: str | None) -> tuple[list[str], str | None]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._web.post("/api/v1/runs/query", asked, as_type=_OldRoots)
            return [
                run.trace_id or run.id for run in answer.runs
            ], answer.cursors.next if answer.cursors is not None else None

        return bounded_pages(page)

    def _runs(self, trace_id: str) -> Sequence[msgspec.Raw]:
        """Return the runs of a trace; none if the trace no longer exists."""
        if self._is_new is not False:
            given = [("project_id", self._project_id()), *[("selects", name) for name in _SELECTED]]
            path = f"/api/v2/traces/{quote(trace_id, safe='')}/runs"
            try:
                return self._web.get(path, given, as_type=_Items).items or ()
            except NotFoundError:
                if self._is_new:
                    return ()
        try:
            return list(self._old_runs(trace_id))
        except NotFoundError:
            return ()

    def _old_runs(self, trace_id: str) -> Iterator[msgspec.Raw]:
        body = {"trace": trace_id, "limit": _PAGE, "select": _OLD_SELECTED}

        def page(cursor: str | None) -> tuple[list[msgspec.Raw], str | None]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._web.post("/api/v1/runs/query", asked, as_type=_OldRuns)
            return answer.runs, answer.cursors.next if answer.cursors is not None else None

        return bounded_pages(page)

    def _project_id(self) -> str:
        if not self._known_id:
            if not self._place:
                raise InputError("LangSmith keeps traces in projects: langsmith:///my-project")
            found = self._web.get("/api/v1/sessions", [("name", self._place)], as_type=list[_Project])
            self._known_id = found[0].id if found else self._own_id()
        return self._known_id

    def _own_id(self) -> str:
        """Return the place if it is a project id, not a name. Raises `TraceServerError`."""
        try:
            return str(uuid.UUID(self._place))
        except ValueError:
            some = self._web.get("/api/v1/sessions", [("limit", str(_MOST_NAMES))], as_type=list[_Project])
        hint = nearest(self._place, [project.name for project in some])
        raise TraceServerError(f"LangSmith has no project {self._place[:80]!r}; {hint}")


def _condition(query: Query, *more: str) -> str:
    """Return the filter in LangSmith's query language."""
    parts = [*filter(None, (query.filter, *more))]
    if query.session is not None:
        keys = ", ".join(map(_quoted, _THREAD_KEYS))
        parts.append(f"and(in(metadata_key, [{keys}]), eq(metadata_value, {_quoted(query.session)}))")
    if query.tag is not None:
        parts.append(f"has(tags, {_quoted(query.tag)})")
    return parts[0] if len(parts) == 1 else f"and({', '.join(parts)})" if parts else ""


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
