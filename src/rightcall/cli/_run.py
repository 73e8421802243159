"""`rightcall run`: run an agent over an eval set, judge what it does, and keep the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.running.project import OWN_FILE, PROJECT_FILE, project_of

from ._configured import configured
from ._formats import format_options
from ._options import Number, no_cache_option, size
from ._run_options import RunOptions
from ._running import Running
from ._targets import files_in_play

_POSITIVE = Number(min=0, min_open=True)


@click.command(name="run")
@click.argument("names", nargs=-1, metavar="[AGENT] [EVALSET]")
@click.option("--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable.")
@click.option(
    "--failed",
    is_flag=True,
    help="Only cases that did not pass, or were not reached, in the last run of this eval set.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; as many as there are cores by default.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=10_000),
    help="Cases at once in each process; by default 1, and 16 for an asynchronous agent.",
)
@click.option("--timeout", type=_POSITIVE, help="Seconds a case may take; 300, or what the eval set says, by default.")
@click.option(
    "--max-memory", metavar="SIZE", callback=size, help="Memory a process and all it starts may take; 2GB by default."
)
@click.option("--repeat", type=click.IntRange(min=1, max=10_000), default=1, help="Run each case so many times.")
@click.option("--min-repeat-pass", type=click.IntRange(min=1), help="How many repeats must pass; all by default.")
@click.option("--min-pass", type=Number(0, 1), help="The share of cases that must pass; 1.0 by default.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that does not pass.")
@click.option(
    "--strict-agent",
    is_flag=True,
    help="An error, not a warning, where the agent opens the eval set, a recording or a run folder.",
)
@click.option("--record", is_flag=True, help="Keep what the real tools answer beside the eval set.")
@click.option("--replay", is_flag=True, help="Have the tools answer what was recorded, instead of running them.")
@no_cache_option
@click.option(
    "--spans/--no-spans", default=True, help="Keep the spans of each case in the run's folder; done by default."
)
@click.option("--resume", metavar="RUN", help="Go on with a run that was stopped; what is finished is not run again.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@click.option("--watch", "is_watching", is_flag=True, help="Run again whenever the agent or the eval set changes.")
@click.option("--trust", is_flag=True, help="Run code that an eval set names though it is outside this project.")
@format_options
@click.pass_context
def command(context: click.Context, /, is_watching: bool, **options: Any) -> int:
    """Run AGENT over the cases of EVALSET and judge what it calls.

    Either may be left out if the eval set or the project's configuration names it. Exit code: 0 all passed, 1 a case
    failed, 2 something could not be measured.
    """
    if not is_watching:
        return Running(_run_options(context, options)).run()
    from ._watching import watch

    if options["resume"] is not None:
        raise click.UsageError("--resume goes on with a run that was stopped; --watch begins new ones")
    return watch(lambda: Running(_run_options(context, dict(options))).run(), lambda: _watched(context, dict(options)))


def _watched(context: click.Context, options: dict[str, Any]) -> Callable[[], list[Path]]:
    """The files of a run; where the configuration is wrong, that is what has to be fixed."""
    try:
        asked = _run_options(context, options)
        files = files_in_play(asked.names, asked.configuration, asked.trust)
    except RightcallError:
        project = project_of(Path.cwd()) or Path.cwd()
        files = [project / OWN_FILE, project / PROJECT_FILE, *[Path(name) for name in options["names"]]]
    return lambda: files


def _run_options(context: click.Context, options: dict[str, Any]) -> RunOptions:
    """The options of the command line and, where that says nothing, of the project's configuration."""
    configuration, given = configured(context, options)
    try:
        return msgspec.convert({**options, "given": sorted(given), "configuration": configuration}, RunOptions)
    except msgspec.ValidationError as problem:
        raise InputError(f"{configuration.path}: {problem}") from None
