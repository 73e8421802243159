"""In which order tests are run, and which of them by the same process of `pytest -n`.

Tests of one file share what is made once a file, so they stay together. So do all that need a browser, or Spark or Ray:
there is one of each, however many processes there are. What takes long begins first, lest it be waited for in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

TOGETHER = {
    "tests/browser/": "a browser",
    "tests/scale/test_engine_guide.py": "engines",
    "tests/scale/ray/": "engines",
    "tests/scale/spark/": "engines",
}
"""How files begin that share something that is made once for all of them, and what that is."""
FIRST = (
    *TOGETHER,
    "tests/end_to_end/test_engines.py",
    "tests/end_to_end/test_run",
    "tests/testing/pytest_plugin/",
    "tests/end_to_end/",
    "tests/running/runner/",
    "tests/hostile/",
    "tests/reporting/viewer/",
    "tests/scale/",
    "tests/judging/",
    "tests/docs/",
    "tests/cases/verdicts/",
    "tests/values/redaction/",
)
"""How files begin that take long, the longest first."""


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests, those first that take long; the others, and those of a file, in the order they have."""
    return sorted(items, key=lambda item: _place(item.nodeid))


def group_of(nodeid: str) -> str:
    """What a test is kept together by."""
    file = nodeid.partition("::")[0]
    return next((group for start, group in TOGETHER.items() if file.startswith(start)), file)


def scheduler(config: pytest.Config, log: object) -> object:
    """What gives groups of tests to processes, in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # or those with the most tests would come first
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = group_of
    return scheduling


def import_share(worker: Mapping[str, object] | None, root: Path = Path(__file__).parent) -> None:
    """Import the files of tests that are this process's share. It then finds the others compiled by other processes.

    To compile all files with their assertions takes 11 s, and each process has to import each of them.
    """
    if worker is None:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(str(worker["workercount"]))
    for file in sorted(root.rglob("test_*.py"))[number::count]:
        # What is wrong with a file, or skips it, is told when its tests are collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(root.parent).with_suffix("").parts))


def _place(nodeid: str, starts: Sequence[str] = FIRST) -> int:
    return next((place for place, start in enumerate(starts) if nodeid.startswith(start)), len(starts))
