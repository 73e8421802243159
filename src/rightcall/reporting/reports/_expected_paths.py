"""The alignment of expected with actual calls behind a result, as rows, and side by side for an assertion.

Terminal, pytest, pages, Markdown and JUnit draw these rows, so that a group looks the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.values.results import (
    AlignedGroup,
    Alignment,
    CaseResult,
    Difference,
    EvaluationResult,
    PlacedFinding,
    Source,
    Step,
    ToolCallOrderEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
    call_text,
    is_unmeasured,
    nth_text,
    order_phrase,
    value_text,
)
from rightcall.values.trajectory import ToolCall

from ._case_lines import held_share
from ._paper import Paper, beginning, cell_count, fit

if TYPE_CHECKING:
    from rightcall.cases.evalsets import Case, Check


_IN_ORDER = ("EXACT", "IN_ORDER")
_BY_WEIGHT = ("RC101", "RC117", "RC104", "RC106", "RC120", "RC103", "RC119", "RC102", "RC301")
"""The order in which problems of one path are reported."""
_AROUND = 2
_MOST_STEPS = 40
_BECOMES = ("→", "->")
_MOST_TOLD = 3
_BEFORE = 4
_BRACKETED = ("any_order", "at_once", "one_of", "repeat", "optional")
_PHRASES = {"any_order": "any order", "at_once": "at once", "optional": "optional"}
_FINE = ("match", "skipped")
_MOST_ROUNDS = 6
"""How many rounds of a loop one row lists; the others are counted."""
_BY_NAMED_ARGUMENT = ("RC107", "RC104", "RC106", "RC108", "RC101", "RC105", "RC103", "RC102")
"""The order of problems in the first line: those that name an argument come first."""
_PREAMBLE = "not measured: "
_LONGEST = 300
_MOST_PROBLEMS = 12
_MOST_PATHS = 5
_LINES_OF_A_TRACEBACK = 12
_ANYTHING = "…"
_BEGIN, _INSIDE, _END = ("┌", "["), ("│", "|"), ("└", "]")


class ExpectedPath(msgspec.Struct, frozen=True):
    """One list of expected calls, aligned with the actual calls; with its problems, the worst first."""

    alignment: Alignment
    place: str
    """The part of the criteria that lists the expected calls, such as `expected`; empty if unknown."""
    sources: tuple[Source, ...]
    heeds_order: bool
    shows_extras: bool
    problems: tuple[PlacedFinding, ...]
    is_measured: bool = True
    """Whether there is a verdict. If not, an expected call that is not among the recorded ones may have been made."""

    def kind(self, step: Step) -> str:
        """Return the kind of a step. If order does not matter, a call that is only out of place is a match.

        A mismatch without a difference is `not_measured`: the values that decide it were not recorded. So is a missing
        call that no finding names, where there is no verdict.
        """
        if step.kind == "mismatch" and not step.differences:
            return "not_measured"
        if step.kind == "missing" and not self.is_measured and not self._is_named(step):
            return "not_measured"
        return "match" if step.kind == "moved" and not self.heeds_order else step.kind

    def source(self, step: Step) -> Source | None:
        """Return where an expected call is written; `None` if unknown."""
        known = step.expected is not None and step.expected < len(self.sources)
        return self.sources[step.expected] if known and step.expected is not None else None

    def is_reported(self, step: Step) -> bool:
        """Return whether a problem is about the call of a step."""
        named = [placed.finding.actual for placed in self.problems]
        return any(call is not None and call.position == step.actual for call in named)

    def _is_named(self, step: Step) -> bool:
        """Return whether a problem is about the expected call of a step."""
        named = [placed.finding.expected for placed in self.problems if not is_unmeasured(placed.finding.code)]
        return any(call is not None and call.position == step.expected for call in named)

    def is_alone(self, source: Source) -> bool:
        """Return whether no other call is written on the same line."""
        return sum(each.line == source.line for each in self.sources) == 1

    def rows(self) -> list[PathRow]:
        """Return all rows but extra calls that the expectation allows."""
        every = self.alignment.steps
        steps = [step for step in every if step.kind != "extra" or self.shows_extras or self.is_reported(step)]
        return path_rows(steps, self.alignment.groups)

    def shown_rows(self) -> tuple[list[PathRow], list[int]]:
        """Return these rows, and the indices of those to show: wrong ones, with their groups and some context."""
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
        """The number of expected calls that match, and of all expected calls; `None` if unknown."""
        steps = [step for step in self.alignment.steps if step.expected is not None and step.kind != "skipped"]
        kinds = [self.kind(step) for step in steps]
        if self.alignment.left_out or "not_measured" in kinds:
            return None
        return kinds.count("match"), len(kinds)


def paths_of(result: CaseResult, one: EvaluationResult) -> Iterator[ExpectedPath]:
    """Yield the paths of an evaluator's result, turn by turn; none if it does not compare calls."""
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
        yield ExpectedPath(
            alignment=alignment,
            place=path,
            sources=written.get(path, ()),
            heeds_order=heeds_order,
            shows_extras=is_trajectory,
            problems=tuple(problems),
            is_measured=one.verdict != "not_measured",
        )


def difference_texts(differences: Sequence[Difference], width: int, paper: Paper) -> Iterator[str]:
    """Yield at most three differences, each in `width` columns: `product_id "P001" → "P010"`."""
    for difference in differences[:_MOST_TOLD]:
        name = paper.text(difference.name)
        name = fit(f"{name} " if name else "", max(8, width // 2), plain=paper.plain)
        yield name + _change(difference, max(10, width - cell_count(name)), paper)
    if len(differences) > _MOST_TOLD:
        yield f"and {len(differences) - _MOST_TOLD:,} more"


def order_text(step: Step, steps: Sequence[Step]) -> str:
    """Return where a misplaced call was made: `before get_product_details`, `after the 2nd weather`."""
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
    """Cut a string to `width` columns around an index."""
    if cell_count(text) <= width:
        return text
    gap = "..." if paper.plain else "…"
    begin = max(0, min(place - _BEFORE, len(text) - width + len(gap)))
    head = gap if begin else ""
    piece = beginning(text[begin:], width - len(head))
    if begin + len(piece) < len(text):
        piece = beginning(piece, width - len(head) - len(gap)) + gap
    return head + piece


class PathRow(msgspec.Struct, frozen=True):
    """One row: a step, or the same step in each round of a loop, and the groups around it, the outermost first."""

    steps: tuple[Step, ...]
    groups: tuple[AlignedGroup, ...] = ()
    """The groups that get a bracket."""
    words: tuple[str, ...] = ()
    """The keywords of all groups around it."""

    @property
    def step(self) -> Step:
        """The step to report: the first that is not as expected, else the first."""
        return next((step for step in self.steps if step.kind not in _FINE), self.steps[0])

    @property
    def left_out(self) -> str:
        """Why the step did not have to be matched; empty if it had to."""
        if self.step.kind != "skipped":
            return ""
        inner = next((word for word in reversed(self.words) if word in ("one_of", "optional", "repeat")), "")
        return {"one_of": "not taken", "repeat": "no round"}.get(inner, "optional, left out")


class Bracket(msgspec.Struct, frozen=True):
    """The beginning (with a `label`) or the end of a group, and its nesting depth."""

    depth: int
    label: str = ""
    group: AlignedGroup | None = None
    first: Step | None = None
    """The first step in the group."""

    @property
    def opens(self) -> bool:
        """Whether it is the beginning of a group."""
        return self.group is not None


def path_rows(steps: Sequence[Step], groups: Sequence[AlignedGroup], *, rounds: bool = True) -> list[PathRow]:
    """Return the rows of steps, each with the groups that get a bracket.

    With `rounds`, the rounds of a loop share a row; otherwise every step has its own, in the order of the calls.
    """
    around = _Around(groups)
    rows: list[PathRow] = []
    place = 0
    while place < len(steps):
        loop = around.loop(steps[place]) if rounds else None
        end = place + 1
        while loop is not None and end < len(steps) and around.is_in(steps[end], loop):
            end += 1
        if loop is not None and _is_foldable(steps[place:end]):
            rows += [around.row(same) for same in _by_leaf(steps[place:end])]
        else:
            rows += [around.row((step,)) for step in steps[place:end]]
        place = end
    return _with_extras_inside(rows)


def with_brackets(rows: Sequence[PathRow], every: Sequence[PathRow]) -> Iterator[PathRow | Bracket]:
    """Yield rows with a bracket wherever a group begins or ends. `every` has all rows, for the labels."""
    labels = group_labels(every)
    opened: tuple[AlignedGroup, ...] = ()
    for row in rows:
        shared = _shared(opened, row.groups)
        yield from [Bracket(depth) for depth in reversed(range(shared, len(opened)))]
        for depth, group in enumerate(row.groups[shared:], shared):
            yield Bracket(depth, labels.get(group.path, group.word), group, row.steps[0])
        opened = row.groups
        yield row
    yield from [Bracket(depth) for depth in reversed(range(len(opened)))]


def group_labels(rows: Sequence[PathRow]) -> dict[str, str]:
    """Return a short label for each group, by its path: `any order, 2 of 3 made`, `1 of 2`, `2 rounds (at least 1)`."""
    groups: dict[str, AlignedGroup] = {}
    inside: dict[str, list[Step]] = {}
    for row in rows:
        for group in row.groups:
            groups[group.path] = group
            inside.setdefault(group.path, []).extend([step for step in row.steps if step.expected is not None])
    return {path: _label(group, inside[path]) for path, group in groups.items()}


def _label(group: AlignedGroup, steps: Sequence[Step]) -> str:
    if group.word == "one_of":
        inside = f"{group.path}.one_of["
        parts = {(step.path or "").removeprefix(inside).partition("]")[0] for step in steps}
        return f"1 of {len(parts):,}" if len(parts) > 1 else "one of"
    if group.word == "repeat":
        return _rounds_text(group)
    made = sum([step.kind in ("match", "moved") for step in steps])
    phrase = _PHRASES.get(group.word, group.word)
    is_whole = made in (0, len(steps)) or group.word == "optional"
    return phrase if is_whole else f"{phrase}, {made:,} of {len(steps):,} made"


def _rounds_text(group: AlignedGroup) -> str:
    rounds = group.rounds or 0
    least, most = group.at_least if group.at_least is not None else 1, group.at_most
    if most is None:
        bounds = f"at least {least:,}"
    else:
        bounds = f"exactly {least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{rounds:,} {'round' if rounds == 1 else 'rounds'} ({bounds})"


def rounds_named(row: PathRow) -> tuple[tuple[Step, ...], int]:
    """Return the rounds of a row to list, and the number of the others."""
    return row.steps[:_MOST_ROUNDS], max(0, len(row.steps) - _MOST_ROUNDS)


class _Around:
    """The groups around each expected call."""

    def __init__(self, groups: Sequence[AlignedGroup]) -> None:
        self._groups = groups
        self._known: dict[int, tuple[AlignedGroup, ...]] = {}

    def row(self, steps: tuple[Step, ...]) -> PathRow:
        """Return the row of a step, or of its rounds."""
        around = self._of(steps[0])
        return PathRow(
            steps, tuple([each for each in around if _is_bracketed(each)]), tuple([each.word for each in around])
        )

    def _of(self, step: Step) -> tuple[AlignedGroup, ...]:
        if step.expected is None:
            return ()
        if step.expected not in self._known:
            self._known[step.expected] = tuple([group for group in self._groups if self._has(group, step)])
        return self._known[step.expected]

    def loop(self, step: Step) -> AlignedGroup | None:
        """Return the outermost loop around a step."""
        return next((group for group in self._of(step) if group.word == "repeat"), None)

    def is_in(self, step: Step, group: AlignedGroup) -> bool:
        """Return whether a step is in a group."""
        return step.expected is not None and self._has(group, step)

    def _has(self, group: AlignedGroup, step: Step) -> bool:
        return step.expected is not None and group.first <= step.expected < group.end


def _is_bracketed(group: AlignedGroup) -> bool:
    """Return whether a group gets a bracket: it has several calls, and a keyword to label it with."""
    return group.word in _BRACKETED and group.end - group.first > 1


def _is_foldable(steps: Sequence[Step]) -> bool:
    """Return whether rounds can share rows: there are several, and each step occurs once in each."""
    numbers = [(step.expected, step.rounds) for step in steps]
    return len({step.rounds for step in steps}) > 1 and len(set(numbers)) == len(numbers)


def _by_leaf(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    found: dict[int, list[Step]] = {}
    for step in steps:
        found.setdefault(step.expected if step.expected is not None else -1, []).append(step)
    return [tuple(found[leaf]) for leaf in sorted(found)]


def _with_extras_inside(rows: Sequence[PathRow]) -> list[PathRow]:
    """Put extra calls into the groups of both neighbours, so that each bracket is drawn only once."""
    shown = list(rows)
    before: tuple[AlignedGroup, ...] = ()
    after: tuple[AlignedGroup, ...] = ()
    following: list[tuple[AlignedGroup, ...]] = []
    for row in reversed(shown):
        after = row.groups if row.steps[0].expected is not None else after
        following.append(after)
    for place, row in enumerate(shown):
        if row.steps[0].expected is not None:
            before = row.groups
        else:
            next_one = following[len(shown) - 1 - place]
            shown[place] = PathRow(row.steps, before[: _shared(before, next_one)], row.words)
    return shown


def _shared(one: Sequence[AlignedGroup], other: Sequence[AlignedGroup]) -> int:
    """Return how many groups two rows have in common, from the outermost on."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))


def summary(result: CaseResult) -> str:
    """Return one line: the worst problem with its call and argument, the number of others, and what share matched."""
    problems = _problems(result)
    if not problems:
        return f"{result.verdict.replace('_', ' ')}, score {result.score}"
    text = problems[0].finding.message
    shares = [_named_share(result, one) for one in result.results if not one.passed]
    more = [f"and {len(problems) - 1:,} more"] if len(problems) > 1 else []
    reported = "; ".join([*more, ", ".join(shares)] if shares else more)
    return Paper().text(fit(text, _LONGEST) + (f" ({reported})" if reported else ""))


def side_by_side(case: Case, result: CaseResult, paper: Paper) -> Iterator[str]:
    """Yield the lines below the summary: expected and actual calls in two columns, then all other problems.

    Yields nothing for a case that passed.
    """
    reported: set[tuple[str, str]] = set()
    for check, one in zip(case.checks, result.results, strict=False):
        paths = [path for path in paths_of(result, one) if path.problems] if not one.passed else []
        # Several expectations may report the same problem of the same calls: show it once. The summary names them all.
        fresh = [path for path in paths if not {_identity(each) for each in path.problems} <= reported]
        for path in fresh[:_MOST_PATHS]:
            reported |= {_identity(each) for each in path.problems}
            yield from _table(check, path, result.trajectory.calls if result.trajectory is not None else (), paper)
    yield from _others(result, reported, paper)
    yield from _evidence(result, paper)


def _named_share(result: CaseResult, one: EvaluationResult) -> str:
    """Return the name of an expectation and how much of it matched, if that can be counted."""
    share = held_share(result, one)
    return one.evaluator if share.replace(".", "").isdigit() else f"{one.evaluator} {share}"


def _problems(result: CaseResult) -> list[PlacedFinding]:
    """Return the findings, each once, the worst first."""
    each = list({_identity(placed): placed for placed in result.findings}.values())
    reported = [placed for placed in each if not placed.finding.message.startswith(_PREAMBLE)] or each
    return sorted(reported, key=lambda placed: _place_in_line(placed.finding.code))


def _identity(placed: PlacedFinding) -> tuple[str, str]:
    return placed.finding.code, placed.finding.message


def _place_in_line(code: str) -> int:
    return _BY_NAMED_ARGUMENT.index(code) if code in _BY_NAMED_ARGUMENT else len(_BY_NAMED_ARGUMENT)


def _table(check: Check, path: ExpectedPath, calls: Sequence[ToolCall], paper: Paper) -> Iterator[str]:
    if path.place.startswith("expected_turns"):
        yield f"turn {int(path.place.removeprefix('expected_turns').strip('[]')) + 1}:"
    expected = dict(check.lists()).get(path.place, ())
    rows, shown = path.shown_rows()
    texts = {place: _texts(rows[place], path, expected, calls, check, paper) for place in shown}
    column, rest = _columns(list(texts.values()), paper.width - 5)
    yield f"  {'expected':<{column}}   actual"
    before, places = -1, iter([*shown, len(rows)])
    coming = next(places)
    for item in with_brackets([rows[place] for place in shown], rows):
        if coming > before + 1 and (isinstance(item, PathRow) or item.opens):
            yield f"  {paper.glyph(('⋮', '...'))}"
            before = coming - 1
        if isinstance(item, Bracket):
            around = f"{paper.glyph(_INSIDE)} " * item.depth
            yield f"  {around}{paper.glyph(_BEGIN)} {item.label}" if item.opens else f"  {around}{paper.glyph(_END)}"
            continue
        before, coming = coming, next(places)
        yield from _row(item.step, path, *texts[before], column, rest, paper)
    left_out = len(rows) - before - 1 + path.alignment.left_out
    if left_out:
        yield f"  {paper.glyph(('…', '...'))} {left_out:,} more"


def _texts(
    row: PathRow, path: ExpectedPath, expected: Sequence[Any], calls: Sequence[ToolCall], check: Check, paper: Paper
) -> tuple[str, str]:
    """Return the two cells of a row, in brackets, with the rounds of a loop next to each other."""
    left, right = _pair(row.step, path, expected, calls, check, paper)
    inside = f"{paper.glyph(_INSIDE)} " * len(row.groups) if row.step.expected is not None else ""
    left = f"{left}, {row.left_out}" if row.left_out else left
    if len(row.steps) > 1:
        named, more = rounds_named(row)
        rounds = [
            paper.sign(path.kind(each)) + (f" {each.actual + 1}" if each.actual is not None else "") for each in named
        ]
        right = "  ".join([*rounds, *([f"and {more:,} more"] if more else [])])
    return inside + left, right


def _columns(texts: Sequence[tuple[str, str]], room: int) -> tuple[int, int]:
    """Return the widths of the two columns: as wide as their content, if there is space."""
    left = max([cell_count(text) for text, _ in texts], default=0)
    right = max([cell_count(text) for _, text in texts], default=0)
    if left + right > room:
        left = max(min(left, room // 2), room - right)
    left = max(left, len("expected"))
    return left, max(20, room - left)


def _pair(
    step: Step, path: ExpectedPath, expected: Sequence[Any], calls: Sequence[ToolCall], check: Check, paper: Paper
) -> tuple[str, str]:
    """Return the expected and the actual call of a step, each with its number."""
    left = right = ""
    if step.expected is not None:
        item = expected[step.expected] if step.expected < len(expected) else step.name
        left = f"{step.expected + 1} {_written(item)}"
    if step.actual is not None:
        call = calls[step.actual] if step.actual < len(calls) else None
        is_open = path.kind(step) == "not_measured"
        right = f"{step.actual + 1} {_made(step.name, call, check)}{'(?)' if is_open else ''}"
    return paper.text(left), paper.text(right)


def _written(item: Any) -> str:
    if isinstance(item, str):
        return item
    if hasattr(item, "output") and not hasattr(item, "args"):
        return f"{item.name} → {value_text(item.output)}"
    args, beside = getattr(item, "args", None), getattr(item, "parts", {})
    given = {**(args or {}), **beside}
    shown = {key: _ANYTHING if value == {"$any": True} else value for key, value in given.items()}
    text = call_text(str(getattr(item, "name", item)), None if args is None and not beside else shown)
    return text.replace(f'"{_ANYTHING}"', _ANYTHING)


def _made(name: str, call: ToolCall | None, check: Check) -> str:
    """Return a call as the expectation sees it: its name, its output, or its arguments."""
    if call is None or check.evaluator.type_id in ("tool-call-order", "execution-order"):
        return name
    if check.evaluator.type_id == "tool-call-output":
        return name if "output" in call.unrecorded else f"{name} → {value_text(call.output)}"
    return call_text(name, call.args)


def _row(step: Step, path: ExpectedPath, left: str, right: str, column: int, rest: int, paper: Paper) -> Iterator[str]:
    kind = path.kind(step)
    is_fine = kind == "match" or (kind == "extra" and not path.is_reported(step))
    mark = " " if is_fine else paper.sign(kind)
    shown = fit(left, column, plain=paper.plain)
    yield f"{mark} {shown}{' ' * (column - cell_count(shown))}   {fit(right, rest, plain=paper.plain)}".rstrip()
    if kind == "mismatch" and (cell_count(left) > column or cell_count(right) > rest):
        yield from [f"      {text}" for text in difference_texts(step.differences, paper.width - 6, paper)]
    if kind == "moved" and step.actual is not None and len(path.problems) > 1:
        yield f"      {order_text(step, path.alignment.steps)}"


def _others(result: CaseResult, reported: set[tuple[str, str]], paper: Paper) -> Iterator[str]:
    """Yield the problems that no table shows, one per line, and help for all problems."""
    problems = _problems(result)
    others = [placed for placed in problems if _identity(placed) not in reported]
    if len(problems) > 1 or reported:
        for placed in others[:_MOST_PROBLEMS]:
            mark = paper.sign("not_measured" if is_unmeasured(placed.finding.code) else "failed")
            yield f"{mark} {fit(paper.text(placed.finding.message), 3 * paper.width, plain=paper.plain)}"
        if len(others) > _MOST_PROBLEMS:
            yield f"  and {len(others) - _MOST_PROBLEMS:,} more problems"
    for advice in dict.fromkeys([placed.finding.help for placed in problems if placed.finding.help]):
        yield f"help: {paper.text(str(advice))}"


def _evidence(result: CaseResult, paper: Paper) -> Iterator[str]:
    """Yield why a case could not be judged: notes of the reader, and the traceback of an agent or evaluator."""
    if result.verdict == "not_measured":
        yield from [f"note: {paper.text(warning)}" for warning in result.notes[:3]]
    broken: list[EvaluationResult] = [one for one in result.results if one.traceback]
    trace = result.outcome.traceback if result.outcome is not None else None
    trace = trace or (broken[0].traceback if broken else None)
    if trace:
        for line in trace[-20_000:].rstrip().splitlines()[-_LINES_OF_A_TRACEBACK:]:
            yield f"  {fit(paper.text(line), 2 * paper.width, plain=paper.plain)}"
