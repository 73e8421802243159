"""Text from strangers on a screen: harmless, measured, cut and broken into lines."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from rightcall.reporting.reports import cell_count, fit, printable, wrap

TEXTS = st.text(st.characters(codec=None), max_size=80)


@given(TEXTS, st.booleans())
def test_a_printable_text_has_nothing_that_moves_hides_or_turns_around(text: str, plain: bool) -> None:
    made = printable(text, plain=plain, one_line=True)

    assert not {unicodedata.category(character) for character in made} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable(made, plain=plain, one_line=True) == made
    assert not plain or made.isascii()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("[bold]name[/] :smile:", "[bold]name[/] :smile:"),
        ("\x1b[31mred\x1b]8;;x\x07", "\\u001b[31mred\\u001b]8;;x\\u0007"),
        ("\x9b2J", "\\u009b2J"),
        ("evil\u202egnp.exe", "evil\\u202egnp.exe"),
        ("back\b\rspace", "back\\u0008\\u000dspace"),
        ("\ud800", "\\ud800"),
        ("two\nlines\t", "two\\nlines\\t"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: str, seen: str) -> None:
    assert printable(text, one_line=True) == seen


def test_newlines_stay_unless_one_line_is_asked_for() -> None:
    assert printable("a\n\tb\x00") == "a\n\tb\\u0000"


@given(TEXTS, st.integers(min_value=1, max_value=40), st.booleans())
def test_a_text_that_is_cut_fits(text: str, width: int, plain: bool) -> None:
    made = printable(text, plain=plain, one_line=True)

    cut = fit(made, max(width, 3), plain=plain)

    assert cell_count(cut) <= max(width, 3)
    assert cut == made or ("..." if plain else "…") in cut


@given(TEXTS, st.integers(min_value=2, max_value=40), st.integers(min_value=0, max_value=4))
def test_a_wrapped_text_loses_nothing_but_spaces_at_the_ends_of_lines(text: str, width: int, hanging: int) -> None:
    made = printable(text, one_line=True)

    pieces = list(wrap(made, width, hanging))

    assert "".join(pieces).replace(" ", "") == made.replace(" ", "")
    assert cell_count(pieces[0]) <= width
    assert all(cell_count(piece) <= max(2, width - hanging) for piece in pieces[1:])


def test_wide_characters_take_two_columns_and_accents_are_not_piled_up_for_nothing() -> None:
    assert cell_count("東京 ok") == 7
    assert cell_count("a" + "\u0301" * 1000) > 1000
