"""`rightcall paths`: which paths runs take, where passed and failed ones diverge, and what changed in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rightcall.errors import InputError, StoreError, missing_package, nearest

from ._options import (
    CASE_ATTRIBUTE,
    STANDARD_INPUT,
    GroupedCommand,
    Number,
    no_redact_option,
    option,
    options,
    reading_of,
    reading_options,
    run_named,
    sources_of,
    trace_files,
)
from ._output import Screen, print_error

if TYPE_CHECKING:
    from rightcall.reading import Reading
    from rightcall.reporting.paths import Drift, PathCounts, Paths
    from rightcall.reporting.store import RunFolder
    from rightcall.values.results import Verdict
    from rightcall.values.trajectory import Trajectory

FORMATS = ("json", "csv", "html")
_PARQUET, _HEAD = b"PAR1", 1 << 20
_COUNTED = "_paths.json"
"""The file of counts in a folder of scores; the name is repeated here so that Arrow need not be loaded."""
_DRIFTED = 1
_COULD_NOT_READ = 2

_what = options(
    option("What", "--against", multiple=True, metavar="RUN|TRACES", help="Show what changed since this; repeatable."),
    option("What", "--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches; repeatable."),
    option("What", "--tool", metavar="NAME", help="Only runs that call this tool."),
    option(
        "What",
        "--by",
        metavar="KEY",
        help="Take as success what traces say under this key of metadata, such as reward.",
    ),
    option("What", "--case-attribute", default=CASE_ATTRIBUTE, metavar="NAME", help="The attribute with a case's id."),
    option("What", "--runs", metavar="DIR", help="The folder of runs; .rightcall/runs by default."),
)
_how = options(
    option("How", "--by-case", is_flag=True, help="Show for each case where its runs diverge."),
    option("How", "--args", "with_args", is_flag=True, help="Treat calls with different arguments as different steps."),
    option("How", "--internal", is_flag=True, help="Count calls of the framework, too, such as hand-offs."),
)
_output = options(
    option(
        "Output",
        "--min",
        "least",
        type=Number(0, 1),
        metavar="SHARE",
        help="List everything that this share of runs has, such as 0.01; the most common by default.",
    ),
    option("Output", "--fail-on-drift", is_flag=True, help="With --against, exit with 1 if anything changed."),
    option(
        "Output",
        "--format",
        "formats",
        multiple=True,
        metavar="NAME[=FILE]",
        help="json, csv or html, printed or written to a file; repeatable. Plain text by default.",
    ),
    no_redact_option,
)


@click.command(name="paths", cls=GroupedCommand)
@click.argument("sources", nargs=-1, required=True, metavar="RUN|TRACES...")
@_what
@_how
@reading_options
@_output
def command(sources: tuple[str, ...], **options: Any) -> int:
    """Show which paths runs take: how often, with which tools, and where passed and failed runs diverge.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. TRACES are files in any format,
    tables, folders or patterns, or a folder that `rightcall score --out --paths` wrote; - is standard input. Exit code:
    0; with --fail-on-drift 1 if anything changed; 2 if something cannot be read.
    """
    asked = _asked_formats(options["formats"])
    if options["fail_on_drift"] and not options["against"]:
        raise click.UsageError("--fail-on-drift needs --against, with what it is compared with")
    if options["by_case"] and (options["against"] or asked):
        raise click.UsageError("--by-case says where the runs of each case diverge; leave --against and --format out")
    gathering = _Gathering(options)
    if options["by_case"]:
        return _print_cases(gathering, sources)
    found = gathering.counted(sources)
    before = gathering.counted(options["against"]) if options["against"] else None
    counted = _overview(found, before, sources, options)
    _deliver(counted, asked, options)
    if gathering.has_failed:
        return _COULD_NOT_READ
    return _DRIFTED if options["fail_on_drift"] and counted.drift is not None and counted.drift.count else 0


class _Overview(NamedTuple):
    """What is printed and written."""

    paths: Paths
    drift: Drift | None
    names: tuple[str, str]
    """The names of the two sides; only the second if nothing is compared."""


def _overview(
    found: PathCounts, before: PathCounts | None, sources: tuple[str, ...], options: dict[str, Any]
) -> _Overview:
    from rightcall.reporting.paths import drift, overview

    paths = overview(found, redacts=not options["no_redact"])
    changes = None if before is None else drift(before, found)
    return _Overview(paths, changes, (_name(options["against"]), _name(sources)))


def _name(sources: tuple[str, ...]) -> str:
    return "" if not sources else sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"


def _asked_formats(formats: tuple[str, ...]) -> list[tuple[str, str | None]]:
    from ._files import check_writable

    asked: list[tuple[str, str | None]] = []
    for given in formats:
        name, equals, file = given.partition("=")
        if name not in FORMATS:
            raise click.UsageError(f"no format {name!r:.40}; {nearest(name, FORMATS)}")
        if equals and not file:
            raise click.UsageError(f"--format {given}: the name of a file is missing")
        if file:
            check_writable(file)
        asked.append((name, file or None))
    if sum(file is None for _, file in asked) > 1:
        raise click.UsageError("one format can be printed; give the others a file, such as --format json=paths.json")
    return asked


def _deliver(counted: _Overview, asked: list[tuple[str, str | None]], options: dict[str, Any]) -> None:
    from ._files import new_file

    for name, file in asked:
        text = _TEXTS[name](counted)
        if file is None:
            click.echo(text, nl=False)
        else:
            with new_file(file) as written:
                written.write(text)
    if all(file is not None for _, file in asked):
        _print(counted, options["least"])


def _print(counted: _Overview, least: float | None) -> None:
    from rightcall.reporting.reports import drift_lines, path_lines

    screen = Screen()
    paper = screen.paper()
    if counted.drift is None:
        lines = path_lines(counted.paths, paper, least=least)
    else:
        lines = drift_lines(counted.drift, counted.names, counted.paths.labels, paper)
    for line in lines:
        screen.line(*line)


def _json_text(counted: _Overview) -> str:
    from rightcall.reporting.reports import drift_plain, escape_commands_in_json, paths_plain
    from rightcall.values.decoding import dump_json

    plain = {"schema": 1, **paths_plain(counted.paths)}
    if counted.drift is not None:
        plain["drift"] = drift_plain(counted.drift, counted.paths.labels)
    return escape_commands_in_json(dump_json(plain, indent=2)) + "\n"


def _csv_text(counted: _Overview) -> str:
    from rightcall.reporting.reports import paths_csv, printable

    return printable(paths_csv(counted.paths))


def _html_text(counted: _Overview) -> str:
    from rightcall.reporting.pages import paths_file

    return paths_file(counted.paths, counted.names[1], counted.drift, counted.names[0])


_TEXTS: dict[str, Callable[[_Overview], str]] = {"json": _json_text, "csv": _csv_text, "html": _html_text}


def _print_cases(gathering: _Gathering, sources: tuple[str, ...]) -> int:
    """Print for each case of a run how many paths it has, and where its runs diverge."""
    from rightcall.reporting.paths import case_paths
    from rightcall.reporting.reports import parting_lines
    from rightcall.values.redaction import redacted

    run = gathering.run_named(sources[0]) if len(sources) == 1 else None
    if run is None:
        raise click.UsageError(
            "--by-case is about the cases of a run; give its folder, the beginning of its id, or last"
        )
    by_case: dict[str, list[Any]] = {}
    for result in run.results():
        if gathering.wants_case(result.case_id):
            by_case.setdefault(result.case_id, []).append(result)
    if not by_case:
        raise StoreError(f"run {run.short_id} has none of the selected cases")
    screen = Screen()
    for number, (case_id, results) in enumerate(by_case.items()):
        results.sort(key=lambda result: result.repeat)
        if number:
            screen.line()
        shown = results if gathering.options["no_redact"] else [redacted(result) for result in results]
        for line in parting_lines(case_paths(case_id, shown), screen.paper()):
            screen.line(*line)
    return 0


class _Gathering:
    """Reads runs and traces, and counts their paths."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.has_failed = False
        self._reading: Reading = reading_of(options)

    def counted(self, sources: tuple[str, ...]) -> PathCounts:
        """Count the paths of runs and traces. Raises `RightcallError` if there are none."""
        from rightcall.reporting.paths import PathCounts

        counts = PathCounts(
            with_args=self.options["with_args"],
            internal=self.options["internal"],
            redacts=not self.options["no_redact"],
        )
        traces: list[str] = []
        for source in sources:
            if os.path.isfile(os.path.join(source, _COUNTED)):
                counts.merge(self._counted_before(source))
            elif (run := self.run_named(source)) is not None:
                self._add_run(run, counts)
            else:
                traces.append(source)
        if traces:
            self._add_traces(traces, counts)
        if not counts.routes and counts.is_listed:
            wanted = f" that call {self.options['tool']!r:.80}" if self.options["tool"] else ""
            raise InputError(f"{_name(sources)}: no runs{wanted} in it")
        return counts

    def run_named(self, name: str) -> RunFolder | None:
        """Return the run of a name; `None` if it is the name of traces. Raises `StoreError`."""
        run = run_named(name, self.options["runs"])
        if run is None:
            return None
        run.check()
        if run.header.finished is None:
            print_error(f"run {run.short_id} is not complete; its results so far are counted")
        return run

    def wants_case(self, case_id: str) -> bool:
        """Return whether a case is selected."""
        globs = self.options["cases"]
        return not globs or any(case_id == glob or fnmatchcase(case_id, glob) for glob in globs)

    def _add_run(self, run: RunFolder, counts: PathCounts) -> None:
        for result in run.results():
            # A run without a trajectory crashed before anything was recorded.
            if result.trajectory is not None and self.wants_case(result.case_id) and self._has_tool(result.trajectory):
                verdict = result.verdict if self.options["by"] is None else self._verdict(result.trajectory)
                counts.add(result.trajectory, verdict)

    def _add_traces(self, sources: list[str], counts: PathCounts) -> None:
        if _needs_arrow(sources):
            self._add_tables(sources, counts)
            return
        self._add_all(self._trajectories(sources), counts)

    def _add_tables(self, sources: list[str], counts: PathCounts) -> None:
        try:
            from rightcall.scale.lake import count_paths, lake_trajectories
        except ImportError:
            raise missing_package(f"{sources[0]} is a table, and reading it needs pyarrow", "arrow") from None
        if self.options["cases"] or self.options["tool"]:
            self._add_all(lake_trajectories(sources, self._reading, complain=self._complain), counts)
            return
        by = self.options["by"]
        unread = count_paths(sources, counts, self._reading, by=by, complain=self._complain)
        if unread:
            print_error(f"{unread:,} rows cannot be read; they count as runs whose calls were not recorded")

    def _add_all(self, trajectories: Iterable[Trajectory], counts: PathCounts) -> None:
        for trajectory in trajectories:
            case_id = trajectory.metadata.get(self.options["case_attribute"])
            if self.wants_case("" if case_id is None else str(case_id)) and self._has_tool(trajectory):
                counts.add(trajectory, self._verdict(trajectory))

    def _trajectories(self, sources: list[str]) -> Iterator[Trajectory]:
        found = sources_of({**self.options, "traces": sources})
        for _, trajectory in found.trajectories():
            yield trajectory
        self.has_failed |= bool(found.unreadable)

    def _complain(self, problem: object) -> None:
        self.has_failed = True
        print_error(problem)

    def _has_tool(self, trajectory: Trajectory) -> bool:
        return self.options["tool"] is None or self.options["tool"] in trajectory.names

    def _verdict(self, trajectory: Trajectory) -> Verdict | None:
        if self.options["by"] is None:
            return None
        from rightcall.reporting.changes import success

        return success(trajectory.metadata.get(self.options["by"]))

    def _counted_before(self, folder: str) -> PathCounts:
        """Return what was counted when a folder was scored: names of tools only, and all runs."""
        for name, words in (
            ("with_args", "--args"),
            ("internal", "--internal"),
            ("cases", "--case"),
            ("tool", "--tool"),
        ):
            if self.options[name]:
                raise click.UsageError(f"{folder} has counts of paths, not of runs, so {words} does not work with it")
        from rightcall.scale.lake import read_paths

        return read_paths(folder)


def _needs_arrow(sources: list[str]) -> bool:
    """Return whether Arrow is needed to read this: tables, lines of trajectories, anything in an object store."""
    if any("://" in source or os.path.isdir(os.path.join(source, "_delta_log")) for source in sources):
        return True
    return any(_is_table(file) for file in trace_files(sources) if file != STANDARD_INPUT)


def _is_table(file: str) -> bool:
    from rightcall.values.trajectory import is_trajectory

    try:
        with open(file, "rb") as opened:
            head = opened.read(len(_PARQUET))
            return head == _PARQUET or is_trajectory(head + opened.readline(_HEAD))
    except OSError:
        return False  # reading it says what is wrong with it
