"""Traces pulled from each kind of server: all of them, whole, and each once."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from tests.connect.loopback import (
    SECOND,
    START,
    Answer,
    Asked,
    PhoenixLike,
    Respond,
    agent_span,
    otlp,
    served,
    span,
    trace,
    trace_id,
)

from rightcall.connect import parse_address, pull
from rightcall.errors import InputError, TraceServerError
from rightcall.reading import read

COUNT = 25


class MLflowLike:
    """Searches by page token, and traces in batches."""

    def __init__(self) -> None:
        self.assessments: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, asked: Asked) -> Answer:
        _, _, method = asked.path.partition("mlflow/")
        if method == "experiments/get-by-name":
            return Answer({"experiment": {"experiment_id": "7"}})
        if method == "traces/search":
            start = int(asked.body.get("page_token", 0))
            ids = [{"trace_id": f"tr-{trace_id(number)}"} for number in range(COUNT)][::-1]
            page = min(4, asked.body["max_results"])
            following = {"next_page_token": str(start + page)} if start + page < COUNT else {}
            return Answer({"traces": ids[start : start + page], **following})
        if method == "traces/batchGet":
            return Answer({"traces": [self._trace(each) for each in asked.query["trace_ids"]]})
        return Answer({}, 404)

    def _trace(self, name: str) -> dict[str, Any]:
        number = int(name.removeprefix("tr-"), 16) - 1
        info = {"trace_id": name, "assessments": self.assessments.get(name, [])}
        return {"trace_info": info, "spans": trace(number)}


def _observations(number: int) -> list[dict[str, Any]]:
    times = {"startTime": f"2026-01-01T00:00:{number:02d}.000Z", "endTime": f"2026-01-01T00:00:{number:02d}.500Z"}
    common = {"traceId": trace_id(number), "level": "DEFAULT", **times}
    root = {"id": f"r{number:015x}", "type": "AGENT", "name": "shop", "parentObservationId": None, **common}
    tool = {"id": f"{number:016x}", "type": "TOOL", "name": "search", "parentObservationId": root["id"], **common}
    return [root, {**tool, "input": json.dumps({"q": number}), "output": '"found"'}]


def _new_langfuse(asked: Asked) -> Answer:
    if asked.path != "/api/public/v2/observations":
        return Answer({}, 404)
    if "traceId" in asked.query:
        return Answer({"data": _observations(int(asked.query["traceId"][0], 16) - 1), "meta": {}})
    start = int(asked.query.get("cursor", ["0"])[0])
    found = [_observations(number)[0] for number in range(COUNT)][::-1]
    following = {"cursor": str(start + 7)} if start + 7 < COUNT else {}
    return Answer({"data": found[start : start + 7], "meta": following})


def _old_langfuse(asked: Asked) -> Answer:
    if asked.path == "/api/public/traces":
        page = int(asked.query["page"][0])
        ids = [{"id": trace_id(number)} for number in range(COUNT)][::-1]
        return Answer({"data": ids[(page - 1) * 7 : page * 7], "meta": {"page": page, "totalPages": 4}})
    if asked.path.startswith("/api/public/traces/"):
        number = int(asked.path.rpartition("/")[2], 16) - 1
        return Answer({"id": trace_id(number), "observations": _observations(number)})
    return Answer({"message": "unknown"}, 404)


def _runs(number: int) -> list[dict[str, Any]]:
    times = {"start_time": f"2026-01-01T00:00:{number:02d}", "end_time": f"2026-01-01T00:00:{number:02d}.5"}
    common = {"trace_id": trace_id(number), "outputs": {"output": "found"}, **times}
    root = {"id": trace_id(number), "name": "shop", "run_type": "CHAIN", "inputs": {}, "parent_run_ids": [], **common}
    tool = {"id": f"t{number}", "name": "search", "run_type": "TOOL", "inputs": {"q": number}, **common}
    return [root, {**tool, "parent_run_ids": [root["id"]], "parent_run_id": root["id"]}]


def _new_langsmith(asked: Asked) -> Answer:
    if asked.path == "/api/v1/sessions":
        return Answer([{"id": "p1"}])
    if asked.path == "/api/v2/traces/query":
        start = int(asked.body.get("cursor", 0))
        roots = [{"root_run": {"id": trace_id(number)}} for number in range(COUNT)][::-1]
        return Answer({"items": roots[start : start + 7], "next_cursor": str(start + 7) if start + 7 < COUNT else None})
    if asked.path.startswith("/api/v2/traces/"):
        return Answer({"items": _runs(int(asked.path.split("/")[4], 16) - 1)})
    return Answer({}, 404)


def _old_langsmith(asked: Asked) -> Answer:
    if asked.path == "/api/v1/sessions":
        return Answer([{"id": "p1"}])
    if asked.path != "/api/v1/runs/query":
        return Answer({"detail": "Not Found"}, 404)
    if "trace" in asked.body:
        return Answer({"runs": _runs(int(asked.body["trace"], 16) - 1), "cursors": {"next": None}})
    start = int(asked.body.get("cursor", 0))
    runs = [{"id": trace_id(number)} for number in range(COUNT)][::-1]
    return Answer({"runs": runs[start : start + 7], "cursors": {"next": str(start + 7) if start + 7 < COUNT else None}})


class TempoLike:
    """Searches without pages, of whole seconds; more traces than a search returns."""

    def __init__(self, count: int = COUNT) -> None:
        self._starts = {trace_id(number): START + number * SECOND for number in range(count)}

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/api/search":
            first, last = [int(asked.query[name][0]) * SECOND for name in ("start", "end")]
            found = [
                {"traceID": each.lstrip("0"), "startTimeUnixNano": str(start)}
                for each, start in self._starts.items()
                if first <= start <= last
            ]
            return Answer({"traces": found[: int(asked.query["limit"][0])]})
        number = int(asked.path.rpartition("/")[2], 16) - 1
        return Answer({"trace": otlp(trace(number)), "status": "COMPLETE"})


def _new_jaeger(asked: Asked) -> Answer:
    if asked.path == "/api/v3/traces":
        return Answer({"result": otlp([each for number in range(COUNT) for each in trace(number)])})
    number = int(asked.path.rpartition("/")[2], 16) - 1
    return Answer({"result": otlp(trace(number))})


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


def _old_jaeger(asked: Asked) -> Answer:
    if asked.path == "/api/traces":
        return Answer({"data": [_jaeger_trace(number) for number in range(COUNT)]})
    if asked.path.startswith("/api/traces/"):
        return Answer({"data": [_jaeger_trace(int(asked.path.rpartition("/")[2], 16) - 1)]})
    return Answer({}, 404)


SERVERS: dict[str, tuple[str, Respond]] = {
    "phoenix": ("phoenix://{}/support", PhoenixLike(COUNT)),
    "mlflow": ("mlflow://{}/shop", MLflowLike()),
    "langfuse": ("langfuse://{}", _new_langfuse),
    "older langfuse": ("langfuse://{}", _old_langfuse),
    "langsmith": ("langsmith://{}/shop", _new_langsmith),
    "older langsmith": ("langsmith://{}/shop", _old_langsmith),
    "tempo": ("tempo://{}", TempoLike()),
    "jaeger": ("jaeger://{}/shop", _new_jaeger),
    "older jaeger": ("jaeger://{}/shop", _old_jaeger),
}


def _pulled(respond: Respond, template: str, query: str = "") -> bytes:
    file = io.BytesIO()
    with served(respond) as server:
        pull(parse_address(template.format(server.host) + query), file)
    return file.getvalue()


def _calls(pulled: bytes) -> list[list[tuple[str, Any]]]:
    return [[(call.name, call.args) for call in trajectory.calls] for trajectory in read(pulled)]


@pytest.mark.parametrize(("template", "respond"), SERVERS.values(), ids=SERVERS)
def test_every_trace_is_pulled_once_the_oldest_first(template: str, respond: Respond) -> None:
    pulled = _pulled(respond, template)

    assert _calls(pulled) == [[("search", {"q": number})] for number in range(COUNT)]


@pytest.mark.parametrize(("template", "respond"), SERVERS.values(), ids=SERVERS)
def test_a_limit_takes_the_newest(template: str, respond: Respond) -> None:
    pulled = _pulled(respond, template, "?limit=3")

    assert _calls(pulled) == [[("search", {"q": number})] for number in range(COUNT - 3, COUNT)]


@pytest.mark.parametrize(("template", "respond"), SERVERS.values(), ids=SERVERS)
def test_one_trace_is_asked_for_by_its_id(template: str, respond: Respond) -> None:
    pulled = _pulled(respond, template, f"?trace={trace_id(4)}")

    assert _calls(pulled) == [[("search", {"q": 4})]]


def test_a_trace_is_whole_though_its_spans_are_on_several_pages() -> None:
    phoenix = PhoenixLike(page=10)
    phoenix.spans[trace_id(0)] = [agent_span(0), *[span(0, "x" * number) for number in range(1, 36)]]

    pulled = _pulled(phoenix, "phoenix://{}/support")

    assert len(pulled.splitlines()) == 1
    assert [len(calls) for calls in _calls(pulled)] == [35]


def test_more_traces_than_a_search_returns_are_found_in_smaller_windows() -> None:
    pulled = _pulled(TempoLike(700), "tempo://{}", "?since=2023-11-14&until=2023-11-15")

    assert len(pulled.splitlines()) == 700


def test_more_traces_in_a_second_than_a_search_returns_are_an_error() -> None:
    def crowded(asked: Asked) -> Answer:
        return Answer({"traces": [{"traceID": f"{number:x}"} for number in range(500)]})

    with pytest.raises(TraceServerError, match="a second has more than 500 traces"):
        _pulled(crowded, "tempo://{}", "?since=1h")


def test_what_a_server_cannot_be_asked_is_said() -> None:
    for template, query, expected in (
        ("phoenix://{}/support", "?tag=x", "Phoenix has no tags"),
        ("jaeger://{}", "", "by service"),
        ("jaeger://{}/shop", "?session=x", "no sessions"),
        ("langsmith://{}", "", "in projects"),
    ):
        with pytest.raises(InputError, match=expected):
            _pulled(PhoenixLike(), template, query)


def test_conditions_reach_the_server_in_its_own_language() -> None:
    with served(MLflowLike()) as server:
        pull(parse_address(f"mlflow://{server.host}/shop?since=1970-01-02&session=it's&tag=a=b&filter=x"), io.BytesIO())

        search = next(each for each in server.asked if each.path.endswith("search"))
    assert search.body["filter"] == (
        "x AND trace.timestamp_ms >= 86400000 AND metadata.`mlflow.trace.session` = 'it''s' AND tag.`a` = 'b'"
    )
