"""Numbers and sizes as people write them on a command line."""

from __future__ import annotations

from typing import Any

import click

from rightcall.errors import InputError


class Size(click.ParamType[int]):
    """A number of bytes such as `1000000`, `500MB` or `2G`; the units are powers of 1024."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raises `click.BadParameter`."""
        from rightcall.running.project import bytes_of

        try:
            return bytes_of(value)
        except InputError as problem:
            self.fail(str(problem), param, ctx)


class Number(click.ParamType[Any]):
    """A number between two bounds, both allowed unless `above`. `nan` is between none: no limit would be reached.

    click's own ranges are written as `INTEGER RANGE` and `x>=1` in the help.
    """

    name = "X"
    kind: type[int | float] = float
    noun = "a number"

    def __init__(self, least: float, most: float | None = None, *, above: bool = False) -> None:
        self.least, self.most, self.above = least, most, above

    @property
    def wanted(self) -> str:
        """Which numbers are right, in words: `a number from 0 to 1`."""
        if self.most is not None:
            return f"{self.noun} from {self.least} to {self.most}"
        return f"{self.noun} {'above' if self.above else 'of at least'} {self.least}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises `click.BadParameter`."""
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r:.40} is not {self.wanted}.", param, ctx)
        is_enough = number > self.least if self.above else number >= self.least
        if not is_enough or (self.most is not None and number > self.most):
            self.fail(f"{value!s:.40} is not {self.wanted}.", param, ctx)
        return number


class Whole(Number):
    """A whole number between two bounds."""

    name = "N"
    kind = int
    noun = "a whole number"
