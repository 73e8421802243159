"""The options of `rightcall show`."""

from __future__ import annotations

import os
from typing import Any

import click

from .._options import (
    STANDARD_INPUT,
    GroupedCommand,
    no_redact_option,
    option,
    reading_of,
    reading_options,
    trace_files,
)


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
    how: dict[str, bool] = {name: options[name] for name in ("full", "as_json")}
    if len(traces) == 1 and _may_be_run(traces[0]):
        from ._run import run_named, show_run

        run = run_named(traces[0], runs, is_meant=bool(cases))
        if run is not None:
            return show_run(run, cases, redacts=not options["no_redact"], **how)
    if cases:
        raise click.UsageError("--case chooses cases of one run; give its folder, the beginning of its id, or last")
    from ._traces import show_traces

    files = tuple(trace_files(traces))
    return show_traces(files, reading_of(options), together=together, redacts=not options["no_redact"], **how)


def _may_be_run(name: str) -> bool:
    """Whether a name may be that of a run. A file is not a run, and neither is a folder, unless it is a run's own."""
    is_other = name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isfile(os.path.join(name, "run.json")))
    return not is_other
