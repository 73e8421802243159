"""How much of a journal was written by the run itself, and whether it has been changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from rightcall.errors import StoreError

from ._folders import telling


class Seal(msgspec.Struct, frozen=True):
    """The length and the hash of all lines that the process of a run had written when it said so."""

    length: int = 0
    sha256: str = hashlib.sha256(b"").hexdigest()


class SealedLines:
    """The lines of a file as far as its seal goes, read once, and further as the seal does.

    Without a seal, as in runs of older versions, every whole line counts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self._known = {0: self._hash.hexdigest()}
        """The hash of everything up to the end of each line that may be the next to be sealed."""
        self.end = 0
        """Where the lines end that were read."""

    def read(self, seal: Seal | None, *, is_final: bool = False, is_growing: bool = False) -> Iterator[bytes]:
        """The lines that were not read before.

        Args:
            seal: How far they count.
            is_final: Whether there may be nothing after them.
            is_growing: Whether lines are being written now: then those that wait for their seal are read as well.

        Raises:
            StoreError: the file cannot be read, or is not what the run has written. That is known at the end only.
        """
        if not self._path.exists():
            if seal is not None and seal.length:
                raise changed(self._path)
            return
        with telling(self._path), self._path.open("rb") as file:
            file.seek(self.end)
            for line in file:
                if not line.endswith(b"\n") or not self._counts(line, seal, is_growing):
                    break
                self._hash.update(line)
                self.end += len(line)
                if seal is not None and self.end >= seal.length:
                    self._known[self.end] = self._hash.hexdigest()
                yield line
            if seal is not None:
                self._check(seal, file, is_final)

    def _counts(self, line: bytes, seal: Seal | None, is_growing: bool) -> bool:
        if seal is None or self.end + len(line) <= seal.length:
            return True
        return is_growing and self.end >= seal.length

    def _check(self, seal: Seal, file: BinaryIO, is_final: bool) -> None:
        found = self._hash.hexdigest() if self.end == seal.length else self._known.get(seal.length)
        if found != seal.sha256:
            raise changed(self._path)
        file.seek(seal.length)
        if is_final and file.read(1):
            raise changed(self._path)


def changed(path: Path) -> StoreError:
    """What is told of a file of a run that is not what the run has written."""
    return StoreError(
        f"{path}: changed by another program since the run wrote it, so nothing in it counts; run the eval set again"
    )
