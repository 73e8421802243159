"""Sizes and numbers as people write them."""

from __future__ import annotations

from typing import Any

import click

from rightcall.errors import InputError
from rightcall.running.project import bytes_of


def size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """The number of bytes of a size such as `1000000`, `500MB` or `2G`; the units are powers of 1024."""
    if value is None:
        return None
    try:
        return bytes_of(value)
    except InputError as problem:
        raise click.BadParameter(str(problem), context, option) from None


class Number(click.FloatRange):
    """A number in a range. What is not a number (`nan`) lies in none: no limit made of it would ever be reached."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises `click.BadParameter`."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r:.40} is not a number.", param, ctx)
        return number
