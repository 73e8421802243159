"""Scoring on a Ray cluster: one task and one file of scores for each fragment of the input."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import RightcallError, StoreError, missing_package
from rightcall.reading import Reading

from .columns import SCORES, Plan, score_batch
from .lake import Fragment, Job, Summary, score_fragment, write_summary
from .processes import sendable

if TYPE_CHECKING:
    from ray.data import Dataset

_RETRIES = 3
_AHEAD = 2
"""How many tasks are submitted at a time for each CPU of the cluster."""
_PATIENCE = 0.2


def score(
    sources: Sequence[str],
    plan: Plan,
    *,
    out: str,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    workers: int | None = None,
) -> Summary:
    """Score tables and files into the folder `out`, and return the summary of all of it.

    What any engine has already scored there is not scored again. All nodes have to reach the input and the folder by
    the same addresses. An existing Ray session or a running cluster is used; without one, Ray is started on this
    machine and stopped afterwards.

    Args:
        sources: Paths, patterns, folders, Delta tables, addresses in object stores.
        plan: What the rows are checked against.
        out: A folder, or an address in an object store.
        reading: How files are read.
        workers: How many tasks may run at once; by default, as many as the cluster has CPUs.

    Raises:
        InputError: the input cannot be found or read.
        MissingExtraError: Ray is not installed.
        RightcallError: a fragment of the input could not be scored, or Rightcall is not installed on a node.
        StoreError: the folder cannot be written, or has scores of other input.
    """
    problems: list[object] = []
    with Job(sources, plan, out, reading) as job:
        failed = score_job(job, workers, complain=problems.append)
        cases = [case.id for case in plan.cases] if plan.is_eval_set else []
        summary = job.count().summary(cases, failed_parts=failed)
        if problems:
            raise RightcallError(f"{failed} parts could not be scored, the first because: {problems[0]}")
        write_summary(out, summary)
    return summary


def score_job(
    job: Job,
    workers: int | None = None,
    *,
    tell: Callable[[Fragment, int, bool], None] = lambda fragment, rows, is_done: None,
    complain: Callable[[object], None],
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Score the waiting fragments of a job, and return how many could not be scored.

    `tell` is called for each fragment that is done, `complain` with a message for each that could not be scored, and
    `stop` several times a second.

    Raises:
        KeyboardInterrupt: `stop` returned true.
        MissingExtraError: Ray is not installed.
        RightcallError: Rightcall is not installed on a node.
        StoreError: the scores cannot be written.
    """
    if not job.waiting:
        return 0
    with _cluster(workers) as processors:
        tasks = _Tasks(job, workers or _AHEAD * processors)
        try:
            return tasks.run(tell, complain, stop)
        finally:
            tasks.cancel()


def score_dataset(dataset: Dataset, plan: Plan) -> Dataset:
    """The scores of a dataset of trajectories: a row each, with the columns of `SCORES` and no others.

    Needs the dependencies of `ray.data`, such as pandas. Nothing is computed before the result is asked for.
    """
    function = sendable(__name__, "score_table", msgspec.msgpack.encode(plan))
    return dataset.map_batches(function, batch_format="pyarrow", zero_copy_batch=True)


def score_table(table: Any, encoded: bytes) -> Any:
    """Score a table of trajectories with an encoded plan."""
    import pyarrow as pa

    plan = _decoded(encoded)
    return pa.Table.from_batches([score_batch(batch, plan) for batch in table.to_batches()], SCORES)


class FragmentOutcome(msgspec.Struct, frozen=True):
    """What a task returns: the number of rows, or why the fragment could not be scored."""

    rows: int = 0
    problem: str = ""
    is_fatal: bool = False
    """Whether the scores cannot be written, so that no other fragment could be scored either."""


def score_sent(fragment: bytes, plan: bytes, out: str, folder: str) -> bytes:
    """Score a fragment as a task; arguments and result are encoded. Paths are relative to `folder`."""
    with suppress(OSError):
        os.chdir(folder)
    try:
        outcome = FragmentOutcome(score_fragment(msgspec.msgpack.decode(fragment, type=Fragment), _decoded(plan), out))
    except RightcallError as problem:
        outcome = FragmentOutcome(problem=str(problem), is_fatal=isinstance(problem, StoreError))
    return msgspec.msgpack.encode(outcome)


@lru_cache(maxsize=4)
def _decoded(plan: bytes) -> Plan:
    """Decode a plan, once for all tasks of this process."""
    return msgspec.msgpack.decode(plan, type=Plan)


class _Tasks:
    """The tasks of a job, of which a limited number is submitted at a time."""

    def __init__(self, job: Job, most: int) -> None:
        import ray

        function = sendable(__name__, "score_sent", msgspec.msgpack.encode(job.plan), job.out, os.getcwd())
        self._task: Any = ray.remote(max_retries=_RETRIES, num_cpus=1)(function)
        self._waiting, self._most = deque(job.ready(job.waiting)), most
        self._running: dict[Any, Fragment] = {}

    def run(
        self, tell: Callable[[Fragment, int, bool], None], complain: Callable[[object], None], stop: Callable[[], bool]
    ) -> int:
        import ray

        failed = 0
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._most:
                fragment = self._waiting.popleft()
                self._running[self._task.remote(msgspec.msgpack.encode(fragment))] = fragment
            for reference in ray.wait(list(self._running), timeout=_PATIENCE)[0]:
                fragment = self._running.pop(reference)
                outcome = _outcome_of(reference, fragment)
                if outcome.is_fatal:
                    raise StoreError(outcome.problem)
                tell(fragment, outcome.rows, True)
                if outcome.problem:
                    failed += 1
                    complain(outcome.problem)
            if stop():
                raise KeyboardInterrupt
        return failed

    def cancel(self) -> None:
        import ray

        for reference in self._running:
            ray.cancel(reference, force=True)


def _outcome_of(reference: Any, fragment: Fragment) -> FragmentOutcome:
    import ray

    try:
        return msgspec.msgpack.decode(ray.get(reference), type=FragmentOutcome)
    except ray.exceptions.RayTaskError as problem:
        if isinstance(problem, ImportError):
            raise RightcallError(str(problem.cause)) from None
        return FragmentOutcome(problem=f"{fragment}: a defect in Rightcall: {' '.join(str(problem.cause).split())}")
    except ray.exceptions.RayError as problem:
        reason = str(problem).strip().partition("\n")[0]
        return FragmentOutcome(problem=f"{fragment}: {_RETRIES + 1} workers of Ray died while they scored it: {reason}")


@contextmanager
def _cluster(workers: int | None) -> Iterator[int]:
    """Use the Ray session of this process, or start one and stop it afterwards. Yields the number of its CPUs."""
    ray = _ray()
    if ray.is_initialized():
        yield _processors(ray)
        return
    with _same_signals():
        _start(ray, workers)
    try:
        yield _processors(ray)
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise missing_package("scoring on Ray needs ray", "ray") from None
    return ray


def _start(ray: Any, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        ray.init(address=os.environ.get("RAY_ADDRESS", "auto"), **quiet)
        return
    except ConnectionError as problem:
        if "RAY_ADDRESS" in os.environ:
            raise RightcallError(f"the cluster that RAY_ADDRESS names cannot be reached: {problem}") from None
    # Do not send usage statistics from a cluster that was started for this command only.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
    except Exception as problem:  # noqa: BLE001 - Ray raises a plain Exception if a node does not start within 30 s
        raise RightcallError(f"Ray does not start: {' '.join(str(problem).split())}") from None


def _processors(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@contextmanager
def _same_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which `ray.init` replaces."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    yield
    if is_main:
        signal.signal(signal.SIGTERM, before)
