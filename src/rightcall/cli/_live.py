"""Commands that take a while: the progress line, Ctrl-C and SIGTERM, and `--watch`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from time import monotonic
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rightcall.errors import RightcallError

from ._output import print_error

if TYPE_CHECKING:
    from rightcall.scale.lake import Fragment, Job
    from rightcall.values.results import CaseResult

_EVERY = 0.1
_WIDTH = 24


class Progress:
    """A line on standard error with a bar, counts and the time left. Nothing if that is not a terminal."""

    def __init__(self, total: int, before: int = 0) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()  # it is None where it is closed
        self._is_shown = is_terminal and os.environ.get("TERM") != "dumb"
        self._is_plain = not (is_terminal and (sys.stderr.encoding or "").lower().startswith("utf"))
        self._total = total
        self._done = self._before = before
        self._bad = 0
        self._started = monotonic()
        self._drawn = 0.0

    def take(self, result: CaseResult) -> None:
        """Count a result."""
        self._done += 1
        self._bad += not result.passed
        self.draw()

    def draw(self) -> None:
        """Draw the line again, if that was not just done."""
        now = monotonic()
        if self._is_shown and now - self._drawn >= _EVERY:
            self._drawn = now
            self._write(f"\r{self._line(now)}\x1b[K")

    def clear(self) -> None:
        """Clear the line, so that something else can be printed."""
        if self._is_shown and self._drawn:
            self._drawn = 0.0
            self._write("\r\x1b[K")

    def _line(self, now: float) -> str:
        filled = _WIDTH * self._done // max(1, self._total)
        full, empty = "#-" if self._is_plain else "━╌"
        bad = f"  {self._bad:,} not passed" if self._bad else ""
        return f"{full * filled}{empty * (_WIDTH - filled)} {self._done:,}/{self._total:,}{bad}{self._left(now)}"

    def _left(self, now: float) -> str:
        run = self._done - self._before
        if not run:
            return ""
        return left_text((now - self._started) / run * (self._total - self._done))

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._is_shown = False  # the terminal is closed


def left_text(seconds: float) -> str:
    """Return how much time is left, after two spaces."""
    left = round(seconds)
    return f"  {left // 3600}h{left // 60 % 60:02}m left" if left >= 3600 else f"  {left // 60}:{left % 60:02} left"


class LakeProgress(Progress):
    """A line on standard error: the share that is done, rows, rows a second, and the time left."""

    def __init__(self, job: Job) -> None:
        super().__init__(len(job.fragments), len(job.done))
        waiting = sum([fragment.size for fragment in job.waiting])
        self._bytes_before = self._bytes = float(sum([fragment.size for fragment in job.fragments]) - waiting)
        self._all_bytes = max(1.0, waiting + self._bytes)
        self._rows_before = self._rows = sum(job.done.values())

    def tell(self, fragment: Fragment, rows: int, is_done: bool = False) -> None:
        """Count rows of a fragment; if their number is unknown, count its bytes when it is done."""
        self._rows += rows
        if fragment.rows:
            self._bytes += fragment.size * rows / fragment.rows
        elif is_done:
            self._bytes += fragment.size
        self.draw()

    def complain(self, problem: object) -> None:
        """Print an error, on a line of its own."""
        self.clear()
        print_error(problem)

    def _line(self, now: float) -> str:
        share = min(1.0, self._bytes / self._all_bytes)
        filled = int(_WIDTH * share)
        full, empty = "#-" if self._is_plain else "━╌"
        took = max(1e-9, now - self._started)
        speed = round((self._rows - self._rows_before) / took)
        bar = f"{full * filled}{empty * (_WIDTH - filled)}"
        return f"{bar} {share:4.0%}  {self._rows:,} rows  {speed:,}/s{self._left(now)}"

    def _left(self, now: float) -> str:
        read = self._bytes - self._bytes_before
        if read <= 0:
            return ""
        return left_text((now - self._started) / read * max(0.0, self._all_bytes - self._bytes))


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While it is open, the first signal is noted, and the second one raises `KeyboardInterrupt`."""

    def __init__(self) -> None:
        self.is_asked = False
        self._before: list[Any] = []

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self.is_asked

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(each, self._note) for each in _SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in zip(_SIGNALS, self._before, strict=False):
            signal.signal(each, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:  # the second signal: stopping in good order takes too long
            raise KeyboardInterrupt
        self.is_asked = True


_INTERRUPTED = 130
_PAUSE = 0.3
_SETTLING = 0.1
# Polling, and not inotify or kqueue: it works on network disks and in containers, and needs no package.
_SHARE = 30
"""The pause after a look at the files, as a multiple of its duration at least: watching takes 3 % of a core."""
_MOST_FILES = 20_000

Files: TypeAlias = Callable[[], Iterable[str | Path]]
_Seen: TypeAlias = dict[str, tuple[int, int] | None]


def watch(once: Callable[[], int], files_of: Callable[[], Files]) -> int:
    """Run something once, and again whenever one of its files has changed and then stays as it is.

    If it fails, because a file is half written or wrong, that is reported, and it is run again at the next change.
    Ctrl-C stops it, whatever the last result was.

    Args:
        once: What to run; its exit code does not end the watching, unless it is that of an interruption.
        files_of: Called after each run; returns a function that lists the files to watch, for each look.

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
            # Files that are watched only from now on have not changed; files that changed during the run have.
            changed = _changed({name: seen.get(name, state) for name, state in now.items()}, now)
            if not changed:
                _print(f"watching {len(now):,} file{'s' * (len(now) != 1)}; Ctrl-C stops it")
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
    """Return when a file was changed and its size; `None` while it is not there, as when an editor replaces it."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _wait(files: Files, seen: _Seen) -> list[str]:
    """Wait until files have changed and then stay as they are; return the names of those that changed."""
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
    """Clear the screen, if there is one, and say which files changed."""
    if sys.stdout.isatty():
        click.clear()
    more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
    _print(f"{os.path.relpath(changed[0])}{more} changed")


def _print(text: str) -> None:
    from rightcall.reporting.reports import printable

    click.echo(f"--- {printable(text, one_line=True)} ---", err=True)
