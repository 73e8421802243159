"""Cases as tests: eval sets collected as files, and tests with the mark `evalset`."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rightcall.cases.evalsets import Case, EvalSet, select_cases
from rightcall.cases.extensions import load_eval_set_with_code
from rightcall.errors import RightcallError
from rightcall.reporting.reports import printable
from rightcall.running.tracing import Captured
from rightcall.testing.assertions import listen_to_results, problem_of
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult, Source

from ._entry import NAME
from ._failures import failure_representation
from ._plugin import result_records
from ._session_results import record_of

if TYPE_CHECKING:
    import pytest

    from rightcall.cases.evalsets import Case

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
        return failure_representation(problem, place)


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
        self.stash.setdefault(result_records, []).append(record)
        self._tell(result)
        problem = problem_of(self.case, result)
        if problem is not None:
            raise problem

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What went wrong, without a traceback: none of its lines would be the user's."""
        if isinstance(excinfo.value, (RightcallError, AssertionError)):
            return failure_representation(excinfo.value, self.case.source)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Where the case is written."""
        return self.path, self.case.source.line - 1, self.name

    def _tell(self, result: CaseResult) -> None:
        self.user_properties += properties(result)
        if result.outcome is not None and result.outcome.stdout:
            self.add_report_section("call", "stdout", redacted_text(printable(result.outcome.stdout)))


_CASE = "case"
_MARK = "evalset"
_eval_sets: pytest.StashKey[dict[str, EvalSet]] = pytest.StashKey()


def parametrize(metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Have a test with the mark be run with `case` for each case of the eval sets it names.

    Raises:
        pytest.Collector.CollectError: the mark is wrong, or an eval set is.
    """
    definition = metafunc.definition
    if _CASE not in metafunc.fixturenames:
        if any(mark.name == _MARK for mark in definition.own_markers):
            raise pytest.Collector.CollectError(
                f"{definition.nodeid}: the mark `evalset` gives a test a `case`, and it takes no argument of that name"
            )
        return  # the mark of a class or a module counts for those of its tests that take a case
    cases = [case for mark in definition.iter_markers(_MARK) for case in _cases(mark, definition.path, config)]
    given = [pytest.param(case, id=shown_id(case), marks=tuple(marks_of(case, config))) for case in cases]
    metafunc.parametrize(_CASE, given)


@contextmanager
def record_results(item: pytest.Item) -> Iterator[None]:
    """Keep what is found out about the case of a test while it runs."""
    case = _case_of(item)

    def note(judged: Case, result: CaseResult) -> None:
        if judged is case:
            record = record_of(judged, result, judged.source.file, _agent_of(item), None)
            item.stash.setdefault(result_records, []).append(record)
            item.user_properties += properties(result)

    with listen_to_results(note):
        yield


@contextmanager
def capture_in_event_loop(item: Any, fixture: str) -> Iterator[None]:
    """Have the capture of a test that is a coroutine follow it into its event loop, which may be older than it."""
    captured = item.funcargs.get(fixture) if hasattr(item, "funcargs") else None
    if not isinstance(captured, Captured) or not inspect.iscoroutinefunction(item.obj):
        yield
        return
    test = item.obj

    @functools.wraps(test)
    async def followed(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with captured.here():
            return await test(*args, **kwargs)

    item.obj = followed
    try:
        yield
    finally:
        item.obj = test


def _cases(mark: pytest.Mark, file: Path, config: pytest.Config) -> list[Case]:
    named = [name for name in mark.kwargs if name not in ("cases", "tags")]
    if not mark.args or named:
        raise pytest.Collector.CollectError(
            f"{file.name}: the mark is evalset(path, cases=[…], tags=[…])" + (f", without {named[0]}" if named else "")
        )
    try:
        found = [case for path in mark.args for case in _loaded(_found(str(path), file, config), config).cases]
        return select_cases(found, _listed(mark.kwargs.get("cases")), _listed(mark.kwargs.get("tags")))
    except RightcallError as problem:
        raise pytest.Collector.CollectError(str(problem)) from None


def load_trusted(path: str, config: pytest.Config) -> EvalSet:
    """An eval set, with the evaluators that are code of the user's. Raises `RightcallError`."""
    trust = bool(config.getoption("rightcall_trust"))
    return load_eval_set_with_code(path, trust=trust, remedy="give --rightcall-trust")


def _loaded(path: str, config: pytest.Config) -> EvalSet:
    """An eval set, loaded once however many tests name it."""
    kept = config.stash.setdefault(_eval_sets, {})
    if path not in kept:
        kept[path] = load_trusted(path, config)
    return kept[path]


def _found(path: str, file: Path, config: pytest.Config) -> str:
    """The file that a mark means: beside the test's own file, or below the root folder."""
    places = [file.parent / path, config.rootpath / path]
    return os.path.relpath(next((place for place in places if place.is_file()), places[-1]))


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(each) for each in value or ()]


def _case_of(item: pytest.Item) -> Any:
    return getattr(getattr(item, "callspec", None), "params", {}).get(_CASE)


def _agent_of(item: pytest.Item) -> str:
    """The test as the agent of a run: its name, with what else it is run with beside the case."""
    name, _, _ = item.nodeid.partition("[")
    params = getattr(getattr(item, "callspec", None), "params", {})
    others = [f"{key}={value!r:.40}" for key, value in params.items() if key != _CASE]
    return f"{name}[{', '.join(others)}]" if others else name


_MARK_NAME = re.compile(r"[A-Za-z][\w.-]*")
_PYTESTS_OWN = frozenset({"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Marks by which pytest decides whether a test counts. A tag is data, and decides nothing."""


def shown_id(case: Case) -> str:
    """The id of a case as part of the name of a test, harmless and on one line."""
    return printable(case.id, one_line=True)


def marks_of(case: Case, config: pytest.Config) -> Iterator[pytest.MarkDecorator]:
    """The tags of a case as marks, for `-m`, as far as they can be: others are keywords only."""
    import pytest

    for tag in case.tags:
        if _MARK_NAME.fullmatch(tag) and tag not in _PYTESTS_OWN:
            known = [line.split(":")[0] for line in config.getini("markers")]
            if tag not in known and not any(line.startswith(f"{tag}(") for line in known):
                config.addinivalue_line("markers", f"{tag}: a tag of an eval set")
            yield getattr(pytest.mark, tag)


def properties(result: CaseResult) -> list[tuple[str, object]]:
    """What JUnit files keep of a result, as properties of the test."""
    kept: list[tuple[str, object]] = [("rightcall.case", printable(result.case_id, one_line=True))]
    kept.append(("rightcall.verdict", result.verdict))
    if result.score is not None:
        kept.append(("rightcall.score", _rounded(result.score)))
    kept += [
        (f"rightcall.score.{one.evaluator}", _rounded(one.score)) for one in result.results if one.score is not None
    ]
    if result.trajectory is not None:
        kept.append(("rightcall.calls", len(result.trajectory.calls)))
    codes = sorted({placed.finding.code for placed in result.findings})
    return [*kept, ("rightcall.codes", " ".join(codes))] if codes else kept


def _rounded(score: float) -> float:
    return round(score, 4)
