"""Whole commands, each in a process of its own.

Most of what a command costs is the start of Python and the import of Rightcall. So `rightcall` forks a process that has
both behind it, and a run forks its workers likewise. `true_rightcall` starts interpreters, for tests of what belongs to
one: signals, imports, memory, what it does at its start and its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.forking import Command, fork_server, starts_alike
from tests.waiting import PATIENCE

from rightcall.running.runner._process_state import PROCESS_TREE

_LOADED = ("rightcall", "yaml", str(Path(__file__).with_name("preload.py")))

WORKER = PROCESS_TREE
"""The program of a run that becomes a worker. The server forks it, too, and saves what it would import."""
Done = subprocess.CompletedProcess[str]


def rightcall(*arguments: str, cwd: Path | None = None, stdin: str | None = None, **environment: str) -> Done:
    """What `rightcall` does with these arguments, given a text on standard input."""
    given = None if stdin is None else stdin.encode()
    return as_text(rightcall_bytes(*arguments, cwd=cwd, stdin=given, **environment))


def rightcall_bytes(
    *arguments: str, cwd: Path | None = None, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """What `rightcall` does with these arguments, to the byte."""
    complete = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    if not starts_alike(complete):
        return started("rightcall", arguments, cwd, complete, stdin)
    command = Command("rightcall", arguments, os.fspath(cwd or Path.cwd()), complete, forked=_forked(arguments))
    return fork_server(_LOADED).run(command, stdin, PATIENCE)


def _forked(arguments: Sequence[str]) -> str:
    """The program of workers, if there may be any, and their size does not matter: a fork has the server's memory."""
    is_measured = any([each.startswith("--max-memory") for each in arguments])
    return WORKER if {"run", "demo"} & set(arguments) and not is_measured else ""


def true_rightcall(*arguments: str, cwd: Path | None = None, stdin: str | None = None, **environment: str) -> Done:
    """What `rightcall` does with these arguments in an interpreter that is started for it."""
    complete = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    return as_text(started("rightcall", arguments, cwd, complete, None if stdin is None else stdin.encode()))


def started(
    module: str, arguments: Sequence[str], cwd: Path | None, environment: dict[str, str], stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What `python -m MODULE` does in an interpreter that is started for it."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, cwd=cwd, env=environment)


def as_text(done: subprocess.CompletedProcess[bytes]) -> Done:
    """The same with texts, whose lines end as Python's do."""
    said = [each.decode().replace("\r\n", "\n").replace("\r", "\n") for each in (done.stdout, done.stderr)]
    return subprocess.CompletedProcess(done.args, done.returncode, *said)


def change(file: Path, old: str, new: str) -> None:
    """Put other text in the place of a text that has to be there."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
