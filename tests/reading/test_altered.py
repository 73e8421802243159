"""What is read of a log with one value missing or wrong is what was read of it when somebody last looked.

Other tests say what may not happen to such a log: a crash, or a call that is lost without a word. Here everything that
is read counts. Where that changes on purpose, `python -m tests.reading.altered` shows what is different, and keeps it.
"""

from __future__ import annotations

from tests.reading.altered import altered, kept, told_of


def test_logs_with_an_altered_value_are_read_as_they_were() -> None:
    before, now = kept(), {name: told_of(data) for name, data in altered()}

    assert list(now) == list(before)
    assert [name for name, told in now.items() if told != before[name]] == []
