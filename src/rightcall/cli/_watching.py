"""`--watch`: do it again whenever a file changes, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import click

from rightcall.errors import RightcallError

from ._errors import print_error

_INTERRUPTED = 130
_PAUSE = 0.3
_SETTLING = 0.1
# Polling, and not inotify or kqueue: it works on network disks and in containers, and needs no package.
_SHARE = 30
"""A look at the files is followed by a pause of at least so many times its length: watching takes 3 % of a core."""
_MOST_FILES = 20_000

Files: TypeAlias = Callable[[], Iterable[str | Path]]
_Seen: TypeAlias = dict[str, tuple[int, int] | None]


def watch(once: Callable[[], int], files_of: Callable[[], Files]) -> int:
    """Do something once, and again whenever one of its files has changed and no more changes come.

    What cannot be done, because a file is half written or wrong, is reported, and tried again at the next change.
    Ctrl-C ends it, whatever came out last.

    Args:
        once: What is done; its exit code does not end the watching, unless it is that of an interruption.
        files_of: Says, after each time, which files matter from then on; these are asked for at each look.

    Returns:
        The exit code of an interruption; there is no other way to end it.
    """
    try:
        seen = _look(files_of())
        while True:
            if _done(once) == _INTERRUPTED:
                return _INTERRUPTED
            files = files_of()
            now = _look(files)
            # What came into view only now has not changed; what changed while it was busy has.
            changed = _changed({name: seen.get(name, state) for name, state in now.items()}, now)
            if not changed:
                _tell(f"watching {len(now):,} file{'s' * (len(now) != 1)}; Ctrl-C ends it")
                changed = _wait(files, now)
            _begin_again(changed)
            seen = _look(files)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _done(once: Callable[[], int]) -> int:
    try:
        return once()
    except RightcallError as problem:
        print_error(problem)
        return 2
    finally:
        sys.stdout.flush()


def _look(files: Files) -> _Seen:
    return {str(name): _state(name) for name in islice(files(), _MOST_FILES)}


def _state(name: str | Path) -> tuple[int, int] | None:
    """When a file was changed and how long it is; `None` while it is not there, as when an editor replaces it."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _wait(files: Files, seen: _Seen) -> list[str]:
    """Wait until files have changed and then stayed as they are. The names of those that changed."""
    pause = _PAUSE
    while True:
        time.sleep(pause)
        began = time.perf_counter()
        now = _look(files)
        pause = max(_PAUSE, _SHARE * (time.perf_counter() - began))
        if not _changed(seen, now):
            continue
        while True:
            time.sleep(_SETTLING)
            later = _look(files)
            if later == now:
                return _changed(seen, now)
            now = later


def _changed(before: _Seen, now: _Seen) -> list[str]:
    return [name for name in {**before, **now} if before.get(name) != now.get(name)]


def _begin_again(changed: list[str]) -> None:
    """Clear the screen, or draw a line where there is none, and say why it begins again."""
    if sys.stdout.isatty():
        click.clear()
    more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
    _tell(f"{os.path.relpath(changed[0])}{more} changed")


def _tell(text: str) -> None:
    from rightcall.reporting.reports import printable

    click.echo(f"--- {printable(text, one_line=True)} ---", err=True)
