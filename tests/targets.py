"""What `make frameworks` and `make servers` have in common: their time, their processes, the page with their tables."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "real-frameworks-and-servers.md"


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """A block that may not take longer; what it started is ended as by any other exception.

    Raises:
        TimeoutError: it did take longer.
    """

    def end(number: int, frame: Any) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fresh_mark() -> dict[str, str]:
    """A variable for the environment of a process, by which all that it starts can be found."""
    return {"RIGHTCALL_TARGET": uuid4().hex}


def end_marked(mark: Mapping[str, str]) -> None:
    """End the processes that inherited a mark, where the system has `/proc`: some have sessions of their own."""
    wanted = {f"{name}={value}".encode() for name, value in mark.items()}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted <= set((folder / "environ").read_bytes().split(b"\0")):
                os.kill(int(folder.name), signal.SIGKILL)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join([f"| {' | '.join(line)} |" for line in lines])


def shown_table(heading: str) -> str:
    """The first table below a heading of the page."""
    return _found(heading).group(2)


def show_table(heading: str, made: str) -> None:
    """Put a table in the place of the first one below a heading of the page."""
    found = _found(heading)
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text[: found.start(2)] + made + text[found.end(2) :], "utf-8")


def _found(heading: str) -> re.Match[str]:
    pattern = rf"(?ms)^## {re.escape(heading)}\n(.*?)^(\|[^\n]*(?:\n\|[^\n]*)*)"
    found = re.search(pattern, PAGE.read_text("utf-8"))
    if found is None:
        raise LookupError(f"{PAGE.name} has no table below {heading!r}")
    return found
