"""Files that users ask for: written whole, and never in place of something else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from rightcall.errors import RightcallError

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def new_file(path: str) -> Iterator[IO[str]]:
    """Open a text file that appears under its name only when it is complete, and that only its owner can read.

    Raises:
        RightcallError: it cannot be written.
    """
    # Beside the file, because a rename is atomic within one file system only (rename(2), EXDEV).
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "w", encoding="utf-8", opener=_private) as file:
            yield file
        os.replace(unfinished, path)
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None
    finally:
        with suppress(OSError):
            os.remove(unfinished)


def check_writable(path: str) -> None:
    """Refuse, before any work is done, a file that cannot be written afterwards. Raises `RightcallError`."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise RightcallError(f"{path}: this is a folder; name a file in it")
    if not os.path.isdir(folder):
        raise RightcallError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise RightcallError(f"{path}: no file can be made in {folder}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def check_replaceable(path: str) -> None:
    """Refuse a path that must not, or cannot, be written. A path that does not exist yet is fine.

    Raises:
        RightcallError: it is a symbolic link, not a file, or read-only.
    """
    if os.path.islink(path):
        raise RightcallError(f"{path}: is a symbolic link to {os.readlink(path)}; name that file itself")
    if not os.path.lexists(path):
        return
    if not os.path.isfile(path):
        raise RightcallError(f"{path}: is not a file")
    if not stat.S_IMODE(os.stat(path).st_mode) & 0o222 or not os.access(path, os.W_OK):
        raise RightcallError(f"{path}: is read-only")


def replace_file(path: str, before: bytes | None, after: bytes) -> None:
    """Replace the content of a file, if it is still `before`; `None` if there must be no file yet.

    Folders that a new file needs are made.

    Raises:
        RightcallError: the file has changed in the meantime, or cannot be written.
    """
    from pathlib import Path

    from rightcall.files import replace_file as write_whole

    check_replaceable(path)
    try:
        if before != (Path(path).read_bytes() if os.path.lexists(path) else None):
            raise RightcallError(f"{path}: has been changed in the meantime, so nothing was written; try again")
        if before is None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), after, _mode(path))
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _mode(path: str) -> int:
    if os.path.lexists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class Written(NamedTuple):
    """The files that were written, and those that existed and were left as they are."""

    made: tuple[str, ...]
    kept: tuple[str, ...]


def write_files(folder: Path, files: Mapping[str, str]) -> Written:
    """Write the files that do not exist yet, and the folders they need; nothing is overwritten.

    Raises:
        RightcallError: one of them cannot be written; the message says which ones were.
    """
    made: list[str] = []
    kept: list[str] = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                made.append(name)
                file.write(text)
        except FileExistsError as problem:
            if problem.filename != str(path):
                raise _write_error(path, problem, made) from None
            kept.append(name)
        except OSError as problem:
            raise _write_error(path, problem, made) from None
    return Written(tuple(made), tuple(kept))


def _write_error(path: Path, problem: OSError, made: list[str]) -> RightcallError:
    before = f"; begun or written: {', '.join(made)}" if made else "; nothing was written"
    return RightcallError(f"{path}: {problem.strerror or problem}{before}")
