"""Why a case did not pass, for an assertion: one line that names the call, then expected beside actual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rightcall.values.results import (
    CaseResult,
    EvaluationResult,
    PlacedFinding,
    Step,
    call_text,
    is_unmeasured,
    value_text,
)
from rightcall.values.trajectory import ToolCall

from ._concise import held_share
from ._expected_paths import (
    Bracket,
    ExpectedPath,
    PathRow,
    difference_texts,
    order_text,
    paths_of,
    rounds_named,
    with_brackets,
)
from ._paper import Paper, cell_count, fit

if TYPE_CHECKING:  # takes 0.2 s to import, and reports of runs do not need it
    from rightcall.cases.evalsets import Case, Check

_BY_WEIGHT = ("RC107", "RC104", "RC106", "RC108", "RC101", "RC105", "RC103", "RC102")
"""The order of problems in the first line: those that name an argument come first."""
_PREAMBLE = "not measured: "
_LONGEST = 300
_MOST_PROBLEMS = 12
_MOST_PATHS = 5
_LINES_OF_A_TRACEBACK = 12
_ANYTHING = "…"
_BEGIN, _INSIDE, _END = ("┌", "["), ("│", "|"), ("└", "]")


def summary(result: CaseResult) -> str:
    """Return one line: the worst problem with its call and argument, the number of others, and how much holds."""
    problems = _problems(result)
    if not problems:
        return f"{result.verdict.replace('_', ' ')}, score {result.score}"
    text = problems[0].finding.message
    held = [_held(result, one) for one in result.results if not one.passed]
    more = [f"and {len(problems) - 1:,} more"] if len(problems) > 1 else []
    reported = "; ".join([*more, ", ".join(held)] if held else more)
    return Paper().text(fit(text, _LONGEST) + (f" ({reported})" if reported else ""))


def side_by_side(case: Case, result: CaseResult, paper: Paper) -> Iterator[str]:
    """Yield the lines below the summary: expected and actual calls in two columns, then every other problem.

    Nothing for a case that passed.
    """
    reported: set[tuple[str, str]] = set()
    for check, one in zip(case.checks, result.results, strict=False):
        paths = [path for path in paths_of(result, one) if path.problems] if not one.passed else []
        # Several expectations may say the same of the same calls: once is enough, and the summary names them all.
        fresh = [path for path in paths if not {_identity(each) for each in path.problems} <= reported]
        for path in fresh[:_MOST_PATHS]:
            reported |= {_identity(each) for each in path.problems}
            yield from _table(check, path, result.trajectory.calls if result.trajectory is not None else (), paper)
    yield from _others(result, reported, paper)
    yield from _evidence(result, paper)


def _held(result: CaseResult, one: EvaluationResult) -> str:
    """Return how much of an expectation holds; its name alone if that cannot be counted."""
    share = held_share(result, one)
    return one.evaluator if share.replace(".", "").isdigit() else f"{one.evaluator} {share}"


def _problems(result: CaseResult) -> list[PlacedFinding]:
    """Return the findings, each once, the worst first."""
    each = list({_identity(placed): placed for placed in result.findings}.values())
    reported = [placed for placed in each if not placed.finding.message.startswith(_PREAMBLE)] or each
    return sorted(reported, key=lambda placed: _weight(placed.finding.code))


def _identity(placed: PlacedFinding) -> tuple[str, str]:
    return placed.finding.code, placed.finding.message


def _weight(code: str) -> int:
    return _BY_WEIGHT.index(code) if code in _BY_WEIGHT else len(_BY_WEIGHT)


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
    """Return the two cells of a row, in brackets, and with the rounds of a loop beside each other."""
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
    """Return the widths of the two columns: as wide as their content, else the space that the other one leaves."""
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
    """Yield the problems that no table shows, one per line, and advice on all of them."""
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
    """Yield evidence for what could not be judged: advice of the reader, and the traceback of an agent or evaluator."""
    if result.verdict == "not_measured":
        yield from [f"note: {paper.text(warning)}" for warning in result.notes[:3]]
    broken: list[EvaluationResult] = [one for one in result.results if one.traceback]
    trace = result.outcome.traceback if result.outcome is not None else None
    trace = trace or (broken[0].traceback if broken else None)
    if trace:
        for line in trace[-20_000:].rstrip().splitlines()[-_LINES_OF_A_TRACEBACK:]:
            yield f"  {fit(paper.text(line), 2 * paper.width, plain=paper.plain)}"
