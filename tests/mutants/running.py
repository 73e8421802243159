"""Tries a mistake in a copy of the project: first against the tests that mirror the module, then against wider ones."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutations import Mutation

SOURCE = "src/rightcall"
_WIDER = {
    "matchers": (("evaluators",), ("assertions", "verdicts", "evalsets")),
    "alignment": (("evaluators",), ("assertions", "changes")),
    "verdicts": (("evalsets", "assertions"), ("accepting", "judges", "end_to_end/test_score.py")),
    "evaluators": (("assertions", "verdicts"), ("evalsets", "changes")),
    "readers": (("tracing", "trajectory"), ("batch/test_uniting.py", "batch/test_span_buckets.py")),
}
_IDLE = {".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__", ".bench", "site"}
_ticks = itertools.count(1_000_000_000)


def stages_of(file: str, *, narrow: bool = False) -> list[tuple[str, ...]]:
    """The tests that a module is tried against, one stage after the other until one fails.

    Args:
        narrow: Leave out all but the tests of its own package.
    """
    package, _, module = file.removeprefix(f"{SOURCE}/").partition("/")
    mirror = f"tests/{package}/test_{Path(module).stem.lstrip('_')}.py"
    stages = [(mirror,)] if Path(mirror).exists() else []
    wider = [] if narrow else [tuple([f"tests/{each}" for each in stage]) for stage in _WIDER[package]]
    return [*stages, (f"tests/{package}",), *wider]


@dataclass(frozen=True)
class Tried:
    """What became of a mistake. `stage` is the number of the tests that noticed it, -1 where none did."""

    mutation: Mutation
    stage: int
    seconds: float
    timed_out: bool = False

    @property
    def survived(self) -> bool:
        return self.stage < 0


class Copy:
    """A copy of the project, in which one mistake after the other is made."""

    def __init__(self, project: Path, folder: Path, *, plugins: bool = True) -> None:
        self.folder, self._plugins = folder, plugins
        shutil.copytree(project, folder, ignore=lambda _, names: _IDLE & set(names), symlinks=True)

    def attempt(
        self, mutation: Mutation, stages: Sequence[tuple[str, ...]], limits: Mapping[tuple[str, ...], float]
    ) -> Tried:
        """Run the stages until one fails. A mistake that makes tests endless is noticed, too."""
        started = time.monotonic()
        path = self.folder / mutation.file
        original = path.read_text(encoding="utf-8")
        _write(path, mutation.source)
        try:
            for number, stage in enumerate(stages):
                try:
                    passed = self.passes(stage, limits[stage])
                except subprocess.TimeoutExpired:
                    return Tried(mutation, number, time.monotonic() - started, timed_out=True)
                if not passed:
                    return Tried(mutation, number, time.monotonic() - started)
            return Tried(mutation, -1, time.monotonic() - started)
        finally:
            _write(path, original)

    def passes(self, tests: Sequence[str], limit: float | None = None) -> bool:
        """Whether all these tests pass.

        Raises:
            subprocess.TimeoutExpired: they took longer than the limit.
        """
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants"]
        if not self._plugins:
            options += ["-p", "no:rightcall"]
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # A session of its own, so that nothing that the tests started is left when they are given up.
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
        if code == 5:
            raise LookupError(f"no tests in {' '.join(tests)}")
        return code == 0


def _write(path: Path, source: str) -> None:
    path.write_text(source, encoding="utf-8")
    # Python takes what it compiled before for up to date where size and second are the same.
    tick = next(_ticks)
    os.utime(path, (tick, tick))
