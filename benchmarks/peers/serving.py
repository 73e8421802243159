"""The worker's side of the conversation: requests on standard input, answers on output, a line each."""

import gc
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Protocol, TypeVar

from benchmarks.tasks import Task

Subject = TypeVar("Subject")


class Work(Protocol):
    """A task made ready: everything that can be built or compiled beforehand is."""

    def score(self) -> float:
        """The score of one evaluation."""

    def cpu_seconds(self, loops: int) -> float:
        """The CPU time of one evaluation, the mean over so many loops."""

    def details_size(self) -> int:
        """Characters of the details, written as JSON."""


class Repeated:
    """Work that is one function, called again and again."""

    def __init__(self, evaluate: Callable[[], float]) -> None:
        self._evaluate = evaluate

    def score(self) -> float:
        return float(self._evaluate())

    def cpu_seconds(self, loops: int) -> float:
        return timed(lambda _: self._evaluate(), repeat(None, loops)) / loops

    def details_size(self) -> int:
        raise NotImplementedError


def timed(evaluate: Callable[[Subject], object], subjects: Iterable[Subject]) -> float:
    """The CPU time of evaluating every subject. The garbage collector stays on, as it is for users."""
    gc.collect()
    start = time.process_time()
    for subject in subjects:
        evaluate(subject)
    return time.process_time() - start


def serve(prepare: Callable[[Task], Work]) -> None:
    """Answers requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a peer prints goes to the log, not between the answers.
    prepared: list[Work] = []
    for line in sys.stdin:
        try:
            answer = {"answer": _answer(json.loads(line), prepare, prepared)}
        except Exception as problem:  # noqa: BLE001 - whatever a peer raises is reported and the run goes on
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(request: dict[str, Any], prepare: Callable[[Task], Work], prepared: list[Work]) -> Any:
    match request:
        case {"do": "prepare", "task": task}:
            work = prepare(Task(**task))
            prepared.append(work)
            return len(prepared) - 1, work.score()
        case {"do": "measure", "key": int(key), "loops": int(loops)}:
            return prepared[key].cpu_seconds(loops)
        case {"do": "size", "key": int(key)}:
            return prepared[key].details_size()
        case {"do": "version", "distribution": str(distribution)}:
            return importlib.metadata.version(distribution)
        case {"do": "peak"}:
            kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return kibibytes if sys.platform == "darwin" else kibibytes * 1024
    raise ValueError(f"no such request: {request}")
