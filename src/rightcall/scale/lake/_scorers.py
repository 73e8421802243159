"""Scores the fragments of a job in worker processes; a worker that dies costs time, not rows."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable

import msgspec

from rightcall.errors import RightcallError, StoreError
from rightcall.scale.columns import Plan
from rightcall.scale.processes import Do, Heard, Pool, start_method

from ._counts import Counting
from ._cut import any_remote
from ._fragments import Fragment, Output
from ._job import Job, count_fragment, score_fragment

_PATIENCE = 0.2
"""Seconds between two questions whether to stop."""


class FragmentOutcome(msgspec.Struct, frozen=True):
    """What a worker says of a fragment that is done."""

    problem: str = ""
    """Why it could not be scored."""
    counting: Counting | None = None
    """The totals of its scores."""
    is_fatal: bool = False
    """Whether no other fragment could be scored either: there is no room for scores."""


class Scorers:
    """Scores what waits in a job, by a number of processes.

    Args:
        job: The job, entered.
        workers: How many processes.
        tell: Hears how a fragment comes on: how many of its rows were scored now, and whether it is done. A negative
            number takes back what a worker that died had reported.
        complain: Hears of each fragment that could not be scored.
        stop: Whether to stop; asked several times a second.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        *,
        tell: Callable[[Fragment, int, bool], None],
        complain: Callable[[object], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job, self._workers = job, workers
        self._tell, self._complain, self._stop = tell, complain, stop
        self._rows: Counter[str] = Counter()
        self.failed = 0
        """How many fragments could not be scored."""

    def run(self) -> None:
        """Score everything.

        Raises:
            KeyboardInterrupt: it was asked to stop.
            StoreError: the scores cannot be written.
        """
        job = self._job
        # Clients of object stores have threads, and so does the reader of Delta tables; threads do not survive a fork.
        has_threads = any_remote(job.fragments, job.out) or "deltalake" in sys.modules
        method = "spawn" if has_threads else start_method()
        with Pool(self._workers, _begin, (job.plan, job.out), method) as pool:
            fragments = {pool.submit(fragment): fragment for fragment in job.waiting}
            while pool.is_busy:
                for heard in pool.hear(_PATIENCE):
                    self._hear(fragments[heard.number], heard)
                if self._stop():
                    raise KeyboardInterrupt

    def _hear(self, fragment: Fragment, heard: Heard) -> None:
        if heard.is_lost:
            self._tell(fragment, -self._rows.pop(fragment.file, 0), False)
        if heard.is_lost and heard.is_done:
            self._fail(
                f"{fragment}: {heard.attempts} worker processes died while they scored it, the last {heard.death}; it "
                "may need more memory than there is"
            )
        elif heard.is_done:
            self._finish(fragment, heard.value)
        elif not heard.is_lost:
            self._rows[fragment.file] += heard.value
            self._tell(fragment, heard.value, False)

    def _finish(self, fragment: Fragment, outcome: FragmentOutcome) -> None:
        if outcome.is_fatal:
            raise StoreError(outcome.problem)
        self._tell(fragment, 0, True)
        if outcome.problem:
            self._fail(outcome.problem)
        if outcome.counting is not None:
            self._job.counted[fragment.file] = outcome.counting

    def _fail(self, problem: str) -> None:
        self.failed += 1
        self._complain(problem)


def _begin(plan: Plan, out: str) -> Do:
    return lambda fragment, tell: _done(fragment, plan, out, tell)


def _done(fragment: Fragment, plan: Plan, out: str, tell: Callable[[int], None]) -> FragmentOutcome:
    try:
        score_fragment(fragment, plan, out, tell=tell)
        return FragmentOutcome(counting=count_fragment(fragment, Output(out), plan))
    except StoreError as problem:
        return FragmentOutcome(problem=str(problem), is_fatal=True)
    except RightcallError as problem:
        return FragmentOutcome(problem=str(problem))
    except (BrokenPipeError, ConnectionResetError, MemoryError):
        raise
    except Exception as problem:  # noqa: BLE001 - whatever else goes wrong is ours, and costs this fragment only
        last = traceback.extract_tb(problem.__traceback__)[-1]
        message = (
            f"{fragment}: a defect in Rightcall: {type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"
        )
        return FragmentOutcome(problem=message)
