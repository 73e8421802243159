"""Troubles, told on standard error."""

from __future__ import annotations

import click


def print_error(problem: object) -> None:
    """Say on one line what stands in the way.

    The text may quote a stranger's, so it is made harmless; and it may quote secrets, so it goes without them.
    """
    from rightcall.reporting.reports import escape_commands, printable
    from rightcall.values.redaction import redacted_text

    harmless = escape_commands(printable(redacted_text(str(problem)), one_line=True))
    click.echo(f"rightcall: {harmless}", err=True)
