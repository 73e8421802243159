"""The options of `rightcall score`, and the way each of them goes: to files here, or to a folder of scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from rightcall.errors import missing_package

from .._options import (
    STANDARD_INPUT,
    GroupedCommand,
    Number,
    Whole,
    base_options,
    configured,
    evaluator_options,
    format_options,
    gate_options,
    joining_options,
    no_cache_option,
    option,
    options,
    request_of,
    trace_files,
    trust_option,
)

if TYPE_CHECKING:
    from pathlib import Path


_GATE = ("gate", "min_rate", "must")
_what = options(
    option("What", "--evalset", metavar="FILE", help="The eval set whose cases the traces belong to."),
    option("What", "--expect", metavar="YAML|FILE", help="One expectation for all traces, such as 'calls: [a, b]'."),
    option(
        "What",
        "--compare-with",
        metavar="KEY",
        help="Compare the verdicts with what the source says under this key, such as reward: true, or 1 and more.",
    ),
    option("What", "--failed", is_flag=True, help="Only cases that did not pass when this eval set was last kept."),
)
_how = options(
    option(
        "How",
        "--workers",
        type=Whole(1),
        metavar="N",
        help="The number of processes; one for each core by default.",
    ),
    option("How", "--fail-fast", is_flag=True, help="Stop at the first case that does not pass."),
    option(
        "How",
        "--watch",
        "is_watching",
        is_flag=True,
        help="Score again when a trace changes, or a server has new ones.",
    ),
    option(
        "How",
        "--every",
        type=Number(0.1),
        default=10.0,
        metavar="SECONDS",
        help="How often --watch asks a trace server; 10 by default.",
    ),
    option(
        "How",
        "--engine",
        type=click.Choice(["local", "spark", "ray"]),
        default="local",
        show_default=True,
        help="Where --out scores: in processes here, on Spark, or on a Ray cluster.",
    ),
)
_output = options(
    option("Output", "--out", metavar="DIR", help="Score any number of rows into Parquet files in DIR; resumes."),
    option(
        "Output", "--paths", is_flag=True, help="With --out, also count the paths of runs, for `rightcall paths DIR`."
    ),
    option("Output", "--keep", is_flag=True, help="Keep the results as a run, to view, report and compare."),
    option("Output", "--runs", metavar="DIR", help="Keep them in this folder of runs; .rightcall/runs by default."),
    option("Output", "--push", is_flag=True, help="Send the verdicts to the server that the traces are from."),
    option("Output", "--push-to", metavar="URL", help="Send them to this server; otlp+http://HOST takes log records."),
    option("Output", "--webhook", metavar="URL", help="Post the verdicts to this address as JSON."),
    option("Output", "--push-dry-run", is_flag=True, help="Print what would be sent."),
    option("Output", "--push-link", metavar="URL", help="A link in each verdict; {run} and {case} are filled in."),
)


@click.command(name="score", cls=GroupedCommand)
@click.argument("traces", nargs=-1, required=True, metavar="TRACES...")
@_what
@joining_options
@evaluator_options
@_how
@no_cache_option
@trust_option
@base_options
@gate_options
@_output
@format_options
@click.pass_context
def command(context: click.Context, /, is_watching: bool, **options: Any) -> int:
    """Check recorded traces against expectations, without running the agent.

    Custom evaluators that the eval set names are imported from the project of the current folder.

    TRACES are files, folders or patterns; - is standard input; phoenix://HOST/PROJECT and the like are trace servers.
    Exit code: 0 all passed, 1 a case failed, 2 something
    could not be measured. With --gate or --min-rate these decide: 1 is worse, or below the rate.
    """
    if STANDARD_INPUT in options["traces"] and (is_watching or options["out"] is not None):
        raise click.UsageError("standard input (-) can be read only once; with --out and --watch, give files")
    if options["out"] is not None:
        return _score_into(context, options)
    if options["paths"]:
        raise click.UsageError("--paths needs --out; for files, use `rightcall paths`")
    if options["engine"] != "local":
        raise click.UsageError("--engine writes scores to a folder: give --out as well")
    _complete(context, options)
    from ._local import LocalScoring

    if not is_watching:
        return LocalScoring(request_of(options), options).run()
    from .._pull import addresses_in

    if addresses_in(options["traces"]):
        from ._servers import watch_server

        return watch_server(lambda: request_of(options), options)
    from .._live import watch

    return watch(lambda: LocalScoring(request_of(options), options).run(), lambda: _watched(options))


def _watched(options: dict[str, Any]) -> Callable[[], Iterable[str | Path]]:
    """Return what lists the files to watch: traces may be added, the files of expectations stay the same."""
    from rightcall.cases.evalsets import code_files

    given = [options[name] for name in ("evalset", "expect") if options[name] is not None]
    code = code_files(options["evalset"]) if options["evalset"] is not None else []
    return lambda: (*given, *code, *trace_files(options["traces"]))


def _score_into(context: click.Context, options: dict[str, Any]) -> int:
    """Score into a folder of files."""
    try:
        import pyarrow  # noqa: F401 - asked for before anything that needs it is loaded
    except ImportError:
        raise missing_package("--out writes Parquet files, which needs pyarrow", "arrow") from None
    from ._lake import LakeScoring, check_options

    check_options(context)
    _complete(context, options)
    return LakeScoring(request_of(options), options).run()


def _complete(context: click.Context, options: dict[str, Any]) -> None:
    """Take from the project's configuration what the command line does not say."""
    configuration, given = configured(context, options)
    evalset = configuration.values.get("evalset")
    if options["evalset"] is None and options["expect"] is None and isinstance(evalset, str):
        # A path in the configuration starts at the file it is written in, not at the current folder.
        options["evalset"] = os.path.relpath(configuration.folder / evalset)
    if "runs" in given:
        options["keep"] = True
    elif options["runs"] is not None:
        options["runs"] = os.path.relpath(configuration.folder / options["runs"])
    if not options["keep"] and not given & set(_GATE):  # the gate of the configuration is about runs that are kept
        options |= {"gate": None, "min_rate": None, "must": ()}
    if (options["evalset"] is None) == (options["expect"] is None):
        raise click.UsageError("give --evalset with a file of cases, or --expect with one expectation")
    if options["expect"] is not None and (options["cases"] or options["tags"] or options["failed"]):
        raise click.UsageError("--case, --tag and --failed choose cases of an eval set; with --expect there are none")
