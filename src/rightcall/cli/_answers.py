"""Answers of judges that are kept, and how to do without them."""

from __future__ import annotations

import os

import click

from rightcall.judging.models import PREFIX


def _forget(context: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    """From now on, in this process and those that it starts, nobody looks for answers that were kept."""
    if is_wanted:
        os.environ[f"{PREFIX}CACHE"] = "off"


no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_forget,
    help="Ask judges again, though nothing has changed, and keep no answers.",
)
