"""Every format of logs with one value missing or wrong, and what is read of it: `tests/data/altered_logs.jsonl.xz`.

    python -m tests.reading.altered

writes the file anew, and prints what is read differently since. Look at each of these before you commit the file.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from tests.reading.test_hostile_logs import ABSENT, DOCUMENTS, WRONG, paths, replaced

from rightcall.errors import RightcallError
from rightcall.reading import read

KEPT = Path(__file__).parents[1] / "data" / "altered_logs.jsonl.xz"
Told = list[dict[str, Any]] | str


def altered() -> Iterator[tuple[str, bytes]]:
    """Each document as it is, and with each of its values left out or another in its place; with a name for each."""
    for name, document in DOCUMENTS.items():
        yield name, _written(document)
        for path in paths(document):
            where = f"{name} {'.'.join(map(str, path))}"
            value = Random(where).choice([ABSENT] * len(WRONG) + WRONG)
            shown = "is absent" if value is ABSENT else f"is {json.dumps(value)}"
            yield f"{where} {shown}", _written(replaced(document, path, value))


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
    before, now = kept() if KEPT.exists() else {}, {name: told_of(data) for name, data in altered()}
    KEPT.write_bytes(lzma.compress("\n".join([json.dumps(pair) for pair in now.items()]).encode()))
    for name in [name for name, told in now.items() if told != before.get(name)]:
        print(f"{name}\n  before: {json.dumps(before.get(name))}\n  now:    {json.dumps(now[name])}")


if __name__ == "__main__":
    main()
