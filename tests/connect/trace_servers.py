"""Small servers that answer as the documented interfaces of Langfuse, LangSmith, Tempo and Jaeger do.

Where an answer is not what one would guess, the source is named beside it: there is no such server to be had here.
"""

from __future__ import annotations

import json
from typing import Any

from tests.connect.loopback import SECOND, START, Answer, Asked, otlp, trace, trace_id

COUNT = 25


def observations(number: int) -> list[dict[str, Any]]:
    """The observations of a trace in Langfuse: an agent that calls one tool."""
    times = {"startTime": f"2026-01-01T00:00:{number:02d}.000Z", "endTime": f"2026-01-01T00:00:{number:02d}.500Z"}
    common = {"traceId": trace_id(number), "level": "DEFAULT", **times}
    root = {"id": f"r{number:015x}", "type": "AGENT", "name": "shop", "parentObservationId": None, **common}
    tool = {"id": f"{number:016x}", "type": "TOOL", "name": "search", "parentObservationId": root["id"], **common}
    return [root, {**tool, "input": json.dumps({"q": number}), "output": '"found"'}]


class Langfuse4:
    """Observations by cursor, scores as a list (the client langfuse 5.0.4)."""

    def __init__(self) -> None:
        self.scores: dict[tuple[str, str | None], dict[str, Any]] = {}

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/api/public/v2/observations":
            return self._observed(asked)
        if asked.path == "/api/public/v3/scores":
            wanted = asked.query["id"][0].split(",")
            found = [{"id": id_, "timestamp": time} for id_, time in self.scores if id_ in wanted]
            return Answer({"data": found, "meta": {}})
        if asked.path == "/api/public/scores" and isinstance(asked.body, list):
            for score in asked.body:
                # "To update an existing score, send it again with the same id and timestamp" (`CreateScoreRequest`).
                time = score.get("timestamp", f"2026-02-01T00:00:{len(self.scores):02d}Z")
                self.scores[score["id"], time] = score
            return Answer({"message": "Accepted"}, 202)
        return Answer({"message": "not found"}, 404)

    def _observed(self, asked: Asked) -> Answer:
        if "traceId" in asked.query:
            return Answer({"data": observations(int(asked.query["traceId"][0], 16) - 1), "meta": {}})
        start = int(asked.query.get("cursor", ["0"])[0])
        found = [observations(number)[0] for number in range(COUNT)][::-1]
        following = {"cursor": str(start + 7)} if start + 7 < COUNT else {}
        return Answer({"data": found[start : start + 7], "meta": following})


class Langfuse3:
    """Traces by page, one score a request (`trace.yml`, `score.yml` in langfuse/langfuse)."""

    def __init__(self, unknown: int = 404) -> None:
        self.scores: dict[str, dict[str, Any]] = {}
        self._unknown = unknown
        """What an interface of version 4 is answered with: 501 in some releases, 404 in others."""

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/api/public/traces":
            page = int(asked.query["page"][0])
            ids = [{"id": trace_id(number)} for number in range(COUNT)][::-1]
            return Answer({"data": ids[(page - 1) * 7 : page * 7], "meta": {"page": page, "totalPages": 4}})
        if asked.path.startswith("/api/public/traces/"):
            number = int(asked.path.rpartition("/")[2], 16) - 1
            if not 0 <= number < COUNT:
                return Answer({"error": "LangfuseNotFoundError"}, 404)
            return Answer({"id": trace_id(number), "observations": observations(number)})
        if asked.path == "/api/public/scores":
            if isinstance(asked.body, list):
                return Answer({"message": "Invalid request data", "error": []}, 400)
            self.scores[asked.body["id"]] = asked.body
            return Answer({"id": asked.body["id"]})
        return Answer({"message": "v2 APIs are only available on Langfuse Cloud"}, self._unknown)


def runs(number: int) -> list[dict[str, Any]]:
    """The runs of a trace in LangSmith: an agent that calls one tool."""
    times = {"start_time": f"2026-01-01T00:00:{number:02d}", "end_time": f"2026-01-01T00:00:{number:02d}.5"}
    common = {"trace_id": trace_id(number), "outputs": {"output": "found"}, **times}
    root = {"id": trace_id(number), "name": "shop", "run_type": "CHAIN", "inputs": {}, "parent_run_ids": [], **common}
    tool = {"id": f"t{number}", "name": "search", "run_type": "TOOL", "inputs": {"q": number}, **common}
    return [root, {**tool, "parent_run_ids": [root["id"]], "parent_run_id": root["id"]}]


class LangSmithLike:
    """Traces and their runs, by the second version of the interface or by the first; feedback by id."""

    def __init__(self, *, is_new: bool = True) -> None:
        self.feedback: dict[str, dict[str, Any]] = {}
        self._is_new = is_new

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/api/v1/sessions":
            is_listed = asked.query.get("name", ["shop"]) == ["shop"]
            return Answer([{"id": "p1", "name": "shop"}] if is_listed else [])
        if asked.path.startswith("/api/v1/feedback"):
            return self._fed_back(asked)
        if asked.path.startswith("/api/v2/") and self._is_new:
            return self._new(asked)
        if asked.path == "/api/v1/runs/query" and not self._is_new:
            return self._old(asked)
        # Where runs are in SmithDB, the first version is not implemented (`_v2_migration_utils.py` of the client).
        return Answer({"detail": "not here"}, 501 if asked.path.startswith("/api/v1/") else 404)

    def _new(self, asked: Asked) -> Answer:
        if asked.path == "/api/v2/traces/query":
            start = int(asked.body.get("cursor", 0))
            roots = [{"root_run": {"id": trace_id(number)}} for number in range(COUNT)][::-1]
            following = str(start + 7) if start + 7 < COUNT else None
            return Answer({"items": roots[start : start + 7], "next_cursor": following})
        number = int(asked.path.split("/")[4], 16) - 1
        return Answer({"items": runs(number)}) if 0 <= number < COUNT else Answer({"detail": "no such trace"}, 404)

    def _old(self, asked: Asked) -> Answer:
        if "trace" in asked.body:
            number = int(asked.body["trace"], 16) - 1
            return Answer({"runs": runs(number) if 0 <= number < COUNT else [], "cursors": {"next": None}})
        start = int(asked.body.get("cursor", 0))
        found = [{"id": trace_id(number)} for number in range(COUNT)][::-1]
        following = str(start + 7) if start + 7 < COUNT else None
        return Answer({"runs": found[start : start + 7], "cursors": {"next": following}})

    def _fed_back(self, asked: Asked) -> Answer:
        if asked.method == "PATCH":
            self.feedback[asked.path.rpartition("/")[2]] |= asked.body
        elif asked.body["id"] in self.feedback:
            return Answer({"detail": "exists"}, 409)
        elif "session_id" not in asked.body:
            return Answer({"detail": "session_id must be provided"}, 422)
        else:
            self.feedback[asked.body["id"]] = asked.body
        return Answer({})


class TempoLike:
    """Searches without pages, of whole seconds and short windows; more traces than a search returns."""

    def __init__(self, count: int = COUNT, *, longest_hours: int = 168, partial: str = "") -> None:
        self._starts = {trace_id(number): START + number * SECOND for number in range(count)}
        self._longest, self._partial = longest_hours * 3600, partial

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/api/search":
            return self._found(asked)
        name = asked.path.rpartition("/")[2]
        if name not in self._starts or not asked.path.startswith("/api/v2/traces/"):
            return Answer(b"trace not found", 404)
        if name == self._partial:
            # grafana/tempo#3941: a trace that is too large is cut, and says so.
            said = "Trace exceeds maximum size of 5 bytes, a partial trace is returned"
            return Answer({"trace": otlp([]), "status": "PARTIAL", "message": said})
        return Answer({"trace": otlp(trace(int(name, 16) - 1)), "metrics": {}})

    def _found(self, asked: Asked) -> Answer:
        start, end = [int(asked.query[name][0]) for name in ("start", "end")]
        if end - start > self._longest:
            # grafana/tempo#1900
            said = f"range specified by start and end exceeds {self._longest // 3600}h0m0s. received start={start}"
            return Answer(said.encode(), 400)
        found = [
            {"traceID": each.lstrip("0"), "startTimeUnixNano": str(begun)}
            for each, begun in self._starts.items()
            if start * SECOND <= begun <= end * SECOND
        ]
        return Answer({"traces": found[: int(asked.query["limit"][0])], "metrics": {}})


class JaegerLike:
    """Searches of windows, in the third version of the interface, the first, or both."""

    def __init__(self, count: int = COUNT, *, versions: tuple[str, ...] = ("v1", "v3"), pages: bool = False) -> None:
        self._count, self._versions, self._pages = count, versions, pages

    def __call__(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix("/api")
        if path.startswith("/v3/") and "v3" in self._versions:
            return self._new(asked, path.removeprefix("/v3"))
        if path == "/services":
            return Answer({"data": ["shop", "desk"]})
        if not path.startswith("/v3/") and "v1" in self._versions:
            return self._old(asked, path)
        # A path that is not known is one of the user interface, whose page it gets.
        return Answer(b"<!doctype html><title>Jaeger UI</title>") if self._pages else Answer(b"404 page not found", 404)

    def _new(self, asked: Asked, path: str) -> Answer:
        if path != "/traces":
            one = self._by_id(path)
            return Answer({"result": otlp(trace(one))}) if one is not None else _no_traces()
        # From 2.20 on there are names in camelCase only (docs/apis/api_v3_http.md).
        first, last = [asked.query[f"query.startTime{name}"][0] for name in ("Min", "Max")]
        most = int(asked.query["query.searchDepth"][0])
        wanted = json.loads(asked.query.get("query.attributes", ["{}"])[0])
        found = [number for number in range(self._count) if first <= _moment(number) <= last and not wanted]
        if asked.query["query.serviceName"] != ["shop"] or not found:
            return _no_traces()
        return Answer({"result": otlp([each for number in found[-most:] for each in trace(number)])})

    def _old(self, asked: Asked, path: str) -> Answer:
        if path != "/traces":
            number = self._by_id(path)
            if number is None:
                return Answer({"data": None, "errors": [{"code": 404, "msg": "trace not found"}]}, 404)
            return Answer({"data": [_jaeger_trace(number)]})
        first, last = [int(asked.query[name][0]) * 1000 for name in ("start", "end")]
        found = [number for number in range(self._count) if first <= START + number * SECOND <= last]
        wanted = json.loads(asked.query.get("tags", ["{}"])[0])
        found = [number for number in found if not wanted or wanted == {"q": str(number)}]
        return Answer({"data": [_jaeger_trace(number) for number in found[-int(asked.query["limit"][0]) :]]})

    def _by_id(self, path: str) -> int | None:
        number = int(path.rpartition("/")[2], 16) - 1
        return number if 0 <= number < self._count else None


def _moment(number: int) -> str:
    seconds = START // SECOND + number
    return f"2023-11-14T22:{13 + (seconds - START // SECOND + 20) // 60:02d}:{(20 + number) % 60:02d}Z"


def _no_traces() -> Answer:
    """What the third version answers where there is nothing (`returnTraces` in `http_gateway.go`)."""
    return Answer({"error": {"httpCode": 404, "message": "No traces found"}}, 404)


def _jaeger_trace(number: int) -> dict[str, Any]:
    spans = [_jaeger_span(made) for made in trace(number)]
    return {"traceID": trace_id(number), "spans": spans, "processes": {"p1": {"serviceName": "shop", "tags": []}}}


def _jaeger_span(made: dict[str, Any]) -> dict[str, Any]:
    parent = {"refType": "CHILD_OF", "traceID": made["traceId"], "spanID": made.get("parentSpanId")}
    values = [(each["key"], each["value"]["stringValue"]) for each in made["attributes"]]
    return {
        "traceID": made["traceId"],
        "spanID": made["spanId"],
        "operationName": made["name"],
        "references": [parent] if "parentSpanId" in made else [],
        "startTime": int(made["startTimeUnixNano"]) // 1000,
        "duration": 1,
        "tags": [{"key": key, "type": "string", "value": value} for key, value in values],
        "processID": "p1",
    }
