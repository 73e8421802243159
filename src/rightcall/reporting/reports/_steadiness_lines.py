"""Repeats in words: rates with their intervals, where runs diverge, and how many repeats are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rightcall.reporting.changes import CaseTrials, Steadiness
from rightcall.reporting.paths import Branch, CasePaths, Parting
from rightcall.values.results import SIGNS, Verdict, count_text
from rightcall.values.statistics import Interval, repeats_needed, repeats_needed_against

from ._paper import Line, Paper, Part, cell_count, fit, wrap

_PASSED = "."
"""The mark of a pass if only ASCII can be printed: its sign has two characters, and marks are counted by eye."""
_MOST_MARKS = 20
_MOST_TRIES = 10
_CASE_WIDTH = 28
_RAIL = ("│", "|")
_COIN = 0.25
_DROPS = (0.20, 0.10, 0.05, 0.02)
_FEW = 100
"""With fewer trials, a share is shown without decimals, which would be false precision."""


def share_text(share: float | None, trials: int = 0) -> str:
    """Return a share as text: `68 %`, with a decimal from a hundred trials on.

    It is never rounded to 100 % if something is missing, and never to 0 % if something is there.
    """
    if share is None:
        return "-"
    percent, places = share * 100, 0 if trials < _FEW else 1
    least = 10.0**-places
    if 0 < percent < least:
        return f"<{least:g} %"
    return f">{100 - least:g} %" if 100 - least < percent < 100 else f"{percent:.{places}f} %"


def interval_text(interval: Interval | None) -> str:
    """Return an interval of shares: `53–89 %`."""
    return "-" if interval is None else f"{interval.low * 100:.0f}–{interval.high * 100:.0f} %"


def trials_text(case: CaseTrials) -> str:
    """Return how many trials passed, and how many have no answer: `4/5 + 1 error`."""
    passed, measured = case.measured
    counts = [(case.totals.error, SIGNS["error"].word), (case.totals.not_measured, SIGNS["not_measured"].word)]
    return "".join([f"{passed}/{measured}", *[f" + {count} {word}" for count, word in counts if count]])


def marks_text(verdicts: Sequence[Verdict], paper: Paper) -> str:
    """Return a mark for each trial, at most twenty: `✓✗✓✓✓`."""
    shown = [
        (SIGNS[each].symbol, _PASSED if each == "passed" else SIGNS[each].ascii) for each in verdicts[:_MOST_MARKS]
    ]
    marks = "".join(map(paper.glyph, shown))
    more = len(verdicts) - _MOST_MARKS
    return marks + (f" {paper.glyph(('…', '...'))} {more:,} more" if more > 0 else "")


def steadiness_lines(
    run: Steadiness,
    k: int,
    paper: Paper,
    name: str = "last",
    most: int | None = None,
    *,
    has_every_k: bool = False,
) -> Iterator[Line]:
    """Yield the trials of each case, and rates of the run.

    Args:
        run: All trials.
        k: The number of tries for the last column, all of which have to pass.
        paper: The output medium.
        name: The name of the run in commands.
        most: The most cases to list, those first that did not pass every time; all by default.
        has_every_k: Whether to show the probability that all tries pass for each number of tries up to `k`.
    """
    shown = _listed(run, most)
    width = max([len("case"), *[cell_count(_case(case, paper)) for case in shown]])
    # All of one try is the rate, which is there already.
    columns = 5 if k > 1 else 4
    rows = [_cells(case, k, paper)[:columns] for case in shown]
    head = ("passed", "", "rate", "95 %", f"all of {k}")[:columns]
    widths = [max([cell_count(row[column]) for row in [head, *rows]]) for column in range(len(head))]
    yield (f"    {'case'.ljust(width)}   {_row(head, widths)}",)
    for case, row in zip(shown, rows, strict=True):
        label = _case(case, paper)
        mark: Part = ("q", "dim") if case.case_id in run.quarantined else _mark(case, paper)
        yield ("  ", mark, f" {label}{' ' * (width - cell_count(label))}   {_row(row, widths)}")
    if len(shown) < len(run.cases):
        left = len(run.cases) - len(shown)
        yield (f"  {paper.glyph(('…', '...'))} {count_text(left, 'more case')}: rightcall stats {paper.text(name)}",)
    yield from _totals(run, k)
    if has_every_k and k > 1:
        chances = [run.all_of(tries)[0] for tries in range(1, min(k, _MOST_TRIES) + 1)]
        texts = ["-" if chance is None else f"{chance:.4f}" for chance in chances]
        yield from ((piece,) for piece in wrap(f"pass^1 to {len(texts)}   {'  '.join(texts)}", paper.width))
    yield from _remarks(run, paper.text(name), paper)


def parting_lines(found: CasePaths, paper: Paper) -> Iterator[Line]:
    """Yield where the runs of one case diverge, and how each branch ends."""
    if not found.paths:
        yield (f"{paper.text(found.case_id)}  no path was recorded",)
        return
    yield (f"{paper.text(found.case_id)}  {found.passed:,}/{found.runs:,} passed, {count_text(found.paths, 'path')}",)
    if not found.partings:
        yield ("  there is one run of it" if found.runs == 1 else "  all runs make the same calls",)
        return
    first, *others = found.partings
    yield from parting_tree(first, paper)
    for parting in others[:3]:
        yield (f"  {count_text(parting.runs, 'run')} diverge elsewhere:",)
        yield from parting_tree(parting, paper)


def plan_lines(run: Steadiness, before: int | None = None) -> Iterator[Line]:
    """Yield how many repeats are needed to detect a drop, for this number of cases and their variance."""
    cases = len([case for case in run.counted if case.measured.measured])
    varies = run.variance
    basis = "your cases; 0.25 is a coin" if varies is not None else "a coin: no case has two trials yet"
    variance = _COIN if varies is None else varies
    yield (f"{count_text(cases, 'case')}, trials vary with {variance:.2f} ({basis})",)
    if not cases:
        return
    yield ("to notice a drop of " + "".join([f"{drop * 100:>6.0f} points" for drop in _DROPS]),)
    both = [f"{repeats_needed(cases, drop, variance):,}" for drop in _DROPS]
    yield ("repeats, both sides ".ljust(20) + "".join([f"{each:>13}" for each in both]),)
    if before:
        against = [repeats_needed_against(cases, drop, before, variance) for drop in _DROPS]
        shown = ["never" if each is None else f"{each:,}" for each in against]
        yield (f"repeats, base has {before}".ljust(20) + "".join([f"{each:>13}" for each in shown]),)
        if None in against:
            yield (f"never: the base has too few, {count_text(before, 'repeat')}; repeat it more often",)


def _listed(run: Steadiness, most: int | None) -> list[CaseTrials]:
    if most is None or len(run.cases) <= most:
        return list(run.cases)
    steady = [set(case.verdicts) == {"passed"} for case in run.cases]
    first = sorted(range(len(steady)), key=lambda place: (steady[place], place))[:most]
    return [run.cases[place] for place in sorted(first)]


def _cells(case: CaseTrials, k: int, paper: Paper) -> tuple[str, ...]:
    marks = marks_text(case.verdicts, paper)
    interval = interval_text(case.interval)
    trials = case.measured.measured
    all_of = share_text(case.all_of(k))
    return trials_text(case), marks, share_text(case.rate, trials), paper.text(interval), all_of


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - cell_count(cell)) for cell, width in zip(cells[:2], widths, strict=False)]
    right = [" " * (width - cell_count(cell)) + cell for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "   ".join(["  ".join(padded), *right])


def _mark(case: CaseTrials, paper: Paper) -> Part:
    if case.is_flaky:
        return ("~", "yellow")
    verdict: Verdict = "passed" if case.measured.passed else "failed" if case.measured.measured else "not_measured"
    return (paper.sign(verdict), SIGNS[verdict].style)


def _totals(run: Steadiness, k: int) -> Iterator[Line]:
    trials = sum([each.measured for each in run.trials])
    again = f"{interval_text(run.again)} if these cases run again" if run.again is not None else ""
    like = f", {interval_text(run.like_these)} for cases like these" if run.like_these is not None else ""
    yield (f"pass rate  {share_text(run.rate, trials):>6}   {again}{like}".rstrip(),)
    if max([len(case.verdicts) for case in run.cases], default=0) == 1:
        yield ("each case was run once: rightcall run --repeat 5 shows how steady it is",)
    every, cases = run.all_of(k)
    some, _ = run.any_of(k)
    if every is not None and k > 1:
        of = f" ({cases:,} of {len(run.counted):,} cases)" if cases < len(run.counted) else ""
        label = f"all of {k}".ljust(9)
        interval = run.all_of_interval(k)
        within = f"{interval_text(interval)}, " if interval is not None else ""
        yield (f"{label}  {share_text(every):>6}   {within}at least one of {k}: {share_text(some)}{of}",)


def _remarks(run: Steadiness, name: str, paper: Paper) -> Iterator[Line]:
    """Yield how many cases are flaky, in quarantine or may leave it, and how many trials have no answer."""
    flaky = run.flaky
    if flaky:
        worst = min(flaky, key=lambda case: abs((case.rate or 0.0) - 0.5))
        verb = "is" if len(flaky) == 1 else "are"
        hint = f"rightcall stats {name} --case {_case(worst, paper)} shows where runs diverge"
        if not name:
            hint = "with --keep, rightcall stats shows where runs diverge"
        sentence = f"{len(flaky):,} of {count_text(len(run.counted), 'case')} {verb} flaky; {hint}"
        yield from ((piece,) for piece in wrap(sentence, paper.width))
    apart = len(run.cases) - len(run.counted)
    if apart:
        yield (f"{count_text(apart, 'case')} in quarantine (q), in none of these figures",)
    if run.may_leave:
        named = ", ".join([_case(case, paper) for case in run.may_leave])
        yield (
            f"steady in {min([len(case.verdicts) for case in run.may_leave])} trials, may leave quarantine: {named}",
        )
    without = sum([case.open for case in run.counted])
    if without:
        trials = "1 trial has" if without == 1 else f"{without:,} trials have"
        yield (f"{trials} no answer: in error or not measured, and not counted in any rate",)


def parting_tree(
    parting: Parting,
    paper: Paper,
    named: Callable[[str], str] = str,
    *,
    has_verdicts: bool = True,
) -> Iterator[Line]:
    """Yield one place where runs diverge, as a tree: the calls up to there, and how each branch ends."""
    path = ", ".join([paper.text(step) for step in map(named, parting.after)])
    room = max(20, paper.width - 10)
    yield (f"  after {fit(path, room, plain=paper.plain)}" if path else "  at the beginning",)
    calls = [_first_call(branch, paper, named) for branch in parting.branches]
    width = max(map(cell_count, calls))
    last = len(parting.branches) - 1
    for number, (branch, call) in enumerate(zip(parting.branches, calls, strict=True)):
        rail = paper.glyph(("└─", "`-")) if number == last else paper.glyph(("├─", "|-"))
        runs = count_text(branch.runs, "run")
        passed = f"  {branch.passed:,} passed" if has_verdicts else ""
        text = f"    {rail} {call}{' ' * (width - cell_count(call))}  {runs:>8}{passed}"
        yield from _with_reason(text, paper.text(branch.reason), "" if number == last else paper.glyph(_RAIL), paper)


def _with_reason(text: str, reason: str, rail: str, paper: Paper) -> Iterator[Line]:
    """Yield a branch and why it fails, on a line of its own if both do not fit: a cut reason helps little."""
    if not reason:
        yield (text,)
    elif cell_count(text) + 3 + cell_count(reason) <= paper.width:
        yield (f"{text}   {reason}",)
    else:
        yield (text,)
        yield (f"    {rail:<2} {fit(reason, max(20, paper.width - 7), plain=paper.plain)}",)


def _first_call(branch: Branch, paper: Paper, named: Callable[[str], str]) -> str:
    return "the end" if branch.call is None else fit(paper.text(named(branch.call)), 40, plain=paper.plain)


def _case(case: CaseTrials, paper: Paper) -> str:
    return fit(paper.text(case.case_id), _CASE_WIDTH, plain=paper.plain)
