"""Child processes, one for us and one for each peer, that evaluate tasks and report their CPU time."""

import json
import subprocess
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from .environments import ROOT, log_of, python_of, quiet_environment
from .tasks import Task


class WorkerError(Exception):
    """A worker could not do what it was asked."""


@dataclass(frozen=True)
class Contender:
    """A task prepared inside a worker, with the score it gave there."""

    worker: "Worker"
    task: Task
    key: int
    score: float

    def cpu_seconds(self, loops: int) -> float:
        """CPU time of one evaluation, the mean over so many loops."""
        return float(self.worker.ask(do="measure", key=self.key, loops=loops))

    def details_size(self) -> int:
        """Characters of the details, written as JSON."""
        return int(self.worker.ask(do="size", key=self.key))


class Worker:
    """A child process running `benchmarks.peers.<name>` with the interpreter of that peer's environment."""

    def __init__(self, name: str) -> None:
        self._name = name
        module = name.replace("-", "_")
        with log_of(name).open("w") as log:
            self._process = subprocess.Popen(
                [str(python_of(name)), "-m", f"benchmarks.peers.{module}"],
                cwd=ROOT,
                env=quiet_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def prepare(self, task: Task) -> Contender:
        """The task, ready to be measured."""
        try:
            key, score = self.ask(do="prepare", task=task.to_json())
        except WorkerError as problem:
            raise WorkerError(f"{task}: {problem}") from None
        return Contender(self, task, key, score)

    def version(self) -> str:
        """The name and version of what the worker measures."""
        distribution = "rightcall" if self._name == "ours" else self._name
        return f"{distribution} {self.ask(do='version', distribution=distribution)}"

    def peak_bytes(self) -> int:
        """The most memory the process has held."""
        return int(self.ask(do="peak"))

    def ask(self, **request: Any) -> Any:
        """The worker's answer to one request.

        Raises:
            WorkerError: the worker reported an error, or ended.
        """
        answer = json.loads(self._exchange(json.dumps(request)) or '{"error": "the process ended"}')
        if "error" in answer:
            raise WorkerError(f"{self._name}: {answer['error']} (see {log_of(self._name)})")
        return answer["answer"]

    @property
    def alive(self) -> bool:
        """Whether the process can still be asked."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the process by closing its input, which it takes as the end of its work."""
        self._process.communicate()

    def _exchange(self, line: str) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            return ""
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline()


class Workers:
    """The workers of one run, each started when it is first asked for."""

    def __init__(self) -> None:
        self._running: dict[str, Worker] = {}

    def __getitem__(self, name: str) -> Worker:
        if name not in self._running:
            self._running[name] = Worker(name)
        return self._running[name]

    def versions(self) -> list[str]:
        """The name and version of everything that was started."""
        return [worker.version() for worker in self._running.values() if worker.alive]

    def stop(self) -> None:
        """Ends them all."""
        for worker in self._running.values():
            worker.stop()
        self._running.clear()
