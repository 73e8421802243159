"""One case as a timeline: what was asked, each call with its fate, what is missing in its place, and the answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from rightcall.errors import InputError
from rightcall.reporting.reports import ExpectedPath, PathRow, group_labels, path_rows, paths_of, reported_findings
from rightcall.values.decoding import decode_json
from rightcall.values.results import (
    CaseResult,
    PlacedFinding,
    RulesJustification,
    Step,
    ToolTrajectoryEvaluatorJustification,
)
from rightcall.values.trajectory import ToolCall

from ._case_calls import BarView, CallView, value_shown
from ._evaluations import EvaluationView, StepView
from ._flows import Flow
from ._rows import ProblemView, problem_view
from ._templates import Change, Marked, ShownText, shown_text

ItemKind: TypeAlias = Literal["turn", "user", "answer", "group", "fold", "call", "missing", "left_out", "nothing"]
_SHOWN_WHOLE = 20
"""Calls of a case without problems up to which nothing is folded."""
_FEWEST = 2
_NAMED = 6
_TEXT = 1_000
_QUIET = ("", "match", "skipped")


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a timeline, or several in a group or a fold."""

    kind: ItemKind
    label: str = ""
    """What it is in a few words: of a group, a fold, a missing call or a turn."""
    text: ShownText | None = None
    """What was asked or answered."""
    fate: str = ""
    """The kind of its sign; empty where no expectation is about it."""
    call: CallView | None = None
    bar: BarView | None = None
    changes: tuple[Change, ...] = ()
    note: str = ""
    problems: tuple[ProblemView, ...] = ()
    flows: tuple[Flow, ...] = ()
    """Where values of its arguments come from."""
    used_by: tuple[int, ...] = ()
    items: tuple[TimelineItem, ...] = ()
    calls: int = 0
    """How many calls are in a group or a fold."""
    is_problem: bool = False
    anchor: str = ""


class RuleView(msgspec.Struct, frozen=True):
    """One rule, whether it holds, and the calls that break it."""

    rule: str
    kind: str
    word: str
    numbers: tuple[int, ...] = ()
    why: str = ""


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What a timeline is made of: the calls on the page, their bars, the comparisons, and where values come from."""

    result: CaseResult
    views: Mapping[int, CallView]
    bars: Mapping[int, BarView]
    evaluations: Sequence[EvaluationView]
    flows: Mapping[int, tuple[Flow, ...]]
    uses: Mapping[int, tuple[int, ...]]
    first: int
    end: int
    """The numbers of the calls on the page: the first, and one past the last."""


def timeline_of(material: Material) -> tuple[TimelineItem, ...]:
    """Return the rows of a case, in the order of what was expected; other calls are where they were made."""
    making = _Making(material)
    trajectory = material.result.trajectory
    if trajectory is None:
        return ()
    turns = _turns(material.result)
    rows_of = [making.rows(turn) for turn in turns]
    folds = making.has_problems or len(trajectory.calls) > _SHOWN_WHOLE
    items: list[TimelineItem] = []
    for turn, rows in zip(turns, rows_of, strict=True):
        shown = [row for row, page in rows if material.first <= page < material.end]
        if not shown and rows and len(turns) > 1:
            continue
        made = making.nested(shown, 0, group_labels([row for row, _ in rows]))
        items += _head(turn, len(turns), is_first=material.first == 1)
        items += _folded(made) if folds else made
        if not made and len(turns) > 1:
            items.append(TimelineItem(kind="nothing", label="no calls"))
        if turn.answer is not None and (len(turns) > 1 or material.end > len(trajectory.calls)):
            items.append(TimelineItem(kind="answer", text=turn.answer))
    return tuple(items)


def first_problem_page(result: CaseResult, size: int) -> int:
    """Return the page of calls on which the first problem is, so many calls being on a page."""
    calls = len(result.trajectory.calls) if result.trajectory is not None else 0
    if calls <= size:
        return 1
    named = [placed.finding.actual for placed in reported_findings(result)]
    found = [call.position for call in named if call is not None]
    for turn in _turns(result):
        before = 0
        for step in turn.path.alignment.steps if turn.path is not None else ():
            if step.actual is not None:
                before = step.actual
            if step.kind == "missing" and not result.passed:
                found.append(before)
                break
    return min(found, default=0) // size + 1


def rule_views(result: CaseResult) -> tuple[RuleView, ...]:
    """Return the rules of a case: those that are broken first."""
    found: list[RuleView] = []
    for one in result.results:
        if isinstance(one.details, RulesJustification):
            for check in one.details.rules[:100]:
                kind, word = _RULES[check.status]
                numbers = tuple(sorted({call.position + 1 for call in check.calls}))[:20]
                found.append(RuleView(check.rule[:300], kind, word, numbers, check.why[:300]))
    return tuple(sorted(found, key=lambda rule: rule.kind not in ("failed", "not_measured")))


_RULES = {
    "holds": ("match", "holds"),
    "broken": ("failed", "broken"),
    "never_applied": ("skipped", "never applied"),
    "open": ("not_measured", "not recorded enough"),
}


class _Turn(msgspec.Struct, frozen=True):
    """A turn of a conversation, or the whole run: what was asked and answered, and the path that was expected."""

    number: int
    question: ShownText | None
    answer: ShownText | None
    path: ExpectedPath | None
    calls: Sequence[int]
    """The positions of its calls."""


def _turns(result: CaseResult) -> list[_Turn]:
    run = result.trajectory
    if run is None:
        return []
    paths = _main_paths(result)
    count = max(len(paths), len(run.turn_outputs), len(run.turn_inputs), 1)
    if count == 1:
        whole = range(len(run.calls))
        return [_Turn(0, _said(run.input), _said(run.output), paths[0] if paths else None, whole)]
    by_turn: list[list[int]] = [[] for _ in range(count)]
    at = 0
    for position, call in enumerate(run.calls):
        at = min(call.turn, count - 1) if call.turn is not None else at
        by_turn[at].append(position)
    return [
        _Turn(
            turn,
            _said(run.turn_inputs[turn]) if turn < len(run.turn_inputs) else None,
            _said(run.turn_outputs[turn]) if turn < len(run.turn_outputs) else None,
            paths[turn] if turn < len(paths) and len(paths) > 1 else None,
            by_turn[turn],
        )
        for turn in range(count)
    ]


def _said(value: object) -> ShownText | None:
    """What was asked or answered: a text as it is, anything else as JSON."""
    if value is None:
        return None
    return shown_text(value, _TEXT, whole=True) if isinstance(value, str) else value_shown(value, _TEXT)


def _main_paths(result: CaseResult) -> list[ExpectedPath]:
    """The paths of the expectation that says most about the calls: a whole path, one that did not pass first."""
    ordered = sorted(
        result.results,
        key=lambda one: (not isinstance(one.details, ToolTrajectoryEvaluatorJustification), one.passed),
    )
    return next((paths for one in ordered if (paths := list(paths_of(result, one)))), [])


def _head(turn: _Turn, turns: int, *, is_first: bool) -> list[TimelineItem]:
    items = [TimelineItem(kind="turn", label=f"Turn {turn.number + 1} of {turns}")] if turns > 1 else []
    if turn.question is not None and (turns > 1 or is_first):
        items.append(TimelineItem(kind="user", text=turn.question))
    return items


class _Making:
    """A timeline while it is made."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._steps: dict[int, StepView] = {}
        for view in material.evaluations:
            for step in [step for table in view.tables for step in table.steps if step.number]:
                known = self._steps.get(step.number)
                if known is None or known.kind == "match":
                    self._steps[step.number] = step
        self._by_call: dict[int, list[PlacedFinding]] = {}
        self._by_path: dict[str, list[PlacedFinding]] = {}
        for placed in reported_findings(material.result):
            finding = placed.finding
            if finding.actual is not None:
                self._by_call.setdefault(finding.actual.position + 1, []).append(placed)
            elif finding.path is not None:
                self._by_path.setdefault(finding.path, []).append(placed)

    @property
    def has_problems(self) -> bool:
        """Whether some row may be worth finding among others."""
        return bool(self._by_call or self._by_path)

    def rows(self, turn: _Turn) -> list[tuple[PathRow, int]]:
        """The rows of a turn, each with the number of a call whose page it is on."""
        steps = list(turn.path.alignment.steps) if turn.path is not None else []
        calls = self._material.result.trajectory.calls if self._material.result.trajectory is not None else ()
        whole = _with_other_calls(steps, [place for place in turn.calls if place < len(calls)], calls)
        groups = turn.path.alignment.groups if turn.path is not None else ()
        rows = path_rows(whole, groups, rounds=False)
        found, number = [], turn.calls[0] + 1 if turn.calls else 1
        for row in rows:
            number = row.step.actual + 1 if row.step.actual is not None else number
            found.append((row, number))
        return found

    def nested(self, rows: Sequence[PathRow], depth: int, labels: Mapping[str, str]) -> list[TimelineItem]:
        """The items of rows, those of one group inside of it."""
        items: list[TimelineItem] = []
        place = 0
        while place < len(rows):
            if len(rows[place].groups) <= depth:
                items.append(self._item(rows[place]))
                place += 1
                continue
            group, end = rows[place].groups[depth], place
            while end < len(rows) and rows[end].groups[depth : depth + 1] == (group,):
                end += 1
            inside = self.nested(rows[place:end], depth + 1, labels)
            is_problem = any([item.is_problem for item in inside])
            inside = _folded(inside) if len(inside) > _NAMED else inside
            label = labels.get(group.path, group.word)
            count = sum([row.step.actual is not None for row in rows[place:end]])
            items.append(
                TimelineItem(kind="group", label=label, items=tuple(inside), calls=count, is_problem=is_problem)
            )
            place = end
        return items

    def _item(self, row: PathRow) -> TimelineItem:
        step = row.step
        if step.actual is None:
            return self._not_called(row)
        number = step.actual + 1
        view, placed = self._steps.get(number), self._by_call.get(number, [])
        allowed = view is not None and view.note == "allowed"
        fate = "" if view is None or allowed else view.kind
        fate = "failed" if placed and fate in _QUIET else fate
        return TimelineItem(
            kind="call",
            label=step.name[:200],
            fate=fate,
            call=self._material.views.get(number),
            bar=self._material.bars.get(number),
            changes=tuple([_plain_source(change) for change in view.changes]) if view is not None else (),
            note=view.note if view is not None and not allowed else "",
            problems=tuple([problem_view(each) for each in placed[:10]]),
            flows=self._material.flows.get(number, ()),
            used_by=self._material.uses.get(number, ()),
            calls=1,
            is_problem=fate not in _QUIET,
            anchor=f"call-{number}",
        )

    def _not_called(self, row: PathRow) -> TimelineItem:
        step = row.step
        if step.kind == "skipped":
            return TimelineItem(kind="left_out", label=step.name[:200], note=row.left_out, fate="skipped")
        paths = [step.path or "", *[f"{place}[{step.expected}]" for place in ("expected", "tool_calls_order")]]
        placed = next((self._by_path[path] for path in paths if path in self._by_path), [])
        return TimelineItem(
            kind="missing",
            label=step.name[:200],
            fate="missing",
            problems=tuple([problem_view(each) for each in placed[:10]]),
            is_problem=True,
            anchor=f"missing-{step.expected}",
        )


def _plain_source(change: Change) -> Change:
    """A difference whose `$from` is in words: `from search_flights, $.flights[*].id`."""
    written = change.expected.marked if change.expected is not None else ""
    if change.expected is None or not written.startswith('{"$from"'):
        return change
    try:
        source = decode_json(written.encode())["$from"]
    except (InputError, KeyError, TypeError):
        return change  # cut, because it is long
    if isinstance(source, str):
        words = source
    else:
        words = ", ".join([str(source[key]) for key in ("call", "output", "args", "input") if key in source])
    return msgspec.structs.replace(change, expected=Marked("", f"from {words}"))


def _with_other_calls(steps: list[Step], positions: Sequence[int], calls: Sequence[ToolCall]) -> list[Step]:
    """The steps of a path, and the calls that it says nothing about where they were made."""
    told = {step.actual for step in steps if step.actual is not None}
    others = [place for place in positions if place not in told]
    whole: list[Step] = []
    for step in steps:
        if step.actual is not None:
            until = bisect_left(others, step.actual)
            whole += [Step("extra", calls[place].name, None, place) for place in others[:until]]
            others = others[until:]
        whole.append(step)
    return [*whole, *[Step("extra", calls[place].name, None, place) for place in others]]


def _folded(items: Sequence[TimelineItem]) -> list[TimelineItem]:
    """The items, two and more neighbours that are as expected in a fold."""
    folded: list[TimelineItem] = []
    quiet: list[TimelineItem] = []
    for item in [*items, None]:
        if item is not None and not item.is_problem and item.kind in ("call", "group", "left_out"):
            quiet.append(item)
            continue
        count = sum([each.calls for each in quiet])
        folded += [_fold(quiet, count)] if count >= _FEWEST else quiet
        quiet = []
        folded += [item] if item is not None else []
    return folded


def _fold(items: Sequence[TimelineItem], count: int) -> TimelineItem:
    names = list(dict.fromkeys(_names(items)))
    more = ["…"] if len(names) > _NAMED else []
    return TimelineItem(
        kind="fold",
        label=f"{count:,} as expected",
        text=shown_text(", ".join([*names[:_NAMED], *more]), 200),
        items=tuple(items),
        calls=count,
    )


def _names(items: Sequence[TimelineItem]) -> Iterator[str]:
    for item in items:
        if item.kind == "call":
            yield item.label
        yield from _names(item.items)
