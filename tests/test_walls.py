"""A test over many values is one test that tells every value that fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.walls import for_each


def test_every_value_that_fails_is_told(tmp_path: Path) -> None:
    tried = []

    @for_each("number", [1, 2, 3, 4])
    def test_numbers(number: int, tmp_path: Path) -> None:
        tried.append((number, tmp_path))
        assert number != 2
        assert number < 4 or 1 / 0

    with pytest.raises(AssertionError) as told:
        test_numbers(tmp_path=tmp_path)

    assert tried == [(number, tmp_path) for number in (1, 2, 3, 4)]
    assert str(told.value).startswith("2 of 4 fail\n\n2, line ")
    assert "assert 2 != 2" in str(told.value)
    assert "4, line " in str(told.value)
    assert "ZeroDivisionError" in str(told.value)


def test_what_holds_for_every_value_passes() -> None:
    @for_each("number", [1, 2])
    def test_numbers(number: int) -> None:
        assert number < 3

    test_numbers()


def test_several_arguments_are_the_columns_of_a_table() -> None:
    @for_each(("number", "square"), [(1, 1), (2, 4), (3, 8)])
    def test_squares(number: int, square: int) -> None:
        assert number * number == square

    with pytest.raises(AssertionError, match=r"1 of 3 fail\n\n\(3, 8\), line "):
        test_squares()


@pytest.mark.parametrize("limit", [3, 4])
@for_each("number", [1, 2])
def test_other_arguments_are_those_of_pytest(number: int, limit: int, tmp_path: Path) -> None:
    assert number < limit
    assert tmp_path.is_dir()


def test_nothing_to_try_and_no_such_argument_are_mistakes() -> None:
    with pytest.raises(AssertionError, match="cannot fail"):
        for_each("number", [])
    with pytest.raises(AssertionError, match="no argument 'numbr'"):
        for_each("numbr", [1])(test_other_arguments_are_those_of_pytest)


@for_each("factor", [1, 2])
def _is_small(number: int, factor: int) -> None:
    assert number * factor < 6


def test_an_example_of_hypothesis_is_tried_on_every_value() -> None:
    with pytest.raises(AssertionError) as told:
        given(st.integers(0, 100))(_is_small)()

    assert str(told.value).startswith("1 of 2 fail\n\n2, line ")
    assert "(3 * 2) < 6" in str(told.value)
