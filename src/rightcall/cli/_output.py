"""The formats of `--format NAME[=FILE]`, where each is written, and files that users ask for."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

import click

from rightcall.errors import RightcallError
from rightcall.reporting import reports

from ._options import FormatType, Whole, option, options, redact_option

if TYPE_CHECKING:
    from pathlib import Path

    from rightcall.reporting.reports import Paper, Report
    from rightcall.values.results import CaseResult

_FILE_WIDTH = 100


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


format_options = options(
    option(
        "Output",
        "--format",
        "formats",
        multiple=True,
        metavar="NAME[=FILE]",
        type=FormatType(FORMATS),
        help=f"Print a format or, with =FILE, write it: {', '.join(FORMATS)}; repeatable. By default full on a "
        "terminal, else concise.",
    ),
    option(
        "Output",
        "--max-detail",
        type=Whole(0),
        default=10,
        show_default=True,
        help="How many cases the full format explains; where more did not pass, one of each cause.",
    ),
    option("Output", "--output-file", metavar="FILE", help="Write all results to this file as JSON."),
    option(
        "Output",
        "--print-detailed-results",
        "is_detailed",
        is_flag=True,
        help="Print every evaluator of every case, with its score and the reasons for it.",
    ),
    redact_option,
)


class Output:
    """The output of one command, as its options ask for it: without secrets, unless `redact` is false.

    Raises:
        RightcallError: a file cannot be written, or a package that it needs is missing.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        from ._terminal import Screen

        asked = [tuple(each.split("=", 1)) for each in given["formats"]]
        self._files = [(each[0], each[1]) for each in asked if len(each) == 2]
        if (path := given.get("output_file")) is not None:
            self._files.append(("json", path))
        for _, path in self._files:
            check_writable(path)
        if any(each[0] == "html" for each in asked):
            _check_installed()
        self._printed = [each[0] for each in asked if len(each) == 1] or default_formats()
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
        """Print and write everything else.

        Raises:
            RightcallError: a file cannot be written.
        """
        if self._redacts:
            report = reports.redacted_report(report)
        for line in reports.detail_lines(report, self._screen.paper()) if self._is_detailed else ():
            self._screen.line(*line)
        for name in dict.fromkeys(self._printed):
            self._print(name, report)
        for name, path in self._files:
            with new_file(path) as file:
                file.writelines(FORMATS[name](report, Style.of_file(self._max_detail)))

    def _print(self, name: str, report: Report) -> None:
        if name == "concise":
            # Without repeats, results have been shown already.
            for block in reports.case_blocks(report) if report.repeats and not self._has_shown else ():
                for text in reports.concise_lines(block):
                    self._screen.line(reports.printable(text, one_line=True))
            for line in reports.repeat_lines(report, self._screen.paper()) if report.repeats else ():
                self._screen.line(*line)
            for text in reports.ending(report):
                self._screen.line(reports.printable(text, one_line=True))
        elif name == "full":
            for line in reports.full_lines(report, self._screen.paper(), self._max_detail):
                self._screen.line(*line)
        else:
            for piece in FORMATS[name](report, Style(self._screen.paper(), self._max_detail)):
                click.echo(piece, nl=False)
        if name == "github":
            append_step_summary(report)


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


def default_formats() -> list[str]:
    """Return what is printed by default: for a person at a terminal, for another program, for GitHub's pages."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # it is None where it is closed
    formats = ["full" if is_terminal else "concise"]
    if os.environ.get("GITHUB_ACTIONS"):
        formats.append("github")
    return formats


def _html(report: Report) -> Iterator[str]:
    from rightcall.reporting.pages import html_report  # costs time that no other format needs

    return html_report(report)


def _check_installed() -> None:
    from rightcall.reporting.pages import check_installed

    check_installed()


@contextmanager
def new_file(path: str) -> Iterator[IO[str]]:
    """Open a text file that appears under its name only when it is complete, and that only its owner can read.

    Raises:
        RightcallError: it cannot be written.
    """
    # Beside the file, because a rename is atomic within one file system only (rename(2), EXDEV).
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "w", encoding="utf-8", opener=_private) as file:
            yield file
        os.replace(unfinished, path)
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None
    finally:
        with suppress(OSError):
            os.remove(unfinished)


def check_writable(path: str) -> None:
    """Refuse, before any work is done, a file that cannot be written afterwards. Raises `RightcallError`."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise RightcallError(f"{path}: this is a folder; name a file in it")
    if not os.path.isdir(folder):
        raise RightcallError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise RightcallError(f"{path}: no file can be made in {folder}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def check_replaceable(path: str) -> None:
    """Refuse a path that must not, or cannot, be written. A path that does not exist yet is fine.

    Raises:
        RightcallError: it is a symbolic link, not a file, or read-only.
    """
    if os.path.islink(path):
        raise RightcallError(f"{path}: is a symbolic link to {os.readlink(path)}; name that file itself")
    if not os.path.lexists(path):
        return
    if not os.path.isfile(path):
        raise RightcallError(f"{path}: is not a file")
    if not stat.S_IMODE(os.stat(path).st_mode) & 0o222 or not os.access(path, os.W_OK):
        raise RightcallError(f"{path}: is read-only")


def replace_file(path: str, before: bytes | None, after: bytes) -> None:
    """Replace the content of a file, if it is still `before`; `None` if there must be no file yet.

    Folders that a new file needs are made.

    Raises:
        RightcallError: the file has changed in the meantime, or cannot be written.
    """
    from pathlib import Path

    from rightcall.files import replace_file as write_whole

    check_replaceable(path)
    try:
        if before != (Path(path).read_bytes() if os.path.lexists(path) else None):
            raise RightcallError(f"{path}: has been changed in the meantime, so nothing was written; try again")
        if before is None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), after, _mode(path))
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _mode(path: str) -> int:
    if os.path.lexists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class Written(NamedTuple):
    """The files that were written, and those that existed and were left as they are."""

    made: tuple[str, ...]
    kept: tuple[str, ...]


def write_files(folder: Path, files: Mapping[str, str]) -> Written:
    """Write the files that do not exist yet, and the folders they need; nothing is overwritten.

    Raises:
        RightcallError: one of them cannot be written; the message says which ones were.
    """
    made: list[str] = []
    kept: list[str] = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                made.append(name)
                file.write(text)
        except FileExistsError as problem:
            if problem.filename != str(path):
                raise _write_error(path, problem, made) from None
            kept.append(name)
        except OSError as problem:
            raise _write_error(path, problem, made) from None
    return Written(tuple(made), tuple(kept))


def _write_error(path: Path, problem: OSError, made: list[str]) -> RightcallError:
    before = f"; begun or written: {', '.join(made)}" if made else "; nothing was written"
    return RightcallError(f"{path}: {problem.strerror or problem}{before}")
