"""How far the scoring of many rows is, on the terminal."""

from __future__ import annotations

from rightcall.scale.lake import Fragment, Job

from ._complaints import complain
from ._progress import Progress, left_text

_WIDTH = 24


class LakeProgress(Progress):
    """A line on standard error: the share that is done, rows, rows a second, and the time left."""

    def __init__(self, job: Job) -> None:
        super().__init__(len(job.fragments), len(job.done))
        waiting = sum([fragment.size for fragment in job.waiting])
        self._bytes_before = self._bytes = float(sum([fragment.size for fragment in job.fragments]) - waiting)
        self._all_bytes = max(1.0, waiting + self._bytes)
        self._rows_before = self._rows = sum(job.done.values())

    def tell(self, fragment: Fragment, rows: int, is_done: bool = False) -> None:
        """Count rows of a fragment; of one that nobody knows the number of, count its bytes when it is done."""
        self._rows += rows
        if fragment.rows:
            self._bytes += fragment.size * rows / fragment.rows
        elif is_done:
            self._bytes += fragment.size
        self.draw()

    def complain(self, problem: object) -> None:
        """Tell of a trouble, on a line of its own."""
        self.clear()
        complain(problem)

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
