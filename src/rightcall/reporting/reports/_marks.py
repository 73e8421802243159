"""Differences and order, as the text beside a sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightcall.values.results import Difference, Step, nth_text, order_phrase

from ._paper import Paper, beginning, cell_count, fit

_BECOMES = ("→", "->")
_MOST_TOLD = 3
_BEFORE = 4


def difference_texts(differences: Sequence[Difference], width: int, paper: Paper) -> Iterator[str]:
    """Differences, each in `width` columns: `product_id "P001" → "P010"`. Of many, the first ones."""
    for difference in differences[:_MOST_TOLD]:
        name = paper.text(difference.path.removeprefix("$.").removeprefix("$"))
        name = fit(f"{name} " if name else "", max(8, width // 2), plain=paper.plain)
        yield name + _change(difference, max(10, width - cell_count(name)), paper)
    if len(differences) > _MOST_TOLD:
        yield f"and {len(differences) - _MOST_TOLD:,} more"


def order_text(step: Step, steps: Sequence[Step]) -> str:
    """Return which call a step is on the wrong side of: `before get_product_details`, `after the 2nd weather`."""
    if step.expected is None or step.actual is None:
        return ""
    paired = {(each.expected, each.actual): each for each in steps if each.expected is not None}
    in_place = [
        (expected, actual)
        for (expected, actual), each in paired.items()
        if actual is not None and not each.out_of_place
    ]

    def name(expected: int, actual: int) -> str:
        called = paired[expected, actual].name
        made = sorted([each.actual for each in steps if each.actual is not None and each.name == called])
        return nth_text(called, made.index(actual) + 1, len(made))

    return order_phrase((step.expected, step.actual), in_place, name)


def _change(difference: Difference, width: int, paper: Paper) -> str:
    expected, actual = difference.expected, difference.actual
    if expected is None or actual is None:
        word, value = ("missing", expected) if actual is None else ("not expected", actual)
        return f"{fit(paper.text(value or ''), width - len(word) - 1, plain=paper.plain)} {word}"
    arrow = f" {paper.glyph(_BECOMES)} "
    first, second = paper.text(expected), paper.text(actual)
    room = width - len(arrow)
    if cell_count(first) + cell_count(second) > room:
        start = _first_difference(first, second)
        half = max(5, room // 2)
        first, second = _around(first, start, half, paper), _around(second, start, half, paper)
    return f"{first}{arrow}{second}"


def _first_difference(first: str, second: str) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def _around(text: str, place: int, width: int, paper: Paper) -> str:
    """Return a text cut to `width` columns around a place in it."""
    if cell_count(text) <= width:
        return text
    gap = "..." if paper.plain else "…"
    begin = max(0, min(place - _BEFORE, len(text) - width + len(gap)))
    head = gap if begin else ""
    piece = beginning(text[begin:], width - len(head))
    if begin + len(piece) < len(text):
        piece = beginning(piece, width - len(head) - len(gap)) + gap
    return head + piece
