"""An expected output: which outputs it accepts."""

from __future__ import annotations

from typing import Any

import pytest

from rightcall import ToolCall
from rightcall.matching.matchers import OutputPattern

ROWS: list[tuple[Any, list[Any], list[Any]]] = [
    ({"a": 1}, [{"a": 1}, '{"a": 1}', "{'a': 1}", ' {"a": 1.0} '], [{"a": True}, '{"a": 2}', "a", None]),
    ('{"a": 1}', [{"a": 1}, '{"a":1}'], ['{"a": 1', {"a": 1, "b": 2}]),
    ([1, 2], [[1, 2], "[1, 2]"], ["1, 2", [2, 1], {"content": [1, 2]}]),
    ("(1, 2)", ["(1, 2)", [1, 2], "[1,2]"], ["1, 2"]),
    ("12", ["12"], [12, "12.0", "'12'"]),
    ("plain (text)", ["plain (text)"], ["plain"]),
    (None, [None], ["", 0, False, "None"]),
    (1, [1, 1.0], [True, "1"]),
    (True, [True], [1, "true"]),
    ({"content": "[1]"}, [{"content": "[1]"}, "[1]", [1]], ["1", {"content": [2]}]),
    ({"content": 5, "other": 1}, [{"content": 5, "other": 1}, 5], [{"content": 5}, "5"]),
    ({"$regex": r'^\{"a"'}, ['{"a": 1}'], [{"a": 1}, "{'a': 1}"]),
    ({"$allOf": [{"$startsWith": "["}, {"$not": {"$regex": "9"}}]}, ["[1]"], [[1], "[9]"]),
    ({"$in": ["[1]", {"$endsWith": "x"}]}, ["[1]", "(x"], [[1]]),
    ({"$literal": "[1]"}, ["[1]"], [[1]]),
    ({"$literal": [1]}, ["[1]", [1]], ["1"]),
    ({"$contains": 1}, ["[1]", [1, 2]], ["1", [2]]),
    ({"$any": True}, [None, 1, "x"], []),
]


@pytest.mark.parametrize(("expected", "right", "wrong"), ROWS, ids=[str(row[0])[:40] for row in ROWS])
def test_text_that_reads_as_a_value_is_that_value_unless_text_is_looked_at(
    expected: Any, right: list[Any], wrong: list[Any]
) -> None:
    pattern = OutputPattern("t", expected)

    for output in right:
        assert pattern.accepts(ToolCall("t", {}, output)) is True, output
        assert pattern.accepts_part(output)
    for output in wrong:
        assert pattern.accepts(ToolCall("t", {}, output)) is False, output
        assert pattern.differences_from(ToolCall("t", {}, output))


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("12", ["12", 12], ["12.0", 12.5]),
        (12, ["12", 12], ["12.0"]),
        ('{"a": 1}', [{"a": 1}, '{"a": 1}'], ['{"a":1}']),
        ({"a": 1}, [{"a": 1}, '{"a": 1}'], ['{"a":1}']),
        ({"content": 5}, [{"content": 5}], [5, "5"]),
        ({"$regex": "^1"}, [12, "12", 1.5], [[1], None]),
        (None, [None, "null"], ["None", ""]),
    ],
)
def test_as_text_everything_is_what_a_producer_would_have_written(
    expected: Any, right: list[Any], wrong: list[Any]
) -> None:
    pattern = OutputPattern("t", expected, text=True)

    assert [pattern.accepts(ToolCall("t", {}, output)) for output in right] == [True] * len(right)
    assert [pattern.accepts(ToolCall("t", {}, output)) for output in wrong] == [False] * len(wrong)


@pytest.mark.parametrize("expected", [None, 5, "x", {"$any": True}, {"$type": "null"}])
def test_a_call_that_raised_and_left_no_output_satisfies_nothing(expected: Any) -> None:
    raised = ToolCall("t", {}, None, error="broke")

    assert OutputPattern("t", expected).accepts(raised) is False
    [difference] = OutputPattern("t", expected).differences_from(raised)
    assert (difference.path, difference.actual) == ("$", None)
    assert OutputPattern("t", 5).accepts(ToolCall("t", {}, 5, error="broke")) is True


@pytest.mark.parametrize(("expected", "verdict"), [(None, None), (5, None), ({"$any": True}, True)])
def test_of_an_output_that_was_not_recorded_nothing_is_known(expected: Any, verdict: bool | None) -> None:
    unknown = ToolCall("t", {}, None, unrecorded=frozenset({"output"}))
    pattern = OutputPattern("t", expected)

    assert pattern.accepts(unknown) is verdict
    assert pattern.differences_from(unknown) == ()
    assert pattern.accepts_all is False


def test_differences_are_those_from_the_content_where_that_was_given() -> None:
    pattern = OutputPattern("t", {"content": {"a": 1, "b": 2}})

    [difference] = pattern.differences_from(ToolCall("t", {}, '{"a": 1, "b": 3}'))

    assert (difference.path, difference.expected, difference.actual) == ("$.b", "2", "3")
