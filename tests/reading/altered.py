"""Logs and traces with something missing or wrong, made from small ones of every format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from tests.reading.changes import spans, written
from tests.reading.differential import CHANGES
from tests.reading.talks import spans_of_turn
from tests.reading.test_hostile_logs import ABSENT, DOCUMENTS, WRONG, as_bytes, paths, replaced
from tests.reading.traces import request


def logs() -> Iterator[tuple[str, bytes]]:
    """Logs of every format as they are, and with each of their values left out or another in its place."""
    for name, document in DOCUMENTS.items():
        yield name, written(document)
        for path in paths(document):
            where = f"{name} {'.'.join(map(str, path))}"
            value = Random(where).choice([ABSENT] * len(WRONG) + WRONG)
            shown = "is absent" if value is ABSENT else f"is {json.dumps(value)}"
            yield f"{where} {shown}", written(replaced(document, path, value))


def rearranged() -> Iterator[tuple[str, bytes]]:
    """Logs of every format with a list twice, backwards or without an item, a value as JSON text, a text as a part."""
    for name, document in DOCUMENTS.items():
        for path in [(), *paths(document)]:
            where, held = f"{name} {'.'.join(map(str, path))}", _at(document, path)
            for how, value in _arranged(held, Random(where)):
                yield f"{where} {how}", written(replaced(document, path, value) if path else value)


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def _arranged(held: Any, chance: Random) -> Iterator[tuple[str, Any]]:
    if isinstance(held, list) and held:
        left_out = chance.randrange(len(held))
        yield "twice", held + held
        yield f"without {left_out}", held[:left_out] + held[left_out + 1 :]
    if isinstance(held, list) and len(held) > 1:
        yield "backwards", held[::-1]
    if isinstance(held, (list, dict)):
        yield "as text", json.dumps(held)
    elif isinstance(held, str) and chance.random() < _SHARE:
        yield "as a part", [{"type": "text", "text": held}]


def added() -> Iterator[tuple[str, bytes]]:
    """Logs of every format with two more keys in each object, such as others have."""
    for name, document in DOCUMENTS.items():
        for path in [(), *paths(document)]:
            where, held = f"{name} {'.'.join(map(str, path))}", _at(document, path)
            others = [key for key in _MORE if key not in held] if isinstance(held, dict) else []
            for key in Random(where).sample(others, min(_KEYS, len(others))):
                value = {**held, key: _MORE[key]}
                yield f"{where} with {key}", written(replaced(document, path, value) if path else value)


def pairs() -> Iterator[tuple[str, bytes]]:
    """Logs of two formats in one file."""
    names = list(DOCUMENTS)
    for apart in (1, 2, 3):
        for one, other in zip(names, names[apart:], strict=False):
            yield f"{one}, then {other}", as_bytes(DOCUMENTS[one]) + as_bytes(DOCUMENTS[other])


def talks() -> Iterator[tuple[str, bytes]]:
    """Traces of a conversation of three turns, recorded in many ways, with changes in one to three places."""
    ways = product((True, False), (True, False), (True, False), ("support", "", None), ("one", "each", "joined"))
    for number, (tools, ids, outputs, agent, traces) in enumerate(ways):
        for variant in range(_VARIANTS):
            chance, held = Random(f"{number} {variant}"), []
            for turn in range(3):
                more: dict[str, Any] = {} if traces == "one" else {"traceId": f"{turn + 1}" * 32}
                held += spans_of_turn(turn, tools=tools, ids=ids, outputs=outputs, agent=agent, **more)
            if traces == "joined":
                _join(held)
            document = request(*held)
            for change in chance.choices(CHANGES, k=min(variant, 3)):
                change(document, chance.choice(spans(document) or held), chance)
            yield f"talk {number}, variant {variant}", written(document)


_VARIANTS = 10
_SHARE = 0.4
_KEYS = 2
_CALL = {"name": "look", "arguments": "{}"}
_BESIDE: list[tuple[Any, str]] = [
    ("c1", "id call_id tool_call_id toolCallId uuid parent_tool_use_id"),
    ("t", "run_id parent_id thread_id session_id conversation_id trace_id"),
    (True, "is_error isError partial from_history isSidechain isMeta thought"),
    ("ok", "error tool_error content text output result value delta observation"),
    ("support", "name author agent source from"),
    (5, "start_time end_time duration created_at index"),
    ({"order": 8}, "input args metadata params actions"),
    ("assistant", "role"),
    ("message", "type kind event action"),
    ("user", "requestor"),
    ("error", "status level"),
    (False, "success"),
    ("tool_calls", "finish_reason stop_reason"),
    ([{"role": "user", "content": "Hi"}], "messages parts steps interrupts tags"),
    (_CALL, "function_call"),
    ([{"function": _CALL}], "tool_calls"),
    ({"input_tokens": 5, "output_tokens": 7}, "usage"),
    ("2025-01-01T00:00:00Z", "timestamp"),
]
_MORE = {key: value for value, keys in _BESIDE for key in keys.split()}
"""Keys of objects in some of the formats, with values as they have."""


def _join(held: list[dict[str, Any]]) -> None:
    for each in held:
        each["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}})


ALTERED = {"logs": logs, "rearranged": rearranged, "added": added, "pairs": pairs, "talks": talks}
"""Each of them gives documents, with a name for each."""
