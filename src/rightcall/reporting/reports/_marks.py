"""The signs of verdicts and steps, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightcall.values.results import Difference, Step, ordinal_text

from ._paper import Paper, beginning, cell_count, fit

MARKS = {
    "match": ("✓", "ok"),
    "mismatch": ("≠", "!="),
    "moved": ("⇅", "~"),
    "missing": ("−", "-"),
    "extra": ("+", "+"),
    "passed": ("✓", "ok"),
    "failed": ("✗", "x"),
    "error": ("✗", "x"),
    "not_measured": ("?", "?"),
}
"""Each sign with its ASCII form."""
STYLES = {"match": "green", "moved": "yellow", "passed": "green", "not_measured": "yellow"}
"""The style of each sign that is not red."""

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
    """Which call in its place a call is on the wrong side of: `before get_product_details`, `after the 2nd weather`."""
    if step.expected is None or step.actual is None:
        return ""
    for other in steps:
        if other.out_of_place or other.expected is None or other.actual is None:
            continue
        if (other.expected < step.expected) != (other.actual < step.actual):
            return f"{'before' if step.actual < other.actual else 'after'} {_which(other, steps)}"
    return "at another place"


def _which(step: Step, steps: Sequence[Step]) -> str:
    """A call by its name and, where several were made, its place among them."""
    made = sorted([each.actual for each in steps if each.actual is not None and each.name == step.name])
    if len(made) < 2 or step.actual is None:
        return step.name
    return f"the {ordinal_text(made.index(step.actual) + 1)} {step.name}"


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
    """A text cut to `width` columns so that a place in it is to be seen."""
    if cell_count(text) <= width:
        return text
    gap = "..." if paper.plain else "…"
    begin = max(0, min(place - _BEFORE, len(text) - width + len(gap)))
    head = gap if begin else ""
    piece = beginning(text[begin:], width - len(head))
    if begin + len(piece) < len(text):
        piece = beginning(piece, width - len(head) - len(gap)) + gap
    return head + piece
