"""Whatever a test of this folder reads is what it read before: see `kept_reads.py`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests import snapshots
from tests.reading import kept_reads
from tests.sampling import SEED

KEPT = snapshots.kept(kept_reads.FILE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compare what a test reads with what it read when its line was written, or write the line."""
    name, file = kept_reads.name_of(item), os.environ.get(kept_reads.WRITTEN_TO)
    if SEED or not name or (file is None and name not in KEPT):
        return (yield)
    with kept_reads.noted() as read:
        made = yield
    found = kept_reads.line_of(read)
    if file is None:
        told = f"it reads something else than before\n  was {KEPT[name]}\n  is  {found}\n{kept_reads.ADVICE}"
        assert found == KEPT[name], told
    elif read:
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(f"{name}\t{found}\n")
    return made
