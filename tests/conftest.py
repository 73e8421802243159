"""What all tests share: a profile of Hypothesis, an order, and a summary that says which engines were tried."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests import order
from tests.engines import PACKAGES, lacking
from tests.sampling import load_profile

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

load_profile()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in all that a script starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what tests start has to hear an interrupt
gc.disable()  # until all tests are collected: what is made for them stays, and to look for garbage took an eighth of it


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """With `pytest -n`, compile the files of a fresh checkout together, not every file in every process."""
    if session.config.args == session.config.getini("testpaths"):
        order.import_share(getattr(session.config, "workerinput", None))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long."""
    items[:] = order.in_order(items)


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what lives as long as the tests do: to visit it took a tenth of their time."""
    gc.freeze()
    gc.enable()
    # Let go of it in the end: extension modules count what is left of theirs, and print it. In the very end, since
    # pytest collects garbage twice when all tests are done.
    atexit.register(gc.unfreeze)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With `--dist loadfile`, keep what shares an engine or a browser together, too."""
    return order.scheduler(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_runtest_setup() -> None:
    """Begin no test when the time that `make fuzz` has is over."""
    if time.time() > float(os.environ.get("FUZZ_UNTIL", "inf")):
        pytest.skip("the time to search is over")


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
