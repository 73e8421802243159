"""What can be read, and what it comes to."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.reading.logs import refund
from tests.reading.talks import agent_span
from tests.reading.traces import TRACE, call, line, request, span
from tests.walls import for_each

from rightcall.errors import InputError, UnknownNameError
from rightcall.reading import INPUT_FORMATS, Reading, Recognised, read, read_messages, read_spans
from rightcall.reading._read import Source

ONE = line(call(1, "search", '{"q": "x"}', '{"content": [1, 2]}'))


def sources(folder: Path) -> dict[str, Source]:
    path = folder / "trace.bin"
    path.write_bytes(ONE)
    return {
        "a path": path,
        "a path as text": str(path),
        "bytes": ONE,
        "a file": io.BytesIO(ONE),
        "text in memory": io.StringIO(ONE.decode()),
        "a document": json.loads(ONE),
        "gzip": gzip.compress(ONE),
        "zstd": zstandard.compress(ONE),
        "utf-16": ONE.decode().encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf" + ONE,
        "a list of paths": [str(path)],
        "over several lines": json.dumps(json.loads(ONE), indent=1).encode(),
    }


@pytest.mark.parametrize("kind", sources(Path("/tmp")))
def test_a_trace_is_read_from(kind: str, tmp_path: Path) -> None:
    [trajectory] = read(sources(tmp_path)[kind])

    assert trajectory.names == ("search",)
    assert trajectory.calls[0].args == {"q": "x"}
    assert trajectory.calls[0].output == [1, 2]
    assert trajectory.trace_id == TRACE


@pytest.mark.parametrize("mode", ["rb", "r"])
def test_a_trace_is_read_from_an_open_file(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(ONE)
    with path.open(mode) as stream:
        [trajectory] = read(stream)

    assert trajectory.names == ("search",)


def test_documents_without_end_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    for read_it in (read, read_messages, read_spans):
        with pytest.raises(InputError, match="nested deeper"):
            read_it(endless)


def test_calls_of_one_span_id_are_one_call_and_spans_without_ids_are_never_merged() -> None:
    named = request(call(1), call(1))
    nameless = request(call(1, spanId=""), call(1, spanId=""))

    assert [len(trajectory.calls) for trajectory in read(named)] == [1]
    assert [len(trajectory.calls) for trajectory in read(nameless)] == [2]


def test_each_trace_is_a_run_of_its_own() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    other: dict[str, Any] = {"traceId": "f" * 32}
    document = request(span(1, agent), call(2, "a", parent=1), span(3, agent, **other), call(4, "b", parent=3, **other))

    assert [trajectory.names for trajectory in read(document)] == [("a",), ("b",)]
    assert [trajectory.names for trajectory in read(document, grouping="file")] == [("a", "b")]


def test_functions_that_call_tools_are_runs_without_saying_that_they_are_agents() -> None:
    other: dict[str, Any] = {"traceId": "f" * 32}
    runs = request(span(1), call(2, "a", parent=1), span(3, **other), call(4, "b", parent=3, **other))
    fragments = request(call(2, "a"), call(4, "b", **other))

    assert [trajectory.names for trajectory in read(runs)] == [("a",), ("b",)]
    assert [trajectory.names for trajectory in read(fragments)] == [("a", "b")]


def test_a_run_that_made_no_call_is_a_run_and_the_creation_of_an_agent_is_none() -> None:
    idle: dict[str, Any] = {"traceId": "e" * 32, "name": "main"}
    created: dict[str, Any] = {"traceId": "f" * 32, "name": "create_agent x"}
    document = request(span(1, name="main"), call(2, "a", parent=1), span(3, **idle), span(4, **created))

    assert [trajectory.names for trajectory in read(document)] == [("a",), ()]


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.conversation.id",
        "langsmith.metadata.thread_id",
        "langsmith.metadata.session_id",
        "langsmith.metadata.conversation_id",
        "langfuse.trace.metadata.thread_id",
    ],
)
def test_traces_of_one_conversation_are_one_run(key: str) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", key: "c1"}
    other: dict[str, Any] = {"traceId": "f" * 32}
    document = request(span(1, agent), call(2, "a", parent=1), span(3, agent, **other), call(4, "b", parent=3, **other))

    assert [trajectory.names for trajectory in read(document)] == [("a", "b")]
    assert [trajectory.names for trajectory in read(document, grouping="trace")] == [("a",), ("b",)]


def test_a_bad_line_costs_that_line() -> None:
    [trajectory] = read(line(call(1, "a")) + b'{"resourceSpans": [\n' + line(call(2, "b")) + b'{"cut off')

    assert trajectory.names == ("a", "b")
    assert "line 2 was left out" in trajectory.warnings[0]
    assert "line 4 was left out" in trajectory.warnings[1]


def test_a_bad_first_line_costs_that_line_too() -> None:
    [trajectory] = read(b'{"resourceSp\n' + line(call(1, "a")) + line(call(2, "b")))

    assert trajectory.names == ("a", "b")
    assert "line 1 was left out" in trajectory.warnings[0]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/no/such/file", "No such file"),
        ("/tmp", "directory"),
        (b"", "empty"),
        (b"hello", "looked for OTLP"),
        (b"{}", "looked for OTLP"),
        (b"42", "looked for OTLP"),
        (b'[{"type": "Feature", "geometry": {}}, {"type": "Feature"}]', "looked for OTLP"),
        (b'[{"content": "x"}, {"message": "y"}]', "looked for OTLP"),
        (gzip.compress(ONE)[:-20], "ends early"),
        (b"\x0a\x05abc", "protobuf"),
        (b"\xff\xfe", "empty"),
        ('{"resourceSpans": []}', "give it as bytes"),
    ],
    ids=[
        "missing",
        "a folder",
        "empty",
        "text",
        "an object",
        "a number",
        "objects with a type",
        "objects with a text",
        "cut off",
        "no protobuf",
        "utf-16",
        "JSON as a path",
    ],
)
def test_what_cannot_be_read_is_one_clear_error(source: Source, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list(read(source))


def test_what_is_no_source_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="int cannot be read"):
        read(5)  # type: ignore[arg-type]


def test_unknown_formats_and_groupings_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'otlp'"):
        read(ONE, input_format="oltp")
    with pytest.raises(UnknownNameError, match="did you mean 'trace'"):
        read(ONE, grouping="traces")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in INPUT_FORMATS if name != "otlp"])
def test_a_format_asked_for_is_the_only_one_tried(name: str) -> None:
    with pytest.raises(InputError):
        list(read(ONE, input_format=name))


def test_no_more_is_read_than_the_size_allowed() -> None:
    with pytest.raises(InputError, match="max_size"):
        list(read(gzip.compress(ONE * 1000), max_size=10_000))


def test_attributes_asked_for_are_kept_in_the_metadata() -> None:
    document = request(span(1, {"rightcall.case.id": "case-7"}), call(2, parent=1))
    [trajectory] = read(document)

    assert trajectory.metadata["rightcall.case.id"] == "case-7"


def test_what_recorded_the_calls_is_in_the_metadata() -> None:
    [named] = read(request(call(1), scope="shop.tracing"))
    [nameless] = read(request(call(1)))

    assert named.metadata["instrumentation"] == ["shop.tracing"]
    assert nameless.metadata["instrumentation"] == ["tool.name"]


def test_attributes_asked_for_are_kept_from_spans_of_calls_too() -> None:
    root = call(1, "plan", name="root")
    inner = span(2, {"tool.name": "search", "case": "7"}, parent=1)
    [trajectory] = read(line(root, inner), metadata_attributes=("case",))

    assert trajectory.metadata["case"] == "7"


def test_what_a_tool_was_given_is_not_what_the_run_was_given() -> None:
    [of_a_tool] = read(line(call(1, "plan", name="root"), call(2, parent=1)))
    [of_an_agent] = read(line(span(1, {"input.value": "find it", "output.value": "found"}), call(2, parent=1)))

    assert (of_a_tool.input, of_a_tool.output) == (None, None)
    assert (of_an_agent.input, of_an_agent.output) == ("find it", "found")


def test_of_spans_with_one_id_the_one_that_says_most_counts_whichever_comes_first() -> None:
    much, little = call(2, parent=1), span(2, {"tool.name": "search"}, parent=1)
    for spans in ([much, little], [little, much]):
        [trajectory] = read(line(*spans))

        assert [found.output for found in trajectory.calls] == ["ok"]


def test_an_empty_tool_name_makes_no_call_and_says_nothing_about_other_spans() -> None:
    empty, named = span(1, {"tool.name": "", "shape": "a"}), span(2, {"tool.name": "search", "shape": "a"})
    for spans in ([empty, named], [named, empty]):
        [trajectory] = read(line(*spans))

        assert trajectory.names == ("search",)


def test_fields_that_otlp_has_not_are_not_taken_from_a_file() -> None:
    [trajectory] = read(line(call(1, kind=3, failed=True, scope="x", record={}, said=9)))

    assert trajectory.calls[0].error is None


def test_no_spans_are_a_trajectory_without_calls() -> None:
    assert read_spans([]).calls == ()


def test_something_that_is_no_span_is_refused() -> None:
    with pytest.raises(InputError, match=r"spans\[1\] is an int"):
        read_spans([json.loads(ONE), 5])


def test_something_that_is_no_message_is_refused() -> None:
    with pytest.raises(InputError, match="known format"):
        read_messages([{"a": 1}])


def test_a_large_file_is_read_as_a_small_one_is_without_being_held() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "filler": "x" * 400_000}
    joined = agent | {"session.id": "s1"}
    first = [line(span(n, joined if n < 20 else agent, traceId=f"{n:032x}")) for n in range(1, 151)]
    second = [line(call(500 + n, f"tool-{n}", parent=n, traceId=f"{n:032x}")) for n in range(1, 151)]
    trajectories = list(read(b"".join((*first, *second))))

    alone = {trajectory.names for trajectory in trajectories if len(trajectory.calls) == 1}
    [together] = [trajectory for trajectory in trajectories if len(trajectory.calls) > 1]
    assert alone == {(f"tool-{n}",) for n in range(20, 151)}
    assert together.names == tuple(f"tool-{n}" for n in range(1, 20))


def test_each_trace_of_a_conversation_is_a_turn() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c1"}
    traces: list[dict[str, Any]] = [{"traceId": f"{n}" * 32, "endTimeUnixNano": f"{n}9000"} for n in range(1, 4)]
    spans = [
        made
        for n, more in enumerate(traces, 1)
        for made in (
            span(10 * n, {**agent, "input.value": f"Ask {n}"}, **more),
            call(10 * n + 1, parent=10 * n, **more),
        )
    ]
    [trajectory] = read(request(*spans))

    assert [found.turn for found in trajectory.calls] == [0, 1, 2]


@pytest.mark.parametrize("spans", [None, 5, "spans", b"spans"], ids=repr)
def test_what_is_no_list_of_spans_is_refused(spans: Any) -> None:
    with pytest.raises(InputError, match="spans are a list of spans"):
        read_spans(spans)


@pytest.mark.parametrize(
    ("document", "formats", "conventions", "unused"),
    [
        (request(call(1)), ["otlp"], ["tool.name"], []),
        (refund(), ["messages"], ["OpenAI chat"], []),
        ({"messages": refund(), "notes": "x", "empty": "", "task_id": 7}, ["messages"], ["OpenAI chat"], ["notes"]),
        (
            {"messages": refund(), **{str(n): 1 for n in range(21)}},
            ["messages"],
            ["OpenAI chat"],
            [*map(str, range(20))],
        ),
        ({"messages": refund(), "k" * 41: 1}, ["messages"], ["OpenAI chat"], ["k" * 40]),
    ],
    ids=["spans", "messages", "other keys", "many keys", "a long key"],
)
def test_what_a_source_was_taken_for_is_noted(
    document: Any, formats: list[str], conventions: list[str], unused: list[str]
) -> None:
    noted = Recognised(is_shown=True)
    list(Reading().read(json.dumps(document).encode(), noted))

    assert [*map(list, (noted.formats, noted.conventions, noted.unused))] == [formats, conventions, unused]


@for_each("data", [json.dumps(refund()).encode(), line(agent_span(1), call(2, parent=1))])
def test_where_only_calls_are_asked_for_nothing_else_is_read(data: bytes) -> None:
    [whole], [bare] = Reading().read(data), Reading(calls_alone=True).read(data)

    assert bare.calls == whole.calls != ()
    assert (bare.input, bare.output, bare.usage) == (None, None, None)
    assert (whole.input, whole.output, whole.usage) != (None, None, None)
