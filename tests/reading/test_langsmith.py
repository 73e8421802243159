"""Runs of LangSmith: lists, lines, answers of its API, trees."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from tests.walls import for_each

from rightcall.reading import read
from rightcall.reading.formats._platforms import is_langsmith_run, langsmith_spans
from rightcall.reading.spans import UNREADABLE
from rightcall.values.trajectory import Trajectory


def name(number: int) -> str:
    return str(UUID(int=number + 1))


def run(number: int, kind: str, called: str, parent: int | None = 0, **more: Any) -> dict[str, Any]:
    """A run that starts at its number in seconds."""
    made: dict[str, Any] = {
        "id": name(number),
        "name": called,
        "run_type": kind,
        "trace_id": name(0),
        "parent_run_id": None if parent is None else name(parent),
        "start_time": f"2025-03-01T10:00:{number:02}.000001",
        "end_time": f"2025-03-01T10:00:{number:02}.500000",
        "inputs": {},
        "outputs": None,
        "error": None,
        "status": "success",
        "extra": {"metadata": {}},
    }
    return {**made, **more}


def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain serializes it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


QUESTION = lc("HumanMessage", content="Refund order 7.", type="human")
ASKED = lc("AIMessage", content="", type="ai", tool_calls=[{"name": "refund", "args": {"order": 7}, "id": "c1"}])
RESULT = lc("ToolMessage", content="done", type="tool", tool_call_id="c1", name="refund")
ANSWER = lc("AIMessage", content="Done.", type="ai")
RUNS = [
    run(0, "chain", "LangGraph", None, inputs={"messages": [QUESTION]}, outputs={"messages": [QUESTION, ANSWER]}),
    run(1, "llm", "ChatOpenAI", inputs={"messages": [[QUESTION]]}, outputs={"generations": [[{"message": ASKED}]]}),
    run(2, "tool", "refund", inputs={"input": "{'order': 7}"}, outputs={"output": RESULT}),
    run(
        3,
        "llm",
        "ChatOpenAI",
        inputs={"messages": [[QUESTION, ASKED, RESULT]]},
        outputs={"generations": [[{"message": ANSWER, "text": "Done."}]]},
    ),
]


def nested() -> dict[str, Any]:
    """The tree of a tracer, in which inner runs do not name their trace."""
    inner = [{key: held for key, held in each.items() if key not in ("trace_id", "parent_run_id")} for each in RUNS[1:]]
    return {**RUNS[0], "child_runs": inner}


def dotted() -> list[dict[str, Any]]:
    """Runs whose place and time stand in their dotted order alone."""
    left_out = ("trace_id", "parent_run_id", "start_time")
    found = []
    for number, each in enumerate(RUNS):
        places = [f"20250301T100000000001Z{name(0)}", f"20250301T1000{number:02}000001Z{name(number)}"]
        order = ".".join(places[: 1 + bool(number)])
        found.append({**{key: held for key, held in each.items() if key not in left_out}, "dotted_order": order})
    return found


def sent() -> dict[str, Any]:
    """The body of `runs/batch`: runs as they began, and what was known of them at their end."""
    late = ("outputs", "end_time", "error", "status")
    began = [{key: held for key, held in each.items() if key not in late} for each in RUNS]
    ended = [{key: each[key] for key in ("id", "trace_id", *late)} for each in RUNS]
    return {"post": began, "patch": ended}


FORMS = {
    "body of runs/batch": lambda: json.dumps(sent()).encode(),
    "list": lambda: json.dumps(RUNS).encode(),
    "lines": lambda: b"\n".join(json.dumps(each).encode() for each in RUNS),
    "answer of runs/query": lambda: json.dumps({"runs": RUNS, "cursors": {"next": None}}).encode(),
    "tree": lambda: json.dumps(nested()).encode(),
    "dotted order": lambda: json.dumps(dotted()).encode(),
    "shuffled": lambda: json.dumps(RUNS[::-1]).encode(),
}


def only(data: bytes) -> Trajectory:
    [trajectory] = read(data)
    return trajectory


@pytest.mark.parametrize("form", FORMS)
def test_runs_are_read_in_every_form(form: str) -> None:
    made = only(FORMS[form]())

    [call] = made.calls
    assert (call.name, call.args, call.output, call.call_id) == ("refund", {"order": 7}, "done", "c1")
    assert call.start_ns is not None
    assert (made.input, made.output) == ("Refund order 7.", "Done.")


def test_inputs_of_a_traced_function_are_its_arguments() -> None:
    made = only(json.dumps([RUNS[0], run(1, "tool", "refund", inputs={"order": 7}, outputs={"output": 3})]).encode())

    assert [(call.args, call.output) for call in made.calls] == [({"order": 7}, 3)]


def test_one_argument_named_input_stays_an_argument() -> None:
    made = only(json.dumps([RUNS[0], run(1, "tool", "search", inputs={"input": "a tv"}, outputs={})]).encode())

    assert made.calls[0].args == {"input": "a tv"}


def test_numbers_are_milliseconds_as_the_javascript_sdk_writes_them() -> None:
    made = only(
        json.dumps([*RUNS[:2], {**RUNS[2], "start_time": 1_740_823_200_001, "end_time": 1_740_823_200_501}]).encode()
    )

    [call] = made.calls
    assert (call.start_ns, call.end_ns) == (1_740_823_200_001_000_000, 1_740_823_200_501_000_000)


def test_a_run_with_an_error_failed() -> None:
    failed = run(1, "tool", "refund", inputs={"order": 7}, error="ValueError('no such order')", status="error")
    [call] = only(json.dumps([RUNS[0], failed]).encode()).calls

    assert call.error == "ValueError('no such order')"


def test_runs_of_one_thread_are_one_conversation() -> None:
    threads = {"extra": {"metadata": {"thread_id": "t1"}}}
    turns = [{**run(number, "tool", "refund", None), "trace_id": name(number), **threads} for number in (1, 2)]

    assert len(only(json.dumps(turns).encode()).calls) == 2


def test_a_model_that_was_asked_and_whose_answer_is_missing_is_no_run_without_calls() -> None:
    made = only(json.dumps([run(1, "llm", "ChatOpenAI", None, inputs={}, outputs=None)]).encode())

    assert not made.calls_recorded


def test_only_a_run_of_a_tool_is_a_call() -> None:
    parsed = run(4, "parser", "parse", inputs={"a": 1}, outputs={"b": 2})
    [made] = read(json.dumps([*RUNS, parsed]).encode())

    assert made.names == ("refund",)
    assert made.calls_recorded


@for_each(
    ("kind", "held", "attributes"),
    [
        ("chain", {}, {}),
        ("CHAIN", {}, {}),
        ("odd", {}, {UNREADABLE: "a run of the type 'odd'"}),
        ("tool", {"outputs": {}}, {"gen_ai.tool.name": "look", "gen_ai.prompt": {}, "gen_ai.completion": {}}),
        ("tool", {"inputs": None}, {"gen_ai.tool.name": "look"}),
        ("llm", {"inputs": {"x": 1}, "outputs": {}}, {"gen_ai.prompt": {"x": 1}}),
        ("llm", {"prompt_tokens": 1, "completion_tokens": "2"}, {"gen_ai.usage.input_tokens": 1}),
        ("llm", {"prompt_tokens": None, "completion_tokens": 2}, {"gen_ai.usage.output_tokens": 2}),
        (
            "chain",
            {"extra": {"metadata": {"k": "v", "o": {}, "thread_id": "t"}}},
            {
                "langsmith.metadata.k": "v",
                "langsmith.metadata.thread_id": "t",
                "langsmith.trace.session_id": "t",
            },
        ),
        ("chain", {"reference_example_id": "e"}, {"case_id": "e"}),
        ("chain", {"reference_example_id": 3}, {}),
    ],
)
def test_what_a_run_says_as_the_attributes_of_a_span(
    kind: str, held: dict[str, Any], attributes: dict[str, Any]
) -> None:
    [found] = langsmith_spans(run(2, kind, "look", **held))

    assert dict(found.attributes) == {"langsmith.span.kind": kind.lower(), **attributes}


def test_a_run_failed_where_it_has_an_error_or_its_status_says_so() -> None:
    def status(**held: Any) -> tuple[bool, str]:
        [found] = langsmith_spans(run(2, "tool", "look", **held))
        return found.failed, found.description

    assert status() == (False, "")
    assert status(error="no") == (True, "no")
    assert status(error={"x": 1}) == (True, "")
    assert status(status="error") == (True, "")


def test_a_run_has_its_place_by_ids_by_its_order_or_by_the_run_around_it() -> None:
    order = f"20250301T100000000001Z{name(0)}.20250301T100001000002Z{name(1)}"

    def place(**held: Any) -> tuple[str, str | None, int | None]:
        [found] = langsmith_spans(run(2, "tool", "look", **held))
        return found.trace_id[-1], found.parent_id and found.parent_id[-1], found.start_ns

    lost: dict[str, Any] = {"trace_id": None, "parent_run_id": None}
    start = place()[2]
    assert place() == ("1", "1", start)
    assert place(**lost) == ("3", None, start)
    assert place(**lost, dotted_order=order) == ("1", "1", start)
    assert place(**lost, dotted_order=order, start_time=None) == ("1", "1", 1_740_823_201_000_002_000)
    assert place(**lost, dotted_order="odd") == ("3", None, start)
    assert place(**lost, dotted_order=f"{order}.odd") == ("3", None, start)
    assert place(**lost, parent_run_ids=[name(7), name(8)]) == ("3", "9", start)
    assert place(**lost, parent_run_ids=[]) == ("3", None, start)
    inner = run(5, "tool", "look", **lost)
    around = run(4, "chain", "all", **lost, child_runs=[inner, 3, run(6, "tool", "find", **lost)])
    found = [(each.name, each.trace_id[-1], each.parent_id and each.parent_id[-1]) for each in langsmith_spans(around)]
    assert found == [("all", "5", None), ("look", "5", "5"), ("find", "5", "5")]


def test_what_is_said_of_a_run_later_fills_in_what_was_not_known() -> None:
    began = {**run(1, "tool", "look"), "outputs": None, "inputs": {"x": 1}}
    ended = {"id": name(1), "trace_id": name(0), "outputs": {"y": 2}, "inputs": None, "extra": None}
    [found] = langsmith_spans({"post": [began, {"id": 3}, "odd"], "patch": [ended]})

    assert (found.attributes.get("gen_ai.prompt"), found.attributes.get("gen_ai.completion")) == ({"x": 1}, {"y": 2})


@for_each(
    ("document", "is_known"),
    [
        (run(1, "tool", "look"), True),
        ({"run_type": "tool", "inputs": {}}, True),
        ({"run_type": "tool"}, False),
        ({"dotted_order": "", "id": "1", "outputs": {}}, True),
        ({"dotted_order": "", "outputs": {}}, False),
        ({"id": "1", "outputs": {}}, False),
        ({"post": [{"id": "1", "trace_id": "t"}]}, True),
        ({"patch": [{"id": "1", "trace_id": "t"}]}, True),
        ({"patch": [{"id": "1"}]}, False),
        ({"patch": [{"id": 1, "trace_id": "t"}]}, False),
        ([run(1, "tool", "look")], False),
    ],
)
def test_what_tells_a_run_of_langsmith(document: Any, is_known: bool) -> None:
    assert is_langsmith_run(document) is is_known


@for_each(
    ("kind", "outputs", "answer"),
    [
        ("chain", {"output": "Done."}, "Done."),
        ("chain", '{"output": "Done."}', "Done."),
        ("chain", {"output": None}, {"output": None}),
        ("chain", {"output": "Done.", "n": 1}, {"output": "Done.", "n": 1}),
    ],
)
def test_what_a_traced_function_returns_is_not_an_object_for_that(kind: str, outputs: Any, answer: Any) -> None:
    root = run(0, kind, "shop", None, inputs={"input": "Refund."}, outputs=outputs)

    made = only(json.dumps([root, run(1, "tool", "look", inputs={}, outputs={"output": 3})]).encode())

    assert made.output == answer
