"""Files from strangers give trajectories with warnings, or one clear error: no traceback, no hang, no wrong call."""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.reading import corpus
from tests.reading.traces import call, line, request, span

from rightcall.errors import InputError, RightcallError
from rightcall.reading import read
from rightcall.values.trajectory import Trajectory

RUN = "pydantic-ai/trip-pkg2-fmt5"
CONTAINERS = "_containers/pydantic-ai-fmt5-trip"
VICTIMS = {
    **{name: corpus.inputs(RUN)[name] for name in ("otlp.json", "otlp.pb", "spans.jsonl", "messages.json")},
    **{name: corpus.inputs(CONTAINERS)[name] for name in ("zipkin_v2.json", "console_exporter.txt")},
    "gzip": gzip.compress(corpus.inputs(CONTAINERS)["collector_file_exporter.jsonl"]),
    "mlflow": corpus.inputs("_containers/mlflow-langgraph-trip")["mlflow_trace.json"],
}


def read_or_refuse(data: bytes) -> list[Trajectory]:
    try:
        return list(read(data, max_size=200_000_000))
    except RightcallError:
        return []


@pytest.mark.parametrize("name", VICTIMS)
def test_a_file_cut_off_anywhere_shows_no_call_that_never_was(name: str) -> None:
    data = VICTIMS[name]
    whole = [called.name for trajectory in read(data) for called in trajectory.calls]
    for tenth in range(0, len(data), max(1, len(data) // 60)):
        found = [called.name for trajectory in read_or_refuse(data[:tenth]) for called in trajectory.calls]
        assert all(found.count(tool) <= whole.count(tool) for tool in found)


@pytest.mark.parametrize("name", VICTIMS)
@pytest.mark.parametrize("byte", [0x00, 0xFF, 0x22, 0x7B, 0x5D])
def test_damaged_bytes_are_survived(name: str, byte: int) -> None:
    data = bytearray(VICTIMS[name])
    for place in range(7, len(data), len(data) // 20):
        damaged = data.copy()
        damaged[place] = byte
        read_or_refuse(bytes(damaged))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    read_or_refuse(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "resourceSpans",
        "scopeSpans",
        "spans",
        "name",
        "attributes",
        "key",
        "value",
        "stringValue",
        "role",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "parts",
        "type",
        "tool_use",
        "data",
        "context",
        "span_id",
        "trace_id",
        "traceId",
        "id",
        "tags",
        "events",
        "status",
        "messages",
        "kvlistValue",
        "values",
    ]
)
LOOKALIKES = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@given(LOOKALIKES)
def test_any_document_is_read_or_refused(document: Any) -> None:
    read_or_refuse(json.dumps(document).encode())


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000, b"\x00" * 1000, b'"' * 9999],
    ids=["open lists", "lists", "objects", "NUL", "quotes"],
)
def test_absurd_documents_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        list(read(data))


def test_absurd_arguments_are_unrecorded() -> None:
    [trajectory] = read(line(call(1, args="[" * 100_000 + "]" * 100_000)))

    assert "args" in trajectory.calls[0].unrecorded


def test_numbers_keep_all_their_digits() -> None:
    args = f'{{"big": {2**64}, "exact": {2**53 + 1}, "nan": NaN}}'
    [trajectory] = read(line(call(1, args=args)))
    found = trajectory.calls[0].args

    assert found is not None
    assert (found["big"], found["exact"]) == (2**64, 2**53 + 1)
    assert found["nan"] != found["nan"]


def test_lone_surrogates_are_kept() -> None:
    [trajectory] = read(line(call(1, "a\ud800", '{"x": "\\ud800"}')))

    assert trajectory.names == ("a\ud800",)
    assert trajectory.calls[0].args == {"x": "\ud800"}


def test_a_line_that_is_not_utf8_is_left_out_whole() -> None:
    broken = line(call(1, "broken")).replace(b"broken", b"brok\xff\xfe")
    [trajectory] = read(line(call(2, "fine")) + broken)

    assert trajectory.names == ("fine",)
    assert "line 2 was left out" in trajectory.warnings[0]


@pytest.mark.parametrize("start", ["0", str(2**63), str(2**64 - 1), "-62135596800000000000", "253402300799999999999"])
def test_any_time_is_a_time(start: str) -> None:
    [trajectory] = read(request(call(1, startTimeUnixNano=start, endTimeUnixNano="1")))

    assert trajectory.calls[0].start_ns == int(start)


def test_parents_in_a_circle_are_no_trap() -> None:
    [trajectory] = read(request(call(1, parent=3), call(2, parent=1), call(3, parent=2), call(4, parent=4)))

    assert len(trajectory.calls) == 4


def test_a_hundred_thousand_calls_inside_one_another_are_read() -> None:
    lines = [
        line(*(call(number, parent=number - 1) for number in range(first, first + 500)))
        for first in range(1, 30_001, 500)
    ]
    [trajectory] = read(b"".join(lines))

    assert len(trajectory.calls) == 30_000
    assert trajectory.calls[-1].parent_id == trajectory.calls[-2].span_id


def test_gzip_bombs_are_bounded() -> None:
    bomb = gzip.compress(b"0" * 60_000_000, 1)

    with pytest.raises(InputError, match="max_size"):
        list(read(bomb, max_size=1_000_000))


def test_many_bad_lines_make_few_warnings() -> None:
    [trajectory] = read(line(call(1)) + b"{\n" * 5000)

    assert len(trajectory.warnings) == 21
    assert trajectory.warnings[-1] == "and 4,980 more about dropped lines"


def test_an_attribute_of_many_megabytes_is_read() -> None:
    args = json.dumps({"x": "y" * 20_000_000})
    [trajectory] = read(line(call(1, args=args)))

    assert trajectory.calls[0].args == {"x": "y" * 20_000_000}


def test_data_that_looks_like_code_is_data() -> None:
    events: list[str] = []
    watching = True

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and (
            event in ("exec", "socket.connect", "subprocess.Popen", "os.system") or event == "pickle.find_class"
        ):
            events.append(event)

    attributes = {
        "tool.name": "os.system",
        "input.value": '{"__class__": "x", "py/object": "os.system", "lc": 1, "id": ["os", "system"]}',
        "output.value": "__import__('os').system('true')",
        "__proto__": "{{7*7}}${jndi:ldap://x}",
    }
    list(read(line(span(1, attributes))))
    sys.addaudithook(audit)
    [trajectory] = read(line(span(1, attributes)))
    watching = False

    assert trajectory.calls[0].output == attributes["output.value"]
    assert events == []
