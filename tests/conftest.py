"""What all tests have in common: the summary says which engines were tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.engines import PACKAGES, lacking

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say which engines the tests that passed were run on; nothing where none of them was asked for."""
    asked = {name for kind in terminalreporter.stats for name in _told(terminalreporter, kind, "asked")}
    tried = sorted(_told(terminalreporter, "passed", "engine"))
    if not asked:
        return
    terminalreporter.write_line(f"engines tried: {', '.join(['local', *tried])}")
    for engine in sorted(asked & set(PACKAGES)):
        if reason := lacking(engine):
            terminalreporter.write_line(f"{engine} not tried: {reason}")


def _told(terminalreporter: TerminalReporter, kind: str, key: str) -> set[str]:
    reports = terminalreporter.stats.get(kind, [])
    return {str(value) for report in reports for name, value in getattr(report, "user_properties", ()) if name == key}
