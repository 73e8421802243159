"""Tries a mistake in a copy of the project, in new processes: first by the tests that mirror the module, then wider."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.core import area_of, mirror_of
from tests.mutants.mutations import Mutation

_CACHES = {".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__", ".mutants"}
_IDLE = {*_CACHES, ".git", ".venv", ".bench", "site"}
_PASSED = 0
_ticks = itertools.count(1_000_000_000)


@dataclass(frozen=True)
class Stage:
    """Tests that are run together, and how long they may take."""

    name: str
    tests: tuple[str, ...]
    limit: float = 600.0


def stages_of(file: str, *, narrow: bool = False) -> list[Stage]:
    """The tests that a module is tried against, one stage after the other until one fails.

    Args:
        narrow: Leave out all but the tests of its own package.
    """
    area, mirror = area_of(file), mirror_of(file)
    stages = [Stage("mirrored", (mirror,))] if Path(mirror).exists() else []
    stages.append(Stage("package", (area.tests,)))
    wider = {} if narrow else {"wider": area.wider, "processes": area.processes}
    return stages + [Stage(name, tuple([f"tests/{each}" for each in tests])) for name, tests in wider.items() if tests]


@dataclass(frozen=True)
class Tried:
    """What became of a mistake: the `stage` whose tests noticed it, empty where none did."""

    mutation: Mutation
    stage: str
    seconds: float
    cpu: float
    timed_out: bool = False
    test: str = ""

    @property
    def survived(self) -> bool:
        return not self.stage


class BrokenTestsError(Exception):
    """Tests fail without any mistake, so that nothing is known of those that they seem to notice."""


class Copy:
    """A copy of the project, in which one mistake after the other is made."""

    def __init__(self, project: Path, folder: Path) -> None:
        self.folder, self._cache = folder, folder.with_name(f"{folder.name}-cache")
        shutil.copytree(project, folder, ignore=lambda _, names: _IDLE & set(names), symlinks=True)

    @property
    def environment(self) -> dict[str, str]:
        """The variables for processes that use this copy."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(self.folder / "src")}

    def attempt(self, mutation: Mutation, stages: Sequence[Stage]) -> Tried:
        """Run the stages until one fails. A mistake that makes tests endless is noticed, too.

        Raises:
            BrokenTestsError: what failed fails without the mistake, too.
        """
        started, before = time.monotonic(), _cpu()
        path = self.folder / mutation.file
        original = path.read_text(encoding="utf-8")
        _write(path, mutation.source)
        try:
            stage, timed_out = self._noticing(stages)
        finally:
            _write(path, original)
        # The test that failed; or all of them, where they could not be started or did not end.
        if stage and self._code(stage, "--last-failed") != _PASSED:
            raise BrokenTestsError(f"{' '.join(stage.tests)}: they fail without any mistake, so fix them first")
        return Tried(mutation, stage.name if stage else "", time.monotonic() - started, _cpu() - before, timed_out)

    def _noticing(self, stages: Sequence[Stage]) -> tuple[Stage | None, bool]:
        """The first stage that does not pass, and whether that is because it took too long."""
        for stage in stages:
            shutil.rmtree(self._cache, ignore_errors=True)
            code = self._code(stage)
            if code != _PASSED:
                return stage, code is None
        return None, False

    def _code(self, stage: Stage, *more: str) -> int | None:
        """The exit code of its tests; None where they took too long."""
        options = ["-x", "-q", "-p", "no:xdist", "-o", f"cache_dir={self._cache}", "--hypothesis-profile=mutants"]
        # A session of its own, so that nothing that the tests started is left when they are given up.
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *more, *stage.tests],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(stage.limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write(path: Path, source: str) -> None:
    path.write_text(source, encoding="utf-8")
    # Python takes what it compiled before for up to date where size and second are the same.
    tick = next(_ticks)
    os.utime(path, (tick, tick))
