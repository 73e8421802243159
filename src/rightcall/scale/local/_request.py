"""What recorded traces are held against, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from rightcall.cases.evalsets import Case, OverallCheck, load_expectation, select_cases
from rightcall.cases.extensions import CodeFinder, load_eval_set_with_code
from rightcall.cases.verdicts import CASE_ATTRIBUTE, Join
from rightcall.errors import InputError
from rightcall.reading import Grouping, check_not_server, read
from rightcall.running.project import TrustedProject
from rightcall.values.trajectory import Trajectory

from ._tables import is_elsewhere, table_trajectories


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
    trust: bool = False
    """Whether evaluators of the user's own may lie outside of `home`."""
    home: TrustedProject | None = None
    """Where they may be imported from; the project of the eval set by default."""
    wants_evidence: Literal["", "bad", "all"] = ""
    """Which results come with all that they are made of, as JSON: none, those that did not pass, or all."""

    def cases(self) -> list[Case]:
        """The cases chosen from the eval set.

        Raises:
            DocumentError: the eval set is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        return self.load()[0]

    def load(self) -> tuple[list[Case], tuple[OverallCheck, ...]]:
        """The cases chosen from the eval set, and what it asks of all together. Raises as `cases` does."""
        if self.evalset is None:
            return [], ()
        eval_set = load_eval_set_with_code(self.evalset, trust=self.trust, home=self.home)
        chosen = select_cases(eval_set.cases, self.case_globs, self.tags)
        if self.case_ids is not None:
            chosen = [case for case in chosen if case.id in self.case_ids]
        return chosen, eval_set.overall

    def expected(self) -> Case | None:
        """The one case that all traces belong to, if there is an expectation for all of them.

        Raises:
            DocumentError: the expectation is wrong.
        """
        if self.expectation is None:
            return None
        finder = CodeFinder(Path.cwd() / "expectation", self.trust)
        return load_expectation(*self.expectation, find_code=finder)("")

    def read(self, source: str | list[str]) -> Iterator[Trajectory]:
        """The trajectories in a file, or in files that are read as one.

        Raises:
            InputError: a file cannot be read.
        """
        if isinstance(source, str):
            check_not_server(source)
        if isinstance(source, str) and is_elsewhere(source):
            raise InputError(f"{source}: what lies in an object store is scored with --out")
        if isinstance(source, str) and self.input_format is None:
            is_named = self.expectation is not None
            found = table_trajectories(
                source, self.grouping, self.case_attribute, is_named=is_named, max_size=self.max_size
            )
            if found is not None:
                return found
        return read(
            source,
            input_format=self.input_format,
            grouping=self.grouping,
            max_size=self.max_size,
            metadata_attributes=(self.case_attribute,),
        )
