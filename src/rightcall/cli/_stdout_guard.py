"""Keeps what custom evaluators print out of the result of a command."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


@contextmanager
def stdout_guard() -> Iterator[None]:
    """Send what other threads than the main one print on standard output to standard error, while this is open.

    Custom evaluators run in such threads, and standard output is the result of the command.
    """
    before = sys.stdout
    if before is None:  # it is closed
        yield
        return
    sys.stdout = _Aside(before)
    try:
        yield
    finally:
        sys.stdout = before


class _Aside:
    """Standard output for the main thread, standard error for the others."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._meant().write(text)

    def writelines(self, lines: Any) -> None:
        self._meant().writelines(lines)

    def flush(self) -> None:
        self._meant().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _meant(self) -> TextIO:
        is_main = threading.current_thread() is threading.main_thread()
        return self._stream if is_main or sys.stderr is None else sys.stderr
