"""Traces pulled from each kind of server: all of them, whole, and each once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.connect.loopback import (
    Answer,
    Asked,
    PhoenixLike,
    Respond,
    agent_span,
    served,
    span,
    trace,
    trace_id,
)
from tests.connect.trace_servers import COUNT, JaegerLike, Langfuse3, Langfuse4, LangSmithLike, TempoLike

from rightcall.connect import parse_address, pull, recorded_part
from rightcall.errors import InputError, TraceServerError
from rightcall.reading import read


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


SERVERS: dict[str, tuple[str, Respond]] = {
    "phoenix": ("phoenix://{}/support", PhoenixLike(COUNT)),
    "mlflow": ("mlflow://{}/shop", MLflowLike()),
    "langfuse": ("langfuse://{}", Langfuse4()),
    "langfuse 3": ("langfuse://{}", Langfuse3()),
    "a later langfuse 3": ("langfuse://{}", Langfuse3(501)),
    "langsmith": ("langsmith://{}/shop", LangSmithLike()),
    "older langsmith": ("langsmith://{}/shop", LangSmithLike(is_new=False)),
    "tempo": ("tempo://{}", TempoLike()),
    "tempo of short windows": ("tempo://{}", TempoLike(longest_hours=1)),
    "jaeger": ("jaeger://{}/shop", JaegerLike()),
    "jaeger without its first version": ("jaeger://{}/shop", JaegerLike(versions=("v3",))),
    "older jaeger": ("jaeger://{}/shop", JaegerLike(versions=("v1",))),
    "older jaeger with pages": ("jaeger://{}/shop", JaegerLike(versions=("v1",), pages=True)),
}
DAY = "since=2023-11-14&until=2023-11-15"
"""When the traces of the servers that search began."""


def _pulled(respond: Respond, template: str, query: str = "", warn: Callable[[str], None] | None = None) -> bytes:
    file = io.BytesIO()
    if isinstance(respond, (TempoLike, JaegerLike)) and "since" not in query:
        query = f"{query or '?'}&{DAY}"
    with served(respond) as server:
        pull(parse_address(template.format(server.host) + query), file, warn=warn)
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
    for template, respond in (("tempo://{}", TempoLike(700)), ("jaeger://{}/shop", JaegerLike(700))):
        pulled = _pulled(respond, template)

        assert len(pulled.splitlines()) == 700


def test_more_traces_in_a_second_than_a_search_returns_are_an_error() -> None:
    def crowded(asked: Asked) -> Answer:
        return Answer({"traces": [{"traceID": f"{number:x}"} for number in range(500)]})

    with pytest.raises(TraceServerError, match="more than 500 traces began in one second"):
        _pulled(crowded, "tempo://{}", "?since=1h")


def test_what_a_server_cannot_be_asked_is_said() -> None:
    for template, query, expected in (
        ("phoenix://{}/support", "?tag=x", "Phoenix has no tags"),
        ("jaeger://{}", "", "by service"),
        ("jaeger://{}/shop", "?session=x", "no sessions"),
        ("langsmith://{}", "", "in projects"),
        ("tempo://{}", "?filter={}&tag=a=b", "a whole query"),
        ("tempo://{}", "?tag=a", "tag=NAME=VALUE"),
        ("langfuse://{}", "?filter=name", "a list of conditions in JSON"),
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


@pytest.mark.parametrize(("template", "respond"), SERVERS.values(), ids=SERVERS)
def test_a_trace_that_is_gone_is_left_out(template: str, respond: Respond) -> None:
    pulled = _pulled(respond, template, f"?trace={trace_id(4)},{trace_id(9_000)}")

    assert _calls(pulled)[:1] == [[("search", {"q": 4})]]


def _asked(respond: Respond, template: str, query: str, path: str) -> Asked:
    with served(respond) as server:
        pull(parse_address(f"{template.format(server.host)}?{query}"), io.BytesIO())
    return next(each for each in server.asked if each.path == path)


def test_langfuse_gets_all_conditions_in_one_filter_which_stands_above_other_parameters() -> None:
    mine = '[{"type":"string","column":"name","operator":"=","value":"shop"}]'
    query = f"since=2026-01-01&until=2026-02-01&session=s&tag=t&filter={mine}"

    new = _asked(Langfuse4(), "langfuse://{}", query, "/api/public/v2/observations")
    old = _asked(Langfuse3(), "langfuse://{}", query, "/api/public/traces")

    for asked, time in ((new, "startTime"), (old, "timestamp")):
        conditions = json.loads(asked.query["filter"][0])
        assert [(each["column"], each["value"]) for each in conditions] == [
            ("name", "shop"),
            (time, "2026-01-01T00:00:00Z"),
            (time, "2026-02-01T00:00:00Z"),
            ("sessionId", "s"),
            ("tags", ["t"]),
        ]


def test_langsmith_gets_the_whole_window_and_all_conditions() -> None:
    query = 'since=2026-01-01&until=2026-02-01&session=s&tag=t&filter=eq(name, "shop")'
    thread = 'and(in(metadata_key, ["session_id", "conversation_id", "thread_id"]), eq(metadata_value, "s"))'

    new = _asked(LangSmithLike(), "langsmith://{}/shop", query, "/api/v2/traces/query").body
    old = _asked(LangSmithLike(is_new=False), "langsmith://{}/shop", query, "/api/v1/runs/query").body

    assert (new["min_start_time"], new["max_start_time"]) == ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    assert new["trace_filter"] == f'and(eq(name, "shop"), {thread}, has(tags, "t"))'
    assert old["start_time"] == "2026-01-01T00:00:00Z"
    assert old["filter"] == f'and(eq(name, "shop"), lt(start_time, "2026-02-01T00:00:00Z"), {thread}, has(tags, "t"))'


def test_tempo_gets_attributes_in_traceql() -> None:
    query = f'session=a"b&tag=my name=7&{DAY}'

    asked = _asked(TempoLike(), "tempo://{}", query, "/api/search")

    session = r'{ span.session.id = "a\"b" || span.gen_ai.conversation.id = "a\"b" }'
    assert asked.query["q"] == [session + ' && { ."my name" = "7" }']


@pytest.mark.parametrize("versions", [("v1", "v3"), ("v1",)])
def test_jaeger_is_searched_for_attributes_by_the_version_that_heeds_them(versions: tuple[str, ...]) -> None:
    pulled = _pulled(JaegerLike(versions=versions), "jaeger://{}/shop", f"?tag=q=3&{DAY}")

    assert _calls(pulled) == [[("search", {"q": 3})]]


def test_jaeger_gives_times_as_they_were_recorded() -> None:
    for versions, name in ((("v3",), "rawTraces"), (("v1",), "raw")):
        with served(JaegerLike(versions=versions)) as server:
            pull(parse_address(f"jaeger://{server.host}/shop?trace={trace_id(0)}"), io.BytesIO())

            assert server.asked[-1].query[name] == ["true"]


def test_a_trace_of_which_tempo_gives_a_part_is_left_out_and_named() -> None:
    said: list[str] = []
    server = TempoLike(partial=trace_id(3))

    pulled = _pulled(server, "tempo://{}", warn=said.append)

    assert len(pulled.splitlines()) == COUNT - 1
    assert [trace_id(3) in each and "5 bytes" in each for each in said] == [True]
    with pytest.raises(TraceServerError, match="part of it only"):
        _pulled(server, "tempo://{}")


def test_a_service_or_project_that_is_not_there_is_answered_with_those_that_are() -> None:
    for template, respond in (("jaeger://{}/shpo", JaegerLike()), ("langsmith://{}/shpo", LangSmithLike())):
        with pytest.raises(TraceServerError, match="did you mean 'shop'"):
            _pulled(respond, template)


def test_a_project_of_phoenix_whose_name_does_not_fit_into_a_path_goes_by_its_id() -> None:
    phoenix = PhoenixLike(2)

    def named(asked: Asked) -> Answer:
        if asked.path == "/v1/projects":
            page = [{"name": "a", "id": "A"}] if "cursor" not in asked.query else [{"name": "b/ü ?", "id": "support"}]
            return Answer({"data": page, "next_cursor": None if "cursor" in asked.query else "2"})
        return phoenix(asked)

    assert len(_pulled(named, "phoenix://{}/b%2F%C3%BC%20%3F").splitlines()) == 2
    with pytest.raises(TraceServerError, match="no project 'c/d'"):
        _pulled(named, "phoenix://{}/c%2Fd")


def test_an_experiment_of_mlflow_goes_by_its_name_or_its_id() -> None:
    def respond(asked: Asked) -> Answer:
        if asked.path.endswith("get-by-name"):
            return Answer({"error_code": "RESOURCE_DOES_NOT_EXIST"}, 404)
        if asked.path.endswith("experiments/get"):
            is_known = asked.query["experiment_id"] == ["7"]
            return Answer({"experiment": {"experiment_id": "7"}} if is_known else {}, 200 if is_known else 404)
        if asked.path.endswith("experiments/search"):
            return Answer({"experiments": [{"experiment_id": "7", "name": "shop"}]})
        return MLflowLike()(asked)

    assert len(_pulled(respond, "mlflow://{}/7").splitlines()) == COUNT
    with pytest.raises(TraceServerError, match="no experiment 'shpo'; did you mean 'shop'"):
        _pulled(respond, "mlflow://{}/shpo")


def test_a_project_of_langsmith_may_be_given_by_its_id() -> None:
    project = "0b0c6f4e-57d6-4b43-9c9c-6f6f2b8f1a11"

    asked = _asked(LangSmithLike(), "langsmith://{}/" + project, "", "/api/v2/traces/query")

    assert asked.body["project_id"] == project


def test_verdicts_on_a_trace_are_not_part_of_what_was_recorded() -> None:
    spans = b'"spans":[{"name":"a"}]'
    plain, marked = b'{"trace_info":{},' + spans + b"}", b'{"trace_info":{"assessments":[1]},' + spans + b"}"
    old, scored = b'{"observations":[1]}', b'{"observations":[1],"scores":[{"id":"x"}]}'

    assert recorded_part(b'{"traces":[' + plain + b"]}") == recorded_part(b'{"traces":[' + marked + b"]}")
    assert recorded_part(b'{"traces":[' + plain + b"]}") != recorded_part(
        b'{"traces":[' + plain.replace(b"a", b"b") + b"]}"
    )
    assert recorded_part(old) == recorded_part(scored)
    for document in (b'{"data":[{"trace_id":"a"}]}', b"[1]", b'{"traces":7}'):
        assert recorded_part(document) == document
