"""The options of `rightcall run`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from rightcall.errors import InputError, RightcallError

from .._options import (
    GroupedCommand,
    Number,
    RoundsType,
    Size,
    Whole,
    base_options,
    case_options,
    configured,
    evaluator_options,
    format_options,
    gate_options,
    no_cache_option,
    option,
    options,
    runs_option,
    trust_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ._request import RunRequest

_what = options(
    case_options,
    evaluator_options,
    option(
        "What",
        "--variant",
        "variants",
        multiple=True,
        metavar="NAME",
        help="Run this variant of [variants] in the configuration; repeat the option to compare several.",
    ),
    option("What", "--failed", is_flag=True, help="Only cases that did not pass, or did not run, in the last run."),
    option(
        "What", "--resume", metavar="RUN", help="Resume a run that was stopped, without repeating its finished cases."
    ),
    option(
        "What",
        "--repeat",
        type=RoundsType(),
        default=(1, 1),
        metavar="N|A..B",
        help="Run each case N times; with A..B, a gate may stop early.",
    ),
    option("What", "--min-repeat-pass", type=Whole(1), help="How many repeats must pass; all by default."),
    option(
        "What",
        "--min-pass",
        type=Number(0, 1),
        metavar="SHARE",
        help="The share of cases that must pass; 1.0 by default.",
    ),
)
_how = options(
    option("How", "--workers", type=Whole(1), help="The number of processes; one for each core by default."),
    option(
        "How",
        "--concurrency",
        type=Whole(1, 10_000),
        help="Cases at once in each process; by default 1, and 16 for an asynchronous agent.",
    ),
    option(
        "How",
        "--timeout",
        type=Number(0, above=True),
        metavar="SECONDS",
        help="Time limit of a case; 300 seconds, or that of the eval set, by default.",
    ),
    option(
        "How",
        "--max-memory",
        metavar="SIZE",
        type=Size(),
        help="Memory limit of a process and all it starts; 2GB by default.",
    ),
    option("How", "--fail-fast", is_flag=True, help="Stop at the first case that does not pass."),
    option(
        "How",
        "--strict-agent",
        is_flag=True,
        help="Report an error, not a warning, if the agent opens the eval set, a recording or a run folder.",
    ),
    option("How", "--dry-run", is_flag=True, help="List cases, tools and their mocks, and run nothing."),
    option("How", "--record", is_flag=True, help="Record what the real tools and models answer, beside the eval set."),
    option("How", "--replay", is_flag=True, help="Let the recording answer for tools and models, without a network."),
    option(
        "How",
        "--live",
        multiple=True,
        type=click.Choice(["tools", "model"]),
        help="What stays live with --record and --replay.",
    ),
    option("How", "--prune", is_flag=True, help="With --record, drop what no case of the eval set uses."),
    no_cache_option,
    option("How", "--watch", "is_watching", is_flag=True, help="Run again when the agent or the eval set changes."),
    trust_option,
)


@click.command(name="run", cls=GroupedCommand)
@click.argument("names", nargs=-1, metavar="[AGENT] [EVALSET]")
@_what
@_how
@base_options
@gate_options
@option("Output", "--spans/--no-spans", default=True, help="Keep the spans of cases in the run folder; the default.")
@runs_option
@format_options
@click.pass_context
def command(context: click.Context, /, is_watching: bool, dry_run: bool, **options: Any) -> int:
    """Run AGENT over the cases of EVALSET and judge what it calls.

    Either may be left out if the eval set or the project's configuration names it. Exit code: 0 all passed, 1 a case
    failed, 2 something could not be measured. With --gate or --min-rate these decide: 1 is worse, or below the rate.
    """
    if dry_run:
        from ._run import dry_run as list_only

        return list_only(_run_options(context, options))
    if options["variants"]:
        from ._run import run_variants

        return run_variants(_run_options(context, options), is_watching=is_watching)
    from ._run import Running

    if not is_watching:
        return Running(_run_options(context, options)).run()
    from .._live import watch

    if options["resume"] is not None:
        raise click.UsageError("--resume continues a run that was stopped; --watch begins new ones")
    return watch(lambda: Running(_run_options(context, dict(options))).run(), lambda: _watched(context, dict(options)))


def _watched(context: click.Context, options: dict[str, Any]) -> Callable[[], list[Path]]:
    """Return what lists the files of a run or, if the configuration is wrong, the files to fix."""
    from pathlib import Path

    from rightcall.running.project import OWN_FILE, PROJECT_FILE, project_of

    from ._plan import files_in_play

    try:
        asked = _run_options(context, options)
        files = files_in_play(asked.names, asked.configuration, asked.trust)
    except RightcallError:
        project = project_of(Path.cwd()) or Path.cwd()
        files = [project / OWN_FILE, project / PROJECT_FILE, *[Path(name) for name in options["names"]]]
    return lambda: files


def _run_options(context: click.Context, options: dict[str, Any]) -> RunRequest:
    """Return the options of the command line, completed by those of the project's configuration."""
    import msgspec

    from ._request import RunRequest

    configuration, given = configured(context, options)
    options["repeat_least"], options["repeat"] = options["repeat"]
    options["is_repeat_given"] = "repeat" in given
    options["only"], options["skipped"] = [*chain(*options["only"])], [*chain(*options["skipped"])]
    try:
        return msgspec.convert({**options, "given": sorted(given), "configuration": configuration}, RunRequest)
    except msgspec.ValidationError as problem:
        raise InputError(f"{configuration.path}: {problem}") from None
