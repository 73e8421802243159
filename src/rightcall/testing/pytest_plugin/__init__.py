"""The pytest plugin: eval sets as tests, a mark, a fixture, and the runs and reports of a session.

pytest imports this module at every start, so it has only the options, and imports only the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]

NAME = "rightcall-session"
"""The name of the plugin that does the work."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the configuration."""
    group = parser.getgroup("rightcall", "judge agents by the tools they call")
    group.addoption(
        "--rightcall-agent", metavar="AGENT", help="The agent to run, instead of the one that an eval set names."
    )
    group.addoption(
        "--rightcall-report",
        metavar="FILE",
        action="append",
        default=[],
        help="Write all results to this file: .html, .json, .xml (JUnit), .md or .txt; repeatable.",
    )
    group.addoption("--rightcall-runs", metavar="DIR", help="Where to keep runs; .rightcall/runs by default.")
    group.addoption(
        "--rightcall-replay",
        action="store_true",
        help="Answer tool calls from what `rightcall run --record` recorded, instead of running the tools.",
    )
    group.addoption(
        "--rightcall-trust",
        action="store_true",
        help="Run the agent that an eval set names even if it is outside of its project.",
    )
    parser.addini(
        "rightcall_evalsets", "Globs, relative to the root folder, of files to collect as eval sets.", "linelist"
    )
    parser.addini("rightcall_agent", "The agent to run if an eval set names none.")
    parser.addini("rightcall_runs", "Where to keep runs, relative to the root folder; 'none' keeps none.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the plugin that does the work."""
    from ._plugin import Plugin

    if (asked := config.getoption("rightcall_report")) and not hasattr(config, "workerinput"):
        from ._session_results import check_reports

        check_reports([config.invocation_params.dir / path for path in asked])
    config.addinivalue_line(
        "markers",
        "evalset(path, *, cases=(), tags=()): run the test once for each case of an eval set, passed as `case`.",
    )
    config.pluginmanager.register(Plugin(config), NAME)
