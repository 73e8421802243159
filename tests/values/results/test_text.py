"""Short texts for people."""

import pytest

from rightcall.values.results import SIGNS, failure_text, nth_text, order_phrase, ordinal_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (102, "102nd"),
        (111, "111th"),
        (1_003, "1,003rd"),
        (1_012, "1,012th"),
    ],
)
def test_a_place_in_a_list_is_told_as_people_say_it(number: int, text: str) -> None:
    assert ordinal_text(number) == text


@pytest.mark.parametrize(
    ("place", "short", "long"),
    [
        ((0, 2), "after call 1", "after call 1, expected before it"),
        ((2, 0), "before call 1", "before call 1, expected after it"),
        ((2, 2), "at another place", "at another place than expected"),
    ],
    ids=["too late", "too early", "on no wrong side"],
)
def test_a_call_out_of_order_is_told_by_the_call_it_is_on_the_wrong_side_of(
    place: tuple[int, int], short: str, long: str
) -> None:
    def name(expected: int, actual: int) -> str:
        return f"call {actual}"

    assert order_phrase(place, [(1, 1)], name) == short
    assert order_phrase(place, [(1, 1)], name, expectation=True) == long


def test_a_call_is_counted_only_where_there_are_several() -> None:
    assert (nth_text("weather", 2, 3), nth_text("weather", 1, 1)) == ("the 2nd weather", "weather")


def test_no_two_verdicts_share_a_sign_a_word_or_an_emoji() -> None:
    verdicts = [SIGNS[verdict] for verdict in ("passed", "failed", "error", "not_measured")]

    for field in ("symbol", "ascii", "word", "emoji"):
        assert len({getattr(sign, field) for sign in verdicts}) == 4
    assert all(sign.ascii.isascii() for sign in SIGNS.values())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("TimeoutError: no answer\nafter 30 s", "raised TimeoutError (no answer after 30 s)"),
        ("KeyError: 'O-404'", "raised KeyError ('O-404')"),
        ("ValueError('no such order')", "raised ValueError ('no such order')"),
        ("shop.errors.NotFound: O-404", "raised NotFound (O-404)"),
        ("OSError", "raised OSError"),
        ("Error: connection refused", "raised Error (connection refused)"),
        ("timeout", "failed ('timeout')"),
        ("Note: the shop is closed", "failed ('Note: the shop is closed')"),
        ("no reply: TimeoutError", "failed ('no reply: TimeoutError')"),
    ],
)
def test_a_failure_is_told_by_the_type_of_its_error_where_it_has_one(error: str, told: str) -> None:
    assert failure_text(error) == told


def test_an_error_of_any_length_is_told_in_a_line() -> None:
    assert len(failure_text("TimeoutError: " + "x" * 100_000)) < 110
    assert len(failure_text("A" * 100_000 + ": x")) < 110
