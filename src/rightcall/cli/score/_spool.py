"""Results that are needed again when all are there, and may be more than there is memory for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any

from rightcall.scale.local import Scored
from rightcall.values.results import CaseResult

_IN_MEMORY = 256
"""How many results are kept as they are. A result has its trajectory with it, which is up to some MB of arguments and
outputs; those after them are lines of JSON in a file."""


class Spool:
    """Results in order: the first in memory, the others in a temporary file that only this process can open."""

    def __init__(self) -> None:
        self._first: list[Scored] = []
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, scored: Scored) -> None:
        """Keep a result."""
        if len(self._first) < _IN_MEMORY:
            self._first.append(scored)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the exit of this object
        self._file.write(scored.document().encode() + b"\n")

    def results(self) -> Iterator[CaseResult]:
        """Return the results."""
        yield from [scored.whole() for scored in self._first]
        yield from map(CaseResult.from_json, self._lines())

    def documents(self) -> Iterator[str]:
        """Return the results as JSON."""
        yield from [scored.document() for scored in self._first]
        yield from self._lines()

    def _lines(self) -> Iterator[str]:
        place = 0
        while self._file is not None:
            self._file.seek(place)  # several readers may take turns
            line = self._file.readline()
            if not line:
                return
            place = self._file.tell()
            yield line[:-1].decode()
