"""`--watch`, in real processes: a file changes, and it is done again."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import change, rightcall

from rightcall.cli._live import watch

WAITING = "; Ctrl-C stops it ---"
SENTENCE = "with quantity 1, expected 2"


class Watched:
    """A command that watches, and what it prints, on either stream."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def until_it_waits(self) -> str:
        """What is printed up to the line that says that it waits."""
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if WAITING in line:
                return "".join(lines)
        raise AssertionError("".join(lines))

    def interrupted(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(60)


@contextmanager
def watching(project: Path, *arguments: str) -> Iterator[Watched]:
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", *arguments, "--watch"],
        cwd=project,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    guard = threading.Timer(120, process.kill)
    guard.start()
    try:
        yield Watched(process)
    finally:
        guard.cancel()
        process.kill()
        process.communicate()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rightcall("init", cwd=tmp_path)
    return tmp_path


def test_a_run_is_done_again_when_the_agent_changes_and_when_a_broken_eval_set_is_mended(project: Path) -> None:
    with watching(project, "run") as watched:
        first = watched.until_it_waits()
        change(project / "shop_agent.py", "quantity = 1  #", "quantity = _wanted(text)  #")
        second = watched.until_it_waits()
        change(project / "evals/shop.yaml", "cases:", "case:")
        third = watched.until_it_waits()
        change(project / "evals/shop.yaml", "case:", "cases:")
        fourth = watched.until_it_waits()
        code = watched.interrupted()

    assert SENTENCE in first
    assert second.startswith("--- shop_agent.py changed ---\n4 passed in ")
    assert third.startswith("--- evals/shop.yaml changed ---\nrightcall: evals/shop.yaml:9:1: unknown key 'case'")
    assert fourth.startswith("--- evals/shop.yaml changed ---\n4 passed in ")
    assert code == 130


def test_traces_are_scored_again_when_there_are_more_of_them(project: Path) -> None:
    traces = project / "traces/shop.jsonl"
    lines = traces.read_text("utf-8").splitlines(keepends=True)
    traces.write_text("".join(lines[:2]), "utf-8")

    with watching(project, "score", "traces", "--evalset", "evals/shop.yaml") as watched:
        first = watched.until_it_waits()
        (project / "traces/more.jsonl").write_text("".join(lines[2:]), "utf-8")
        second = watched.until_it_waits()
        code = watched.interrupted()

    assert "2 passed, 2 not measured in " in first
    assert second.startswith("--- traces/more.jsonl changed ---\n")
    assert "\n3 passed, 1 failed in " in second
    assert code == 130


def test_watching_and_resuming_exclude_each_other(project: Path) -> None:
    done = rightcall("run", "--watch", "--resume", "last", cwd=project)

    assert done.returncode == 2
    assert "--watch begins new ones" in done.stderr


def test_what_changes_while_it_is_busy_is_not_missed(tmp_path: Path) -> None:
    file, lengths = tmp_path / "file", []
    file.touch()

    def once() -> int:
        lengths.append(file.stat().st_size)
        if len(lengths) == 3:
            raise KeyboardInterrupt
        file.write_bytes(b"." * len(lengths))
        return 0

    assert watch(once, lambda: lambda: [file]) == 130
    assert lengths == [0, 1, 2]


def test_an_interrupted_run_ends_it(tmp_path: Path) -> None:
    assert watch(lambda: 130, lambda: lambda: [tmp_path]) == 130
