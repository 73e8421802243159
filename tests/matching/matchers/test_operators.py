"""The `$` matchers."""

import time
from typing import Any
from unittest.mock import ANY

import pytest
from dirty_equals import IsPositiveInt, IsStr

from rightcall.errors import ExpectationError
from rightcall.matching.matchers import MATCHERS, compile_value

CASES: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("$any", True, [None, 0, "x", [], {}], []),
    ("$regex", "^P\\d+$", ["P001"], ["XP001", "P", 5, None]),
    ("$regex", "lap", ["a laptop"], ["LAPTOP"]),
    ("$gt", 2, [3, 2.5], [2, True, "3", None]),
    ("$gte", 2, [2, 2.0], [1.9]),
    ("$lt", "2026-02-01", ["2026-01-31"], ["2026-02-01", 5]),
    ("$lte", 0, [0, -1], [1, False]),
    ("$in", [1, "a", {"$gt": 10}], [1, 1.0, "a", 11], [True, 2, "b"]),
    ("$contains", "top", ["laptop", ["top", 1], {"top": 1}], ["lap", [], {}, 5]),
    ("$contains", {"$gt": 3}, [[1, 4]], [[1, 2], "4"]),
    ("$startsWith", "lap", ["laptop"], ["a laptop", 5]),
    ("$endsWith", "top", ["laptop"], ["topmost", None]),
    ("$type", "integer", [1, 2.0, 2**70], [True, 1.5, "1", float("nan"), float("inf")]),
    ("$type", ["string", "null"], ["", None], [0, []]),
    ("$type", "number", [1, 1.5], [True, "1"]),
    ("$type", "boolean", [True, False], [0, 1]),
    ("$type", "array", [[]], [{}, "[]"]),
    ("$type", "object", [{}], [[], None]),
    ("$length", 2, ["ab", [1, 2], {"a": 1, "b": 2}], ["a", 2, None]),
    ("$length", {"$gte": 1}, ["a", [0]], ["", []]),
    ("$subset", {"a": {"b": 1}}, [{"a": {"b": 1, "c": 2}, "d": 3}], [{"a": {"c": 2}}, {"a": 1}, None]),
    ("$subset", {"a": [{"b": 1}]}, [{"a": [{"b": 1, "c": 2}]}], [{"a": []}, {"a": [{"b": 1}, {"b": 1}]}]),
    ("$unordered", [1, 2], [[2, 1], [1, 2]], [[1], [1, 1], [1, 2, 3], {"1": 2}]),
    ("$unordered", [{"$any": True}, 1], [[1, 2], [2, 1]], [[2, 2]]),
    ("$not", 1, [2, True, "1"], [1, 1.0]),
    ("$not", {"$regex": "x"}, ["abc", 5], ["axb"]),
    ("$allOf", [{"$gt": 1}, {"$lt": 3}], [2], [1, 3]),
    ("$anyOf", [{"$lt": 1}, {"$gt": 3}], [0, 4], [2]),
    ("$schema", {"type": "object", "required": ["a"]}, [{"a": 1}], [{}, []]),
    ("$schema", {"type": "string", "pattern": "^a+$"}, ["aaa"], ["b", 5]),
    ("$ignoreCase", "STRASSE", ["straße", "Strasse"], ["Gasse", 5]),
    (
        "$sameWords",
        "Ice-cream, please!",
        ["ICE CREAM please", "icecream\u00a0please", "ice cream ple\uff41se"],
        ["ice", 5, ""],
    ),
    ("$present", True, [None, 1], []),
    ("$absent", False, [None, 1], []),
    ("$literal", {"$gt": 5}, [{"$gt": 5}], [6, {"$gt": 6}]),
]


@pytest.mark.parametrize(("name", "operand", "right", "wrong"), CASES, ids=[f"{c[0]} {c[1]!r:.30}" for c in CASES])
def test_a_matcher_tells_right_from_wrong(name: str, operand: Any, right: list[Any], wrong: list[Any]) -> None:
    expectation = compile_value({name: operand})

    assert [expectation.matches(value) for value in right] == [True] * len(right)
    assert [expectation.matches(value) for value in wrong] == [False] * len(wrong)


def test_every_matcher_has_a_case() -> None:
    # The last three look at more than the value: test_sources.py and test_bindings.py have theirs.
    assert {case[0] for case in CASES} | {"$approx", "$from", "$bind", "$ref"} == set(MATCHERS)


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ({"$approx": 21.5, "abs": 0.1}, [21.5, 21.4, 21.6], [21.3, "21.5", True]),
        ({"$approx": 200, "rel": 0.01}, [198, 202], [197.9]),
        ({"$approx": 1}, [1.0000001], [1.01, True]),
        ({"$approx": 0.5, "abs": 0}, [0.5], [0.50001, 10**400]),
        ({"$approx": 21, "abs": 0.1}, [21.1, 20.9], [21.2, 22]),
        ({"$approx": 1.1, "abs": 0.1}, [1, 1.2], [0.9, 2]),
        ({"$approx": 10, "abs": 1, "rel": 0.5}, [5, 15], [4.9, 15.1]),
        ({"$approx": 10, "abs": 5, "rel": 0.1}, [5, 15], [4.9, 15.1]),
        ({"$approx": -200, "rel": 0.01}, [-198, -202], [-197.9, 200]),
        ({"$approx": 0}, [1e-13, -0.0], [1e-11]),
        ({"$approx": 5, "abs": 0}, [5, 5.0], [5.000000000000001, 6]),
        ({"$approx": float("inf")}, [float("inf")], [float("-inf"), 1.7e308, float("nan"), "inf", 10**400]),
        ({"$approx": float("nan")}, [float("nan")], [0, float("inf"), None]),
    ],
)
def test_approx_takes_an_absolute_or_a_relative_tolerance(expected: Any, right: list[Any], wrong: list[Any]) -> None:
    expectation = compile_value(expected)

    assert all(expectation.matches(value) for value in right)
    assert not any(expectation.matches(value) for value in wrong)


def test_matchers_stand_anywhere_inside_a_value() -> None:
    expectation = compile_value({"items": [{"id": {"$regex": "^P"}}, {"$any": True}], "n": 2})

    assert expectation.matches({"items": [{"id": "P1"}, None], "n": 2})
    assert not expectation.matches({"items": [{"id": "X1"}, None], "n": 2})
    assert not expectation.matches({"items": [{"id": "P1", "more": 1}, None], "n": 2})


def test_a_key_can_be_expected_to_be_absent() -> None:
    expectation = compile_value({"a": 1, "b": {"$absent": True}})

    assert expectation.matches({"a": 1})
    assert not expectation.matches({"a": 1, "b": None})


def test_a_key_can_be_absent_or_have_a_value() -> None:
    expectation = compile_value({"a": {"$anyOf": [{"$absent": True}, 1]}})

    assert expectation.matches({})
    assert expectation.matches({"a": 1})
    assert not expectation.matches({"a": 2})


def test_any_python_object_decides_by_its_own_equality() -> None:
    expectation = compile_value({"id": IsPositiveInt, "name": IsStr(regex="l.*")})

    assert expectation.matches({"id": 5, "name": "laptop"})
    assert not expectation.matches({"id": -5, "name": "laptop"})


@pytest.mark.parametrize("held", [IsPositiveInt, [1, IsPositiveInt], {"$gt": 1, "id": IsPositiveInt}], ids=type)
def test_an_object_decides_in_a_literal_too_also_of_a_list_without_order(held: Any) -> None:
    expectation = compile_value({"$unordered": [{"$literal": held}, "x"]})

    def given(number: int) -> Any:
        return number if held is IsPositiveInt else [1, number] if isinstance(held, list) else {"$gt": 1, "id": number}

    assert expectation.matches(["x", given(5)])
    assert not expectation.matches(["x", given(-5)])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"$regx": "x"}, r"unknown matcher '\$regx'; did you mean '\$regex'\? To expect the object"),
        ({"a": {"b": [{"$gt": []}]}}, r"\$\.a\.b\[0\]\.\$gt takes a number or a string"),
        ({"$gt": 1, "$lt": 5}, r"\$gt must be the only key"),
        ({"$gt": 1, "x": 5}, r"\$gt must be the only key.*'x'"),
        ({"$any": False}, r"\$any takes true"),
        ({"$regex": "(a)\\1"}, "backreferences are not supported"),
        ({"$regex": "(?=a)"}, "look-around"),
        ({"$regex": "("}, "unclosed group"),
        ({"$regex": "(a{1000}){1000}"}, "exceeds size limit"),
        ({"$regex": "a" * 10_001}, "10,001 characters"),
        ({"$regex": 5}, "takes a string"),
        ({"$in": "abc"}, "takes a list"),
        ({"$type": "str"}, "takes one of string, number"),
        ({"$length": -1}, "whole number"),
        ({"$approx": "1"}, "takes a number"),
        ({"$approx": 1, "abs": -1}, "not negative"),
        ({"$present": 1}, "true or false"),
        ({"$schema": {"type": 5}}, "is not a JSON Schema"),
        ({"$schema": {"pattern": "(?=a)"}}, "look-around"),
        ({"$schema": {"patternProperties": {"(?=a)": {}}}}, "look-around"),
        ({"$subset": 5}, "an object or a list"),
        ({"$sameWords": "–!"}, r"\$sameWords takes a string with a letter or a digit in it, not '–!'"),
        ({"$approx": 10**400}, "takes a number that a float can hold"),
        ({"$approx": 10**400, "abs": 1}, "takes a number that a float can hold"),
        ({"$approx": True}, "takes a number"),
        ({"$length": True}, "a whole number or a matcher"),
        ({1: 2}, "is not text"),
    ],
)
def test_a_wrong_expectation_says_where_and_what_would_be_right(expected: Any, message: str) -> None:
    with pytest.raises(ExpectationError, match=message):
        compile_value(expected)


def test_an_endless_expectation_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless

    with pytest.raises(ExpectationError, match="without end"):
        compile_value(endless)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "([a-zA-Z]+)*$",
        "(a|aa)+$",
        "(a|a?)+$",
        "(.*a){20}$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(x+x+)+y",
        "^(a?){40}a{40}$",
        "(a*)*b",
        "(?:a+){10}b",
        "^(\\w+\\s?)*$",
        "(\\d+)*[^\\d]$",
    ],
)
def test_patterns_that_hang_other_engines_answer_at_once(pattern: str) -> None:
    matches = compile_value({"$regex": pattern}).matches
    started = time.process_time()

    matches("a" * 100_000 + "!")

    assert time.process_time() - started < 2.0


def test_a_schema_refers_to_itself_and_to_nothing_else() -> None:
    inside = compile_value({"$schema": {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}})

    assert inside.matches(1)
    assert not inside.matches("1")
    with pytest.raises(ExpectationError, match="leads outside the schema"):
        compile_value({"$schema": {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}})


def test_a_pattern_is_tried_on_text_with_lone_surrogates() -> None:
    assert compile_value({"$regex": "^.b$"}).matches("\ud800b")


@pytest.mark.parametrize("empty", [[], {}, ""])
def test_a_length_of_zero_is_that_of_what_is_empty(empty: Any) -> None:
    assert compile_value({"$length": 0}).matches(empty)
    assert not compile_value({"$length": 0}).matches("a")


def test_an_object_that_decides_by_itself_does_so_inside_a_literal_too() -> None:
    expected = compile_value({"$literal": {"$gt": ANY}})

    assert expected.matches({"$gt": 5})
    assert not expected.matches(6)
