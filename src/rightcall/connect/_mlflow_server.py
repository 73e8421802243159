"""MLflow: traces by its REST API, with spans in OTLP; verdicts as assessments.

The official client returns spans in a format of its own, which loses more of them than OTLP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.errors import TraceServerError, nearest

from ._address import Query
from ._servers import Mark
from ._web import NotFoundError, RefusedError, Web, batches, bounded_pages, chronological, iso_time, one_line

_PAGE = 500
"""Traces per page of a search: the server's limit."""
_TOGETHER = 10
_NAMED = 8
"""How many experiments an error lists."""
_PREFIX = "tr-"
_OURS = "rightcall.id"
DEFAULT_PLACE = "Default"
KEY_VARIABLES = ("MLFLOW_TRACKING_TOKEN",)


class _Trace(msgspec.Struct):
    trace_id: str


class _Found(msgspec.Struct):
    traces: list[_Trace] = []
    next_page_token: str | None = None


class _Documents(msgspec.Struct):
    traces: list[msgspec.Raw] = []


class _Experiment(msgspec.Struct):
    experiment_id: str
    name: str = ""


class _AllExperiments(msgspec.Struct):
    experiments: list[_Experiment] = []


class _Experiments(msgspec.Struct):
    experiment: _Experiment


class _Assessment(msgspec.Struct):
    assessment_id: str = ""
    metadata: dict[str, Any] = {}


class _Info(msgspec.Struct):
    trace_id: str = ""
    assessments: list[_Assessment] = []


class _Whole(msgspec.Struct):
    trace_info: _Info


class _Answer(msgspec.Struct):
    trace: _Whole


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers with the key."""
    return {"authorization": f"Bearer {keys[0]}"}


class MLflow:
    """An MLflow experiment, by name or id."""

    def __init__(self, web: Web, place: str) -> None:
        self._web, self._place = web, place or DEFAULT_PLACE

    def trace_ids(self, query: Query) -> list[str]:
        """Return the ids of the traces that a query selects, oldest first.

        Raises:
            TraceServerError: the request fails, or the server has no such experiment.
        """
        if query.traces:
            return [_own(trace_id) for trace_id in query.traces]
        location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self._experiment()}}
        wanted: dict[str, Any] = {
            "locations": [location],
            "max_results": min(_PAGE, query.limit or _PAGE),
            "order_by": ["timestamp_ms DESC"],
        }
        condition = _condition(query)
        if condition:
            wanted["filter"] = condition

        def page(token: str | None) -> tuple[list[str], str | None]:
            body = wanted if token is None else {**wanted, "page_token": token}
            answer = self._web.post("/api/3.0/mlflow/traces/search", body, as_type=_Found)
            return [trace.trace_id for trace in answer.traces], answer.next_page_token

        return chronological(bounded_pages(page), query.limit)

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each whole trace with its id. Raises `TraceServerError`."""
        for wanted in batches(trace_ids, _TOGETHER):
            asked = [("trace_ids", trace_id) for trace_id in wanted]
            answer = self._web.get("/api/3.0/mlflow/traces/batchGet", asked, as_type=_Documents)
            for document in answer.traces:
                info = msgspec.json.decode(document, type=_Whole).trace_info
                yield info.trace_id, b'{"traces":[' + one_line(document) + b"]}"

    def push(self, marks: Sequence[Mark]) -> None:
        """Write assessments, and update those of ours that a trace already has. Raises `TraceServerError`."""
        by_trace: dict[str, list[Mark]] = {}
        for mark in marks:
            by_trace.setdefault(_own(mark.trace_id), []).append(mark)
        for trace_id, some in by_trace.items():
            path = f"/api/3.0/mlflow/traces/{quote(trace_id, safe='')}"
            # MLflow would add another assessment each time, so those of an earlier run have to be found first.
            value = self._web.get("/api/3.0/mlflow/traces/get", [("trace_id", trace_id)], as_type=_Answer)
            known = {each.metadata.get(_OURS): each.assessment_id for each in value.trace.trace_info.assessments}
            for mark in some:
                self._write(path, trace_id, mark, known.get(mark.id))

    def _write(self, path: str, trace_id: str, mark: Mark, assessment_id: str | None) -> None:
        assessment = _assessment(mark, trace_id)
        if assessment_id is None:
            self._web.send("POST", f"{path}/assessments", {"assessment": assessment}, is_repeatable=False)
            return
        body = {
            "assessment": {**assessment, "assessment_id": assessment_id},
            "update_mask": "feedback,rationale,metadata",
        }
        self._web.send("PATCH", f"{path}/assessments/{quote(assessment_id, safe='')}", body)

    def _experiment(self) -> str:
        """Return the id of the experiment. Raises `TraceServerError`."""
        asked = [("experiment_name", self._place)]
        try:
            found = self._web.get("/api/2.0/mlflow/experiments/get-by-name", asked, as_type=_Experiments)
        except NotFoundError:
            found = self._by_id()
        return found.experiment.experiment_id

    def _by_id(self) -> _Experiments:
        try:
            asked = [("experiment_id", self._place)]
            return self._web.get("/api/2.0/mlflow/experiments/get", asked, as_type=_Experiments)
        except RefusedError:
            wanted = {"max_results": _NAMED}
        known = self._web.post("/api/2.0/mlflow/experiments/search", wanted, as_type=_AllExperiments).experiments
        hint = nearest(self._place, [each.name for each in known])
        raise TraceServerError(f"MLflow has no experiment {self._place[:80]!r}; {hint}")


def _own(trace_id: str) -> str:
    """Return MLflow's id of a trace: OpenTelemetry's id with a prefix."""
    return trace_id if trace_id.startswith(_PREFIX) else f"{_PREFIX}{trace_id}"


def _condition(query: Query) -> str:
    """Return the filter in MLflow's search language."""
    parts = [query.filter] if query.filter else []
    if query.since_ns is not None:
        parts.append(f"trace.timestamp_ms >= {query.since_ns // 10**6}")
    if query.until_ns is not None:
        parts.append(f"trace.timestamp_ms < {query.until_ns // 10**6}")
    if query.session is not None:
        parts.append(f"metadata.`mlflow.trace.session` = {_quoted(query.session)}")
    if query.tag is not None:
        name, _, value = query.tag.partition("=")
        parts.append(f"tag.`{name.replace('`', '')}` = {_quoted(value)}")
    return " AND ".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _assessment(mark: Mark, trace_id: str) -> dict[str, Any]:
    # The value of feedback may be a number or a string; it is the verdict, because people filter by that.
    now = iso_time(mark.time_ns) if mark.time_ns is not None else datetime.now(UTC).isoformat().replace("+00:00", "Z")
    metadata = {**mark.metadata, _OURS: mark.id}
    if mark.score is not None:
        metadata["score"] = mark.score
    written: dict[str, Any] = {
        "assessment_name": mark.name,
        "trace_id": trace_id,
        "source": {"source_type": "CODE", "source_id": "rightcall"},
        "feedback": {"value": mark.label},
        "rationale": mark.explanation,
        "metadata": {name: str(value) for name, value in metadata.items()},
        "create_time": now,
        "last_update_time": now,
    }
    if mark.span_id is not None:
        written["span_id"] = mark.span_id
    return written
