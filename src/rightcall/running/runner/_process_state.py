"""What an agent altered, printed or opened in its worker process; and system calls about processes."""

from __future__ import annotations

import builtins
import json
import locale
import os
import signal
import subprocess
import sys
import threading
import time
from _signal import getsignal  # type: ignore[import-not-found]
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from ._process_tree import IS_LINUX, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, descendants, end_run, prctl

# `_signal.getsignal`, because `signal.getsignal` looks up each answer in an enumeration and takes ten times as long.

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGCHLD", "SIGPIPE")
    if hasattr(signal, name)
]
_STREAMS = (0, 1, 2)
_MOST_NEW_THREADS = 16
"""A pool that an agent makes once is not a leak; threads that increase with every case are."""
_WORKER_BYTES = 1 << 20
_CASE_BYTES = 64 * 1024
_watched_files: list[str] = []
"""The files and folders to watch, as real paths."""
_before: list[str] = []
"""What was opened while no case was running, such as while the agent was loaded: any case may use what was read."""
_running: list[list[str]] = []
"""What each running case has opened."""
_mine: ContextVar[list[str] | None] = ContextVar("rightcall_opened", default=None)
PROCESS_TREE = str(Path(__file__).with_name("_process_tree.py"))
"""The program that keepers and guards run."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class ProcessState:
    """The state of the process after the agent was loaded, before any case was run."""

    def __init__(self) -> None:
        self._directory = os.getcwd()
        self._umask = _umask()
        self._locale = locale.setlocale(locale.LC_ALL)
        self._handlers = [(each, getsignal(each)) for each in _SIGNALS]
        self._streams = [(each, os.dup(each), _identity(each)) for each in _STREAMS]
        self._written = (sys.stdout, sys.stderr)
        self._names = [_Names(module) for module in _watched()]
        self._threads = threading.active_count()

    def restore(self) -> str | None:
        """Restore what can be restored. Return what cannot be, if anything: then the process has to be replaced."""
        self._restore_directory()
        if _umask() != self._umask:
            os.umask(self._umask)
        if locale.setlocale(locale.LC_ALL) != self._locale:
            locale.setlocale(locale.LC_ALL, self._locale)
        if threading.current_thread() is threading.main_thread():
            self._restore_signals()
        return self._restore_streams() or self._replaced_name() or self._leaked_threads()

    def _restore_directory(self) -> None:
        try:
            is_there = os.getcwd() == self._directory
        except OSError:  # it has been deleted
            is_there = False
        if not is_there:
            os.chdir(self._directory)

    def _restore_signals(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in self._handlers:
            if getsignal(each) is not handler:
                signal.signal(each, signal.SIG_DFL if handler is None else handler)

    def _restore_streams(self) -> str | None:
        altered = None
        for each, kept, identity in self._streams:
            if _identity(each) != identity:
                os.dup2(kept, each)
                altered = f"descriptor {each} was closed or replaced"
        if (sys.stdout, sys.stderr) != self._written:
            sys.stdout, sys.stderr = self._written
        if any([stream is None or stream.closed for stream in self._written]):
            altered = "standard output or standard error was closed"
        return altered

    def _replaced_name(self) -> str | None:
        for names in self._names:
            if names.are_altered():
                return f"{names.altered()} was replaced"
        return None

    def _leaked_threads(self) -> str | None:
        more = threading.active_count() - self._threads
        return f"{more} more threads than before" if more > _MOST_NEW_THREADS else None


class _Names:
    """The functions and classes of a module, to notice later whether any was replaced."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module.__name__
        self._namespace = vars(module)
        self._callables = {name: value for name, value in self._namespace.items() if callable(value)}
        self._values = tuple(self._callables.values())
        self._values_in = itemgetter(*self._callables)

    def are_altered(self) -> bool:
        """Whether any was replaced. Takes microseconds: tuples are compared by identity first."""
        try:
            return bool(self._values_in(self._namespace) != self._values)
        except KeyError:  # one was deleted
            return True

    def altered(self) -> str:
        """Return the first one that was replaced."""
        names = [name for name, value in self._callables.items() if self._namespace.get(name) is not value]
        return f"{self._module}.{names[0]}"


def _watched() -> list[ModuleType]:
    loaded = [sys.modules.get(name) for name in ("socket", "asyncio")]
    return [builtins, time, json, *[module for module in loaded if module is not None]]


def processes_started() -> tuple[str, bool]:
    """Return a value that changes with every Python process started from here, and whether any of them is alive.

    Both come from `multiprocessing`, which process pools use as well, if the agent has imported it.
    """
    module: Any = sys.modules.get("multiprocessing.process")
    return ("", False) if module is None else (repr(module._process_counter), bool(module._children))


def _umask() -> int:
    mask = os.umask(0o077)  # umask(2) can only be read by setting it
    os.umask(mask)
    return mask


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class OutputTail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, kept: int = _WORKER_BYTES) -> None:
        self._kept = kept
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Append more of the stream."""
        self._pieces.append(data)
        self._size += len(data)
        while self._size - len(self._pieces[0]) >= self._kept:
            gone = len(self._pieces.popleft())
            self._size -= gone
            self._lost += gone

    def text(self) -> str:
        """Return the last bytes as text; if bytes are left out, the first line says how many."""
        data = b"".join(self._pieces)
        left_out = self._lost + max(0, len(data) - self._kept)
        text = data[-self._kept :].decode("utf-8", "replace")
        return f"[{left_out:,} bytes left out]\n{text}" if left_out else text

    def clear(self) -> None:
        """Forget everything so far."""
        self._pieces.clear()
        self._size = self._lost = 0


case_output: ContextVar[OutputTail | None] = ContextVar("rightcall_page", default=None)
"""The output of the case that runs in this context; None for the process's own streams."""


def separate_output() -> None:
    """From now on, collect what each case prints separately, for several cases in one process."""
    sys.stdout, sys.stderr = _CaseStream(sys.stdout), _CaseStream(sys.stderr)


def new_case_output() -> OutputTail:
    """Return an empty output for a case."""
    return OutputTail(_CASE_BYTES)


class _CaseStream:
    """A text stream that writes to the output of the current case, or else to the stream it replaces."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        output = case_output.get()
        if output is None:
            return int(self._stream.write(text))
        output.add(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def watch_files(paths: Sequence[str]) -> None:
    """From now on, note which of these files, or files below these folders, are opened."""
    _watched_files.extend([os.path.realpath(path) for path in paths])
    if _watched_files:
        sys.addaudithook(_hook)


@contextmanager
def note_opened() -> Iterator[list[str]]:
    """Yield a list of the watched files that a case opens, or that were opened before any case; it grows meanwhile.

    A thread that the agent started may belong to no case. What it opens counts for every case that is running.
    """
    opened = list(_before)
    _running.append(opened)
    token = _mine.set(opened)
    try:
        yield opened
    finally:
        _running[:] = [each for each in _running if each is not opened]
        with suppress(ValueError):  # closed in another context than it was opened in, where there is nothing to reset
            _mine.reset(token)


def describe_opened(opened: Sequence[str]) -> str:
    """Return a message about the files that were opened."""
    here = os.getcwd() + os.sep
    names = [path.removeprefix(here) + (os.sep if os.path.isdir(path) else "") for path in opened]
    return f"the agent opened {' and '.join(names)}, where it can read what is expected of it"


def _hook(event: str, details: tuple[Any, ...]) -> None:
    if event == "open":
        try:
            _note(details[0])
        except Exception:  # noqa: BLE001 - an exception of an audit hook would stop the agent from opening its file
            return


def _note(path: Any) -> None:
    if isinstance(path, int):
        return  # a descriptor, whose file was opened by name before
    real = os.path.realpath(os.fsdecode(path)) + os.sep
    found = next((each for each in _watched_files if real.startswith(each + os.sep)), None)
    if found is None:
        return
    mine = _mine.get()
    for opened in [mine] if mine is not None else _running or [_before]:
        if found not in opened:
            opened.append(found)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends, for any reason.

    Only Linux can do that. Elsewhere a worker notices that its channel is closed, unless the agent never releases the
    GIL.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent was gone before the call, so no signal will come (prctl(2))
        os._exit(1)


class Guard:
    """A process that ends the processes of a run if this process is killed."""

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
    """Return a descriptor of memory that several processes share. It is freed with the last of them.

    To the system it is a file, so it is smaller if the size of files is limited (`ulimit -f`).
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
    """Let only root read the memory of this process, which contains the expectations."""
    prctl(PR_SET_DUMPABLE, 0)


def exceeds_memory(keeper: int, limit: int) -> bool:
    """Whether a worker and everything it started use more memory than this, in bytes.

    Resident size is cheap to read, but counts pages that processes share, such as a fork and its parent, several
    times. So if it is too large, proportional size decides, for which the kernel walks over all mappings.
    Measured for four processes: 0.2 ms of CPU for resident sizes, 0.8 ms for proportional ones.
    """
    processes = descendants(keeper) if IS_LINUX else [keeper]
    sizes = [_resident(process) for process in processes]
    if sum(sizes) <= limit or len(processes) == 1:
        return sum(sizes) > limit
    return sum([_proportional(process, size) for process, size in zip(processes, sizes, strict=True)]) > limit


def _resident(process: int) -> int:
    """Return the resident bytes of a process; 0 if they are unknown, or there is no such process."""
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
    """Ask a keeper, which may be stopped, to kill its worker and everything that it started."""
    if not IS_LINUX:
        kill_group(keeper)
        return
    for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process handles SIGTERM when it is continued
        with suppress(ProcessLookupError):
            os.kill(keeper, number)


def kill_group(leader: int) -> None:
    """Kill a process, and everything it started that is still in its process group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue  # the group may be gone while the process is not, and vice versa
