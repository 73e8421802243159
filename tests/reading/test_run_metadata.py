"""Any log may say which case it is of, which repeat, and how it was scored where it comes from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ASKED, refund
from tests.reading.test_langfuse import ROOT, TOOL, trace
from tests.reading.test_langsmith import RUNS
from tests.reading.test_rows import row
from tests.reading.test_transcripts import STEPS, inspect_log, sample
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall.limits import DEFAULT_LIMITS
from rightcall.reading import Reading, read
from rightcall.reading.conventions import shape_of
from rightcall.reading.messages import Log
from rightcall.reading.runs._call_plans import CallPlans
from rightcall.reading.runs._input_output import Kept, run_metadata
from rightcall.reading.runs._span_tree import ReadSpan
from rightcall.values.trajectory import Trajectory

CASE = "rightcall.case.id"


def only(document: Any) -> Trajectory:
    [trajectory] = read(json.dumps(document).encode())
    return trajectory


@pytest.mark.parametrize("name", [CASE, "case_id", "task_id", "eval_id", "instance_id"])
@pytest.mark.parametrize("repeat", ["repeat", "trial", "epoch"])
def test_a_log_names_its_case_and_repeat(name: str, repeat: str) -> None:
    made = only({name: "refund-7", repeat: 2, "messages": refund()})

    assert (made.metadata[CASE], made.metadata["repeat"]) == ("refund-7", 2)


@pytest.mark.parametrize(
    "document",
    [
        {"metadata": {"task_id": 7, "trial": 1}, "messages": refund()},
        [{**ASKED, "task_id": 7, "trial": 1}, *refund()[1:]],
        request(span(1, {"task_id": 7, "trial": 1}), call(2, parent=1)),
        request(span(1, {CASE: 7, "rightcall.repeat": 1}), call(2, parent=1)),
        request(span(1, {"metadata.task_id": 7, "metadata.trial": 1}), call(2, parent=1)),
        [row(1, name="agent", parent_span_id=None, attributes={}, task_id=7, trial=1), row(2)],
        trace(ROOT, TOOL, metadata={"task_id": 7, "trial": 1}),
        trace({**ROOT, "metadata": {"task_id": 7, "trial": 1}}, TOOL),
        [{**RUNS[0], "extra": {"metadata": {"task_id": 7, "trial": 1}}}, *RUNS[1:]],
        inspect_log(sample(7, 1)),
        {"simulations": [{"task_id": 7, "trial": 1, "messages": refund()}]},
        [{"task_id": 7, "trial": 1, "reward": 1.0, "traj": refund(), "info": {}}],
    ],
    ids=[
        "metadata of a log",
        "a line",
        "an attribute",
        "our attributes",
        "metadata of a span",
        "a row",
        "Langfuse, trace",
        "Langfuse, observation",
        "LangSmith",
        "Inspect",
        "τ²-bench",
        "τ-bench",
    ],
)
def test_every_format_can_name_them(document: Any) -> None:
    made = only(document)

    assert (made.metadata[CASE], made.metadata["repeat"]) == (7, 1)
    assert len(made.calls) == 1


@pytest.mark.parametrize(
    ("document", "key", "value"),
    [
        ([{"task_id": 7, "reward": 0.5, "traj": refund()}], "reward", 0.5),
        ({"messages": refund(), "success": False}, "success", False),
        ({"messages": refund(), "score": 0}, "score", 0),
        (inspect_log(sample()), "scores", {"includes": "C"}),
        ({**trace(ROOT, TOOL, scores=[{"name": "good", "value": 1}])}, "scores", {"good": 1}),
        ({"simulations": [{"messages": refund(), "reward_info": {"reward": 1.0}}]}, "reward", 1.0),
        ({"answer_generation": {"train_messages": [refund()]}, "win": True}, "success", True),
    ],
    ids=["reward", "success", "score", "Inspect", "Langfuse", "τ²-bench", "ToolBench"],
)
def test_the_verdict_of_a_source_is_kept_as_it_calls_it(document: Any, key: str, value: Any) -> None:
    assert only(document).metadata[key] == value


def test_the_instance_of_an_evaluation_is_its_case() -> None:
    assert only([{"instance_id": "django-1", "history": STEPS}]).metadata[CASE] == "django-1"


def test_a_task_inside_a_run_is_not_its_case() -> None:
    made = only(request(span(1), span(2, {"task_id": "inner", "score": 0.3}, parent=1), call(3, parent=2)))

    assert not {CASE, "score"} & made.metadata.keys()


@pytest.mark.parametrize(
    ("largest", "larger"),
    [
        ("x" * 1_000, "x" * 1_001),
        ({"notes": "x" * 1_000}, {"notes": "x" * 1_001}),
        ({"each": [1] * 1_000}, {"each": [1] * 1_001}),
        ({str(name): 1 for name in range(200)}, {str(name): 1 for name in range(201)}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": {"d": 1}}}}),
    ],
    ids=["text", "text inside", "list", "names", "depth"],
)
def test_a_score_that_is_larger_than_a_score_is_is_not_kept(largest: Any, larger: Any) -> None:
    assert only({"messages": refund(), "score": largest}).metadata["score"] == largest
    assert "score" not in only({"messages": refund(), "score": larger}).metadata


@pytest.mark.parametrize(("line", "found"), [(999, 7), (1_000, None)])
def test_a_case_is_looked_for_in_the_first_thousand_lines(line: int, found: int | None) -> None:
    lines = [*refund(), *[{"role": "user", "content": "And?"} for _ in range(1_000)]]
    lines[line] = {**lines[line], "task_id": 7}

    assert only(lines).metadata.get(CASE) == found


@pytest.mark.parametrize("value", [None, "", [], {}, True, 1.5])
def test_what_is_not_an_id_names_no_case(value: Any) -> None:
    assert CASE not in only({"task_id": value, "messages": refund()}).metadata


def test_no_other_key_names_the_case_where_one_is_said_to() -> None:
    log = {"ticket": "T-7", "task_id": 7, "messages": refund()}
    [made] = Reading(metadata_attributes=("ticket",)).read(json.dumps(log).encode())

    assert made.metadata["ticket"] == "T-7"
    assert CASE not in made.metadata


def spanned(name: str = "a", parent: str | None = None, **held: Any) -> ReadSpan:
    attributes = {key.replace("__", "."): value for key, value in held.items()}
    return ReadSpan(name, "t", name, parent, attributes=attributes)


@for_each(
    ("log", "spans", "told"),
    [
        (Log(), [], {}),
        (
            Log([1], about={"task_id": 7, "trial": 0, "reward": 0.5, "success": True}),
            [],
            {
                CASE: 7,
                "repeat": 0,
                "reward": 0.5,
                "success": True,
            },
        ),
        (Log([1], about={"task_id": True, "trial": "", "reward": "x" * 1001}), [], {}),
        (Log([1], about={"case_id": "a", "metadata": {"case_id": "b", "epoch": 2}}), [], {CASE: "a", "repeat": 2}),
        (Log([1], about={"metadata": "odd"}), [], {}),
        (Log([{"task_id": "7", "reward": 1}, {"trial": 2}]), [], {CASE: "7", "repeat": 2}),
        (Log([{}] * 999 + [{"task_id": "7"}]), [], {CASE: "7"}),
        (Log([{}] * 1000 + [{"task_id": "7"}]), [], {}),
        (Log(), [spanned(case_id="a", metadata__case_id="b", score=1)], {CASE: "a", "score": 1}),
        (Log(), [spanned(langfuse__trace__metadata__case_id="b")], {CASE: "b"}),
        (Log(), [spanned(), spanned("b", "a", case_id="b")], {}),
        (Log([1], about={"scores": {"a": {"b": {"c": 1}}}}), [], {"scores": {"a": {"b": {"c": 1}}}}),
        (Log([1], about={"scores": {"a": {"b": {"c": {"d": 1}}}}}), [], {}),
        (
            Log([1], about={"scores": {str(number): 1 for number in range(200)}}),
            [],
            {
                "scores": {str(number): 1 for number in range(200)},
            },
        ),
        (Log([1], about={"scores": {str(number): 1 for number in range(201)}}), [], {}),
        (Log([1], about={"scores": {"a": "x" * 1000}}), [], {"scores": {"a": "x" * 1000}}),
        (Log([1], about={"scores": {"a": "x" * 1001}}), [], {}),
        (Log([1], about={"score": [1]}), [], {}),
    ],
)
def test_what_is_kept_of_what_a_source_tells(log: Log, spans: list[ReadSpan], told: dict[str, Any]) -> None:
    assert run_metadata(log, spans, (CASE,)) == told
    assert run_metadata(log, spans, ()) == {key: held for key, held in told.items() if key != CASE}


@for_each(
    ("log", "spans", "held"),
    [
        (Log([1], about={"ticket": 7}), [spanned(ticket=8)], 7),
        (Log([1], about={"ticket": None, "metadata": {"ticket": 7}}), [], 7),
        (Log([1], about={"metadata": 3}), [spanned(ticket=8)], 8),
        (Log([{"ticket": 7}, 3]), [], 7),
        (Log([{"ticket": 7}], about={"x": 1}), [], None),
        (Log(), [spanned(), spanned("b", "a", metadata__ticket=8)], 8),
        (Log(), [spanned(metadata__ticket=8), spanned("b", ticket=7)], 7),
        (Log(), [spanned(ticket_id=8)], None),
    ],
)
def test_a_key_that_is_asked_for_is_kept_as_it_is(log: Log, spans: list[ReadSpan], held: Any) -> None:
    assert run_metadata(log, spans, ("ticket",)).get("ticket") == held
    plans = CallPlans(DEFAULT_LIMITS, Kept(("ticket",)))
    for key in ("ticket", "metadata.ticket", "case_id", "metadata.case_id"):
        assert plans.learn_shape(shape_of(("other", key))).has_metadata, key
    assert not plans.learn_shape(shape_of(("other", "tickets"))).has_metadata
