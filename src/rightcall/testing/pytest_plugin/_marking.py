"""Tests of the user's own that are run once for each case of an eval set."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rightcall.cases.evalsets import Case, EvalSet, select_cases
from rightcall.cases.extensions import load_eval_set_with_code
from rightcall.errors import RightcallError
from rightcall.running.tracing import Captured
from rightcall.testing.assertions import listening
from rightcall.values.results import CaseResult

from ._names import marks_of, properties, shown_id
from ._plugin import collected
from ._records import record_of

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
def noting(item: pytest.Item) -> Iterator[None]:
    """Keep what is found out about the case of a test while it runs."""
    case = _case_of(item)

    def note(judged: Case, result: CaseResult) -> None:
        if judged is case:
            record = record_of(judged, result, judged.source.file, _agent_of(item), None)
            item.stash.setdefault(collected, []).append(record)
            item.user_properties += properties(result)

    with listening(note):
        yield


@contextmanager
def following(item: Any, fixture: str) -> Iterator[None]:
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
