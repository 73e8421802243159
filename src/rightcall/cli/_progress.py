"""How far a command is, on the terminal, while it runs."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING

from ._errors import print_error

if TYPE_CHECKING:
    from rightcall.scale.lake import Fragment, Job
    from rightcall.values.results import CaseResult

_EVERY = 0.1
_WIDTH = 24


class Progress:
    """A line on standard error with a bar, counts and the time left. Nothing at all where that is not a terminal."""

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
        """Draw the line anew, if that was not just done."""
        now = monotonic()
        if self._is_shown and now - self._drawn >= _EVERY:
            self._drawn = now
            self._write(f"\r{self._line(now)}\x1b[K")

    def clear(self) -> None:
        """Take the line away, so that something else can be printed."""
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
    """How much time is left, after two spaces."""
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
        """Count rows of a fragment; where their number is unknown, count its bytes when it is done."""
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
