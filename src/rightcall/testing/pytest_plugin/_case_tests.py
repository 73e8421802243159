"""Cases as tests: eval sets collected as files, tests with the mark `evalset`, and the display of failures."""

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
from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from rightcall.cases.evalsets import Case, EvalSet, askable_cases, load_eval_set_with_code, select_cases
from rightcall.errors import CheckFailedError, NotMeasuredError, RightcallError
from rightcall.reporting.reports import printable
from rightcall.running.tracing import Captured
from rightcall.testing.assertions import listen_to_results, problem_of
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult, Source
from rightcall.values.trajectory import ToolCall, Trajectory

from . import NAME
from ._plugin import result_records
from ._session_results import record_of

if TYPE_CHECKING:
    import pytest

    from rightcall.cases.evalsets import Case

    from ._plugin import Plugin


_ADK_SETTINGS = "test_config.json"
"""ADK's settings file. It is in the folder of the eval sets, so globs for them match it, too."""
_MARGIN = "E   "
_NAME = "rightcall: "
"""Shown instead of the names of Rightcall's exceptions."""


class EvalSetFile(pytest.File):
    """An eval set. A mistake in it is a collection error with its line and column."""

    def collect(self) -> Iterable[CaseItem]:
        """Yield a test for each case, in the order of the file."""
        if self.path.name == _ADK_SETTINGS:
            return
        try:
            eval_set = load_trusted(os.path.relpath(self.path), self.config)
        except RightcallError as problem:
            raise self.CollectError(problem) from None
        for case in askable_cases(eval_set.cases):
            yield CaseItem.from_parent(self, name=shown_id(case), case=case, eval_set=eval_set)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Return the mistake in the file, with its position."""
        problem = excinfo.value.args[0] if isinstance(excinfo.value, self.CollectError) else None
        if not isinstance(problem, RightcallError):
            return super().repr_failure(excinfo)
        place = Source(os.path.relpath(self.path), getattr(problem, "line", 1), getattr(problem, "column", 1))
        return failure_representation(problem, place)


class CaseItem(pytest.Item):
    """A test of one case. The agent runs in another process; the case is judged in this one."""

    def __init__(self, *, case: Case, eval_set: EvalSet, **others: Any) -> None:
        super().__init__(**others)
        self.case = case
        self.eval_set = eval_set
        self.extra_keyword_matches.update(case.tags)
        for mark in marks_of(case, self.config):
            self.add_marker(mark)

    def runtest(self) -> None:
        """Run and judge the case. Raises `CheckFailedError`, or a `RightcallError` such as `NotMeasuredError`."""
        plugin: Plugin = self.config.pluginmanager.get_plugin(NAME)  # type: ignore[assignment]
        result = plugin.agents.run(self.eval_set, self.case)
        agent = plugin.agents.choose(self.eval_set)
        record = record_of(self.case, result, self.eval_set.path, agent.name, agent.digest)
        self.stash.setdefault(result_records, []).append(record)
        self._add_to_report(result)
        problem = problem_of(self.case, result)
        if problem is not None:
            raise problem

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the problem without a traceback, which would have no line of the user's code."""
        if isinstance(excinfo.value, (RightcallError, AssertionError)):
            return failure_representation(excinfo.value, self.case.source)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Return the file and line of the case, and its name."""
        return self.path, self.case.source.line - 1, self.name

    def _add_to_report(self, result: CaseResult) -> None:
        self.user_properties += properties(result)
        if result.outcome is not None and result.outcome.stdout:
            self.add_report_section("call", "stdout", redacted_text(printable(result.outcome.stdout)))
        if result.outcome is not None and result.outcome.stderr:
            self.add_report_section("call", "stderr", redacted_text(printable(result.outcome.stderr)))


_CASE = "case"
_MARK = "evalset"
_eval_sets: pytest.StashKey[dict[str, EvalSet]] = pytest.StashKey()


def parametrize(metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Parametrize a test with the mark `evalset`: its argument `case` is each case of the named eval sets.

    Raises:
        pytest.Collector.CollectError: the mark or an eval set has a mistake.
    """
    definition = metafunc.definition
    if _CASE not in metafunc.fixturenames:
        if any(mark.name == _MARK for mark in definition.own_markers):
            raise pytest.Collector.CollectError(
                f"{definition.nodeid}: the mark `evalset` passes `case` to a test, and this one has no such argument"
            )
        return  # the mark of a class or a module applies only to tests with an argument `case`
    cases = [case for mark in definition.iter_markers(_MARK) for case in _cases(mark, definition.path, config)]
    given = [pytest.param(case, id=shown_id(case), marks=tuple(marks_of(case, config))) for case in cases]
    metafunc.parametrize(_CASE, given)


@contextmanager
def record_results(item: pytest.Item) -> Iterator[None]:
    """Record the results of assertions about the case of a test while it runs."""
    case = getattr(getattr(item, "callspec", None), "params", {}).get(_CASE)

    def note(judged: Case, result: CaseResult) -> None:
        if judged is case:
            record = record_of(judged, result, judged.source.file, _agent_of(item), None)
            item.stash.setdefault(result_records, []).append(record)
            item.user_properties += properties(result)

    with listen_to_results(note):
        yield


@contextmanager
def capture_in_event_loop(item: Any, fixture: str) -> Iterator[None]:
    """Capture calls in the event loop of an async test as well."""
    captured = item.funcargs.get(fixture) if hasattr(item, "funcargs") else None
    if not isinstance(captured, Captured) or not inspect.iscoroutinefunction(item.obj):
        yield
        return
    # pytest-asyncio and anyio may run the test in an event loop that is older than the fixture, with a context that
    # does not have the capture, so the capture is entered again inside the test.
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
        return select_cases(askable_cases(found), _listed(mark.kwargs.get("cases")), _listed(mark.kwargs.get("tags")))
    except RightcallError as problem:
        raise pytest.Collector.CollectError(str(problem)) from None


def load_trusted(path: str, config: pytest.Config) -> EvalSet:
    """Load an eval set with its custom evaluators. Raises `RightcallError`."""
    trust = bool(config.getoption("rightcall_trust"))
    return load_eval_set_with_code(path, trust=trust, remedy="give --rightcall-trust")


def _loaded(path: str, config: pytest.Config) -> EvalSet:
    """Return an eval set, which is loaded only once, even if several tests name it."""
    kept = config.stash.setdefault(_eval_sets, {})
    if path not in kept:
        kept[path] = load_trusted(path, config)
    return kept[path]


def _found(path: str, file: Path, config: pytest.Config) -> str:
    """Return the file that a mark names, relative to the folder of the test or to the root folder."""
    places = [file.parent / path, config.rootpath / path]
    return os.path.relpath(next((place for place in places if place.is_file()), places[-1]))


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(each) for each in value or ()]


def _agent_of(item: pytest.Item) -> str:
    """Return the name to store as the agent of a run: the id of the test, and its parameters other than the case."""
    name, _, _ = item.nodeid.partition("[")
    params = getattr(getattr(item, "callspec", None), "params", {})
    others = [f"{key}={value!r:.40}" for key, value in params.items() if key != _CASE]
    return f"{name}[{', '.join(others)}]" if others else name


_MARK_NAME = re.compile(r"[A-Za-z][\w.-]*")
# A tag `skip` in a file of data would otherwise turn a failing case green.
_PYTESTS_OWN = frozenset({"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Marks that control whether pytest runs or counts a test. Tags are data and must not do that."""


def shown_id(case: Case) -> str:
    """Return the id of a case for the name of a test, without control characters or line breaks."""
    return printable(case.id, one_line=True)


def marks_of(case: Case, config: pytest.Config) -> Iterator[pytest.MarkDecorator]:
    """Yield the tags of a case as marks, for `-m`; for a quarantined case also a mark that allows it to fail.

    Tags that cannot be marks are keywords only, for `-k`.
    """
    import pytest

    if case.is_quarantined:
        # The case runs, and is reported as xfailed or xpassed; neither fails the session.
        yield pytest.mark.xfail(reason=printable(str(case.quarantine), one_line=True), strict=False)
    for tag in case.tags:
        if _MARK_NAME.fullmatch(tag) and tag not in _PYTESTS_OWN:
            known = [line.split(":")[0] for line in config.getini("markers")]
            if tag not in known and not any(line.startswith(f"{tag}(") for line in known):
                config.addinivalue_line("markers", f"{tag}: a tag of an eval set")
            yield getattr(pytest.mark, tag)


def properties(result: CaseResult) -> list[tuple[str, object]]:
    """Return the properties of a result that pytest writes to JUnit files."""
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


def failure_representation(problem: BaseException, source: Source) -> ExceptionChainRepr:
    """Return what pytest shows for the problem of a case: the message, and a position in the eval set."""
    text = str(problem)
    result = next(iter(getattr(problem, "results", ())), None)
    named = ""
    if isinstance(result, CaseResult):
        named = f"{printable(result.case_id, one_line=True)}: "
        source = next((placed.source for placed in result.findings), source)
    lead = _lead(problem)
    first, *others = text.splitlines() or [""]
    lines = [_MARGIN + line for line in (lead + first, *others)]
    place = ReprFileLocation(source.file, source.line, type(problem).__name__)
    crash = ReprFileLocation(source.file, source.line, lead.removeprefix(_NAME) + first.removeprefix(named))
    entry = ReprEntry(lines, None, None, place, "long")
    return ExceptionChainRepr([(ReprTraceback([entry], None, "long"), crash, None)])


def shorten(report: Any, problem: BaseException) -> None:
    """Replace the name of the exception with `rightcall:` in a report, to leave more room on each line."""
    is_ours = isinstance(problem, (CheckFailedError, NotMeasuredError))
    if not is_ours or not isinstance(report.longrepr, ExceptionChainRepr):
        return
    lead = _lead(problem)
    name = f"{type(problem).__module__}.{type(problem).__qualname__}: "
    for traceback, crash, _ in report.longrepr.chain:
        if crash is not None:
            crash.message = crash.message.replace(name, lead, 1).partition("\n")[0]
        for entry in traceback.reprentries:
            entry.lines = [_shorter(line, name, lead) for line in entry.lines]


def explain_comparison(left: object, right: object) -> list[str] | None:
    """Explain why two trajectories, or a trajectory and a list of calls, are not equal; None for other values."""
    if not isinstance(left, Trajectory) and not isinstance(right, Trajectory):
        return None
    paths = [_calls(left), _calls(right)]
    if None in paths:
        return None
    lines = _differing(paths[0] or (), paths[1] or ())
    if lines:
        return [lines[0], "left is actual, right is expected:", *lines[1:]]
    if isinstance(left, Trajectory) and isinstance(right, Trajectory):
        calls = dict.fromkeys([name for pair in zip(left.calls, right.calls, strict=False) for name in _unlike(*pair)])
        names = [f"calls ({', '.join(calls)})" if name == "calls" else name for name in _unlike(left, right)]
        return [f"the calls match, but the trajectories differ in other fields: {', '.join(names)}", *_HINT]
    return ["the calls match, but a trajectory is never equal to a list", *_HINT]


def _unlike(left: Any, right: Any) -> list[str]:
    """Return the fields in which two structs differ."""
    return [name for name in left.__struct_fields__ if getattr(left, name) != getattr(right, name)]


_HINT = ("compare calls with rightcall.check(trajectory, expected)",)


def _differing(made: tuple[Any, ...], expected: tuple[Any, ...]) -> list[str]:
    from rightcall.testing.assertions import check, soft

    policy = "subset" if any("args" in call.unrecorded for call in expected) else "exact"
    with soft() as block:
        check(Trajectory(calls=made), [*expected], match="exact", args=policy)
        lines = [line for problem in block.problems for line in str(problem).splitlines()]
        block.problems.clear()  # so that the block does not raise
    return lines


def _calls(value: object) -> tuple[Any, ...] | None:
    """Return the calls of a trajectory, or of a list of names, objects and `ToolCall`s."""
    if isinstance(value, Trajectory):
        return value.calls
    if isinstance(value, (list, tuple)) and all(isinstance(each, (str, dict, ToolCall)) for each in value):
        return Trajectory.of(value).calls if all(_is_plain(each) for each in value) else None
    return None


def _is_plain(item: Any) -> bool:
    return not isinstance(item, dict) or "name" in item


def _lead(problem: BaseException) -> str:
    """Return the start of a message: `rightcall:` and, if nothing was measured, the verdict."""
    if not isinstance(problem, NotMeasuredError):
        return _NAME
    verdicts = {result.verdict for result in problem.results if isinstance(result, CaseResult)}
    return f"{_NAME}{'error' if 'error' in verdicts else 'not measured'}: "


def _shorter(line: str, name: str, lead: str) -> str:
    is_first = line.startswith("E") and line[1:].lstrip().startswith(name)
    return line.replace(name, lead, 1) if is_first else line
