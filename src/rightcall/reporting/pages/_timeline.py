"""One case as a timeline: each turn, each call with its outcome, missing calls at their place, and the answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import msgspec

from rightcall.errors import InputError
from rightcall.reporting.reports import ExpectedPath, PathRow, group_labels, path_rows, paths_of, reported_findings
from rightcall.values.decoding import decode_json
from rightcall.values.results import (
    AlignedGroup,
    CaseResult,
    Finding,
    PlacedFinding,
    RulesJustification,
    Step,
    ToolTrajectoryEvaluatorJustification,
)
from rightcall.values.trajectory import Message, ToolCall, Trajectory

from ._evaluations import EvaluationView, StepView
from ._rows import BarView, CallView, problem_view, value_shown
from ._templates import Change, Marked, ShownText, shown_text
from ._timeline_items import Agreement, Flow, TimelineItem, agreements, folded, in_lanes, message_item, with_messages

_SHOWN_WHOLE = 20
"""Up to this many calls, nothing is collapsed in a case without problems."""
_NAMED = 6
_MOST_SAID = 300
"""Most messages of a turn on a page."""
_QUIET = ("", "match", "skipped")
_TEXT = 1_000


class RuleView(msgspec.Struct, frozen=True):
    """One rule, whether it holds, and the calls that break it."""

    rule: str
    kind: str
    word: str
    numbers: tuple[int, ...] = ()
    why: str = ""


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The data for a timeline: the calls on the page, their bars, the comparisons, and where values come from."""

    result: CaseResult
    views: Mapping[int, CallView]
    bars: Mapping[int, BarView]
    messages: Sequence[tuple[Message, BarView | None, int]]
    """The messages, each with its bar and the number of calls it is nested in."""
    message_text: int | None
    """The most characters of a message to show; `None` to show short ones in full, with long ones expandable."""
    evaluations: Sequence[EvaluationView]
    flows: Mapping[int, tuple[Flow, ...]]
    uses: Mapping[int, tuple[int, ...]]
    first: int
    end: int
    """One past the number of the last call on the page; `first` is that of the first."""


def timeline_of(material: Material) -> tuple[TimelineItem, ...]:
    """Return the rows of a case, in the expected order; other calls are where they were made."""
    making = _Making(material)
    trajectory = material.result.trajectory
    if trajectory is None:
        return ()
    turns = turns_of(material.result)
    folds = making.has_problems or len(trajectory.calls) > _SHOWN_WHOLE
    makers = _makers(trajectory)
    items: list[TimelineItem] = []
    for turn in turns:
        rows = making.rows(turn)
        shown = [row for row, page in rows if material.first <= page < material.end]
        if not shown and rows and len(turns) > 1:
            continue
        made = making.nested(shown, 0, group_labels([row for row, _ in rows]))
        messages = _messages_in(turn, turns, material, trajectory)
        whole = in_lanes(with_messages(made, messages), makers)
        is_end = len(turns) > 1 or material.end > len(trajectory.calls)
        whole, answer = _answered(whole, turn) if is_end else (whole, [])
        items += _head(turn, len(turns), whole, _fate(turn, making), is_first=material.first == 1)
        items += folded(whole) if folds else whole
        if not made and len(turns) > 1:
            items.append(TimelineItem(kind="nothing", label=_no_calls(turn)))
        items += answer
    return tuple(items)


def _makers(trajectory: Trajectory) -> dict[int, str]:
    """Return the agent of each nested call, by position; if it has none, the tool that called it."""
    tools = {call.span_id: call.name for call in trajectory.calls if call.span_id is not None}
    return {
        place: call.agent or tools[call.parent_id]
        for place, call in enumerate(trajectory.calls)
        if call.parent_id in tools
    }


def _no_calls(turn: Turn) -> str:
    """Return a label for a turn without calls."""
    expected = turn.is_judged and not [step for step in turn.steps if step.kind != "skipped"]
    return "no calls, as expected" if expected else "no calls"


def _fate(turn: Turn, making: _Making) -> str:
    """Return the sign of a turn: whether it has a problem; empty if nothing is expected of it alone."""
    if making.is_wrong(turn):
        return "failed"
    return "match" if turn.is_judged else ""


def _messages_in(
    turn: Turn, turns: Sequence[Turn], material: Material, trajectory: Trajectory
) -> list[tuple[int, TimelineItem]]:
    """Return the messages of a turn that are on the page, each with the number of calls before it."""
    size, last = len(trajectory.calls), turns[-1].number
    of_call = {place: each.number for each in turns for place in each.calls}
    found: list[tuple[int, TimelineItem]] = []
    for message, bar, depth in material.messages:
        known = message.turn if message.turn is not None else of_call.get(message.at, last)
        is_here = material.first - 1 <= message.at < material.end - 1 or (message.at >= size < material.end)
        if min(known, last) == turn.number and is_here and len(found) < _MOST_SAID:
            found.append((message.at, message_item(message, bar, depth, material.message_text)))
    return found


def _answered(items: list[TimelineItem], turn: Turn) -> tuple[list[TimelineItem], list[TimelineItem]]:
    """Split off the answer of a turn: the last message of the model, if that is the answer."""
    last = items[-1] if items else None
    if turn.answer is None:
        return items, []
    is_said = last is not None and last.kind == "model" and last.text is not None
    if last is not None and last.text is not None and is_said and _words(last.text) == _words(turn.answer):
        return items[:-1], [msgspec.structs.replace(last, kind="answer")]
    return items, [TimelineItem(kind="answer", text=turn.answer)]


def _words(text: ShownText) -> str:
    return " ".join(f"{text.head} {text.tail}".split())


def first_problem_page(result: CaseResult, size: int) -> int:
    """Return the page of calls with the first problem, given the number of calls on a page."""
    calls = len(result.trajectory.calls) if result.trajectory is not None else 0
    if calls <= size:
        return 1
    named = [placed.finding.actual for placed in reported_findings(result)]
    found = [call.position for call in named if call is not None]
    for turn in turns_of(result):
        before = 0
        for step in turn.steps:
            if step.actual is not None:
                before = step.actual
            if step.kind == "missing" and not result.passed:
                found.append(before)
                break
    return min(found, default=0) // size + 1


def rule_views(result: CaseResult) -> tuple[RuleView, ...]:
    """Return the rules of a case, broken ones first."""
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


def _head(turn: Turn, turns: int, messages: Sequence[TimelineItem], fate: str, *, is_first: bool) -> list[TimelineItem]:
    """Return the heading of a turn and its question, unless the question is already among the messages."""
    items = [TimelineItem(kind="turn", label=f"Turn {turn.number + 1} of {turns}", fate=fate)] if turns > 1 else []
    if turns == 1 and not is_first:
        return items
    asked = [item for item in messages if item.kind == "user" and item.text is not None]
    if turn.question is None:
        return items if asked or turns > 1 else [*items, *_unasked(turn)]
    words = _words(turn.question)
    # The input of an agent may be an object that contains the user's message.
    if any([_words(item.text) == words or f'"{_words(item.text)}"' in words for item in asked if item.text]):
        return items
    return [*items, TimelineItem(kind="user", text=turn.question)]


def _unasked(turn: Turn) -> list[TimelineItem]:
    return [TimelineItem(kind="nothing", label="The input was not recorded")] if not turn.was_run else []


class _Making:
    """The state of building a timeline."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._paths = _main_paths(material.result)
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
        """Whether there are problems to point out."""
        return bool(self._by_call or self._by_path)

    def is_wrong(self, turn: Turn) -> bool:
        """Return whether a call of a turn has a problem, or one is missing from it."""
        has_missing = any([step.kind == "missing" for step in turn.steps])
        return any([place + 1 in self._by_call for place in turn.calls]) or (has_missing and self.has_problems)

    def rows(self, turn: Turn) -> list[tuple[PathRow, int]]:
        """Return the rows of a turn, each with the number of a call on the same page."""
        calls = self._material.result.trajectory.calls if self._material.result.trajectory is not None else ()
        whole = _with_other_calls(turn.steps, [place for place in turn.calls if place < len(calls)], calls)
        rows = path_rows(whole, turn.groups, rounds=False)
        found, number = [], turn.calls[0] + 1 if turn.calls else 1
        for row in rows:
            number = row.step.actual + 1 if row.step.actual is not None else number
            found.append((row, number))
        return found

    def nested(self, rows: Sequence[PathRow], depth: int, labels: Mapping[str, str]) -> list[TimelineItem]:
        """Return the items of rows, with those of one group inside it."""
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
            inside = folded(inside) if len(inside) > _NAMED else inside
            label = labels.get(group.path, group.word)
            count = sum([row.step.actual is not None for row in rows[place:end]])
            within = min([item.depth for item in inside if item.calls], default=0)
            items.append(
                TimelineItem(
                    kind="group", label=label, items=tuple(inside), calls=count, depth=within, is_problem=is_problem
                )
            )
            place = end
        return items

    def _item(self, row: PathRow) -> TimelineItem:
        step = row.step
        if step.actual is None:
            return self._not_called(row)
        number = step.actual + 1
        view, placed = self._steps.get(number), self._by_call.get(number, [])
        bar, codes = self._material.bars.get(number), [each.finding.code for each in placed]
        allowed = view is not None and view.note == "allowed"
        changes = [each for each in (view.changes if view else ()) if "RC120" not in codes or each.path != "status"]
        wanted = next((each.finding for each in placed if each.finding.code in ("RC104", "RC117")), None)
        fate = "" if view is None or allowed else view.kind
        fate = "failed" if placed and fate in _QUIET else fate
        return TimelineItem(
            kind="call",
            label=step.name[:200],
            fate=fate,
            call=self._material.views.get(number),
            bar=bar,
            changes=tuple([_plain_source(change) for change in changes]),
            agreed=self._agreed(number, changes, wanted),
            differs="output" if "RC106" in codes and "RC104" not in codes else "argument",
            note=view.note if view is not None and not allowed else "",
            problems=tuple([problem_view(each) for each in placed[:10]]),
            flows=self._material.flows.get(number, ()),
            used_by=self._material.uses.get(number, ()),
            calls=1,
            depth=bar.depth if bar is not None else 0,
            is_problem=fate not in _QUIET,
            anchor=f"call-{number}",
            of=next((each.expectation for each in placed if each.finding.code == "RC104"), "")[:200],
        )

    def _agreed(self, number: int, changes: Sequence[Change], finding: Finding | None) -> tuple[Agreement, ...]:
        trajectory = self._material.result.trajectory
        if trajectory is None or finding is None or finding.expected is None:
            return ()
        return agreements(trajectory.calls[number - 1].args, changes, finding.expected.text)

    def _not_called(self, row: PathRow) -> TimelineItem:
        step = row.step
        if step.kind == "skipped":
            return TimelineItem(kind="left_out", label=step.name[:200], note=row.left_out, fate="skipped")
        paths = [step.path or "", *[f"{place}[{step.expected}]" for place in ("expected", "tool_calls_order")]]
        placed = next((self._by_path[path] for path in paths if path in self._by_path), [])
        kinds = {path.kind(step) for path in self._paths if step in path.alignment.steps}
        return TimelineItem(
            kind="missing",
            label=step.name[:200],
            fate="not_measured" if kinds == {"not_measured"} else "missing",
            problems=tuple([problem_view(each) for each in placed[:10]]),
            is_problem=True,
            anchor=f"missing-{step.expected}",
        )


def _plain_source(change: Change) -> Change:
    """Return a difference with its `$from` in words: `from search_flights, $.flights[*].id`."""
    written = change.expected.marked if change.expected is not None else ""
    if change.expected is None or not written.startswith('{"$from"'):
        return change
    try:
        source = decode_json(written.encode())["$from"]
    except (InputError, KeyError, TypeError):
        return change  # it was shortened, so it cannot be decoded
    if isinstance(source, str):
        words = source
    else:
        words = ", ".join([str(source[key]) for key in ("call", "output", "args", "input") if key in source])
    return msgspec.structs.replace(change, expected=Marked("", f"from {words}"))


def _with_other_calls(steps: Sequence[Step], positions: Sequence[int], calls: Sequence[ToolCall]) -> list[Step]:
    """Return the steps of a path, with other calls inserted where they were made."""
    shown = {step.actual for step in steps if step.actual is not None}
    others = [place for place in positions if place not in shown]
    whole: list[Step] = []
    for step in steps:
        if step.actual is not None:
            until = bisect_left(others, step.actual)
            whole += [Step("extra", calls[place].name, None, place) for place in others[:until]]
            others = others[until:]
        whole.append(step)
    return [*whole, *[Step("extra", calls[place].name, None, place) for place in others]]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a conversation, or the whole run: its question and answer, and the expected steps."""

    number: int
    question: ShownText | None
    answer: ShownText | None
    steps: tuple[Step, ...] = ()
    groups: tuple[AlignedGroup, ...] = ()
    is_judged: bool = False
    """Whether there is an expected path for this turn alone."""
    calls: Sequence[int] = ()
    """The positions of its calls."""
    was_run: bool = True
    """Whether Rightcall ran the agent, so that its input is known; false for a recorded trace."""


def turns_of(result: CaseResult) -> list[Turn]:
    """Return the turns of a case; a run without turns is one turn."""
    run = result.trajectory
    if run is None:
        return []
    paths, was_run = _main_paths(result), result.outcome is not None
    count = max(len(paths), len(run.turn_outputs), len(run.turn_inputs), 1)
    by_turn = _calls_by_turn(run, count)
    steps = _steps_by_turn(paths, by_turn)
    is_one = count == 1
    asked, answered = ((run.input,), (run.output,)) if is_one else (run.turn_inputs, run.turn_outputs)
    return [
        Turn(
            number=turn,
            question=_shown(asked[turn]) if turn < len(asked) else None,
            answer=_shown(answered[turn]) if turn < len(answered) else None,
            steps=steps[turn],
            groups=_groups_of(paths, turn),
            is_judged=turn < len(paths) and (is_one or len(paths) > 1),
            calls=by_turn[turn],
            was_run=was_run,
        )
        for turn in range(count)
    ]


def _calls_by_turn(run: Trajectory, count: int) -> list[list[int]]:
    """Return the positions of the calls of each turn. A call without a turn belongs to that of the call before it."""
    found: list[list[int]] = [[] for _ in range(count)]
    at = 0
    for position, call in enumerate(run.calls):
        at = min(call.turn, count - 1) if call.turn is not None else at
        found[at].append(position)
    return found


def _steps_by_turn(paths: Sequence[ExpectedPath], by_turn: Sequence[Sequence[int]]) -> list[tuple[Step, ...]]:
    """Return the expected steps of each turn.

    A path that is expected of all turns together is split by the calls it was compared with. A missing call is put into
    the turn of the call before it: nothing says that the agent should have waited.
    """
    if len(paths) != 1:
        return [tuple(paths[turn].alignment.steps) if turn < len(paths) else () for turn in range(len(by_turn))]
    turn_of = {position: turn for turn, positions in enumerate(by_turn) for position in positions}
    found: list[list[Step]] = [[] for _ in by_turn]
    at = 0
    for step in paths[0].alignment.steps:
        at = turn_of.get(step.actual, at) if step.actual is not None else at
        found[at].append(step)
    return [tuple(steps) for steps in found]


def _groups_of(paths: Sequence[ExpectedPath], turn: int) -> tuple[AlignedGroup, ...]:
    path = paths[0] if len(paths) == 1 else paths[turn] if turn < len(paths) else None
    return tuple(path.alignment.groups) if path is not None else ()


def _shown(value: object) -> ShownText | None:
    """Return a question or an answer: a string as it is, anything else as JSON."""
    if value is None:
        return None
    return shown_text(value, _TEXT, whole=True) if isinstance(value, str) else value_shown(value, _TEXT)


def _main_paths(result: CaseResult) -> list[ExpectedPath]:
    """Return the paths of the most informative expectation: a whole trajectory, preferably one that did not pass."""
    ordered = sorted(
        result.results,
        key=lambda one: (not isinstance(one.details, ToolTrajectoryEvaluatorJustification), one.passed),
    )
    return next((paths for one in ordered if (paths := list(paths_of(result, one)))), [])
