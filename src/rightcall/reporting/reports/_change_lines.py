"""Changes in words: between runs, of a string as a unified diff, and faults that an eval set noticed or let pass."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rightcall.reporting.changes import (
    CaseChange,
    CaseSide,
    Comparison,
    GateRule,
    GateSide,
    Overview,
    PathChange,
    gate,
    overview,
    varying_arguments,
)
from rightcall.values.decoding import Edit, apply_edits
from rightcall.values.results import SIGNS, Difference, MutatedCase, MutationReport, Survivor, Verdict, count_text
from rightcall.values.statistics import run_rate, these_cases_again

from ._paper import NARROWEST, Line, Paper, Part, cell_count, fit, line_length, wrap
from ._steadiness_lines import interval_text, share_text

_ON_BOTH = {
    "passed": "passes on both",
    "failed": "fails on both",
    "error": "in error on both",
    "not_measured": "not measured on both",
}
_ARROW, _SWAP, _ALIKE, _DOT = ("→", "->"), ("⇄", "<->"), ("≈", "~"), ("·", ";")
_BAR = ("│", "|")
"""The start of lines that consist of text from outside, so that none of them reads like a command."""
_UNICODE = Paper()
_MOST_WORDS = 8
_MOST_SCORES = 3
_MOST_NAMED = 20
_WORD_WIDTH = 120
_CASE_WIDTH = 32
_INDENT = " " * 6
Arguments: TypeAlias = Container[tuple[str, str]]
"""Arguments of tools, each the tool and the path to it."""

_SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("regression", "regressions", ("worse",)),
    ("fix", "fixes", ("better",)),
    ("other verdict", "other verdicts", ("other",)),
    ("edited case", "edited cases", ("edited",)),
    ("other path", "other paths", ("drifted",)),
    ("other score", "other scores", ("rescored",)),
)
"""The kinds of change in the order of their weight: one of them, several, and what comparisons call them."""
_AROUND = 3
_NO_NEWLINE = "\\ No newline at end of file"
_MOST_CASES = 20
_MOST_LINES = 12
_MOST_IDS = 5


def comparison_lines(
    comparison: Comparison, paper: Paper, names: tuple[str, str] = ("", ""), most: int | None = None
) -> Iterator[Line]:
    """Yield two runs: regressions, fixes, cases with the same verdict by another path, and last the totals.

    Cases that changed in the same way are listed together. Unchanged cases are counted only.

    Args:
        comparison: The changes.
        paper: What they are written on.
        names: The names of the runs, for cases that are in one run only.
        most: How many changes of each kind are listed; all by default.
    """
    shared = [change for change in comparison.cases if change.before is not None and change.after is not None]
    width = max([cell_count(_case(change.case_id, paper)) for change in shared], default=0)
    varying = varying_arguments(shared)
    counts = []
    for one, several, kinds in _SECTIONS:
        found = [change for change in shared if ("rescored" if change.is_rescored else change.kind) in kinds]
        if found:
            counts.append(f"{len(found):,} {one if len(found) == 1 else several}")
            yield ((counts[-1], "bold"),)
            yield from _section(found, width, paper, most, varying)
    for kind, name in zip(("only_before", "only_after"), names, strict=True):
        ids = [_case(change.case_id, paper) for change in comparison.cases if change.kind == kind]
        if ids:
            more = f" and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else ""
            yield (f"  only in {paper.text(name) or 'one run'}: {', '.join(ids[:_MOST_NAMED])}{more}",)
    if not comparison.cases:
        yield (f"  no change in {count_text(comparison.same, 'case')}",)
    yield _columns([f"{paper.text(what)}  {change}" for what, change in totals_words(comparison, paper)], paper)
    if comparison.cases:
        dot = f" {paper.glyph(_DOT)} "
        yield from ((piece,) for piece in wrap(dot.join([*counts, f"{comparison.same:,} unchanged"]), paper.width))


def _section(
    changes: Sequence[CaseChange], width: int, paper: Paper, most: int | None, varying: Arguments
) -> Iterator[Line]:
    """Yield the changes of one kind, each once: the first case of it, and which others it is the same in."""
    groups: dict[tuple[str, ...], list[CaseChange]] = {}
    for change in changes:
        words = tuple(change_words(change, varying=varying)) if change.path else (change.case_id,)
        verdicts = (change.before.verdict, change.after.verdict) if change.before and change.after else ()
        groups.setdefault((*verdicts, *words), []).append(change)
    # The commonest first; of equals the one that comes first in the eval set, which is the order they have.
    ordered = sorted(groups.values(), key=len, reverse=True)
    for found in ordered[:most]:
        yield from _change_lines(found[0], width, paper, varying if len(found) > 1 else ())
        if len(found) > 1:
            lead = f"{_INDENT}{paper.glyph(_BAR)} and {len(found) - 1:,} more: "
            room = max(NARROWEST, paper.width) - cell_count(lead)
            yield (lead + _as_many([_case(change.case_id, paper) for change in found[1:]], room, paper),)
    hidden = ordered[most:] if most is not None else []
    if hidden:
        cases = sum(map(len, hidden))
        yield (
            (f"  {paper.glyph(('…', '...'))} {count_text(cases, 'more case')}; --max {len(ordered)} shows all", "dim"),
        )


def _as_many(ids: Sequence[str], room: int, paper: Paper) -> str:
    """Return as many ids as fit, and a sign that there are others."""
    text, rest = ids[0], paper.glyph(("…", "..."))
    for each in ids[1:_MOST_NAMED]:
        if cell_count(f"{text}, {each}, {rest}") > room:
            break
        text = f"{text}, {each}"
    is_whole = text.count(", ") == len(ids) - 1
    return fit(text if is_whole else f"{text}, {rest}", room, plain=paper.plain)


def verdict_lines(
    runs: Sequence[Mapping[str, CaseSide]],
    names: Sequence[str],
    paper: Paper,
    trials: Sequence[Mapping[str, GateSide]] = (),
) -> Iterator[Line]:
    """Yield more than two runs as a table: totals, rates, and each case that differs between runs.

    With the `trials` of the runs, rates have intervals, and the others are compared with the first, together at 95 %.
    """
    views = [overview(sides) for sides in runs]
    rows: list[tuple[str, list[Part]]] = [("", [paper.text(name) for name in names])]
    rows += [(what, list(cells)) for what, cells in _total_rows(views)]
    rows += [(what, [paper.text(cell) for cell in cells]) for what, cells in rate_rows(trials, names)]
    is_repeated = any([side.measured.measured + side.open > 1 for sides in trials for side in sides.values()])
    for case_id in dict.fromkeys(case_id for sides in runs for case_id in sides):
        verdicts = [sides[case_id].verdict if case_id in sides else None for sides in runs]
        cells: list[Part] = [_verdict_part(verdict, paper) for verdict in verdicts]
        if is_repeated:
            cells = [_trials_part(sides.get(case_id), paper) for sides in trials]
        if len(set(verdicts)) > 1 or len(set(map(_plain, cells))) > 1:
            rows.append((case_id, cells))
    width = max(cell_count(_case(name, paper)) for name, _ in rows)
    widths = [max(cell_count(_plain(row[column])) for _, row in rows) for column in range(len(runs))]
    for name, cells in rows:
        label = _case(name, paper)
        parts: list[Part] = [f"{paper.glyph(_BAR)} {label}" + " " * (width - cell_count(label))]
        for cell, room in zip(cells, widths, strict=True):
            parts += ["   ", cell, " " * (room - cell_count(_plain(cell)))]
        yield tuple(parts[:-1])


def rate_rows(trials: Sequence[Mapping[str, GateSide]], names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield rates, their 95 % intervals, and what is known of each run against the first.

    Each comparison is made at its part of the error rate of 5 %, so that the more runs, the surer one has to be.
    """
    if not trials:
        return
    measured = [[side.measured for side in sides.values()] for sides in trials]
    numbers = [sum([each.measured for each in run]) for run in measured]
    yield "rate", [share_text(run_rate(run), count) for run, count in zip(measured, numbers, strict=True)]
    yield "95 %", [interval_text(these_cases_again(run)) for run in measured]
    rule = GateRule(confidence=1.0 - 0.05 / max(1, len(trials) - 1))
    verdicts = [gate(trials[0], sides, rule).verdict for sides in trials[1:]]
    words = [word if word in ("better", "worse") else "not told apart" for word in verdicts]
    yield f"against {names[0]}", ["", *words]


def totals_words(comparison: Comparison, paper: Paper = _UNICODE) -> list[tuple[str, str]]:
    """Return the totals of both runs: passed cases, mean scores that changed, calls per case."""
    rows = _total_rows([comparison.before, comparison.after])
    return [(what, f" {paper.glyph(_ARROW)} ".join(cells)) for what, cells in rows]


def score_words(change: CaseChange, paper: Paper = _UNICODE) -> list[str]:
    """Return the scores of a case that changed."""
    arrow = paper.glyph(_ARROW)
    words = [
        f"{paper.text(score.evaluator)} {_score(score.before)} {arrow} {_score(score.after)}"
        for score in change.scores[:_MOST_SCORES]
    ]
    left = len(change.scores) - len(words)
    return [*words, f"{left:,} more scores"] if left > 0 else words


def change_words(change: CaseChange, paper: Paper = _UNICODE, varying: Arguments = ()) -> list[str]:
    """Return the change of a path in a few short words: `a ⇄ b`, `−c`, `+d`, `e quantity 2 → 1`.

    Of an argument that is `varying` no value is told: `e key differs`.
    """
    words = [word for step in change.path[:_MOST_WORDS] for word in _path_words(step, paper, varying)]
    left = max(0, len(words) - _MOST_WORDS) + max(0, len(change.path) - _MOST_WORDS)
    words = [fit(word, _WORD_WIDTH, plain=paper.plain) for word in words[:_MOST_WORDS]]
    if left:
        words.append(f"{left:,} more changes")
    if not words and change.is_flip:
        words.append(_without_path(change))
    return words


def _without_path(change: CaseChange) -> str:
    sides = (change.before, change.after)
    if any(side is not None and not side.is_recorded for side in sides):
        return "no path to compare"
    return "same calls, another answer" if change.has_other_answer else "same calls, same answer"


def _path_words(step: PathChange, paper: Paper, varying: Arguments) -> list[str]:
    name, other = paper.text(step.name), paper.text(step.other)
    times = f" {paper.glyph(('×', 'x'))}{step.times:,}" if step.times > 1 else ""
    if step.kind == "swapped":
        return [f"{name} {paper.glyph(_SWAP)} {other}"]
    if step.kind == "earlier":
        return [f"{name} moved before {other}"]
    if step.kind == "later":
        return [f"{name} moved after {other}"]
    if step.kind == "removed":
        return [f"{paper.glyph(('−', '-'))}{name}{times}"]
    if step.kind == "added":
        return [f"+{name}{times}"]
    return [
        f"{name} {_difference(each, paper, is_varying=(step.name, each.path) in varying)}" for each in step.differences
    ]


def _difference(difference: Difference, paper: Paper, *, is_varying: bool) -> str:
    path = fit(paper.text(difference.path), 60, plain=paper.plain)
    if is_varying:
        return f"{path} differs"
    before, after = (paper.text(value or "") for value in (difference.expected, difference.actual))
    if difference.actual is None:
        return f"{paper.glyph(('−', '-'))}{path}"
    if difference.expected is None:
        return f"+{path} {after}"
    return f"{path} {before} {paper.glyph(_ARROW)} {after}"


def _change_lines(change: CaseChange, width: int, paper: Paper, varying: Arguments) -> Iterator[Line]:
    """Yield one line if the change fits, else the change of the path on lines below."""
    if change.before is None or change.after is None:
        return
    old, new = change.before.verdict, change.after.verdict
    case = _case(change.case_id, paper)
    head: list[Part] = ["  ", *_flip(old, new, paper), " ", case, " " * (width - cell_count(case))]
    scores, words = "   ".join(score_words(change, paper)), change_words(change, paper, varying)
    if not change.is_flip:
        same = f"{_ON_BOTH[new]}, path differs: " if words else _ON_BOTH[new]
        words = [same + "".join(words[:1]), *words[1:]]
    separator = f" {paper.glyph(_DOT)} "
    rest = "   ".join([part for part in (scores, separator.join(words)) if part])
    room = paper.width - line_length(tuple(head)) - 3
    if cell_count(rest) <= room:
        yield (*head, f"   {rest}")
        return
    is_beside = bool(scores) and cell_count(scores) <= room
    yield (*head, f"   {scores}") if is_beside else tuple(head)
    below = words if is_beside or not scores else [scores, *words]
    for piece in _packed(below, separator, max(NARROWEST, paper.width - len(_INDENT) - 2)):
        yield (f"{_INDENT}{paper.glyph(_BAR)} {piece}",)


def _packed(words: Sequence[str], separator: str, width: int) -> Iterator[str]:
    """Yield words on as few lines as possible; a word is broken only if it is longer than a line."""
    line = ""
    for word in words:
        if line and cell_count(line + separator + word) > width:
            yield from wrap(line, width)
            line = word
        else:
            line = line + separator + word if line else word
    yield from wrap(line, width)


def _flip(old: Verdict, new: Verdict, paper: Paper) -> list[Part]:
    width = cell_count(paper.glyph(("✓→✗", "ok->x")))
    parts: list[Part] = [paper.glyph(_ALIKE)]
    if old != new:
        parts = [_verdict_part(old, paper), paper.glyph(_ARROW), _verdict_part(new, paper)]
    return [*parts, " " * (width - line_length(tuple(parts)))]


def _verdict_part(verdict: Verdict | None, paper: Paper) -> Part:
    return (paper.sign(verdict), SIGNS[verdict].style) if verdict is not None else "-"


def _trials_part(side: GateSide | None, paper: Paper) -> Part:
    """The trials of a case in one run: `9/20`, with those that have no answer."""
    if side is None:
        return "-"
    without = f" + {side.open} {paper.sign('error')}" if side.open else ""
    return f"{side.measured.passed}/{side.measured.measured}{without}"


def _total_rows(views: Sequence[Overview]) -> Iterator[tuple[str, list[str]]]:
    """Return the totals of several runs side by side. Mean scores that are the same in all runs are left out."""
    yield "passed", [f"{view.passed:,}/{view.cases:,}" for view in views]
    for evaluator in dict.fromkeys(evaluator for view in views for evaluator in view.scores):
        cells = [_mean(view.scores.get(evaluator), 3) for view in views]
        if len(set(cells)) > 1:
            yield evaluator, cells
    yield "calls/case", [_mean(view.calls, 1) for view in views]


def _columns(parts: Sequence[str], paper: Paper) -> Line:
    """Return strings beside each other, on as many lines as needed."""
    lines = [parts[0]]
    for part in parts[1:]:
        if cell_count(lines[-1]) + 5 + cell_count(part) <= paper.width:
            lines[-1] += f"     {part}"
        else:
            lines.append(part)
    return ("\n".join(lines),)


def _case(case_id: str, paper: Paper) -> str:
    return fit(paper.text(case_id), _CASE_WIDTH, plain=paper.plain)


def _plain(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _score(score: float | None) -> str:
    return _mean(score, 2)


def _mean(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def diff_lines(before: str, edits: Sequence[Edit], old_name: str, new_name: str) -> Iterator[str]:
    """Yield a unified diff of a text and the same text with edits. Nothing if there are none.

    Only the lines around edits are compared, so its time grows with them and not with the text.
    """
    if not edits:
        return
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    starts = [0, *[place + 1 for place, character in enumerate(before) if character == "\n"]]
    ends = [*starts[1:], len(before)]
    shift = 0
    for first, last, inside in _regions(edits, starts, _AROUND):
        lines: list[str] = []
        place = first
        for begin, end, here in _regions(inside, starts, 0):
            lines += _marked(" ", _lines(before[starts[place] : starts[begin]]))
            old = before[starts[begin] : ends[end]]
            moved = [Edit(edit.start - starts[begin], edit.end - starts[begin], edit.text) for edit in here]
            lines += _compared(_lines(old), _lines(apply_edits(old, moved)))
            place = end + 1
        lines += _marked(" ", _lines(before[ends[place - 1] : ends[last]]))
        removed, added = (sum(line[0] in marks for line in lines) for marks in (" -", " +"))
        yield f"@@ -{_range(first, removed)} +{_range(first + shift, added)} @@"
        yield from lines
        shift += added - removed


def _regions(edits: Sequence[Edit], starts: Sequence[int], around: int) -> Iterator[tuple[int, int, list[Edit]]]:
    """Return the first and last line of every edited part of the text, with some lines around it."""
    most = len(starts) - 1
    first = last = -1
    inside: list[Edit] = []
    for edit in edits:
        begin = max(0, bisect_right(starts, edit.start) - 1 - around)
        end = min(most, bisect_right(starts, edit.end) - 1 + around)
        if inside and begin > last + 1:
            yield first, last, inside
            inside = []
        first, last = (begin, end) if not inside else (first, max(last, end))
        inside.append(edit)
    if inside:
        yield first, last, inside


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    from difflib import SequenceMatcher  # for `accept` alone

    for kind, first, end, new_first, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from _marked(" ", old[first:end])
            continue
        yield from _marked("-", old[first:end])
        yield from _marked("+", new[new_first:new_end])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n").removesuffix("\r")
        if not line.endswith("\n"):
            yield _NO_NEWLINE


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _range(first: int, length: int) -> str:
    begin = first + 1 if length else first
    return str(begin) if length == 1 else f"{begin},{length}"


def mutation_lines(report: MutationReport, paper: Paper) -> Iterator[Line]:
    """Yield what an eval set noticed: the share, each case with faults that it let pass, what did not count."""
    arrow = "->" if paper.plain else "→"
    let_pass = report.counted - report.noticed
    yield (
        (paper.text(report.evalset), "bold"),
        f"  {count_text(len(report.cases), 'case')}, {count_text(report.counted, 'mutant')}: ",
        f"{report.noticed:,} noticed ({share_noticed(report)}), {let_pass:,} let pass",
    )
    gaps = sorted([case for case in report.cases if case.survivors], key=lambda case: -len(case.survivors))
    for case in gaps[:_MOST_CASES]:
        yield ("  ", (paper.text(case.case_id), "bold"), f"  {case.noticed:,} of {case.counted:,}")
        groups = grouped_survivors(case)
        for line, survivors in groups[:_MOST_LINES]:
            yield from _group(paper.text(line), survivors, arrow, paper)
        if len(groups) > _MOST_LINES:
            yield (f"     … and {len(groups) - _MOST_LINES:,} more",)
    if len(gaps) > _MOST_CASES:
        yield (f"  … and {count_text(len(gaps) - _MOST_CASES, 'case')} more",)
    yield from _footnotes(report, paper)


def share_noticed(report: MutationReport) -> str:
    """Return the share that was noticed, rounded down: only all of them are 100 %."""
    return f"{100 * report.noticed // report.counted} %" if report.counted else "nothing to notice"


def grouped_survivors(case: MutatedCase) -> list[tuple[str, list[Survivor]]]:
    """Return what a case let pass by the line that would notice it, the line that notices most first."""
    groups: dict[tuple[str, str], list[Survivor]] = {}
    for survivor in case.survivors:
        # Faults without a line have nothing in common.
        key = (survivor.line, "" if survivor.line else survivor.fault)
        groups.setdefault(key, []).append(survivor)
    ordered = sorted(groups.items(), key=lambda each: (not each[0][0], -len(each[1])))
    return [(line, survivors) for (line, _), survivors in ordered]


def _group(line: str, survivors: list[Survivor], arrow: str, paper: Paper) -> Iterator[Line]:
    more = f" (and {len(survivors) - 1} more)" if len(survivors) > 1 else ""
    fault = f"     {paper.text(survivors[0].fault)}{more}"
    if not line:
        yield (fault,)
    elif len(fault) + len(line) + 4 <= paper.width:
        yield (fault, f"  {arrow} ", (line, "cyan"))
    else:
        yield (fault,)
        yield (f"       {arrow} ", (line, "cyan"))


def _footnotes(report: MutationReport, paper: Paper) -> Iterator[Line]:
    for reason, number in sorted(report.set_aside.items(), key=lambda each: -each[1]):
        yield (f"  set aside: {number:,}, because {paper.text(reason)}",)
    for reason, ids in report.not_tried.items():
        named = ", ".join(map(paper.text, ids[:_MOST_IDS])) + (" …" if len(ids) > _MOST_IDS else "")
        yield (
            f"  not tried: {count_text(len(ids), 'case')}, because {paper.text(_BECAUSE.get(reason, reason))}: {named}",
        )
    if unmeasured := sum([case.unmeasured for case in report.cases]):
        yield (f"  not measured: {count_text(unmeasured, 'mutant')}, neither noticed nor let pass",)
    if left_out := sum([case.left_out for case in report.cases]):
        yield (f"  not tried: {count_text(left_out, 'mutant')} of cases that have more than 200; 200 were drawn",)


_BECAUSE = {"no trace": "no trace was recorded"}


def mutation_json(report: MutationReport) -> str:
    """Return a report of `rightcall mutate` as JSON."""
    plain: dict[str, Any] = {
        "schema": 1,
        "evalset": report.evalset,
        "run": report.run,
        "noticed": report.noticed,
        "counted": report.counted,
        "score": report.share if report.counted else None,
        "operators": list(report.operators),
        "set_aside": report.set_aside,
        "not_tried": {reason: list(ids) for reason, ids in report.not_tried.items()},
        "cases": [_plain_case(case) for case in report.cases],
    }
    return json.dumps(plain, indent=2) + "\n"


def _plain_case(case: MutatedCase) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "noticed": case.noticed,
        "counted": case.counted,
        "operators": {name: {"noticed": seen, "counted": of} for name, (seen, of) in case.cells.items()},
        "survivors": [
            {"operator": each.operator, "fault": each.fault, "line": each.line or None} for each in case.survivors
        ],
        "set_aside": case.set_aside,
        "not_measured": case.unmeasured,
        "not_tried": case.left_out,
    }
