"""What is told and written goes without secrets, unless somebody wants them."""

from __future__ import annotations

import click

no_redact_option = click.option(
    "--no-redact", is_flag=True, help="Leave secrets, such as keys and passwords, as they are."
)

redact_option = click.option(
    "--redact/--no-redact",
    default=None,
    help="Secrets, such as keys and passwords, are left out of what is printed and written; with --redact also of what "
    "is kept, with --no-redact nowhere.",
)
