"""What recorded traces are held against, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from rightcall.evalsets import Case, load_eval_set, selected
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
    case_ids: frozenset[str] | None = None
    """Only these of the cases chosen by the two above, where not all of them are meant."""
    join: Join = "auto"
    case_attribute: str = CASE_ATTRIBUTE
    input_format: str | None = None
    grouping: Grouping = "auto"
    max_size: int | None = None
    wants_evidence: Literal["", "bad", "all"] = ""
    """Which results come with all that they are made of, as JSON: none, those that did not pass, or all."""

    def cases(self) -> list[Case]:
        """The cases chosen from the eval set.

        Raises:
            DocumentError: the eval set is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        chosen = selected(load_eval_set(self.evalset).cases, self.case_globs, self.tags) if self.evalset else []
        return chosen if self.case_ids is None else [case for case in chosen if case.id in self.case_ids]

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
