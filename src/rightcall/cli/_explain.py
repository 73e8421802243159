"""`rightcall explain`: what a finding means."""

from __future__ import annotations

import textwrap

import click

from rightcall.results import CODES, explain


@click.command(name="explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Say what the code of a finding means and what to do about it. Without CODE, list all codes."""
    if code is None:
        for known in CODES.values():
            click.echo(f"{known.code}  {known.name}")
        return
    found = explain(code)
    click.echo(f"{found.code} {found.name}\n")
    click.echo(textwrap.fill(found.explanation, 80))
