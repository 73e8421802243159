"""Ctrl-C and SIGTERM: once to stop in good order, twice to stop at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While it is open, the first signal is noted, and the second interrupts whatever is going on."""

    def __init__(self) -> None:
        self.is_asked = False
        self._before: list[Any] = []

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.is_asked

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(each, self._note) for each in _SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in zip(_SIGNALS, self._before, strict=False):
            signal.signal(each, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:  # the second signal: stopping in good order takes too long
            raise KeyboardInterrupt
        self.is_asked = True
