"""Verdicts as marks on traces and spans, sent to each kind of server."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.connect.loopback import Answer, Asked, PhoenixLike, served
from tests.connect.trace_servers import Langfuse3, Langfuse4, LangSmithLike

from rightcall.cases.evalsets import load_expectation
from rightcall.cases.verdicts import judge
from rightcall.connect import Mark, Origin, marks_of, opened_server, parse_address
from rightcall.errors import InputError, TraceServerError
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import ToolCall, Trajectory

ORIGIN = Origin(evalset="evals/shop.yaml", run_id="r1", link="https://runs.example/{run}/{case}")
TRACE = "0af7651916cd43dd8448eb211c80319c"


def _judged(expectation: str, *calls: ToolCall, **more: Any) -> CaseResult:
    case = load_expectation(expectation.encode(), "shop.yaml")("refund")
    return judge(case, Trajectory(calls=calls, trace_id=TRACE, **more))


def _wrong() -> CaseResult:
    made = [
        ToolCall("search", {"q": 1}, "x", span_id="a" * 16),
        ToolCall("refund", {"amount": 5}, "x", span_id="b" * 16),
    ]
    return _judged("calls: [search, {refund: {amount: 3}}]", *made)


def test_a_failure_marks_the_trace_and_the_span_that_is_wrong() -> None:
    whole, wrong = marks_of(_wrong(), ORIGIN)

    assert (whole.trace_id, whole.span_id, whole.name, whole.label) == (TRACE, None, "rightcall:shop", "failed")
    assert (wrong.span_id, wrong.name, wrong.label, wrong.score) == ("b" * 16, "rightcall:shop:calls", "failed", None)
    assert "`refund` was called with " in wrong.explanation
    assert wrong.metadata == {
        "case": "refund",
        "eval_set": "evals/shop.yaml",
        "expectation": "calls",
        "codes": "RC104",
        "run": "r1",
        "link": "https://runs.example/r1/refund",
    }


def test_the_span_is_found_where_an_expectation_looks_at_some_calls_only() -> None:
    made = [
        ToolCall("search", {}, "x", agent="desk", span_id="a" * 16),
        ToolCall("refund", {}, "x", agent="billing", span_id="b" * 16),
        ToolCall("delete", {}, "x", agent="billing", span_id="c" * 16),
    ]

    marks = marks_of(_judged("calls: {expected: [refund], agent: billing}", *made), ORIGIN)

    assert [mark.span_id for mark in marks] == [None, "c" * 16]


def test_a_pass_has_a_score_and_what_was_not_measured_has_none() -> None:
    passed = marks_of(_judged("calls: [search]", ToolCall("search", {}, "x")), ORIGIN)
    unknown = marks_of(_judged("calls: [{search: {q: 1}}]", ToolCall("search")), ORIGIN)

    assert [(mark.label, mark.score) for mark in (*passed, *unknown)][:2] == [("passed", 1.0), ("not measured", None)]


def test_the_same_verdict_has_the_same_id_wherever_it_is_made() -> None:
    here, there = (
        marks_of(_wrong(), ORIGIN),
        marks_of(_wrong(), replace(ORIGIN, evalset="/ci/evals/shop.yaml", run_id="r2")),
    )

    assert [mark.id for mark in here] == [mark.id for mark in there]
    assert len({mark.id for mark in (*here, *marks_of(_wrong(), replace(ORIGIN, evalset="other.yaml")))}) == 4


def test_a_trace_without_an_id_has_no_marks() -> None:
    result = _wrong()
    assert result.trajectory is not None

    assert marks_of(replace(result, trajectory=replace(result.trajectory, trace_id=None)), ORIGIN) == []


def _pushed(respond: Any, template: str, marks: list[Mark], times: int = 1) -> list[Asked]:
    with served(respond) as server:
        for _ in range(times):
            with opened_server(parse_address(template.format(server.host), pushes=True)) as opened:
                opened.push(marks)
        return server.asked


def test_phoenix_has_one_annotation_each_however_often_they_are_sent() -> None:
    phoenix = PhoenixLike()

    _pushed(phoenix, "phoenix://{}/support", marks_of(_wrong(), ORIGIN), times=2)

    assert sorted(place for place, *_ in phoenix.annotations) == [TRACE, "b" * 16]
    assert [each["result"].get("score") for each in phoenix.annotations.values()] == [0.0, None]


class _MLflow:
    """Adds an assessment at each POST, and changes one at a PATCH, as MLflow does."""

    def __init__(self) -> None:
        self.held: list[dict[str, Any]] = []

    def __call__(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            assert asked.query["trace_id"] == [f"tr-{TRACE}"]
            return Answer({"trace": {"trace_info": {"trace_id": f"tr-{TRACE}", "assessments": self.held}}})
        if asked.method == "POST":
            self.held.append({**asked.body["assessment"], "assessment_id": f"a-{len(self.held)}"})
        else:
            position = int(asked.path.rpartition("-")[2])
            self.held[position] |= asked.body["assessment"]
        return Answer({})


def test_mlflow_has_one_assessment_each_however_often_they_are_sent() -> None:
    mlflow = _MLflow()

    _pushed(mlflow, "mlflow://{}/shop", marks_of(_wrong(), ORIGIN), times=3)

    assert [(each["feedback"]["value"], each.get("span_id")) for each in mlflow.held] == [
        ("failed", None),
        ("failed", "b" * 16),
    ]


def test_langfuse_gets_scores_whose_ids_and_times_stay_the_same() -> None:
    marks = [replace(mark, time_ns=1_700_000_000 * 10**9) for mark in marks_of(_wrong(), ORIGIN)]
    langfuse = Langfuse4()

    _pushed(langfuse, "langfuse://{}", marks, times=2)

    assert [(each["dataType"], each["value"]) for each in langfuse.scores.values()] == [
        ("NUMERIC", 0.0),
        ("CATEGORICAL", "failed"),
    ]
    assert [each.get("observationId") for each in langfuse.scores.values()] == [None, "b" * 16]
    assert {time for _, time in langfuse.scores} == {"2023-11-14T22:13:20Z"}


@pytest.mark.parametrize("later", [None, 1_700_000_900 * 10**9], ids=["no time", "another time"])
def test_a_score_of_langfuse_is_replaced_though_the_trace_has_another_time_or_none(later: int | None) -> None:
    first = [replace(mark, time_ns=None) for mark in marks_of(_wrong(), ORIGIN)]
    langfuse = Langfuse4()

    _pushed(langfuse, "langfuse://{}", first)
    _pushed(langfuse, "langfuse://{}", [replace(mark, time_ns=later) for mark in first])

    assert len(langfuse.scores) == 2


def test_langfuse_3_gets_one_score_a_request() -> None:
    langfuse = Langfuse3()

    _pushed(langfuse, "langfuse://{}", marks_of(_wrong(), ORIGIN), times=2)

    assert [each["value"] for each in langfuse.scores.values()] == [0.0, "failed"]


def test_scores_that_langfuse_rejects_are_an_error() -> None:
    def rejecting(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer({"data": []})
        return Answer({"accepted": 1, "rejected": 1, "errors": [{"message": "x"}]}, 207)

    with pytest.raises(TraceServerError, match="refuses 1 scores"):
        _pushed(rejecting, "langfuse://{}", marks_of(_wrong(), ORIGIN))


def test_langsmith_has_one_feedback_on_the_root_and_one_on_the_run_however_often_they_are_sent() -> None:
    langsmith = LangSmithLike()
    passed = [replace(mark, label="passed") for mark in marks_of(_wrong(), ORIGIN)]

    _pushed(langsmith, "langsmith://{}/shop", marks_of(_wrong(), ORIGIN))
    assert [each["value"] for each in langsmith.feedback.values()] == ["failed", "failed"]
    _pushed(langsmith, "langsmith://{}/shop", passed)

    assert [(each["run_id"], each["value"], each.get("score")) for each in langsmith.feedback.values()] == [
        (TRACE, "passed", 0.0),
        ("b" * 16, "passed", None),
    ]
    assert {each["session_id"] for each in langsmith.feedback.values()} == {"p1"}


def test_any_receiver_of_logs_gets_the_event_of_the_conventions() -> None:
    (asked,) = _pushed(lambda _: Answer({}), "otlp+http://{}", marks_of(_wrong(), ORIGIN))

    assert asked.path == "/v1/logs"
    records = asked.body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [(each["eventName"], each.get("spanId")) for each in records] == [
        ("gen_ai.evaluation.result", None),
        ("gen_ai.evaluation.result", "b" * 16),
    ]
    values = {each["key"]: next(iter(each["value"].values())) for each in records[0]["attributes"]}
    assert values["gen_ai.evaluation.name"] == "rightcall:shop"
    assert values["gen_ai.evaluation.score.label"] == "failed"
    assert values["gen_ai.evaluation.score.value"] == 0.0


@pytest.mark.parametrize("template", ["tempo://{}", "jaeger://{}/shop"])
def test_servers_that_keep_spans_alone_say_where_verdicts_can_go(template: str) -> None:
    with pytest.raises(InputError, match=r"--push-to otlp\+http"):
        _pushed(lambda _: Answer({}), template, marks_of(_wrong(), ORIGIN))
