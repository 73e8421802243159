"""The last part of what agents print, kept for each case."""

from __future__ import annotations

import sys
from collections import deque
from contextvars import ContextVar
from typing import Any

_WORKER_BYTES = 1 << 20
_CASE_BYTES = 64 * 1024


class OutputTail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, kept: int = _WORKER_BYTES) -> None:
        self._kept = kept
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Append more of the stream."""
        self._pieces.append(data)
        self._held += len(data)
        while self._held - len(self._pieces[0]) >= self._kept:
            gone = len(self._pieces.popleft())
            self._held -= gone
            self._lost += gone

    def text(self) -> str:
        """Return the last part as text, whatever its bytes are; a first line says how much is left out."""
        data = b"".join(self._pieces)
        left_out = self._lost + max(0, len(data) - self._kept)
        text = data[-self._kept :].decode("utf-8", "replace")
        return f"[{left_out:,} bytes left out]\n{text}" if left_out else text

    def clear(self) -> None:
        """Forget everything so far."""
        self._pieces.clear()
        self._held = self._lost = 0


case_output: ContextVar[OutputTail | None] = ContextVar("rightcall_page", default=None)
"""Where the case of this context prints; None for the process's own streams."""


def separate_output() -> None:
    """From now on, keep what a case prints with that case, although several run in one process."""
    sys.stdout, sys.stderr = _CaseStream(sys.stdout), _CaseStream(sys.stderr)


def new_case_output() -> OutputTail:
    """Return an empty output for a case."""
    return OutputTail(_CASE_BYTES)


class _CaseStream:
    """A text stream that writes to the output of the case that prints, or else to the stream it replaces."""

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
