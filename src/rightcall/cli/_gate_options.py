"""Options about judging that several commands have: the gate, and which evaluators judge."""

from __future__ import annotations

from typing import Any

import click

from rightcall._lazy import lazy_pattern

from ._numbers import Number
from ._options import option, options

_ROUNDS = lazy_pattern(r"(\d{1,5})(?:\.\.(\d{1,5}))?")
_MOST = 10_000


class RoundsType(click.ParamType[tuple[int, int]]):
    """How often each case is run: `5`, or `3..10` where a gate may stop early."""

    name = "rounds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return the least and the most rounds. Raises `click.BadParameter`."""
        if isinstance(value, tuple):
            return value
        found = _ROUNDS.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r:.40} is not a number of repeats; write 5, or 3..10", param, ctx)
        least = int(found[1])
        most = int(found[2] or least)
        if not 1 <= least <= most <= _MOST:
            self.fail(
                f"{value!r:.40} is not a number from 1 to {_MOST:,}, or two such as 3..10, the smaller first.",
                param,
                ctx,
            )
        return least, most


gate_options = options(
    option(
        "Gate",
        "--rule-out",
        type=Number(0, 1),
        help="The drop that has to be ruled out for `no worse`; 0.10 by default.",
    ),
    option(
        "Gate", "--allow-drop", type=Number(0, 1), help="A drop that is tolerated even if it is certain; 0 by default."
    ),
    option("Gate", "--confidence", type=Number(0.5, 0.9999), help="1 minus the rate of false alarms; 0.95 by default."),
    option(
        "Gate",
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="Whether an inconclusive result passes with a warning (the default) or exits with 2.",
    ),
)
base_options = options(
    option(
        "Gate",
        "--gate",
        metavar="BASE",
        help="Compare with a run, a branch or a baseline file; the result is the exit code.",
    ),
    option("Gate", "--min-rate", type=Number(0, 1), help="The pass rate that has to be reached, at this confidence."),
    option("Gate", "--must", multiple=True, metavar="TAG", help="Cases with this tag must always pass; repeatable."),
)
"""What `diff` has no need of: it names both of its runs."""


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Return names that are given one by one, or several with commas between."""
    return [name.strip() for given in value for name in given.split(",") if name.strip()]


evaluator_options = options(
    option(
        "What",
        "--only",
        multiple=True,
        callback=_names,
        metavar="NAMES",
        help="Only these evaluators: order,args; by key of expect, type id, or judges.",
    ),
    option(
        "What",
        "--skip",
        "skipped",
        multiple=True,
        callback=_names,
        metavar="NAMES",
        help="Skip these evaluators; judges means all that ask a model.",
    ),
)
