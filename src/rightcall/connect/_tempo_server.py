"""Tempo: traces found by TraceQL and fetched in OTLP. It stores spans only, and no verdicts.

The interface is that of "Tempo HTTP API" in Grafana's documentation.
"""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError

from ._address import Query
from ._paging import MOST, SECOND, SpanServer, TooLongError, one_line, searched
from ._web import BAD_REQUEST, NotFoundError, RefusedError, Web

_AGENTS = "{ span.gen_ai.operation.name != nil || span.openinference.span.kind != nil }"
"""What is looked for where an address does not say: spans of the two conventions for agents."""
_PLAIN_NAME = lazy_pattern(r"[A-Za-z_][\w.\-/]*")
_NULL = msgspec.Raw(b"null")


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
    """A tenant of a Tempo."""

    def __init__(self, web: Web, place: str) -> None:
        super().__init__(web)

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that are wanted, the oldest first.

        Raises:
            InputError: the query has a filter, and a session or tag that would have to be part of it.
            TraceServerError: the server cannot be asked.
        """
        if query.traces:
            return list(query.traces)
        condition = _condition(query)

        def search(since: int, until: int) -> dict[str, int]:
            # Times are whole seconds, and the end has to be later than the start (`ParseSearchRequest` in pkg/api).
            bounds = [("start", str(since // SECOND)), ("end", str(-(-until // SECOND)))]
            asked = [("q", condition), ("limit", str(MOST)), ("spss", "1"), *bounds]
            try:
                answer = self._web.get("/api/search", asked, as_type=_Search)
            except RefusedError as problem:
                # "range specified by start and end exceeds 168h0m0s" (grafana/tempo#1900).
                if problem.status == BAD_REQUEST and "exceeds" in problem.answer and "range" in problem.answer:
                    raise TooLongError(str(problem)) from None
                raise
            # Zeros at the beginning of an id are left out.
            return {each.traceID.zfill(32): int(each.startTimeUnixNano or 0) for each in answer.traces or []}

        return searched(search, query)

    def document(self, trace_id: str) -> bytes | None:
        """Return a trace, whole; none if the server does not have it. Raises `TraceServerError`."""
        name = quote(trace_id, safe="")
        try:
            answer = self._web.get(f"/api/v2/traces/{name}", as_type=_Traced)
        except NotFoundError:  # the trace is gone, or this is older than 2.7, which has the first version only
            try:
                return one_line(self._web.get(f"/api/traces/{name}", as_type=msgspec.Raw))
            except NotFoundError:
                return None
        if answer.status in ("PARTIAL", 1):  # larger than `max_bytes_per_trace`; the first version is an error then
            self._web.leave_out(trace_id, f"Tempo gives a part of it only ({answer.message[:200]})")
            return None
        return one_line(answer.trace) if bytes(answer.trace) != b"null" else None


def _condition(query: Query) -> str:
    """Return the query, in TraceQL. Raises `InputError`."""
    if query.filter is not None:
        if query.session is not None or query.tag is not None:
            raise InputError("Tempo's filter is a whole query in TraceQL; put the session or the tag into it")
        return query.filter
    parts = []
    if query.session is not None:
        session = _text(query.session)
        # The attribute of OpenTelemetry's general conventions and of OpenInference, and that of its GenAI conventions.
        parts.append(f"{{ span.session.id = {session} || span.gen_ai.conversation.id = {session} }}")
    if query.tag is not None:
        name, equals, value = query.tag.partition("=")
        if not equals:
            raise InputError(f"Tempo looks for attributes: write tag=NAME=VALUE instead of {query.tag[:80]!r}")
        parts.append(f"{{ .{name if _PLAIN_NAME.fullmatch(name) else _text(name)} = {_text(value)} }}")
    return " && ".join(parts) or _AGENTS


def _text(value: str) -> str:
    return msgspec.json.encode(value).decode()
