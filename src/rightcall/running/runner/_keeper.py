"""The process above each worker: whatever the agent starts stays below it, and ends with the worker. Linux only.

A program may give itself another session, another group, other variables, and lose its parent. On Linux it is then
handed to the nearest process above that asked for orphans: here, the keeper. This file is run as a program of its own,
which splits in two before it imports anything of Rightcall: so a keeper is small, and has no thread.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_WANTED = (signal.SIGCHLD, signal.SIGTERM)
_PAUSE = 0.005
_PATIENCE = 5.0
"""Seconds that killed processes have to be gone: one that waits for a disk cannot even be killed."""

IS_LINUX = sys.platform == "linux"


def prctl(option: int, value: int) -> None:
    """Ask Linux for something about this process; does nothing elsewhere."""
    if IS_LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def keep() -> int:
    """Split this process in two: a keeper, which never returns from here, and below it one that goes on.

    The keeper ends as the other one does, but only when nothing of what that started is left. When it is asked to end
    (SIGTERM), or its own parent is gone, it ends all of them.

    Returns:
        The process id of the keeper; that of the parent where there is none.
    """
    if not IS_LINUX:
        return os.getppid()
    parent = os.getppid()
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WANTED)
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        _keep(worker, parent)
    os.setsid()  # what the agent does to its group and session is not done to the keeper
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return keeper


def _keep(worker: int, parent: int) -> NoReturn:
    for end in map(int, sys.argv[1:3]):
        os.close(end)  # the channel is the worker's alone: its end has to be seen
    _end_as(_wait(worker, is_orphan=os.getppid() != parent))


def descendants(process: int) -> list[int]:
    """Every process below one, as far as they can be found."""
    found = list(_children(process))
    for each in found:
        found += _children(each)  # more is found while what was found is gone through
    return found


def _wait(worker: int, *, is_orphan: bool) -> int:
    """How the worker ended: by itself, or because we were asked to end. Nothing below us is left then."""
    status: int | None = None
    while status is None and not is_orphan and signal.sigwait(_WANTED) != signal.SIGTERM:
        status, _ = _reap(worker)
    until = time.monotonic() + _PATIENCE
    while True:
        for process in descendants(os.getpid()):
            kill(process)
        ended, is_alone = _reap(worker)
        status = status if ended is None else ended
        if is_alone or time.monotonic() > until:
            return int(signal.SIGKILL) if status is None else status
        time.sleep(_PAUSE)


def _reap(worker: int) -> tuple[int | None, bool]:
    """See off what has ended: how the worker did, if it is among them; and whether nothing is left."""
    status = None
    while True:
        try:
            process, ended = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return status, True
        if process == 0:
            return status, False
        if process == worker and os.WIFSTOPPED(ended):
            os.kill(os.getpid(), signal.SIGSTOP)  # our parent looks after us, not after the worker
        elif process == worker:
            status = ended


def _end_as(status: int) -> NoReturn:
    """End as the worker did, by the same exit code or the same signal."""
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    prctl(PR_SET_DUMPABLE, 0)  # one dump of the memory is enough
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(_PATIENCE)
    os._exit(1)


def _children(process: int) -> Iterator[int]:
    """The children of a process, as Linux lists them for each of its threads."""
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        return
    if not _has_lists():
        yield from [each for each in own_processes() if _parent_of(each) == process]
        return
    for thread in threads:
        try:
            with open(f"/proc/{process}/task/{thread}/children", "rb") as children:
                yield from map(int, children.read().split())
        except OSError:
            continue  # it has ended


def _has_lists() -> bool:
    """Whether the kernel lists children; some are built without that."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _parent_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as status:
            return int(status.read().rpartition(b")")[2].split()[1])  # a name may have brackets in it
    except (OSError, ValueError, IndexError):
        return 0  # it has ended


def own_processes() -> list[int]:
    """Every process but this one; none where the system has no `/proc`."""
    try:
        found = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []
    return [process for process in found if process != os.getpid()]


def kill(process: int) -> None:
    """Kill a process, if it is there and may be killed."""
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    above = keep()
    import_module("rightcall.running.runner._worker").main(above)
