"""What recorded traces are held against, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from rightcall.errors import InputError, nearest
from rightcall.evalsets import Case, load_eval_set
from rightcall.readers import Grouping, read
from rightcall.trajectory import Trajectory
from rightcall.verdicts import CASE_ATTRIBUTE, Join


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: an eval set, or one expectation for all traces. It says the same to every process."""

    evalset: str | None = None
    expectation: tuple[bytes, str] | None = None
    """The text of an expectation, and a name for it."""
    case_globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    join: Join = "auto"
    case_attribute: str = CASE_ATTRIBUTE
    input_format: str | None = None
    grouping: Grouping = "auto"
    max_size: int | None = None
    wants_evidence: bool = False
    """Results come with all that they are made of, as JSON."""

    def cases(self) -> list[Case]:
        """The cases chosen from the eval set.

        Raises:
            DocumentError: the eval set is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        return select_cases(load_eval_set(self.evalset).cases, self.case_globs, self.tags) if self.evalset else []

    def read(self, source: str | list[str]) -> Iterator[Trajectory]:
        """The trajectories in a file, or in files that are read as one.

        Raises:
            InputError: a file cannot be read.
        """
        return read(
            source,
            input_format=self.input_format,
            grouping=self.grouping,
            max_size=self.max_size,
            metadata_attributes=(self.case_attribute,),
        )


def select_cases(cases: Sequence[Case], globs: Sequence[str], tags: Sequence[str]) -> list[Case]:
    """The cases whose id matches one of the globs, and that have one of the tags, where any are given.

    Raises:
        InputError: there is no such case.
    """
    chosen = [
        case
        for case in cases
        if (not globs or any(fnmatchcase(case.id, glob) for glob in globs)) and (not tags or set(tags) & set(case.tags))
    ]
    if not chosen:
        wanted = ", ".join((*globs, *tags))
        raise InputError(f"no case matches {wanted}; {nearest(wanted, [case.id for case in cases[:50]])}")
    return chosen
