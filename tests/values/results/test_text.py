"""Short texts for people."""

import pytest

from rightcall.values.results import ordinal_text


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
