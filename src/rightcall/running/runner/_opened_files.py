"""Note which files with the answers an agent opens: the eval set, recordings, run folders.

An audit hook (PEP 578) sees every file that Python code in this process opens. It cannot be removed again, and sees
nothing of other processes. It detects cheating, and does not prevent it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

_watched: list[str] = []
"""The files, and the folders with all files below them, as real paths."""
_before: list[str] = []
"""What was opened while no case was running, such as while the agent was loaded: any case may make use of it."""
_running: list[list[str]] = []
"""What was opened by each case that is running now."""
_mine: ContextVar[list[str] | None] = ContextVar("rightcall_opened", default=None)


def watch_files(paths: Sequence[str]) -> None:
    """From now on, note which of these files, or files below these folders, are opened."""
    _watched.extend([os.path.realpath(path) for path in paths])
    if _watched:
        sys.addaudithook(_hook)


@contextmanager
def note_opened() -> Iterator[list[str]]:
    """Yield a list of the watched files that a case opens, or that were opened before it; the list grows meanwhile.

    A thread that the agent started may belong to no case. What it opens counts for every case that is running.
    """
    opened = list(_before)
    _running.append(opened)
    token = _mine.set(opened)
    try:
        yield opened
    finally:
        _running[:] = [each for each in _running if each is not opened]
        with suppress(ValueError):  # left in another context than it was entered in; there is nothing to undo there
            _mine.reset(token)


def describe_opened(opened: Sequence[str]) -> str:
    """Return a sentence about the files that were opened."""
    here = os.getcwd() + os.sep
    names = [path.removeprefix(here) + (os.sep if os.path.isdir(path) else "") for path in opened]
    return f"the agent opened {' and '.join(names)}, where it can read what is expected of it"


def _hook(event: str, details: tuple[Any, ...]) -> None:
    if event == "open":
        try:
            _note(details[0])
        except Exception:  # noqa: BLE001 - an exception of an audit hook would stop the agent from opening its file
            return


def _note(path: Any) -> None:
    if isinstance(path, int):
        return  # a descriptor, whose file was opened by name before
    real = os.path.realpath(os.fsdecode(path)) + os.sep
    found = next((each for each in _watched if real.startswith(each + os.sep)), None)
    if found is None:
        return
    mine = _mine.get()
    for opened in [mine] if mine is not None else _running or [_before]:
        if found not in opened:
            opened.append(found)
