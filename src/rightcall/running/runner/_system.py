"""Operating system calls: end processes with their parent, measure memory, kill process trees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ._process_tree import IS_LINUX, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, descendants, end_run, prctl

PROCESS_TREE = str(Path(__file__).with_name("_process_tree.py"))
"""The program of keepers and guards."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent is gone, for any reason.

    Only Linux can do that. Elsewhere a worker notices the end of the channel, unless the agent never releases the
    interpreter.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent was gone before the call, so no signal will come (prctl(2))
        os._exit(1)


class Guard:
    """A process that ends the processes of a run if this one is killed."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._process: subprocess.Popen[bytes] | None = None
        if IS_LINUX:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
                # Isolated and without `site`: no code of the user's environment runs, and 12 ms of CPU instead of 16.
                [sys.executable, "-I", "-S", PROCESS_TREE, "guard", token],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def end(self) -> None:
        """End the processes of the run, and the guard."""
        end_run(self._token)
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def shared_memory(size: int) -> int:
    """Return a descriptor of memory for several processes: it is gone with the last of them, and takes what is used.

    To the system it is a file: where files may not be so large (`ulimit -f`), it is smaller.
    """
    import resource

    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("rightcall-seen")
    else:
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    largest, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    os.ftruncate(descriptor, size if largest == resource.RLIM_INFINITY else min(size, largest))
    return descriptor


def hide_memory() -> None:
    """Let only the administrator read the memory of this process, which has the expectations in it."""
    prctl(PR_SET_DUMPABLE, 0)


def exceeds_memory(keeper: int, limit: int) -> bool:
    """Whether a worker and everything it started use more memory than this, in bytes.

    Resident size is cheap to read, but counts shared pages once for each process, such as those of a fork and its
    parent. So proportional size, for which the kernel walks over all mappings, is read only if that is too much.
    Measured for four processes: 0.2 ms of CPU for resident sizes, 0.8 ms for proportional ones.
    """
    processes = descendants(keeper) if IS_LINUX else [keeper]
    sizes = [_resident(process) for process in processes]
    if sum(sizes) <= limit or len(processes) == 1:
        return sum(sizes) > limit
    return sum([_proportional(process, size) for process, size in zip(processes, sizes, strict=True)]) > limit


def _resident(process: int) -> int:
    """Return the resident bytes of a process; 0 if the system does not say, or there is no such process."""
    try:
        with open(f"/proc/{process}/statm", "rb") as counts:
            return int(counts.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(process: int, resident: int) -> int:
    """Return the proportional set size (proc(5), `smaps_rollup`, Linux 4.14), else the resident size."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return resident


def kill_tree(keeper: int) -> None:
    """Ask a keeper, which may be stopped, to kill its worker and everything that started."""
    if not IS_LINUX:
        kill_group(keeper)
        return
    for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process handles SIGTERM when it is continued
        with suppress(ProcessLookupError):
            os.kill(keeper, number)


def kill_group(leader: int) -> None:
    """Kill a process, and everything it started that stayed in its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue  # the group may be gone while the process is not, and the other way round
