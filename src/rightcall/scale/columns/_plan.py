"""What rows are held against, so that it can be sent to other processes and machines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from rightcall.cases.evalsets import (
    Case,
    EvalSet,
    OverallCheck,
    convert_eval_set,
    load_eval_set,
    load_expectation,
    parse_eval_set,
    select_cases,
)
from rightcall.cases.extensions import CodeFinder
from rightcall.cases.verdicts import CaseFinder, Join
from rightcall.errors import ConfigurationError, InputError
from rightcall.running.project import TrustedProject
from rightcall.values.decoding import dump_json

from ._scopes import CaseScope


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An eval set, or one expectation for all rows, as text: it says the same wherever it is sent.

    Frozen, hashable, and pickled as its fields alone. Evaluators of the user's own are no text: they are imported from
    `folder`, which has to be there wherever rows are scored.
    """

    text: bytes
    """An eval set in the native format, or the YAML or JSON of an `expect`."""
    name: str
    """The file that it comes from, for messages."""
    is_eval_set: bool = False
    folder: str = ""
    """Where the eval set lies, from where it names code."""
    case_globs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    case_ids: frozenset[str] | None = None
    """Only these of the cases chosen by the two above, where not all of them are meant."""
    join: Join = "auto"
    trust: bool = False
    """Whether code may be imported that lies outside of `home`."""
    home: TrustedProject | None = None
    """Where code may be imported from; the project of the eval set by default."""

    @classmethod
    def of_eval_set(cls, path: str | Path, **options: Any) -> Plan:
        """The plan of an eval set in any format. `options` are `case_globs`, `tags`, `case_ids`, `join`, `trust`
        and `home`.

        Raises:
            ConfigurationError: rows have no order to be joined by.
            DocumentError: the eval set is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        if options.get("join") == "order":
            raise ConfigurationError("rows of tables are in no order, and are joined to cases by case_id or trace_id")
        folder = str(Path(path).resolve().parent)
        text = Path(path).read_bytes() if load_eval_set(path).format == "native" else convert_eval_set(path).encode()
        plan = cls(text=text, name=str(path), is_eval_set=True, folder=folder, **options)
        plan.cases  # noqa: B018 - what is wrong is told now
        return plan

    @classmethod
    def of_expectation(
        cls, expected: str | bytes | Mapping[str, Any], name: str = "expectation", *, trust: bool = False
    ) -> Plan:
        """The plan of one expectation for all rows: the YAML of an `expect`, or the same as an object.

        Raises:
            DocumentError: the expectation is wrong.
        """
        text = expected if isinstance(expected, (str, bytes)) else dump_json(dict(expected))
        plan = cls(
            text=text.encode() if isinstance(text, str) else text, name=name, folder=str(Path.cwd()), trust=trust
        )
        plan.cases  # noqa: B018 - as above
        return plan

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases; of an expectation for all rows, the one case that all of them belong to."""
        finder = CodeFinder(Path(self.folder, Path(self.name).name), self.trust, home=self.home)
        if not self.is_eval_set:
            return (load_expectation(self.text, self.name, find_code=finder)(""),)
        chosen = select_cases(self._eval_set.cases, self.case_globs, self.tags)
        if self.case_ids is not None:
            chosen = [case for case in chosen if case.id in self.case_ids]
        if not chosen:
            raise InputError(f"{self.name}: no case is chosen")
        return tuple(chosen)

    @cached_property
    def overall(self) -> tuple[OverallCheck, ...]:
        """What the eval set asks of all cases together."""
        return self._eval_set.overall if self.is_eval_set else ()

    @cached_property
    def _eval_set(self) -> EvalSet:
        finder = CodeFinder(Path(self.folder, Path(self.name).name), self.trust, home=self.home)
        return parse_eval_set(self.text, self.name, find_code=finder)

    @cached_property
    def scopes(self) -> tuple[CaseScope, ...]:
        """What is looked at for each case."""
        return tuple([CaseScope.of(case) for case in self.cases])

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are looked at, for whatever case; `None` where that may be all of them."""
        seen = [scope.fields for scope in self.scopes]
        known = [fields for fields in seen if fields is not None]
        return frozenset().union(*known) if len(known) == len(seen) else None

    def joining(self) -> CaseFinder | None:
        """By what rows are joined to cases; none where there is one case for all."""
        return CaseFinder(self.cases, self.join) if self.is_eval_set else None
