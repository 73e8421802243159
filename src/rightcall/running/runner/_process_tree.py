"""End everything that agents start: a keeper above each worker, and a guard for the whole run.

A program may change its session, process group and environment variables, and lose its parent. On Linux an orphan is
adopted by the nearest ancestor that asked for orphans (`PR_SET_CHILD_SUBREAPER`, prctl(2)): here, the keeper. So all
that an agent starts stays below the keeper, and ends with the worker.

The guard waits for the runner. If the runner is killed, the guard ends every process with the run's token among its
environment variables: workers, what agents start, and what those start, in any session and with any parent.

This file is run as a program for both, so only the standard library is imported, and as little of it as possible. A
keeper forks before it imports anything of Rightcall: so it is small, and has no threads when it forks.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # importing `typing` takes a bare interpreter from 12 ms of CPU to 30
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

RUN_VARIABLE = "RIGHTCALL_RUN"
"""The environment variable with the token of the run."""
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_AWAITED = (signal.SIGCHLD, signal.SIGTERM)
_KEEPER_PAUSE = 0.005
_KEEPER_PATIENCE = 5.0
"""Seconds to wait for killed processes: one in an uninterruptible wait for a disk may never end."""
_GUARD_PAUSE = 0.025
_GUARD_ROUNDS = 80
_POLITE_ROUNDS = 40

IS_LINUX = sys.platform == "linux"


def prctl(option: int, value: int) -> None:
    """Set an option of this process (prctl(2)); do nothing if the system is not Linux."""
    if IS_LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def keep(channel: Sequence[int]) -> int:
    """Fork: this process becomes the keeper, which never returns from here; its child, the worker, returns.

    The keeper waits for the worker, kills everything that the worker started, and then ends as the worker did. If it
    gets SIGTERM, or its own parent ends, it kills the worker, too. `channel` has the descriptors that only the worker
    needs.

    Returns:
        The process id of the keeper, or of the parent if the system has no keepers.
    """
    if not IS_LINUX:
        return os.getppid()
    parent = os.getppid()
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        _be_keeper(worker, parent, channel)
    os.setsid()  # so that what the agent does to its group and session does not reach the keeper
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return keeper


def _be_keeper(worker: int, parent: int, channel: Sequence[int]) -> NoReturn:
    for descriptor in channel:
        os.close(descriptor)  # otherwise the runner would not see the worker's end of the channel close
    # The parent may have died before PR_SET_PDEATHSIG was set; then no signal will come.
    _exit_like(_wait(worker, is_orphan=os.getppid() != parent))


def descendants(process: int) -> list[int]:
    """Return all descendants of a process that can be found."""
    found = list(_children(process))
    for each in found:
        found += _children(each)  # the loop also visits what it appends
    return found


def _wait(worker: int, *, is_orphan: bool) -> int:
    """Wait until the worker ends or SIGTERM arrives, then kill all descendants; return the worker's status."""
    status: int | None = None
    while status is None and not is_orphan and signal.sigwait(_AWAITED) != signal.SIGTERM:
        status, _ = _reap(worker)
    until = time.monotonic() + _KEEPER_PATIENCE
    while True:
        for process in descendants(os.getpid()):
            send_signal(process, signal.SIGKILL)
        ended, is_alone = _reap(worker)
        status = status if ended is None else ended
        if is_alone or time.monotonic() > until:
            return int(signal.SIGKILL) if status is None else status
        time.sleep(_KEEPER_PAUSE)


def _reap(worker: int) -> tuple[int | None, bool]:
    """Reap children that have ended. Return the worker's status, if it has ended, and whether no child is left."""
    status = None
    while True:
        try:
            process, ended = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return status, True
        if process == 0:
            return status, False
        if process == worker and os.WIFSTOPPED(ended):
            os.kill(os.getpid(), signal.SIGSTOP)  # the runner watches the keeper, and should see the stop
        elif process == worker:
            status = ended


def _exit_like(status: int) -> NoReturn:
    """End as the worker did, with the same exit code or by the same signal."""
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    prctl(PR_SET_DUMPABLE, 0)  # the worker has already dumped its core, and one dump is enough
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(_KEEPER_PATIENCE)
    os._exit(1)


def _children(process: int) -> Iterator[int]:
    """Yield the children of a process, which Linux lists for each of its threads (proc(5))."""
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        return
    # The kernel may be built without `CONFIG_PROC_CHILDREN`, and then does not list children.
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        yield from [each for each in other_processes() if _parent_of(each) == process]
        return
    for thread in threads:
        try:
            with open(f"/proc/{process}/task/{thread}/children", "rb") as children:
                yield from map(int, children.read().split())
        except OSError:
            continue  # it has ended


def _parent_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as status:
            return int(status.read().rpartition(b")")[2].split()[1])  # the name in parentheses may contain some itself
    except (OSError, ValueError, IndexError):
        return 0  # it has ended


def other_processes() -> list[int]:
    """Return the ids of all processes but this one; none if the system has no `/proc`."""
    try:
        found = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []
    return [process for process in found if process != os.getpid()]


def send_signal(process: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it exists and may be signalled."""
    try:
        os.kill(process, number)
    except (ProcessLookupError, PermissionError):
        return


def end_run(token: str) -> None:
    """End every process of a run. Does nothing if the system has no `/proc`."""
    mark = f"{RUN_VARIABLE}={token}".encode()
    for number in range(_GUARD_ROUNDS):  # several rounds, because they may start others meanwhile
        found = [process for process in other_processes() if mark in _variables(process)]
        # Keepers have the token, too. A keeper that gets SIGTERM ends what is below it, also what has lost the token; a
        # keeper that is killed leaves that behind. So SIGKILL comes only after a second of SIGTERM.
        wanted = signal.SIGTERM if number < _POLITE_ROUNDS else signal.SIGKILL
        for process in found:
            send_signal(process, wanted)
        if not found:
            return
        time.sleep(_GUARD_PAUSE)


def _variables(process: int) -> list[bytes]:
    # The environment that the process was started with (proc(5)), without later changes by the process.
    try:
        with open(f"/proc/{process}/environ", "rb") as variables:
            return variables.read().split(b"\0")
    except OSError:  # of another user, or gone
        return []


def guard(token: str) -> None:
    """Wait until the runner is gone, which closes this standard input, and end the processes that it has left.

    If the runner ends normally, it kills this process first (`Guard.end`).
    """
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    os.read(0, 1)
    end_run(token)


def _main(first: str, *others: str) -> None:
    if first == "guard":
        guard(*others)
        return
    descriptors = [int(each) for each in (first, *others)]
    keeper = keep(descriptors)
    import gc
    from importlib import import_module

    # What imports create is kept: looking for garbage in it took 5 % of the instructions of these imports.
    gc.disable()
    worker = import_module("rightcall.running.runner._worker")
    gc.enable()
    worker.main(keeper, *descriptors)


if __name__ == "__main__":
    _main(*sys.argv[1:])
