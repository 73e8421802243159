"""The paths behind a result: how expected calls line up with actual ones, and each difference as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall.values.results import (
    Alignment,
    CaseResult,
    Difference,
    EvaluationResult,
    PlacedFinding,
    Source,
    Step,
    ToolCallOrderEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
    nth_text,
    order_phrase,
)

from ._paper import Paper, beginning, cell_count, fit
from ._path_rows import PathRow, path_rows

_IN_ORDER = ("EXACT", "IN_ORDER")
_BY_WEIGHT = ("RC101", "RC117", "RC104", "RC106", "RC120", "RC103", "RC119", "RC102", "RC301")
"""The order in which problems of one path are reported."""
_AROUND = 2
_MOST_STEPS = 40
_BECOMES = ("→", "->")
_MOST_TOLD = 3
_BEFORE = 4


class ExpectedPath(msgspec.Struct, frozen=True):
    """One list of expected calls, lined up with the actual ones; with its problems, the worst first."""

    alignment: Alignment
    place: str
    """Which part of the criteria lists the expected calls, such as `expected`; empty where that is not known."""
    sources: tuple[Source, ...]
    heeds_order: bool
    shows_extras: bool
    problems: tuple[PlacedFinding, ...]

    def kind(self, step: Step) -> str:
        """Return the kind of a step: a call that is only out of place is a match where order does not matter.

        A mismatch without a difference was not measured: what decides it was not recorded.
        """
        if step.kind == "mismatch" and not step.differences:
            return "not_measured"
        return "match" if step.kind == "moved" and not self.heeds_order else step.kind

    def source(self, step: Step) -> Source | None:
        """Return where an expected call is written, if that is known."""
        known = step.expected is not None and step.expected < len(self.sources)
        return self.sources[step.expected] if known and step.expected is not None else None

    def is_reported(self, step: Step) -> bool:
        """Return whether a problem is about the call of a step."""
        named = [placed.finding.actual for placed in self.problems]
        return any(call is not None and call.position == step.actual for call in named)

    def is_alone(self, source: Source) -> bool:
        """Return whether no other call is written on the same line."""
        return sum(each.line == source.line for each in self.sources) == 1

    def rows(self) -> list[PathRow]:
        """Return the rows that matter: all but the extra calls that the expectation allows."""
        every = self.alignment.steps
        steps = [step for step in every if step.kind != "extra" or self.shows_extras or self.is_reported(step)]
        return path_rows(steps, self.alignment.groups)

    def shown_rows(self) -> tuple[list[PathRow], list[int]]:
        """Return these rows, and which of them to show: the wrong ones, with their groups and some around them."""
        rows = self.rows()
        telling = [place for place, row in enumerate(rows) if self.kind(row.step) not in ("match", "skipped")]
        near = {place + by for place in telling for by in range(-_AROUND, _AROUND + 1)}
        groups = {id(rows[place].groups[-1]): rows[place].groups[-1] for place in telling if rows[place].groups}
        inside = [place for place, row in enumerate(rows) if row.groups and id(row.groups[-1]) in groups]
        near.update(inside if len(inside) <= _MOST_STEPS else ())
        shown = sorted([place for place in near if 0 <= place < len(rows)])
        return rows, (shown or list(range(len(rows))))[:_MOST_STEPS]

    @property
    def matched(self) -> tuple[int, int] | None:
        """Return how many of the expected calls match, and of how many; `None` if that is not known for all of them."""
        steps = [step for step in self.alignment.steps if step.expected is not None and step.kind != "skipped"]
        kinds = [self.kind(step) for step in steps]
        if self.alignment.left_out or "not_measured" in kinds:
            return None
        return kinds.count("match"), len(kinds)


def paths_of(result: CaseResult, one: EvaluationResult) -> Iterator[ExpectedPath]:
    """Return the paths of an evaluator's result, turn by turn; empty if it does not compare calls."""
    details = one.details
    heeds_order = isinstance(details, ToolCallOrderEvaluatorJustification)
    is_trajectory = isinstance(details, ToolTrajectoryEvaluatorJustification)
    if is_trajectory:
        heeds_order = details.match_type in _IN_ORDER
        aligned = [(turn.turn, turn.alignment) for turn in details.turns]
    else:
        alignment = getattr(details, "alignment", None)
        aligned = [(0, alignment)] if isinstance(alignment, Alignment) else []
    written = {each.path: each.sources for each in result.written if each.expectation == one.evaluator}
    by_turn = any(path.startswith("expected_turns") for path in written) or len(aligned) > 1
    placed = [each for each in result.findings if each.expectation == one.evaluator]
    for turn, alignment in aligned:
        path = f"expected_turns[{turn}]" if by_turn else next(iter(written), "")
        problems = [each for each in placed if _is_about(each, path, alignment)]
        problems.sort(key=lambda each: _weight(each.finding.code))
        yield ExpectedPath(alignment, path, written.get(path, ()), heeds_order, is_trajectory, tuple(problems))


def difference_texts(differences: Sequence[Difference], width: int, paper: Paper) -> Iterator[str]:
    """Yield differences, each in `width` columns: `product_id "P001" → "P010"`. At most three."""
    for difference in differences[:_MOST_TOLD]:
        name = paper.text(difference.name)
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


def _is_about(placed: PlacedFinding, path: str, alignment: Alignment) -> bool:
    finding = placed.finding
    if finding.path is not None:
        return bool(path) and finding.path.startswith(f"{path}[")
    return finding.actual is not None and any(step.actual == finding.actual.position for step in alignment.steps)


def _weight(code: str) -> int:
    return _BY_WEIGHT.index(code) if code in _BY_WEIGHT else len(_BY_WEIGHT)


def _change(difference: Difference, width: int, paper: Paper) -> str:
    expected, actual = difference.expected, difference.actual
    if expected is None or actual is None:
        word, value = ("missing", expected) if actual is None else ("not expected", actual)
        return f"{fit(paper.text(value or ''), width - len(word) - 1, plain=paper.plain)} {word}"
    if expected.startswith('{"$from"'):
        return f"{fit(paper.text(actual), width - len(' made up'), plain=paper.plain)} made up"
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
