"""The pytest hooks. They import the rest of Rightcall only if a session uses its eval sets or assertions."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rightcall.running.tracing import Captured

    from ._session_results import AgentPool, SessionResults

_SUFFIXES = (".yaml", ".yml", ".json")
_MARK = "evalset"
_FIXTURE = "captured_calls"
_ATTRIBUTE = "rightcall_records"
"""The attribute of a test report with its results, as plain data that pytest-xdist can send from its workers."""

result_records: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
"""The records of the results of a test."""


class Plugin:
    """The hooks of one pytest session."""

    def __init__(self, config: pytest.Config) -> None:
        for glob in config.getini("rightcall_evalsets"):
            if Path(glob).is_absolute():
                raise pytest.UsageError(f"rightcall_evalsets: {glob}: globs are relative to the root folder")
        self._config = config
        self._began = monotonic()
        self._listed: set[Path] | None = None
        self._agents: AgentPool | None = None
        self._records: SessionResults | None = None

    @property
    def agents(self) -> AgentPool:
        """The agents of this process."""
        if self._agents is None:
            from ._session_results import AgentPool

            self._agents = AgentPool(self._config)
        return self._agents

    @pytest.fixture
    def captured_calls(self) -> Iterator[Captured]:
        """Capture the calls that are made while the test runs, as `rightcall.capture()` does."""
        from rightcall.running.tracing import capture

        with capture() as captured:
            yield captured

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect an eval set if it is named on the command line or listed in the configuration."""
        if file_path.suffix not in _SUFFIXES:
            return None
        if not parent.session.isinitpath(file_path) and not self._is_listed(file_path):
            return None
        from ._case_tests import EvalSetFile

        return EvalSetFile.from_parent(parent, path=file_path)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test with the mark `evalset` once for each case."""
        if any(metafunc.definition.iter_markers(_MARK)):
            from ._case_tests import parametrize

            parametrize(metafunc, self._config)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record the results of a test with the mark `evalset`, and capture calls in any event loop."""
        is_marked = item.get_closest_marker(_MARK) is not None
        if not is_marked and _FIXTURE not in getattr(item, "fixturenames", ()):
            return (yield)
        from ._case_tests import capture_in_event_loop, record_results

        with capture_in_event_loop(item, _FIXTURE), record_results(item) if is_marked else nullcontext():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach results to the report of a test, and shorten its message."""
        report = yield
        if call.when == "call" and (records := item.stash.get(result_records, None)):
            setattr(report, _ATTRIBUTE, list(records))  # pytest-xdist serializes the attributes of a report
            records.clear()
        # Our exceptions can only occur if this module is imported; importing it for every failing test would be slow.
        if call.excinfo is not None and "rightcall.testing.assertions" in sys.modules:
            from ._case_tests import shorten

            shorten(report, call.excinfo.value)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep results as they arrive, in the controller: under pytest-xdist only it sees all of them."""
        records = getattr(report, _ATTRIBUTE, ())
        if records and not hasattr(self._config, "workerinput"):
            if self._records is None:
                from ._session_results import SessionResults

                self._records = SessionResults(self._config)
            self._records.add(records)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Explain `==` between trajectories."""
        if op != "==" or "rightcall.values.trajectory" not in sys.modules:
            return None
        from ._case_tests import explain_comparison

        return explain_comparison(left, right)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Close the runs and write the reports."""
        self.pytest_unconfigure()
        if self._records is not None:
            is_complete = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
            self._records.finish(monotonic() - self._began, is_complete=is_complete)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print totals, runs and reports."""
        reports = self._config.getoption("rightcall_report")
        if self._records is not None:
            for line, style in self._records.summary_lines():
                terminalreporter.write_line(line, **style)
        elif reports and not hasattr(self._config, "workerinput"):
            terminalreporter.write_line(f"rightcall: no results, so no report: {', '.join(reports)}", yellow=True)

    def pytest_unconfigure(self) -> None:
        """End the agents' processes."""
        agents, self._agents = self._agents, None
        if agents is not None:
            agents.close()

    def _is_listed(self, path: Path) -> bool:
        if self._listed is None:
            root, globs = self._config.rootpath, self._config.getini("rightcall_evalsets")
            self._listed = {found.resolve() for glob in globs for found in root.glob(glob)}
        return bool(self._listed) and path.resolve() in self._listed
