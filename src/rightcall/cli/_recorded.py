"""What commands have in common that join recorded traces to the cases of an eval set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import click
import msgspec

from rightcall.cases.verdicts import CASE_ATTRIBUTE, Join
from rightcall.running.project import current_project
from rightcall.scale.local import Request, Sources

from ._complaints import complain
from ._options import STANDARD_INPUT, reading_options, saved_input, trace_files


def joining_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose cases, join traces to them, and say how traces are read."""
    added: list[Callable[..., Any]] = [
        click.option("--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches; repeatable."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable."),
        click.option(
            "--join", type=click.Choice(get_args(Join)), default="auto", help="By what traces are joined to cases."
        ),
        click.option(
            "--case-attribute",
            default=CASE_ATTRIBUTE,
            metavar="NAME",
            help=f"The span attribute that holds a case's id; {CASE_ATTRIBUTE} by default.",
        ),
        reading_options,
        click.option(
            "--together", is_flag=True, help="Read all files as one source: spans in one, their logs in another."
        ),
    ]
    for option in reversed(added):
        command = option(command)
    return command


class RecordedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for: which traces, and to which cases they belong."""

    traces: list[str]
    evalset: str | None
    cases: list[str]
    tags: list[str]
    join: Any
    case_attribute: str
    input_format: str | None
    grouping: Any
    max_size: int | None
    together: bool

    def request(self) -> Request:
        """How the traces are read and joined."""
        return Request(
            evalset=self.evalset,
            case_globs=tuple(self.cases),
            tags=tuple(self.tags),
            join=self.join,
            case_attribute=self.case_attribute,
            input_format=self.input_format,
            grouping=self.grouping,
            max_size=self.max_size,
            home=current_project(),
        )

    def sources(self, request: Request) -> Sources:
        """The files to read, those of folders among them, and what is piped in."""
        files = list(trace_files(self.traces))
        names = {}
        if STANDARD_INPUT in files:
            if files.count(STANDARD_INPUT) > 1:
                raise click.UsageError("standard input (-) can be read once")
            path = saved_input(click.get_current_context())
            files[files.index(STANDARD_INPUT)] = path
            names[path] = "<stdin>"
        return Sources(request, files, together=self.together, complain=complain, names=names)
