"""What the operating system is asked for: who dies with whom, how much memory is used, who is left over."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GENERATIONS = 100
_IS_LINUX = sys.platform == "linux"
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

RUN_VARIABLE = "RIGHTCALL_RUN"
"""The environment variable by which the processes of a run are known."""


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent is gone, however that comes about.

    Only Linux knows how. Elsewhere the end of the channel tells a worker that it is alone, unless the agent keeps the
    interpreter to itself.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of processes that agents start and leave behind, so that they can be found."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_orphans(token: str) -> None:
    """Kill what agents of a run have left behind: processes that came to us with the token of the run.

    Killing one may bring us its own children, so this goes on until there are none.
    """
    mark = f"{RUN_VARIABLE}={token}".encode()
    for _ in range(_GENERATIONS):
        orphans = [each for each in _children() if mark in _variables(each)]
        for orphan in orphans:
            kill_group(orphan)
        for orphan in orphans:
            _reap(orphan)
        if not orphans:
            return


def _children() -> set[int]:
    """The processes whose parent this one is; nothing where the system does not say."""
    found: set[int] = set()
    for listing in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        try:
            found.update(map(int, listing.read_text().split()))
        except OSError:
            continue  # a thread that has ended has no children
    return found


def _variables(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _reap(orphan: int) -> None:
    try:
        os.waitpid(orphan, 0)
    except ChildProcessError:
        return  # somebody else has seen it off


def memory_of(process: int) -> int:
    """The bytes of memory that a process has; 0 where the system does not say, or there is no such process."""
    try:
        with open(f"/proc/{process}/statm", "rb") as counts:
            return int(counts.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def kill_group(leader: int) -> None:
    """Kill a process and all that it started and that stayed in its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue  # the group may be gone while the process is not, and the other way round


def _prctl(option: int, value: int) -> None:
    if not _IS_LINUX:
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
