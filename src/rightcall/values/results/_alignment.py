"""Expected and actual calls side by side."""

from __future__ import annotations

from typing import Literal

import msgspec

from ._differences import Difference


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of an alignment.

    `match`: as expected. `mismatch`: the same tool, but not as expected (`differences` says where). `moved`: as
    expected, but at another place in the order. `missing`: expected, not called. `extra`: called, not expected.
    A mismatch can be `out_of_place` as well; a moved step always is.
    """

    kind: Literal["match", "mismatch", "moved", "missing", "extra"]
    name: str
    expected: int | None = None
    """Position among the expected calls, from 0."""
    actual: int | None = None
    """Position in the trajectory, from 0."""
    differences: tuple[Difference, ...] = ()
    out_of_place: bool = False


class Alignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the actual calls line up with the expected ones, step by step.

    `left_out` counts the steps that are not listed, where there are too many to read.
    """

    steps: tuple[Step, ...] = ()
    left_out: int = 0
