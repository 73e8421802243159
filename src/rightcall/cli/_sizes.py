"""Sizes and numbers as people write them."""

from __future__ import annotations

import re
from typing import Any

import click

_SIZE = re.compile(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """The number of bytes of a size such as `1000000`, `500MB` or `2G`; the units are powers of 1024."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r:.40} is no size; write 1000000, 500MB or 2GB", context, option)
    return int(found[1]) * _UNITS[found[2].lower()]


class Number(click.FloatRange):
    """A number in a range. What is not a number (`nan`) lies in none: no limit made of it would ever be reached."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises `click.BadParameter`."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r:.40} is not a number.", param, ctx)
        return number
