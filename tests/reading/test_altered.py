"""What is read of a log or trace with something missing or wrong is what was read of it when somebody last looked.

Other tests say what may not happen to such a document: a crash, or a call that is lost without a word. Here everything
that is read counts. Where that changes on purpose, `python -m tests.reading.altered` shows what is different, and keeps
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from tests.reading.altered import ALTERED, kept, told_of

before = cache(kept)


@pytest.mark.parametrize("kind", ALTERED, ids=lambda kind: kind.__name__)
def test_documents_are_read_as_they_were(kind: Callable[[], Iterator[tuple[str, bytes]]]) -> None:
    assert [name for name, data in kind() if told_of(data) != before()[name]] == []


def test_nothing_is_kept_of_what_is_no_longer_tried() -> None:
    assert [name for kind in ALTERED for name, _ in kind()] == list(before())
