"""Who hears of spans that an agent outside this process sends, while it is still at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

Listener = Callable[[bytes], None]

listener: ContextVar[Listener | None] = ContextVar("rightcall_listener", default=None)
"""What is told of each document as it comes."""


@contextmanager
def hearing(told: Listener) -> Iterator[None]:
    """Have a function told of each document that is received for a request which is made in this block."""
    token = listener.set(told)
    try:
        yield
    finally:
        with suppress(ValueError):  # left in another context than it was entered in: there is nothing to undo
            listener.reset(token)
