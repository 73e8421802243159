"""Which files that hold the answers an agent opens: the eval set, recordings, run folders.

An audit hook of the interpreter sees every file that Python code in this process opens. It cannot be taken out again,
and sees nothing of other processes. It is a witness, not a wall.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

_watched: list[str] = []
"""The files, and the folders below which no file is the agent's business, as real paths."""
_before: list[str] = []
"""What was opened when no case was run, as while the agent was loaded: every case may have made use of it."""
_running: list[list[str]] = []
"""What was opened by each case that is run now."""
_mine: ContextVar[list[str] | None] = ContextVar("rightcall_opened", default=None)


def watch(paths: Sequence[str]) -> None:
    """From now on, note which of these files are opened, or files below these folders."""
    _watched.extend([os.path.realpath(path) for path in paths])
    if _watched:
        sys.addaudithook(_heard)


@contextmanager
def noticing() -> Iterator[list[str]]:
    """Which of the files and folders are opened while a case is run, or were before: the list grows meanwhile.

    A thread that the agent started itself may belong to no case. Then every case that is run meanwhile has opened it.
    """
    opened = list(_before)
    _running.append(opened)
    token = _mine.set(opened)
    try:
        yield opened
    finally:
        _running[:] = [each for each in _running if each is not opened]
        with suppress(ValueError):  # left in another context than it was entered in: there is nothing to undo
            _mine.reset(token)


def told(opened: Sequence[str]) -> str:
    """A sentence about what was opened."""
    here = os.getcwd() + os.sep
    names = [path.removeprefix(here) + (os.sep if os.path.isdir(path) else "") for path in opened]
    return f"the agent opened {' and '.join(names)}, where it can read what is expected of it"


def _heard(event: str, details: tuple[Any, ...]) -> None:
    if event == "open":
        try:
            _note(details[0])
        except Exception:  # noqa: BLE001 - raised here, it would keep the agent from opening its file
            return


def _note(path: Any) -> None:
    if isinstance(path, int):
        return  # a descriptor, which was opened by its name before
    real = os.path.realpath(os.fsdecode(path)) + os.sep
    found = next((each for each in _watched if real.startswith(each + os.sep)), None)
    if found is None:
        return
    mine = _mine.get()
    for opened in [mine] if mine is not None else _running or [_before]:
        if found not in opened:
            opened.append(found)
