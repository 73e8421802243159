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


def _join(held: list[dict[str, Any]]) -> None:
    for each in held:
        each["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}})


ALTERED = {"logs": logs, "pairs": pairs, "talks": talks}
"""Each of them gives documents, with a name for each."""
