"""The options of a run in words, and none that are as usual."""

from itertools import product
from typing import Any

import pytest
from tests.walls import for_each

from rightcall.reporting.store import Header

USUAL: dict[str, Any] = {
    "cases": [],
    "tags": [],
    "workers": None,
    "concurrency": None,
    "timeout": None,
    "max_memory": None,
    "repeat": 1,
    "min_repeat_pass": None,
    "min_pass": None,
    "fail_fast": False,
    "record": False,
    "replay": False,
    "spans": True,
    "redact": None,
}


def told(**options: Any) -> list[tuple[str, str]]:
    """What a header says of options, beside versions."""
    header = Header(
        id="8f2c11",
        started="2026-11-16T03:00:00+00:00",
        rightcall="0.1.0",
        python="3.11",
        platform="Linux",
        agent="agent.py",
        evalset="shop.yaml",
        evalset_hash="x",
        options=options,
    )
    return [(name, value) for name, value in header.known() if name not in ("Rightcall", "Python", "platform")]


def test_options_that_are_as_usual_are_not_told() -> None:
    assert told(**USUAL) == []
    assert told(min_pass=1.0) == []


@pytest.mark.parametrize(
    ("option", "value", "name", "words"),
    [
        ("cases", ["refund_*", "gift"], "only cases", "refund_*, gift"),
        ("tags", ["smoke"], "only tags", "smoke"),
        ("workers", 4, "workers", "4"),
        ("concurrency", 8, "concurrency", "8"),
        ("timeout", 30.0, "a case may take", "30 s"),
        ("timeout", 0.5, "a case may take", "0.5 s"),
        ("max_memory", 500 * 2**20, "memory of a worker", "at most 500 MB"),
        ("max_memory", 3 * 2**30, "memory of a worker", "at most 3,072 MB"),
        ("repeat", 5, "repeats", "5"),
        ("min_repeat_pass", 3, "repeats that must pass", "3"),
        ("min_pass", 0.9, "must pass", "90 % of the cases"),
        ("min_pass", 0.999, "must pass", "99.9 % of the cases"),
        ("fail_fast", True, "stops", "at the first case that does not pass"),
        ("record", True, "tools", "real, and what they answer is recorded"),
        ("replay", True, "tools", "answer what was recorded"),
        ("spans", False, "spans", "not kept"),
        ("redact", True, "secrets", "left out of what is kept"),
        ("redact", False, "secrets", "shown as they are"),
        ("pytest", True, "run by", "pytest"),
    ],
)
def test_an_option_that_is_not_as_usual_is_told_in_words(option: str, value: Any, name: str, words: str) -> None:
    assert told(**{**USUAL, option: value}) == [(name, words)]


def test_an_option_that_is_not_known_is_told_by_its_name() -> None:
    assert told(other_one=["a"], loud=True, quiet=False) == [("other one", '["a"]'), ("loud", "true")]


def test_very_many_cases_are_cut_short() -> None:
    [(_, words)] = told(cases=[f"case_{number}" for number in range(1_000)])

    assert words.startswith("case_0, case_1, ")
    assert words.endswith("…")
    assert len(words) == 80


@for_each(
    ("option", "value"), list(product(USUAL, [10**400, -1, 1e308, float("nan"), "x", [1], [None], {"a": 1}, 7.5]))
)
def test_a_value_that_nobody_can_have_given_does_no_harm(option: str, value: Any) -> None:
    [(name, words)] = told(**{option: value})

    assert name
    assert 0 < len(words) <= 90
