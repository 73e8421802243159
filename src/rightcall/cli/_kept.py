"""Results that are wanted again when all are there, and may be more than there is memory for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

from rightcall.values.results import CaseResult

_IN_MEMORY = 1 << 24


class Kept:
    """Results as lines of JSON: in memory while they are few, then in a file that nobody else can open."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed at the exit of this object

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def add(self, document: str) -> None:
        """Keep a result, as JSON on one line."""
        self._file.write(document.encode() + b"\n")

    def documents(self) -> Iterator[str]:
        """The results as JSON, in order."""
        place = 0
        while True:
            self._file.seek(place)
            line = self._file.readline()
            if not line:
                return
            place = self._file.tell()
            yield line[:-1].decode()

    def results(self) -> Iterator[CaseResult]:
        """The results, in order."""
        return map(CaseResult.from_json, self.documents())
