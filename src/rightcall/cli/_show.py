"""`rightcall show`: the calls of traces, and the cases of a run, as a tree or as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from rightcall.errors import InputError, RightcallError, StoreError, shown
from rightcall.reporting import reports
from rightcall.values import decoding, redaction

from ._options import (
    STANDARD_INPUT,
    GroupedCommand,
    found_files,
    local_traces,
    no_redact_option,
    option,
    reading_of,
    reading_options,
    run_named,
)
from ._output import Complaints, Screen, print_error

if TYPE_CHECKING:
    from rightcall.reading import Reading, Recognised
    from rightcall.reporting.reports import Line, Paper
    from rightcall.reporting.store import RunFolder
    from rightcall.values.results import CaseResult
    from rightcall.values.trajectory import Trajectory

_EXIT_COULD_NOT_SHOW = 2
_LINES_PRINTED = 20
"""Lines that are shown of what an agent printed; the run keeps more."""


@click.command(name="show", cls=GroupedCommand)
@click.argument("traces", nargs=-1, required=True)
@option("What", "--case", "cases", multiple=True, metavar="GLOB", help="Of a run, only cases whose id matches.")
@option("What", "--runs", metavar="DIR", help="The folder of runs; .rightcall/runs by default.")
@reading_options
@option("How", "--together", is_flag=True, help="Read the files as one source: log records beside their spans.")
@option("Output", "--full", is_flag=True, help="Show whole arguments and outputs.")
@option("Output", "--json", "as_json", is_flag=True, help="Write each trajectory as one line of JSON, with everything.")
@no_redact_option
def command(traces: tuple[str, ...], together: bool, cases: tuple[str, ...], runs: str | None, **options: Any) -> int:
    """Show which calls are in TRACES: the tree, the timing, and what was not recorded.

    TRACES are files with traces or logs of messages, in any format, or folders of them; - is standard input. A run of
    `rightcall run` can be shown as well, by its folder, the beginning of its id, a branch or `last`: each case, and
    what is wrong with it.
    """
    if together and STANDARD_INPUT in traces:
        raise click.UsageError("standard input is read by itself; with --together, give files")
    printer = _Printer(full=options["full"], as_json=options["as_json"], redacts=not options["no_redact"])
    run = run_named(traces[0], runs, is_meant=bool(cases)) if len(traces) == 1 else None
    if run is not None:
        return _show_run(run, cases, printer)
    if cases:
        raise click.UsageError("--case chooses cases of one run; give its folder, the beginning of its id, or last")
    files, names = local_traces(traces) if any([":" in trace for trace in traces]) else (traces, {})
    return _show_traces(found_files(files), reading_of(options), printer, names, together=together)


class _Printer:
    """Prints trajectories, without secrets if it `redacts`."""

    def __init__(self, *, full: bool, as_json: bool, redacts: bool) -> None:
        self._screen = Screen()
        self.paper = self._screen.paper(full=full)
        self.as_json, self.redacts = as_json, redacts
        self._count = 0

    def lines(self, *lines: Line) -> None:
        for line in lines:
            self._screen.line(*line)

    def separate(self) -> None:
        """Print an empty line, except before the first trajectory."""
        if self._count:
            self._screen.line()
        self._count += 1

    def json(self, key: str, name: str, trajectory: Trajectory) -> None:
        """Print a trajectory with everything as one line of JSON, under the name it is known by."""
        import msgspec

        document = msgspec.to_builtins(trajectory)
        for call in document["calls"]:
            call["unrecorded"].sort()
        print(reports.escape_commands_in_json(decoding.dump_json({key: name, **document})))


def _show_run(run: RunFolder, globs: Sequence[str], printer: _Printer) -> int:
    """Show the cases of a run whose ids match one of the globs, or all of them.

    Raises:
        StoreError: there is no such case, or the run cannot be read.
    """
    count = 0
    for result in run.results():
        if globs and not any(fnmatchcase(result.case_id, glob) or result.case_id == glob for glob in globs):
            continue
        _show_case(redaction.redacted(result) if printer.redacts else result, run, printer)
        count += 1
    if not count:
        wanted = f"no case {shown(globs[0])}" if globs else "no cases"
        raise StoreError(f"{wanted} in the run {run.short_id} of {run.header.evalset}")
    return 0


def _show_case(result: CaseResult, run: RunFolder, printer: _Printer) -> None:
    trajectory, paper = result.trajectory, printer.paper
    if printer.as_json:
        if trajectory is not None:
            printer.json("case_id", result.case_id, trajectory)
        return
    printer.separate()
    printer.lines(reports.headline(reports.CaseBlock(result), paper), *reports.diagnosis(result, paper), ())
    if trajectory is None:
        printer.lines(("no calls were recorded",))
    else:
        printer.lines(*reports.trajectory_lines(trajectory, f"{result.case_id}, run {run.short_id}", paper))
    printer.lines(*_written_lines(result, paper))


def _written_lines(result: CaseResult, paper: Paper) -> Iterator[Line]:
    """Yield the last lines that the agent printed, whether the case passed or not."""
    outcome = result.outcome
    for label, text in (("printed", outcome.stdout), ("standard error", outcome.stderr)) if outcome is not None else ():
        lines = text.rstrip().splitlines()
        if lines:
            cut = f", the last {_LINES_PRINTED} of {len(lines):,} lines" if len(lines) > _LINES_PRINTED else ""
            yield from ((), ((f"{label}{cut}:", "bold"),))
            for line in lines[-_LINES_PRINTED:]:
                yield ("  ", *paper.pieces(line.replace("\t", "    "), max(20, paper.width - 2)))


def _show_traces(
    traces: Sequence[str], reading: Reading, printer: _Printer, names: Mapping[str, str], *, together: bool
) -> int:
    """Show the calls in files, and return the exit code. A file that cannot be read is reported and skipped."""
    from rightcall.reading import Recognised

    sources = (
        [(_name_of(traces, names), list(traces))] if together else [(_name_of((name,), names), name) for name in traces]
    )
    failed, complain = False, Complaints()
    for name, source in sources:
        count, recognised = 0, Recognised(is_shown=True)
        try:
            for trajectory in _read(source, reading, recognised):
                _show_trajectory(name, trajectory, printer)
                count += 1
        except RightcallError as problem:
            complain(problem)
            failed = True
            continue
        if not count:
            print_error(f"{name}: no traces and no messages in it")
            failed = True
        elif not printer.as_json and recognised.formats:
            printer.lines((), *_recognised_lines(recognised, printer))
    return _EXIT_COULD_NOT_SHOW if failed else 0


def _read(source: str | list[str], reading: Reading, recognised: Recognised) -> Iterator[Trajectory]:
    """Yield the trajectories of a source: a trace in any format, or a table of trajectories, as `score` reads it."""
    count = 0
    try:
        for trajectory in reading.read(sys.stdin.buffer if source == STANDARD_INPUT else source, recognised):
            count += 1
            yield trajectory
    except InputError:
        if count or source == STANDARD_INPUT:
            raise
        from rightcall.scale.local import read_source  # few traces are tables

        yield from read_source(source, reading, is_named=True)


def _recognised_lines(recognised: Recognised, printer: _Printer) -> Iterator[Line]:
    """Yield which formats and conventions were recognised in a file, and what was not used."""
    parts = [f"read as {', '.join(recognised.formats)}"] if recognised.formats else []
    parts += [f"calls by {', '.join(recognised.conventions)}"] if recognised.conventions else []
    parts += [f"not used: {', '.join(recognised.unused)}"] if recognised.unused else []
    yield from reports.dim_lines("; ".join(parts), printer.paper)


def _show_trajectory(name: str, trajectory: Trajectory, printer: _Printer) -> None:
    if printer.redacts:
        trajectory = redaction.redacted_trajectory(trajectory)
    if printer.as_json:
        printer.json("file", name, trajectory)
    else:
        printer.separate()
        printer.lines(*reports.trajectory_lines(trajectory, name, printer.paper))


def _name_of(traces: Sequence[str], names: Mapping[str, str]) -> str:
    more = f" and {len(traces) - 1} more" if len(traces) > 1 else ""
    return "<stdin>" if list(traces) == [STANDARD_INPUT] else names.get(traces[0], traces[0]) + more
