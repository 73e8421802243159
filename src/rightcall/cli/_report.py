"""`rightcall report`: a run as a file."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rightcall.errors import nearest
from rightcall.reporting.reports import Report, markdown_report
from rightcall.reporting.store import RunFolder

from ._options import no_redact_option
from ._output import FORMATS, Style, append_step_summary, new_file
from ._stored import compared, name_of, opened, report_of, sides_in

_NAMES = ("junit", "github", "markdown", "json", "html")


@click.command(name="report")
@click.argument("run", metavar="RUN")
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[=FILE]",
    help="junit, github, markdown (the default), json or html, printed or written to a file; repeatable.",
)
@click.option("--baseline", metavar="RUN", help="In Markdown, say what changed against this run.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@no_redact_option
def command(run: str, formats: tuple[str, ...], baseline: str | None, runs: str | None, no_redact: bool) -> int:
    """Write a run as JUnit XML, GitHub annotations, Markdown, JSON or one HTML file.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`.
    """
    asked = _asked(formats or ("markdown",))
    found = opened(run, runs)
    other = opened(baseline, runs) if baseline is not None else None
    report = report_of(found, redacts=not no_redact)
    for name, file in asked:
        pieces = _pieces(name, report, (other, found), redacts=not no_redact)
        if file is None:
            for piece in pieces:
                click.echo(piece, nl=False)
        else:
            with new_file(file) as written:
                written.writelines(pieces)
        if name == "github":
            append_step_summary(report)
    return 0


def _asked(formats: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """Each format and the file it is for; `None` is standard output, which takes one of them."""
    asked: list[tuple[str, str | None]] = []
    for given in formats:
        name, equals, file = given.partition("=")
        if name not in _NAMES:
            raise click.UsageError(f"no format {name!r:.40}; {nearest(name, _NAMES)}")
        if equals and not file:
            raise click.UsageError(f"--format {given}: the name of a file is missing")
        asked.append((name, file or None))
    if sum(file is None for _, file in asked) > 1:
        raise click.UsageError("one format can be printed; give the others a file, such as --format junit=junit.xml")
    return asked


def _pieces(name: str, report: Report, runs: tuple[RunFolder | None, RunFolder], *, redacts: bool) -> Iterator[str]:
    before, after = runs
    if name == "markdown" and before is not None:
        comparison = compared(sides_in(before), sides_in(after), redacts=redacts)
        return markdown_report(report, comparison, name_of(before))
    return FORMATS[name](report, Style.of_file())
