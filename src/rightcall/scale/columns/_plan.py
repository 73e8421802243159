"""The expectations that rows are checked against, sent as text, and what of a row each of them looks at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from rightcall.cases.evalsets import (
    Case,
    Check,
    CodeFinder,
    EvalSet,
    OverallCheck,
    convert_eval_set,
    load_expectation,
    parse_eval_set,
)
from rightcall.cases.verdicts import CaseFinder, JoinRule, has_async_evaluators, join_rule
from rightcall.errors import ConfigurationError, InputError
from rightcall.judging import Criteria, Scope
from rightcall.scale.request import Choice, Request
from rightcall.values.decoding import dump_json


class CaseScope(msgspec.Struct, frozen=True):
    """What each check of a case looks at, in their order; nothing where one of them may look at anything."""

    case: Case
    parts: tuple[Scope, ...] = ()
    is_repeatable: bool = True
    """Whether a trajectory always gets the same verdict: code of the user's and judges may say other things."""
    reads_groups: bool = False
    """Whether calls of one group have no order, so that runs which have such calls are judged by themselves."""

    @classmethod
    def of(cls, case: Case) -> CaseScope:
        """What is looked at for a case."""
        found = [check.scope for check in case.checks]
        parts = tuple([part for part in found if part is not None])
        own = any([check.evaluator.fingerprint for check in case.checks])
        is_repeatable = not own and not has_async_evaluators(case)
        reads_groups = any([_reads_groups(check) for check in case.checks])
        return cls(case, parts if len(parts) == len(found) else (), is_repeatable, reads_groups)

    @property
    def names(self) -> frozenset[str]:
        """The tools that are looked at."""
        return frozenset().union(*[part.names for part in self.parts])

    @property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are looked at; `None` where that may be all of them."""
        if not self.parts:
            return None
        read = {field for part in self.parts if (field := part.reads) is not None}
        beside = (*(("error",) if "output" in read else ()), *(("group",) if self.reads_groups else ()))
        return frozenset({"name", "internal", "unrecorded", *read, *beside})


def _reads_groups(check: Check) -> bool:
    return isinstance(check.criteria, Criteria) and check.criteria.parallel == "recorded"


class Plan(Choice, frozen=True, kw_only=True, dict=True):
    """An eval set, or one expectation for all rows, as text: it says the same wherever it is sent.

    Frozen, hashable, and pickled as its fields alone. Custom evaluators are not text: they are imported from
    `folder`, which has to be there wherever rows are scored.
    """

    text: bytes
    """An eval set in the native format, or the YAML or JSON of an `expect`."""
    name: str
    """The file that it comes from, for messages."""
    is_eval_set: bool = False
    folder: str = ""
    """Where the eval set lies, from where it names code."""

    @classmethod
    def of_eval_set(cls, path: str | Path, **options: Any) -> Plan:
        """The plan of an eval set in any format. `options` are `case_globs`, `tags`, `case_ids`, `join`, `trust`
        and `home`. Raises as `of_request` does.
        """
        return cls.of_request(Request(evalset=str(path), **options))

    @classmethod
    def of_request(cls, request: Request) -> Plan:
        """The plan of what a command asks for.

        Raises:
            ConfigurationError: rows have no order to be joined by.
            DocumentError: the eval set or the expectation is wrong.
            InputError: it cannot be read, or no case is chosen.
        """
        if request.expectation is not None:
            return cls.of_expectation(*request.expectation, trust=request.trust)
        if request.join == "order":
            raise ConfigurationError("rows of tables have no fixed order; join them to cases by case_id or trace_id")
        path = Path(request.evalset or "")
        is_native = request.loaded[0].format == "native"
        plan = cls(
            text=path.read_bytes() if is_native else convert_eval_set(path).encode(),
            name=str(request.evalset),
            is_eval_set=True,
            folder=str(path.resolve().parent),
            **{field: getattr(request, field) for field in Choice.__struct_fields__},
        )
        if is_native:  # the text is what was loaded already
            plan.__dict__["_loaded"] = request.loaded
        plan.cases  # noqa: B018 - mistakes are reported now
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
        if not self.is_eval_set:
            return (load_expectation(self.text, self.name, find_code=self._finder())(""),)
        known = self._loaded[0].cases
        chosen = self.of(known) if known or self.case_globs or self.tags else []
        if not chosen and self.every is None:
            raise InputError(f"{self.name}: no cases selected")
        return tuple(chosen if self.every is None else [*chosen, self.every])

    @cached_property
    def every(self) -> Case | None:
        """What the eval set expects of every row, as the case of those that belong to no other; the last of `cases`."""
        return self._loaded[0].every if self.is_eval_set else None

    @cached_property
    def rule(self) -> JoinRule:
        """By what rows are joined to cases."""
        return join_rule(self.join)

    @cached_property
    def overall(self) -> tuple[OverallCheck, ...]:
        """What the eval set asks of all cases together."""
        return self._loaded[0].overall if self.is_eval_set else ()

    @property
    def code_files(self) -> list[Path]:
        """The files of code that the eval set names, and those beside them, which they may import."""
        return self._loaded[1].files_found() if self.is_eval_set else []

    @cached_property
    def _loaded(self) -> tuple[EvalSet, CodeFinder]:
        finder = self._finder()
        return parse_eval_set(self.text, self.name, find_code=finder), finder

    def _finder(self) -> CodeFinder:
        return CodeFinder(Path(self.folder, Path(self.name).name), self.trust, home=self.home)

    @cached_property
    def scopes(self) -> tuple[CaseScope, ...]:
        """What is looked at for each case."""
        return tuple([CaseScope.of(case) for case in self.cases])

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are looked at, for whatever case; `None` where that may be all of them."""
        if self.every is not None or any([case.when is not None for case in self.cases]):
            return None  # what a case applies to may be anything
        seen = [scope.fields for scope in self.scopes]
        known = [fields for fields in seen if fields is not None]
        return frozenset().union(*known) if len(known) == len(seen) else None

    def joining(self) -> CaseFinder | None:
        """By what rows are joined to cases; none where there is one case for all."""
        if not self.is_eval_set:
            return None
        cases = self.cases if self.every is None else self.cases[:-1]
        # Rows name their case in the column `case_id`, whatever told it.
        join = "attribute" if self.rule.kind in ("key", "file") else self.join
        return CaseFinder(cases, join, every=self.every)
