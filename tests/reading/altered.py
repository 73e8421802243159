"""Logs and traces with something missing or wrong, and what is read of each: `tests/data/altered.jsonl.xz`.

    python -m tests.reading.altered

writes the file anew, and prints what is read differently since. Look at each of these before you commit the file.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from tests.reading.changes import spans
from tests.reading.differential import CHANGES
from tests.reading.talks import spans_of_turn
from tests.reading.test_hostile_logs import ABSENT, DOCUMENTS, WRONG, as_bytes, paths, replaced
from tests.reading.traces import request

from rightcall.errors import RightcallError
from rightcall.reading import read

KEPT = Path(__file__).parents[1] / "data" / "altered.jsonl.xz"
Told = list[dict[str, Any]] | str


def logs() -> Iterator[tuple[str, bytes]]:
    """Logs of every format as they are, and with each of their values left out or another in its place."""
    for name, document in DOCUMENTS.items():
        yield name, _written(document)
        for path in paths(document):
            where = f"{name} {'.'.join(map(str, path))}"
            value = Random(where).choice([ABSENT] * len(WRONG) + WRONG)
            shown = "is absent" if value is ABSENT else f"is {json.dumps(value)}"
            yield f"{where} {shown}", _written(replaced(document, path, value))


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
            yield f"talk {number}, variant {variant}", _written(document)


_VARIANTS = 10


def _join(held: list[dict[str, Any]]) -> None:
    for each in held:
        each["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}})


ALTERED = (logs, pairs, talks)
"""Each of them gives documents, with a name for each."""


def told_of(data: bytes) -> Told:
    """Everything that is read of a document; an error as its text."""
    try:
        told: list[dict[str, Any]] = json.loads(msgspec.json.encode(list(read(data))))
    except RightcallError as problem:
        return str(problem)
    for trajectory in told:
        for call in trajectory["calls"]:
            call["unrecorded"].sort()  # it is a set
    return told


def kept() -> dict[str, Told]:
    """What was read of each of them when the file was written."""
    return dict(json.loads(line) for line in lzma.decompress(KEPT.read_bytes()).splitlines())


def _written(document: Any) -> bytes:
    return json.dumps(document).encode()


def main() -> None:
    before, now = kept() if KEPT.exists() else {}, {name: told_of(data) for kind in ALTERED for name, data in kind()}
    KEPT.write_bytes(lzma.compress("\n".join([json.dumps(pair) for pair in now.items()]).encode()))
    for name in [name for name, told in now.items() if told != before.get(name)]:
        print(f"{name}\n  before: {json.dumps(before.get(name))}\n  now:    {json.dumps(now[name])}")


if __name__ == "__main__":
    main()
