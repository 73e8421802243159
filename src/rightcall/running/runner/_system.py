"""What the operating system is asked for: who dies with whom, how much memory is used, who is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ._guard import end_processes
from ._keeper import IS_LINUX, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, descendants, prctl

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent is gone, however that comes about.

    Only Linux knows how. Elsewhere the end of the channel tells a worker that it is alone, unless the agent keeps the
    interpreter to itself.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)


class Guard:
    """A process that ends what belongs to a run if this one cannot do so any more."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._process: subprocess.Popen[bytes] | None = None
        if IS_LINUX:
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


def hide_memory() -> None:
    """Let only the administrator read the memory of this process, which has the expectations in it."""
    prctl(PR_SET_DUMPABLE, 0)


def takes_more(keeper: int, limit: int) -> bool:
    """Whether a worker and all that it started have more memory than this, in bytes.

    What a process has resident is cheap to ask for, but counts pages twice that two processes share, as one that was
    forked does with its parent. So only where that is too much, each is asked for its share.
    """
    processes = descendants(keeper) if IS_LINUX else [keeper]
    sizes = [_resident(process) for process in processes]
    if sum(sizes) <= limit or len(processes) == 1:
        return sum(sizes) > limit
    return sum([_share(process, size) for process, size in zip(processes, sizes, strict=True)]) > limit


def _resident(process: int) -> int:
    """The bytes of memory that a process has; 0 where the system does not say, or there is no such process."""
    try:
        with open(f"/proc/{process}/statm", "rb") as counts:
            return int(counts.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _share(process: int, resident: int) -> int:
    """The same with a part only of what it shares with others; what is resident where the system does not say."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return resident


def end_tree(keeper: int) -> None:
    """Have a worker and all that it started killed: by its keeper, which may have been stopped."""
    if not IS_LINUX:
        kill_group(keeper)
        return
    for number in (signal.SIGTERM, signal.SIGCONT):
        with suppress(ProcessLookupError):
            os.kill(keeper, number)


def kill_group(leader: int) -> None:
    """Kill a process and all that it started and that stayed in its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue  # the group may be gone while the process is not, and the other way round
