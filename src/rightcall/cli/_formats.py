"""What `--format NAME[=FILE]` asks for: the formats of reports, and where each is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import click
import msgspec

from rightcall.errors import RightcallError, nearest
from rightcall.reporting.reports import (
    Paper,
    Report,
    concise_lines,
    concise_report,
    detail_lines,
    ending,
    full_lines,
    full_report,
    github_report,
    github_summary,
    json_report,
    junit_report,
    markdown_report,
    printable,
    redacted_report,
)
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult

from ._redacting import redact_option
from ._terminal import Screen
from ._writing import check_writable, new_file

_FILE_WIDTH = 100


class Style(msgspec.Struct, frozen=True):
    """What formats for people take into account."""

    paper: Paper = Paper(width=_FILE_WIDTH)
    max_detail: int = 10


FORMATS: dict[str, Callable[[Report, Style], Iterator[str]]] = {
    "full": lambda report, style: full_report(report, style.paper, style.max_detail),
    "concise": lambda report, _: concise_report(report),
    "json": lambda report, _: json_report(report),
    "junit": lambda report, _: junit_report(report),
    "github": lambda report, _: github_report(report),
    "markdown": lambda report, _: markdown_report(report),
    "html": lambda report, _: _html(report),
}
"""The formats, each a function of a report that gives its text."""


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how results are told: `--format`, `--max-detail`, `--output-file` and so on."""
    added = [
        click.option(
            "--format",
            "formats",
            multiple=True,
            metavar="NAME[=FILE]",
            callback=_checked,
            help=f"What is printed or, with =FILE, written: {', '.join(FORMATS)}; repeatable. By default full on a "
            "terminal, else concise.",
        ),
        click.option(
            "--max-detail",
            type=click.IntRange(min=0),
            default=10,
            show_default=True,
            help="How many cases that did not pass the full format tells in detail.",
        ),
        click.option("--output-file", metavar="FILE", help="Write all results to this file as JSON."),
        click.option(
            "--print-detailed-results",
            "is_detailed",
            is_flag=True,
            help="Print every evaluator of every case, with its score and how it came to it.",
        ),
        redact_option,
    ]
    for option in reversed(added):
        command = option(command)
    return command


class Telling:
    """Where the results of one command go: without secrets, unless it is not to redact them.

    Raises:
        RightcallError: a file that is asked for cannot be written, or a package is missing that it needs.
    """

    def __init__(
        self,
        formats: Sequence[str],
        output_file: str | None,
        max_detail: int,
        *,
        redacts: bool = True,
        is_detailed: bool = False,
    ) -> None:
        asked = [tuple(each.split("=", 1)) for each in formats]
        self._files = [(each[0], each[1]) for each in asked if len(each) == 2]
        if output_file is not None:
            self._files.append(("json", output_file))
        for _, path in self._files:
            check_writable(path)
        if any(each[0] == "html" for each in asked):
            _check_installed()
        self._printed = [each[0] for each in asked if len(each) == 1] or default_formats()
        self._max_detail = max_detail
        self._redacts = redacts
        self._is_detailed = is_detailed
        if is_detailed and not {"full", "concise"} & set(self._printed):
            raise click.UsageError(f"--print-detailed-results is for people, and {self._printed[0]} is printed")
        self._screen = Screen()

    @property
    def wants_results(self) -> Literal["", "bad", "all"]:
        """Which complete results are wanted at the end: `concise` needs none, `full` those that did not pass."""
        if self._files or self._is_detailed or not set(self._printed) <= {"concise", "full"}:
            return "all"
        return "bad" if "full" in self._printed else ""

    def tell(self, result: CaseResult) -> None:
        """Print what is to be said of one result as soon as it is there."""
        if "concise" in self._printed and not result.passed:
            for line in concise_lines(redacted(result) if self._redacts else result):
                self._screen.line(printable(line, one_line=True))

    def finish(self, report: Report) -> None:
        """Print and write everything else.

        Raises:
            RightcallError: a file cannot be written.
        """
        if self._redacts:
            report = redacted_report(report)
        for line in detail_lines(report, self._screen.paper()) if self._is_detailed else ():
            self._screen.line(*line)
        for name in dict.fromkeys(self._printed):
            self._print(name, report)
        for name, path in self._files:
            with new_file(path) as file:
                file.writelines(FORMATS[name](report, Style(max_detail=self._max_detail)))

    def _print(self, name: str, report: Report) -> None:
        if name == "concise":
            for text in ending(report):
                self._screen.line(printable(text, one_line=True))
        elif name == "full":
            for line in full_lines(report, self._screen.paper(), self._max_detail):
                self._screen.line(*line)
        else:
            for piece in FORMATS[name](report, Style(self._screen.paper(), self._max_detail)):
                click.echo(piece, nl=False)
        if name == "github":
            append_step_summary(report)


def append_step_summary(report: Report) -> None:
    """Add a report to the summary of the step, where GitHub Actions has a file for it.

    Raises:
        RightcallError: the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(github_summary(report))
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def default_formats() -> list[str]:
    """What is printed where nobody says: for a person at a terminal, for another program, for GitHub's pages."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # it is None where somebody has closed it
    formats = ["full" if is_terminal else "concise"]
    if os.environ.get("GITHUB_ACTIONS"):
        formats.append("github")
    return formats


def _checked(_: click.Context, __: click.Parameter, formats: tuple[str, ...]) -> tuple[str, ...]:
    for each in formats:
        name, equals, file = each.partition("=")
        if name not in FORMATS:
            raise click.BadParameter(f"no format {name!r:.40}; {nearest(name, list(FORMATS))}")
        if equals and not file:
            raise click.BadParameter(f"{each!r:.40} names no file; write {name}=FILE")
    return formats


def _html(report: Report) -> Iterator[str]:
    from rightcall.reporting.pages import html_report  # costs time that no other format needs

    return html_report(report)


def _check_installed() -> None:
    from rightcall.reporting.pages import check_installed

    check_installed()
