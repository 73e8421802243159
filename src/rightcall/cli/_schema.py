"""`rightcall schema`: the JSON Schema of eval sets, for editors."""

from __future__ import annotations

import click

from rightcall.decoding import dump_json
from rightcall.evalsets import eval_set_schema


@click.command(name="schema")
def command() -> int:
    """Print the JSON Schema of native eval sets, with which editors complete and check keys."""
    click.echo(dump_json(eval_set_schema(), indent=2))
    return 0
