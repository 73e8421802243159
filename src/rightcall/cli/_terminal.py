"""Standard output and standard error: lines on a screen, errors, and what custom evaluators print.

Text from traces is shown, never obeyed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TextIO

import click

from rightcall.reporting import reports

if TYPE_CHECKING:
    from rich.console import Console
    from rich.style import Style

    from rightcall.reporting.reports import Paper

_ASKS_FOR_COLOUR = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that make rich treat any stream as a terminal."""

_WIDTH = 80


class Screen:
    """Where lines are printed: in colour and Unicode as far as the terminal has them."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr
        stream = sys.stderr if stderr else sys.stdout  # None if it is closed
        self._is_plain = not (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
        self._is_bare = not (stream is not None and stream.isatty()) and not any(map(os.environ.get, _ASKS_FOR_COLOUR))
        self._is_obeyed = bool(os.environ.get("GITHUB_ACTIONS"))

    @cached_property
    def _console(self) -> Console:
        # It takes 20 ms to import, a tenth of a short command, and has nothing to do for a file or a pipe.
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=self._stderr)

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print a line made of texts, and of texts with a style."""
        stream = sys.stderr if self._stderr else sys.stdout  # it may have been replaced meanwhile
        if self._is_bare and not self._is_obeyed:
            if stream is not None:
                whole = "".join([part if isinstance(part, str) else part[0] for part in parts])
                stream.write(reports.printable(whole, plain=self._is_plain) + "\n")
            return
        styled = [(part, "") if isinstance(part, str) else part for part in parts]
        made = [(reports.printable(text, plain=self._is_plain), style) for text, style in styled]
        if self._is_obeyed:
            made = _unobeyed(made)
        if not self._is_bare and self._console.legacy_windows:
            from rich.text import Text

            self._console.print(Text.assemble(*made))
        elif stream is not None:
            # Nothing is wrapped or highlighted here, so the console's own way, twenty times as long, is not needed.
            stream.write("".join([self._painted(text, style) for text, style in made]) + "\n")

    def paper(self, *, full: bool = False) -> Paper:
        """Return the width and style of reports that fit this screen."""
        return reports.Paper(
            width=terminal_width() if self._is_bare else self._console.width, plain=self._is_plain, full=full
        )

    def mark(self, name: str) -> str:
        """Return the sign of a verdict or a step."""
        from rightcall.values.results import SIGNS

        sign = SIGNS[name]
        return f"{sign.ascii:<2}" if self._is_plain else sign.symbol

    def _painted(self, text: str, style: str) -> str:
        if not style or not text or self._is_bare or self._console.color_system is None:
            return text
        return _style(style, self._console.no_color).render(text)


def terminal_width() -> int:
    """Return the width that rich finds if output is not a terminal: that of another stream, if that is one."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns)
    for number in range(3):
        with suppress(ValueError, OSError):
            return os.get_terminal_size(number).columns or _WIDTH
    return _WIDTH


def _unobeyed(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Escape what GitHub Actions would take for a command: it looks for these in all output."""
    whole = "".join([text for text, _ in parts])
    harmless = reports.escape_commands(whole)
    return parts if harmless == whole else [(harmless, "")]


@lru_cache(maxsize=64)
def _style(name: str, no_color: bool) -> Style:
    from rich.style import Style

    style = Style.parse(name)
    return style.without_color if no_color else style


def print_error(problem: object) -> None:
    """Print an error: on one line or, on a terminal, wrapped between words.

    Its text may quote a trace: what a terminal would obey is made harmless, and secrets are left out.
    """
    from rightcall.values.redaction import redacted_text

    harmless = reports.escape_commands(reports.printable(redacted_text(str(problem)), one_line=True))
    line = f"rightcall: {harmless}"
    if sys.stderr is not None and sys.stderr.isatty():
        # A terminal breaks a long line wherever its last column is, in the middle of names.
        from shutil import get_terminal_size
        from textwrap import fill

        line = fill(line, max(20, get_terminal_size().columns), break_long_words=False, break_on_hyphens=False)
    click.echo(line, err=True)


@contextmanager
def stdout_guard() -> Iterator[None]:
    """Send what threads other than the main one print on standard output to standard error, while this is open.

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

    def __getattr__(self, name: str) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        return getattr(self._stream if is_main or sys.stderr is None else sys.stderr, name)
