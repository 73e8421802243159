"""What the operating system is asked for: who dies with whom, how much memory is used, who is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ._guard import end_processes, own_processes

_PR_SET_PDEATHSIG = 1
_IS_LINUX = sys.platform == "linux"
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent is gone, however that comes about.

    Only Linux knows how. Elsewhere the end of the channel tells a worker that it is alone, unless the agent keeps the
    interpreter to itself.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)


class Guard:
    """A process that ends what belongs to a run if this one cannot do so any more."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._process: subprocess.Popen[bytes] | None = None
        if _IS_LINUX:
            program = Path(__file__).with_name("_guard.py")
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
                [sys.executable, "-I", "-S", str(program), token],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def end(self) -> None:
        """End what belongs to the run, and the guard."""
        end_processes(self._token)
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def memory_of(process: int) -> int:
    """The bytes of memory that a process has; 0 where the system does not say, or there is no such process."""
    try:
        with open(f"/proc/{process}/statm", "rb") as counts:
            return int(counts.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


class Offspring:
    """What a process has started, and what that has, whatever groups and variables they gave themselves.

    They are held by descriptors, so that no other process is meant when one of them has ended. Only Linux tells.
    """

    def __init__(self) -> None:
        self._held: dict[int, int] = {}

    def note(self, ancestor: int) -> None:
        """Hold those that there are now."""
        if not hasattr(os, "pidfd_open"):
            return
        children = _children()
        found = list(children.get(ancestor, ()))
        for process in found:
            found += children.get(process, ())  # more is found while what was found is gone through
        for process in set(found) - self._held.keys():
            with suppress(OSError):  # it has ended, or there are too many
                self._held[process] = os.pidfd_open(process)

    def kill(self) -> None:
        """Kill those that are held and live, and hold none any more."""
        for descriptor in self._held.values():
            with suppress(OSError):  # it has ended
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        self._held.clear()


def _children() -> dict[int, list[int]]:
    """Every process by its parent."""
    children: dict[int, list[int]] = {}
    for process in own_processes():
        try:
            with open(f"/proc/{process}/stat", "rb") as status:
                parent = int(status.read().rpartition(b")")[2].split()[1])  # a name may have brackets in it
        except (OSError, ValueError, IndexError):
            continue  # it has ended
        children.setdefault(parent, []).append(process)
    return children


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
