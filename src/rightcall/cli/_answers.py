"""Answers of judges that are kept, and how to do without them."""

from __future__ import annotations

import os

import click

from rightcall.judges import PREFIX

no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Ask judges again, though nothing has changed, and keep no answers."
)


def forget_answers() -> None:
    """From now on, in this process and those that it starts, nobody looks for answers that were kept."""
    os.environ[f"{PREFIX}CACHE"] = "off"
