"""Every format of exports and transcripts, with a wrong value at any key, cut off, or mixed with another.

It is read or refused, never a crash, and a call that was lost is never told as "no calls".
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.reading import test_codex as codex, test_transcripts as others
from tests.reading.test_agent_exports import EXPORTS, ONLY_ASKED
from tests.reading.test_langfuse import ROOT, TOOL, trace
from tests.reading.test_langsmith import RUNS
from tests.reading.test_published_logs import TRANSCRIPTS
from tests.reading.test_rows import row
from tests.sampling import examples
from tests.walls import for_each

from rightcall.errors import RightcallError
from rightcall.reading import read
from rightcall.values.trajectory import Trajectory

_CALL = {"id": "c1", "name": "refund", "args": {"order": 7}, "status": "success", "result": []}
_ASKED = {"role": "assistant", "content": "", "function_call": {"name": "refund", "arguments": "{}"}}
_TAU2 = {"id": "c1", "name": "refund", "arguments": {"order": 7}, "requestor": "assistant"}
_STEP = {"tool_call_id": "c1", "function_name": "refund", "arguments": {}}
DOCUMENTS: dict[str, Any] = {
    "Codex, session": [codex.META, codex.message("user", "List"), codex.CALL, codex.RESULT],
    "Codex, exec": [codex.event("item.completed", 1, **codex.RAN), codex.event("item.completed", 2, type="reasoning")],
    "OpenHands": others.STEPS,
    "OpenHands, evaluation": [{"instance_id": "d", "history": others.STEPS, "test_result": {}}],
    "Gemini CLI": {
        "sessionId": "s",
        "projectHash": "a",
        "messages": [{"type": "user", "content": "x"}, {"type": "gemini", "content": "", "toolCalls": [_CALL]}],
    },
    "Inspect": others.inspect_log(others.sample()),
    "τ²-bench": {
        "simulations": [
            {
                "id": "s",
                "task_id": "1",
                "messages": [
                    {"role": "assistant", "content": None, "tool_calls": [_TAU2]},
                    {"role": "tool", "id": "c1", "content": "ok", "requestor": "assistant"},
                ],
            }
        ]
    },
    "ToolBench": {
        "answer_generation": {"train_messages": [[_ASKED, {"role": "function", "name": "refund", "content": "ok"}]]}
    },
    "ATIF": {"schema_version": "ATIF-v1.5", "steps": [{"source": "agent", "message": "", "tool_calls": [_STEP]}]},
    "Langfuse": trace(ROOT, TOOL),
    "LangSmith": RUNS,
    "rows": [row(1, name="agent", attributes={"gen_ai.operation.name": "invoke_agent"}), row(2)],
    **EXPORTS,
    **TRANSCRIPTS,
    **ONLY_ASKED,
}
ABSENT = object()
WRONG = [ABSENT, None, 0, 7, "x", [], {}, True, [{}], [[]], {"a": 1}, [None], -1.5, "[{", '{"a": 1}']
# A message of Gemini CLI without the list of calls, or with an empty one, is a message without calls. So is a step of
# ATIF. A flag is no record of a call, as in every other message: `tool_use: true` says what a model can do.
_FREE = [
    *[("Gemini CLI", ("messages", 1, "toolCalls"), each) for each in (ABSENT, None, [])],
    *[("ATIF", ("steps", 0, "tool_calls"), each) for each in (ABSENT, None, [], 0, {}, True)],
    # An empty list of steps or of called tools says that there were none.
    *[(name, ("intermediate_steps",), []) for name in ("AgentExecutor", "AgentExecutor, dumped")],
    ("AgentExecutor, JavaScript", ("intermediateSteps",), []),
    ("DeepEval", ("tools_called",), []),
    ("DeepEval, test run", ("testCases", 0, "toolsCalled"), []),
    ("xLAM", ("answers",), []),
]
_IN_ONE_PART = ("Vercel, chat", "Vercel, chat of 4", "OpenCode", "LibreChat")
"""Chats in which one part holds a call and its result: without the part, or with another value, they are chats."""


def paths(held: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from paths(value, (*path, key))


PLACES = [(name, path) for name, document in DOCUMENTS.items() for path in paths(document)]


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(document)
    place = made
    for key in path[:-1]:
        place = place[key]
    if value is not ABSENT:
        place[path[-1]] = value
    elif isinstance(place, dict):
        del place[path[-1]]
    return made


def read_or_refuse(data: bytes) -> list[Trajectory] | None:
    try:
        return list(read(data))
    except RightcallError:
        return None


def as_bytes(document: Any) -> bytes:
    lines = document if isinstance(document, list) else [document]
    return b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"


@examples(400)
@given(st.sampled_from(PLACES), st.sampled_from(WRONG))
@example(("Codex, exec", (0, "item")), None)
@example(("Inspect", ("samples", 0)), None)
@example(("Langfuse", ("observations", 1, "type")), ABSENT)
@example(("LangSmith", (2, "run_type")), 7)
@example(("ATIF", ("steps", 0)), [])
def test_a_wrong_value_anywhere_is_never_a_run_without_calls(place: tuple[str, tuple[Any, ...]], value: Any) -> None:
    name, path = place
    made = read_or_refuse(json.dumps(replaced(DOCUMENTS[name], path, value)).encode())

    if made is not None and name not in _IN_ONE_PART and (name, path, value) not in _FREE:
        shown = sum(len(each.calls) + len(each.withheld) for each in made)
        assert shown or not all(each.calls_recorded for each in made)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_log_cut_off_anywhere_shows_no_call_that_never_was(name: str) -> None:
    data = as_bytes(DOCUMENTS[name])
    whole = [call.name for each in read(data) for call in each.calls]
    for end in range(0, len(data), max(1, len(data) // 40)):
        found = [call.name for each in read_or_refuse(data[:end]) or () for call in each.calls]
        assert all(found.count(tool) <= whole.count(tool) for tool in found)


PLACE = {name: place for place, name in enumerate(DOCUMENTS)}


@cache
def number_of_calls(name: str) -> int:
    return sum(len(each.calls) for each in read(as_bytes(DOCUMENTS[name])))


# Each format with the ten that follow it in the table, in both orders: all pairs would be 2,000.
_NEAR = [pair for pair in permutations(DOCUMENTS, 2) if abs(PLACE[pair[0]] - PLACE[pair[1]]) <= 10]


@for_each("pair", _NEAR)
def test_two_formats_in_one_file_do_not_hide_each_other(pair: tuple[str, str]) -> None:
    made = read_or_refuse(b"".join(as_bytes(DOCUMENTS[name]) for name in pair))

    if made is not None:
        shown = sum(len(each.calls) for each in made)
        assert shown >= sum(map(number_of_calls, pair)) or not all(each.calls_recorded for each in made)


@for_each("name", list(DOCUMENTS))
def test_a_log_in_a_container_is_the_same_or_refused(name: str) -> None:
    document = json.loads(json.dumps(DOCUMENTS[name]))
    alone = [(each.calls, each.output) for each in read(json.dumps(document).encode())]
    containers = [
        {"model": "m", "results": [document]},
        {"task": "x", "trace": document},
        {"log": json.dumps(document)},
    ]

    for container in containers:
        made = read_or_refuse(json.dumps(container).encode())
        if made is not None and all([each.calls_recorded for each in made]):
            assert [(each.calls, each.output) for each in made] == alone


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_value_of_any_depth_is_read_or_refused(name: str) -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = (
            [{"type": deep, "payload": deep, "item": deep, "tool_calls": deep}] if deep == "x" else [{"content": deep}]
        )
    document = DOCUMENTS[name]
    for path in list(paths(document))[:40]:
        read_or_refuse(json.dumps(replaced(document, path, deep)).encode())
