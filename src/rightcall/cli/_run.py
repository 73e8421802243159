"""`rightcall run`: run an agent over an eval set, judge what it does, and keep the results."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from rightcall.errors import InputError
from rightcall.projects import load_configuration

from ._answers import forget_answers, no_cache_option
from ._formats import format_options
from ._running import Running
from ._sizes import Number, size
from ._wishes import Wishes

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
@click.option("--max-memory", metavar="SIZE", callback=size, help="Memory a process may take; 2GB by default.")
@click.option("--repeat", type=click.IntRange(min=1, max=10_000), default=1, help="Run each case so many times.")
@click.option("--min-repeat-pass", type=click.IntRange(min=1), help="How many repeats must pass; all by default.")
@click.option("--min-pass", type=Number(0, 1), help="The share of cases that must pass; 1.0 by default.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that does not pass.")
@click.option("--record", is_flag=True, help="Keep what the real tools answer beside the eval set.")
@click.option("--replay", is_flag=True, help="Have the tools answer what was recorded, instead of running them.")
@no_cache_option
@click.option("--resume", metavar="RUN", help="Go on with a run that was stopped; what is finished is not run again.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@click.option("--trust", is_flag=True, help="Run code that an eval set names though it is outside its project.")
@format_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Run AGENT over the cases of EVALSET and judge what it calls.

    Either may be left out if the eval set or the project's configuration names it. Exit code: 0 all passed, 1 a case
    failed, 2 something could not be measured.
    """
    wishes = _wishes(context, options)
    if wishes.no_cache:
        forget_answers()
    return Running(wishes).run()


def _wishes(context: click.Context, options: dict[str, Any]) -> Wishes:
    """The options of the command line and, where that says nothing, of the project's configuration."""
    from pathlib import Path

    settable = [name for name in options if name not in ("names", "resume", "failed")]
    written = {"formats": "format", "cases": "case", "tags": "tag"}
    known = [*[written.get(name, name) for name in settable], "agent", "evalset"]
    configuration = load_configuration(Path.cwd(), known)
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    for name in settable:
        key = written.get(name, name)
        if name not in given and key in configuration.values:
            options[name] = _converted(context, name, configuration.values[key], f"{configuration.path}: {key}")
    try:
        return msgspec.convert({**options, "given": sorted(given), "configuration": configuration}, Wishes)
    except msgspec.ValidationError as problem:
        raise InputError(f"{configuration.path}: {problem}") from None


def _converted(context: click.Context, name: str, value: Any, where: str) -> Any:
    """A value of the configuration, checked as if it had been given on the command line."""
    [parameter] = [one for one in context.command.params if one.name == name]
    if parameter.multiple and isinstance(value, str):
        value = [value]
    if isinstance(parameter, click.Option) and parameter.is_flag and not isinstance(value, bool):
        raise InputError(f"{where} is true or false, not {value!r:.80}")
    try:
        return parameter.process_value(context, str(value) if isinstance(value, (int, float)) else value)
    except click.BadParameter as problem:
        raise InputError(f"{where}: {problem.message}") from None
