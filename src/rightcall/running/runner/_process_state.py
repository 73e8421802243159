"""The state of a worker's process that an agent may have altered, and how to restore it."""

from __future__ import annotations

import builtins
import json
import locale
import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import Any

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGCHLD", "SIGPIPE")
    if hasattr(signal, name)
]
_STREAMS = (0, 1, 2)
_MOST_NEW_THREADS = 16
"""A pool that an agent makes once is not a leak; threads that increase with every case are."""


class ProcessState:
    """The state of the process after the agent was loaded, before any case was run."""

    def __init__(self) -> None:
        self._directory = os.getcwd()
        self._umask = _umask()
        self._locale = locale.setlocale(locale.LC_ALL)
        self._handlers = [(each, signal.getsignal(each)) for each in _SIGNALS]
        self._streams = [(each, os.dup(each), _identity(each)) for each in _STREAMS]
        self._written = (sys.stdout, sys.stderr)
        self._names = [_Names(module) for module in _watched()]
        self._threads = threading.active_count()

    def restore(self) -> str | None:
        """Restore what can be restored. Return what cannot: then the process has to be replaced."""
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
            if signal.getsignal(each) is not handler:
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
    """The functions and classes of a module, to compare with those it has later."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module.__name__
        self._namespace = vars(module)
        self._held = {name: value for name, value in self._namespace.items() if callable(value)}
        self._values = list(self._held.values())

    def are_altered(self) -> bool:
        """Whether any of them was replaced. Comparing lists compares identities first, so it takes microseconds."""
        return list(map(self._namespace.get, self._held)) != self._values

    def altered(self) -> str:
        """Return the first one that was replaced."""
        names = [name for name, value in self._held.items() if self._namespace.get(name) is not value]
        return f"{self._module}.{names[0]}"


def _watched() -> list[ModuleType]:
    loaded = [sys.modules.get(name) for name in ("socket", "asyncio")]
    return [builtins, time, json, *[module for module in loaded if module is not None]]


def processes_started() -> tuple[str, bool]:
    """Return a mark that changes with every Python process that this one starts, and whether any is alive.

    `multiprocessing` is asked, where process pools come from as well, but only if the agent has loaded it.
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
