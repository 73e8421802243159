"""The files of a run: private to their owner, replaced atomically, or append-only with a seal."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import BinaryIO, Protocol

from rightcall.errors import StoreError
from rightcall.files import (
    close_file,
    cut_file,
    make_folder,
    open_file,
    replace_file as replace_any_file,
    sync_file,
    write_all,
)

_ATTEMPTS, _PAUSE = 5, 0.01
_PIECE = 1 << 20
# Runs contain prompts and outputs of tools. Other users of the machine must not be able to read them.
_FOLDER = 0o700
_FILE = 0o600


class Lines:
    """An append-only file of lines, readable only by its owner. Call `take_over` first if it has lines.

    Raises:
        StoreError: the file cannot be written; with `alone`, also if another process writes to it.
    """

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self._length = self._end = 0
        self._parts: list[tuple[int, int]] = []
        """The ranges of the lines that count: one range, unless another program has written in between."""
        with os_errors_at(path):
            self._descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            if alone:
                self._lock()
        except StoreError:
            self.close()
            raise

    @property
    def length(self) -> int:
        """The number of bytes in the lines that count: existing ones taken over, and those appended."""
        return self._length

    @property
    def sha256(self) -> str:
        """The hash of the lines that count."""
        return self._hash.hexdigest()

    def take_over(self, seal: Extent | None, *, is_final: bool = False) -> None:
        """Count the existing lines up to their seal, and cut off what follows: an incomplete or unknown line.

        Raises:
            StoreError: they are not what was written.
        """
        lines = SealedLines(self.path)
        for line in lines.read(seal, is_final=is_final):
            self._hash.update(line)
        self._length = self._end = lines.end
        self._parts = [(0, lines.end)] if lines.end else []
        with os_errors_at(self.path):
            if os.fstat(self._descriptor).st_size > lines.end:
                cut_file(self._descriptor, lines.end)

    def append(self, line: bytes) -> None:
        """Add a line. If it does not fit on the disk, nothing of it remains. Raises `StoreError`."""
        try:
            write_all(self._descriptor, line)
        except OSError:
            # An incomplete line would make the next one unreadable, too: cut back to the end of the last complete line.
            with os_errors_at(self.path):
                cut_file(self._descriptor, self._end)
            with os_errors_at(self.path):
                raise
        self._hash.update(line)
        self._length += len(line)
        # O_APPEND writes at the end of the file, which another program may have moved: find out where the line went.
        self._end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        begin = self._end - len(line)
        if self._parts and self._parts[-1][1] == begin:
            begin = self._parts.pop()[0]
        self._parts.append((begin, self._end))

    def sync(self) -> None:
        """Flush everything so far to the disk. Raises `StoreError`."""
        with os_errors_at(self.path):
            sync_file(self._descriptor)

    def is_as_written(self) -> bool:
        """Return whether the path still names this file, and it has exactly the lines that count."""
        try:
            mine, named = os.fstat(self._descriptor), os.stat(self.path)
            is_mine = os.path.samestat(mine, named) and mine.st_size == self._length
            return is_mine and self._has_its_lines()
        except OSError:
            return False

    def written(self) -> Iterator[bytes]:
        """Yield the lines that count, from the open file, because its path may be gone.

        Raises:
            StoreError: another program has changed them.
        """
        with os_errors_at(self.path):
            if not self._has_its_lines():
                raise changed(self.path)
            torn = b""
            for piece in self._pieces():
                *whole, torn = (torn + piece).split(b"\n")
                yield from [line + b"\n" for line in whole]

    def close(self) -> None:
        """Close the file."""
        close_file(self._descriptor)

    def _has_its_lines(self) -> bool:
        found = hashlib.sha256()
        for piece in self._pieces():
            found.update(piece)
        return found.digest() == self._hash.digest()

    def _pieces(self) -> Iterator[bytes]:
        for begin, end in self._parts:
            while begin < end and (piece := os.pread(self._descriptor, min(end - begin, _PIECE), begin)):
                begin += len(piece)
                yield piece

    def _lock(self) -> None:
        import fcntl

        for attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                # `is_being_written` holds the lock for microseconds, and is not another writer: try again.
                sleep(_PAUSE if attempt < _ATTEMPTS - 1 else 0)
        raise StoreError(f"{self.path}: another process is writing to this run")


class Extent(Protocol):
    """The part of a file that the run itself wrote, by length and hash."""

    @property
    def length(self) -> int:
        """The number of bytes."""

    @property
    def sha256(self) -> str:
        """The hash of these bytes, in hexadecimal digits."""


class SealedLines:
    """The lines of a file up to its seal. Each is read once; more can be read when the seal has moved.

    Without a seal, as in runs of older versions, every complete line counts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self._known = {0: self._hash.hexdigest()}
        """The hash of everything up to the end of each line at which the next seal may be."""
        self.end = 0
        """The offset behind the last line that was read."""

    def read(self, seal: Extent | None, *, is_final: bool = False, is_growing: bool = False) -> Iterator[bytes]:
        """Yield the lines that were not read before.

        Args:
            seal: How far lines count.
            is_final: Whether nothing may follow them.
            is_growing: Whether lines are being written now: then lines that are not yet sealed are read as well.

        Raises:
            StoreError: the file cannot be read, or is not what the run wrote, which is known only at the end.
        """
        if not self._path.exists():
            if seal is not None and seal.length:
                raise changed(self._path)
            return
        with os_errors_at(self._path), self._path.open("rb") as file:
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

    def _counts(self, line: bytes, seal: Extent | None, is_growing: bool) -> bool:
        if seal is None or self.end + len(line) <= seal.length:
            return True
        return is_growing and self.end >= seal.length

    def _check(self, seal: Extent, file: BinaryIO, is_final: bool) -> None:
        found = self._hash.hexdigest() if self.end == seal.length else self._known.get(seal.length)
        if found != seal.sha256:
            raise changed(self._path)
        file.seek(seal.length)
        if is_final and file.read(1):
            raise changed(self._path)


def changed(path: Path) -> StoreError:
    """Return the error for a file that is not as the run wrote it."""
    return StoreError(
        f"{path}: changed by another program since the run wrote it, so nothing in it counts; run the eval set again"
    )


@contextmanager
def os_errors_at(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a one-line message that names the path.

    Raises:
        StoreError: the operating system raised an error.
    """
    try:
        yield
    except OSError as problem:
        raise StoreError(f"{path}: {problem.strerror or problem}{_remedy(problem)}") from None


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can access, whatever the umask. Raises `FileExistsError`."""
    make_folder(folder, _FOLDER)


def open_private(path: Path, flags: int) -> int:
    """Open a file; if it is created, only its owner can access it, whatever the umask."""
    return open_file(path, flags, _FILE)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically, also in case of a crash. Only its owner can access it."""
    replace_any_file(path, data, _FILE)


def _remedy(problem: OSError) -> str:
    if isinstance(problem, (PermissionError, NotADirectoryError)) or problem.errno == errno.EROFS:
        return "; choose another folder for runs with --runs"
    full = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
    return "; make room, then resume the run" if problem.errno in full else ""
