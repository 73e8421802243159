"""What agents print: the last part of it, and how much there was."""

from __future__ import annotations

from collections import deque

KEPT_BYTES = 1 << 20


class Tail:
    """The last bytes of a stream that may be endless."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Take note of more of the stream."""
        self._pieces.append(data)
        self._held += len(data)
        while self._held - len(self._pieces[0]) >= self._kept:
            gone = len(self._pieces.popleft())
            self._held -= gone
            self._lost += gone

    def text(self) -> str:
        """The last part as text, whatever its bytes are; a line before it says how much is left out."""
        data = b"".join(self._pieces)
        left_out = self._lost + max(0, len(data) - self._kept)
        text = data[-self._kept :].decode("utf-8", "replace")
        return f"[{left_out:,} bytes left out]\n{text}" if left_out else text

    def clear(self) -> None:
        """Begin anew."""
        self._pieces.clear()
        self._held = self._lost = 0
