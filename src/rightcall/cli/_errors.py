"""Errors, printed on standard error."""

from __future__ import annotations

import click


def print_error(problem: object) -> None:
    """Print an error on one line.

    Its text may quote a trace: what a terminal would obey is made harmless, and secrets are left out.
    """
    from rightcall.reporting.reports import escape_commands, printable
    from rightcall.values.redaction import redacted_text

    harmless = escape_commands(printable(redacted_text(str(problem)), one_line=True))
    click.echo(f"rightcall: {harmless}", err=True)
