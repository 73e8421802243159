"""What a pattern costs before it is searched for."""

import pytest

from rightcall.matching.matchers._operators import regex_cost


@pytest.mark.parametrize(
    ("short", "written_out"),
    [
        ("[ab]{8}", "[ab]" * 8),
        ("[ab]{2,16}", "[ab]" * 16),
        ("([ab][cd]){20}", "[ab][cd]" * 20),
        ("(([ab]){3}[cd]){20}", "[ab][ab][ab][cd]" * 20),
        ("[ab]{0}c", "[ab]c"),
    ],
)
def test_what_is_repeated_costs_as_much_as_if_it_were_written_out(short: str, written_out: str) -> None:
    assert regex_cost(short) == regex_cost(written_out)


def test_the_cost_grows_with_the_places_that_may_be_open_at_once() -> None:
    assert [regex_cost(pattern) for pattern in ("a" * 100, "[ab]{7}", "[ab]{8}", "[ab]{800}")] == [1, 1, 2, 101]
