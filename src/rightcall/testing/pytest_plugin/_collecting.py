"""Eval sets as files of tests, and their cases as tests."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from rightcall.cases.evalsets import Case, EvalSet
from rightcall.errors import RightcallError
from rightcall.reporting.reports import printable
from rightcall.testing.assertions import problem_of
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult, Source

from ._entry import NAME
from ._marking import load_trusted
from ._names import marks_of, properties, shown_id
from ._plugin import collected
from ._records import record_of
from ._wording import representation

if TYPE_CHECKING:
    from ._plugin import Plugin


_ADK_SETTINGS = "test_config.json"
"""What ADK keeps beside eval sets, and globs name along with them."""


class EvalSetFile(pytest.File):
    """An eval set. One that is wrong is an error of the collection, with its line and column."""

    def collect(self) -> Iterable[CaseItem]:
        """A test for each case, in the order of the file."""
        if self.path.name == _ADK_SETTINGS:
            return
        try:
            eval_set = load_trusted(os.path.relpath(self.path), self.config)
        except RightcallError as problem:
            raise self.CollectError(problem) from None
        for case in eval_set.cases:
            yield CaseItem.from_parent(self, name=shown_id(case), case=case, eval_set=eval_set)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """What is wrong with the file, at its place."""
        problem = excinfo.value.args[0] if isinstance(excinfo.value, self.CollectError) else None
        if not isinstance(problem, RightcallError):
            return super().repr_failure(excinfo)
        place = Source(os.path.relpath(self.path), getattr(problem, "line", 1), getattr(problem, "column", 1))
        return representation(problem, place)


class CaseItem(pytest.Item):
    """A case: the agent is run for it in a process of its own, and judged here."""

    def __init__(self, *, case: Case, eval_set: EvalSet, **others: Any) -> None:
        super().__init__(**others)
        self.case = case
        self.eval_set = eval_set
        self.extra_keyword_matches.update(case.tags)
        for mark in marks_of(case, self.config):
            self.add_marker(mark)

    def runtest(self) -> None:
        """Run and judge the case. Raises `CheckFailedError`, `NotMeasuredError` or another `RightcallError`."""
        plugin: Plugin = self.config.pluginmanager.get_plugin(NAME)  # type: ignore[assignment]
        result = plugin.agents.run(self.eval_set, self.case)
        agent = plugin.agents.choose(self.eval_set)
        record = record_of(self.case, result, self.eval_set.path, agent.name, agent.digest)
        self.stash.setdefault(collected, []).append(record)
        self._tell(result)
        problem = problem_of(self.case, result)
        if problem is not None:
            raise problem

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What went wrong, without a traceback: none of its lines would be the user's."""
        if isinstance(excinfo.value, (RightcallError, AssertionError)):
            return representation(excinfo.value, self.case.source)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Where the case is written."""
        return self.path, self.case.source.line - 1, self.name

    def _tell(self, result: CaseResult) -> None:
        self.user_properties += properties(result)
        if result.outcome is not None and result.outcome.stdout:
            self.add_report_section("call", "stdout", redacted_text(printable(result.outcome.stdout)))
