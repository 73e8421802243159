"""Troubles, told on standard error."""

from __future__ import annotations

import click


def complain(problem: object) -> None:
    """Say on one line what stands in the way. The text may quote a stranger's, so it is made harmless."""
    from rightcall.reports import printable

    click.echo(f"rightcall: {printable(str(problem), one_line=True)}", err=True)
