"""`rightcall schema`: the JSON Schema of eval sets, for editors, and of reports, for programs."""

from __future__ import annotations

import click

from rightcall.cases.evalsets import eval_set_schema
from rightcall.reporting.reports import report_schema
from rightcall.values.decoding import dump_json


@click.command(name="schema")
@click.option("--report", "is_of_report", is_flag=True, help="That of reports in JSON instead.")
def command(is_of_report: bool) -> int:
    """Print the JSON Schema of native eval sets, with which editors complete and check keys."""
    click.echo(dump_json(report_schema() if is_of_report else eval_set_schema(), indent=2))
    return 0
