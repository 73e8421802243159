"""Names with `*`: what they take, and in what time."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall.matching.matchers import NamePattern, tool_names

LETTERS = st.text("ab*", min_size=1, max_size=8)


def takes(pattern: str, name: str) -> bool:
    """The brute-force twin: every way to let the first star stand for something."""
    head, star, rest = pattern.partition("*")
    if not star:
        return pattern == name
    return name.startswith(head) and any(takes(rest, name[place:]) for place in range(len(head), len(name) + 1))


@examples(2000)
@given(LETTERS.filter(lambda text: "*" in text), st.text("ab", max_size=8))
def test_a_star_stands_for_any_characters_or_none(pattern: str, name: str) -> None:
    assert NamePattern.of(pattern).matches(name) == takes(pattern, name)


def test_head_and_tail_do_not_share_characters() -> None:
    assert not NamePattern.of("aba*ba").matches("aba")


def test_stars_alone_take_every_name() -> None:
    assert NamePattern.of("**").takes_all
    assert NamePattern.of("**").matches("anything")
    assert not NamePattern.of("a*").takes_all


def test_thousands_of_stars_are_one_walk_through_the_name() -> None:
    # A matcher that goes back would try every way to spread 5,000 stars over 10,000 letters.
    assert not NamePattern.of("*a" * 4_999 + "*b").matches("a" * 10_000)


def test_a_set_of_names_holds_what_is_written_and_what_fits() -> None:
    names = tool_names(["search", "mcp__*"])

    assert [name in names for name in ("search", "mcp__fs", "mcp__*", "book")] == [True, True, True, False]
    assert names & {"mcp__fs", "book"} == {"mcp__fs"}
    assert sorted(names) == ["mcp__*", "search"]
    assert len(names) == 2


def test_names_without_a_star_are_a_plain_set() -> None:
    assert tool_names(["a", "b", "a"]) == frozenset({"a", "b"})
    assert isinstance(tool_names(["a"]), frozenset)
