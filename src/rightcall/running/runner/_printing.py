"""What several cases print at once in one process, kept apart."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import Any

from ._output import Tail

_KEPT = 64 * 1024

page: ContextVar[Tail | None] = ContextVar("rightcall_page", default=None)
"""Where the case that runs in this context prints; nowhere in particular if None."""


def keep_apart() -> None:
    """From now on, have what a case prints kept with that case."""
    sys.stdout, sys.stderr = _Sorted(sys.stdout), _Sorted(sys.stderr)


def new_page() -> Tail:
    """A place for what a case prints."""
    return Tail(_KEPT)


class _Sorted:
    """A text stream that writes to the page of the case that prints, and passes on what belongs to none."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        tail = page.get()
        if tail is None:
            return int(self._stream.write(text))
        tail.add(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
