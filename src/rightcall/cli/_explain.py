"""`rightcall explain`: what a finding means."""

from __future__ import annotations

import textwrap

import click

from rightcall.values.results import CODES, explain

from ._terminal import Screen


@click.command(name="explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Say what the code of a finding means and what to do about it. Without CODE, list all codes."""
    screen = Screen()
    if code is None:
        for known in CODES.values():
            screen.line((known.code, "bold"), f"  {known.name}")
        return
    found = explain(code)
    screen.line((found.code, "bold"), f" {found.name}\n")
    screen.line(textwrap.fill(found.explanation, 80))
