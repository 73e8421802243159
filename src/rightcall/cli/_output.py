"""What a command prints: lines on a screen, errors, and results in the formats of `--format NAME[=FILE]`.

Text from traces is shown, never obeyed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

import click

from rightcall.errors import RightcallError, UnknownFormatError
from rightcall.reporting import reports

if TYPE_CHECKING:
    from rich.console import Console
    from rich.style import Style as RichStyle

    from rightcall.reporting.reports import Paper, Report
    from rightcall.values.results import CaseResult

_ASKS_FOR_COLOUR = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that make rich treat any stream as a terminal."""

_WIDTH = 80
_FILE_WIDTH = 100


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
        """Print a line made of strings, and of strings with a style."""
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
def _style(name: str, no_color: bool) -> RichStyle:
    from rich.style import Style as RichStyle

    style = RichStyle.parse(name)
    return style.without_color if no_color else style


class Complaints:
    """Prints errors about files. A hint that several of them have is printed once, with the first."""

    def __init__(self) -> None:
        self._hints: set[str] = set()

    def __call__(self, problem: object) -> None:
        if isinstance(problem, UnknownFormatError) and problem.hint in self._hints:
            print_error(problem.brief)
            return
        if isinstance(problem, UnknownFormatError):
            self._hints.add(problem.hint)
        print_error(problem)


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


class Style(NamedTuple):
    """What the formats for people depend on."""

    paper: Paper
    max_detail: int = 10

    @classmethod
    def of_file(cls, max_detail: int = 10) -> Style:
        """Return the style of files, which have no terminal's width."""
        return cls(reports.Paper(width=_FILE_WIDTH), max_detail)


# `reports` imports a format when its name is first used, so that one that is not asked for costs nothing.
FORMATS: dict[str, Callable[[Report, Style], Iterator[str]]] = {
    "full": lambda report, style: reports.full_report(report, style.paper, style.max_detail),
    "concise": lambda report, _: reports.concise_report(report),
    "json": lambda report, _: reports.json_report(report),
    "junit": lambda report, _: reports.junit_report(report),
    "github": lambda report, _: reports.github_report(report),
    "markdown": lambda report, _: reports.markdown_report(report),
    "html": lambda report, _: _html(report),
}
"""The formats: each is a function that yields the text of a report."""


class Output:
    """The output of one command, as its options ask for it: without secrets, unless `redact` is false.

    Raises:
        RightcallError: a file cannot be written, or a package that it needs is missing.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        asked = [tuple(each.split("=", 1)) for each in given["formats"]]
        self._files = [(each[0], each[1]) for each in asked if len(each) == 2]
        if (path := given.get("output_file")) is not None:
            self._files.append(("json", path))
        for _, path in self._files:
            from ._files import check_writable  # few commands are asked for files

            check_writable(path)
        if any(each[0] == "html" for each in asked):
            _check_installed()
        self._printed = [each[0] for each in asked if len(each) == 1]
        if not self._printed:  # for a person at a terminal, for another program, for GitHub's pages
            is_terminal = sys.stdout is not None and sys.stdout.isatty()  # it is None where it is closed
            self._printed = ["full" if is_terminal else "concise"]
            if os.environ.get("GITHUB_ACTIONS"):
                self._printed.append("github")
        self._max_detail = given.get("max_detail", 10)
        self._redacts = given.get("redact") is not False
        self._is_detailed = given.get("is_detailed", False)
        if self._is_detailed and not {"full", "concise"} & set(self._printed):
            chosen = self._printed[0]
            raise click.UsageError(f"--print-detailed-results prints text: write {chosen} to a file, as {chosen}=FILE")
        self._screen = Screen()
        self._has_shown = False
        self.wants_results: Literal["", "bad", "all"] = "bad" if "full" in self._printed else ""
        """Which complete results are wanted at the end: `concise` needs none, `full` those that did not pass."""
        if self._files or self._is_detailed or not set(self._printed) <= {"concise", "full"}:
            self.wants_results = "all"

    def show(self, result: CaseResult) -> None:
        """Print one result as soon as it is there, if the format does that."""
        if "concise" in self._printed and not result.passed:
            from rightcall.values.redaction import redacted_text

            self._has_shown = True
            for line in reports.problem_lines(result, redact=redacted_text if self._redacts else str):
                self._screen.line(reports.printable(line, one_line=True))

    def finish(self, report: Report) -> None:
        """Print and write the formats that need all results, and write the files.

        Raises:
            RightcallError: a file cannot be written.
        """
        if self._redacts:
            report = reports.redacted_report(report)
        for line in reports.detail_lines(report, self._screen.paper()) if self._is_detailed else ():
            self._screen.line(*line)
        for name in dict.fromkeys(self._printed):
            if name != "concise":
                self._print(name, report)
                continue
            if report.repeats:  # without repeats, results have been shown already
                self._print_repeats(report)
            for text in reports.ending(report):
                self._screen.line(reports.printable(text, one_line=True))
        for name, path in self._files:
            from ._files import new_file

            with new_file(path) as file:
                file.writelines(FORMATS[name](report, Style.of_file(self._max_detail)))

    def _print(self, name: str, report: Report) -> None:
        """Print a format that has nothing to show before the end."""
        if name == "full":
            for line in reports.full_lines(report, self._screen.paper(), self._max_detail):
                self._screen.line(*line)
        else:
            for piece in FORMATS[name](report, Style(self._screen.paper(), self._max_detail)):
                click.echo(piece, nl=False)
        if name == "github":
            append_step_summary(report)

    def _print_repeats(self, report: Report) -> None:
        """Print cases that were repeated, unless they have been shown, and how steady they are."""
        for block in reports.case_blocks(report) if not self._has_shown else ():
            for text in reports.concise_lines(block):
                self._screen.line(reports.printable(text, one_line=True))
        for line in reports.repeat_lines(report, self._screen.paper()):
            self._screen.line(*line)


def append_step_summary(report: Report) -> None:
    """Add a report to the summary of the step, if GitHub Actions has a file for it.

    Raises:
        RightcallError: the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(reports.github_summary(report))
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _html(report: Report) -> Iterator[str]:
    from rightcall.reporting.pages import html_report  # costs time that no other format needs

    return html_report(report)


def _check_installed() -> None:
    from rightcall.reporting.pages import check_installed

    check_installed()
