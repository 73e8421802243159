"""The page of a case, and the page of an edit of its expectation, which shows the edit as a diff."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reporting.reports import seconds_text
from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, Code, Verdict, call_text
from rightcall.values.trajectory import Message, ToolCall, Trajectory

from ._evaluations import EvaluationView, evaluation_views, headline_of, signs_of
from ._rows import (
    CallView,
    ProblemView,
    bars_of,
    brief_call_view,
    call_view,
    codes_of,
    message_bar,
    problem_views,
    scale_of,
    sentence_of,
    title_of,
    value_shown,
)
from ._runs_page import Moment
from ._templates import Crumb, Links, Marked, ShownText, case_key, marked_pair, render, shown_text
from ._timeline import Material, RuleView, first_problem_page, rule_views, timeline_of
from ._timeline_items import TimelineItem, flows_of, money

# Keeps pages below 300 kB, however long calls and messages are.
CALLS_A_PAGE = 100
_BRIEF_CALLS = 40
_BRIEF_STEPS = 60
_BRIEF_TEXT = 1_000
_ID = 400
_LONG = 20_000
_DEEPEST = 12
_TEXT = 2_000
_TEXT_OF_MANY = 300
"""Characters of a value if a case has more calls than a page, to keep the page small."""
_MESSAGE_OF_MANY = 200
_MOST_CALLS = 100
_LONGEST = 20_000
_FUNCTION = lazy_pattern(r"([A-Za-z_]\w*)\.py:([A-Za-z_]\w*)", re.A)
_OTHER = lazy_pattern(r"\W+", re.A)
_HUNK = lazy_pattern(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.A)
MOST_LINES = 400
_LINE = 2_000


class Neighbours(msgspec.Struct, frozen=True):
    """The addresses of the cases before and after one, and of the nearest that did not pass; empty for none."""

    before: str = ""
    after: str = ""
    failure_before: str = ""
    failure_after: str = ""
    cause: str = ""
    """Its position among the cases with the same first problem: `6 of 31`."""
    cause_href: str = ""
    """The address of their list."""


class Sibling(msgspec.Struct, frozen=True):
    """Another repeat of a case."""

    repeat: int
    number: int
    """The number of the repeat, for display."""
    verdict: Verdict
    href: str


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a case in one run; the oldest run comes first."""

    run: str
    href: str
    when: Moment
    verdict: Verdict
    is_this: bool = False
    began: bool = False
    """Whether this is the run in which the case stopped passing."""
    is_first: bool = False
    """Whether the case did not pass, and this is the first run that has it."""
    changed: str = ""
    """The address of the comparison with the run before."""


class Acting(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done with a case: strings to copy, edits of its eval set, and the edit that was just made."""

    copies: tuple[Copy, ...] = ()
    is_allowed: bool = False
    """Whether files may be edited from this page."""
    done: str = ""
    """What was just written."""
    token: str = ""
    """The token of the form that undoes it."""


class CasePage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one result of a case."""

    title: str
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False
    key: str
    case_id: ShownText
    repeat: int
    number: int
    """The number of the repeat that is shown."""
    verdict: Verdict
    score: float | None
    place: str
    took: str
    size: int
    """The number of calls."""
    sentence: ShownText
    problems: tuple[ProblemView, ...]
    codes: tuple[Code, ...]
    evaluations: tuple[EvaluationView, ...]
    calls: tuple[CallView, ...]
    calls_left_out: int = 0
    calls_page: int = 1
    calls_pages: int = 1
    warnings: tuple[ShownText, ...] = ()
    is_recorded: bool = True
    """Whether there is a trajectory."""
    input: ShownText | None = None
    output: ShownText | None = None
    turn_inputs: tuple[ShownText, ...] = ()
    """The input of each turn, if every turn with an output has a known input."""
    turn_outputs: tuple[ShownText, ...] = ()
    error: ShownText | None = None
    traceback: ShownText | None = None
    printed: ShownText | None = None
    complaints: ShownText | None = None
    run_id: str = ""
    neighbours: Neighbours = Neighbours()
    siblings: tuple[Sibling, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    is_brief: bool = False
    timeline: tuple[TimelineItem, ...] = ()
    rules: tuple[RuleView, ...] = ()
    is_timed: bool = False
    """Whether any call or message has a time."""
    length: str = ""
    """The duration from the first start to the last end, which is the full width of the bars."""
    acting: Acting = Acting()
    tokens: str = ""
    """The tokens of the run, in words."""
    cost: str = ""
    models: str = ""
    asked: str = ""
    """The user's request, on one line."""
    headline: tuple[tuple[str, str], ...] = ()
    """The sentence in pieces, each with its kind: code, or an expected or actual value."""
    is_named: bool = True
    """Whether the case has an id of its own, rather than that of its trace."""

    @property
    def anchor(self) -> str:
        """The prefix of all HTML ids of the case, so that one file can contain many cases."""
        return f"{self.key}-" if self.is_brief else ""

    @property
    def spent(self) -> str:
        """What the case took, on one line: calls, tokens, cost, time."""
        calls = f"{self.size:,} call{'' if self.size == 1 else 's'}" if self.is_recorded else ""
        tokens = f"{self.tokens} tokens" if self.tokens else ""
        return " · ".join([each for each in (calls, tokens, self.cost, self.took) if each])

    @property
    def has_folds(self) -> bool:
        """Whether something is collapsed in the timeline."""
        return any([item.kind == "fold" or any([each.kind == "fold" for each in item.items]) for item in self.timeline])

    def call_href(self, number: int, links: Links) -> str:
        """Return the address of a call; empty if it is not shown."""
        if self.is_brief:
            return f"#{self.anchor}call-{number}" if number <= len(self.calls) else ""
        page = (number - 1) // CALLS_A_PAGE + 1
        there = "" if page == self.calls_page else links.case(self.run_id, self.key, calls=page)
        return f"{there}#call-{number}"


def case_page(
    result: CaseResult,
    run_id: str,
    links: Links,
    *,
    run_name: str = "",
    calls_page: int = 0,
    spans: Mapping[str, Any] | None = None,
    neighbours: Neighbours | None = None,
    siblings: Sequence[Sibling] = (),
    history: Sequence[HistoryEntry] = (),
    is_running: bool = False,
) -> CasePage:
    """Return the page of a case. A page of calls that does not exist becomes the nearest one that does.

    Args:
        result: The result of the case.
        run_id: The name of its run in addresses.
        links: The addresses of other pages.
        run_name: The name of its run for display; the id by default.
        calls_page: Which `CALLS_A_PAGE` calls to show; by default those with the first problem.
        spans: The recorded spans as plain data or structs, by id.
        neighbours: The cases before and after it.
        siblings: All its repeats, this one included; empty if there is only one.
        history: Its verdicts in other runs.
        is_running: Whether the run is still going on.
    """
    calls = result.trajectory.calls if result.trajectory is not None else ()
    evaluations = evaluation_views(result)
    pages = max(1, -(-len(calls) // CALLS_A_PAGE))
    calls_page = max(1, min(calls_page or first_problem_page(result, CALLS_A_PAGE), pages))
    made = _calls(calls, calls_page, signs_of(evaluations), spans or {}, run_id, links)
    trail = (Crumb("Runs", links.runs()), Crumb(run_name or run_id, links.run(run_id)), Crumb(_name(result)))
    page = _page(result, evaluations, made)
    return msgspec.structs.replace(
        _with_timeline(page, result, calls_page),
        trail=trail,
        run_id=run_id,
        calls_page=calls_page,
        calls_pages=pages,
        neighbours=neighbours or Neighbours(),
        siblings=tuple(siblings),
        history=tuple(history),
        is_running=is_running,
    )


def _with_timeline(page: CasePage, result: CaseResult, number: int) -> CasePage:
    """Return the page with the timeline of its calls; `number` is the page of calls."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    messages = result.trajectory.messages if result.trajectory is not None else ()
    numbers = range((number - 1) * CALLS_A_PAGE + 1, min(number * CALLS_A_PAGE, len(calls)) + 1)
    return msgspec.structs.replace(
        page,
        timeline=timeline_of(_material(result, page.evaluations, page.calls, numbers)),
        rules=rule_views(result),
        is_timed=any([call.start_ns is not None for call in calls])
        or any([each.start_ns is not None for each in messages]),
        length=scale_of(calls, messages, CALLS_A_PAGE).text,
        tokens=_tokens(result.trajectory),
        cost=_cost(messages),
        models=", ".join(dict.fromkeys([each.model for each in messages if each.model]))[:_ID],
    )


def _material(
    result: CaseResult, evaluations: Sequence[EvaluationView], made: Sequence[CallView], numbers: range
) -> Material:
    calls = result.trajectory.calls if result.trajectory is not None else ()
    messages = result.trajectory.messages if result.trajectory is not None else ()
    flows, uses = flows_of(calls, numbers)
    scale = scale_of(calls, messages, CALLS_A_PAGE)
    here = [each for each in messages if numbers.start - 1 <= each.at <= max(numbers.stop, 1)]
    parents = {call.span_id: call.parent_id for call in calls if call.span_id is not None}
    return Material(
        result=result,
        views={view.number: view for view in made},
        bars=bars_of(calls, numbers, scale),
        messages=[(each, message_bar(each, scale), _depth(each.parent_id, parents)) for each in here],
        message_text=_MESSAGE_OF_MANY if len(calls) > CALLS_A_PAGE else None,
        evaluations=evaluations,
        flows=flows,
        uses=uses,
        first=numbers.start,
        end=max(numbers.stop, 2),
    )


def _depth(parent_id: str | None, parents: Mapping[str, str | None]) -> int:
    """Return the nesting depth below a parent call."""
    above: set[str] = set()
    while parent_id is not None and parent_id in parents and parent_id not in above:
        above.add(parent_id)
        parent_id = parents[parent_id]
    return min(len(above), _DEEPEST)


def _cost(messages: Sequence[Message]) -> str:
    """Return the cost of all model calls; empty unless the trace recorded that of each."""
    costs = [each.cost for each in messages if each.writer == "model"]
    known = [cost for cost in costs if cost is not None]
    return money(sum(known)) if known and len(known) == len(costs) else ""


def _tokens(trajectory: Trajectory | None) -> str:
    usage = trajectory.usage if trajectory is not None else None
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return ""
    known = [(usage.input_tokens, "in"), (usage.output_tokens, "out")]
    return ", ".join([f"{number:,} {word}" for number, word in known if number is not None])


def brief_case_page(result: CaseResult) -> CasePage:
    """Return a page short enough for a file with thousands of cases. Calls of a passed case are not compared."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    evaluations = evaluation_views(result, 0 if result.passed else _BRIEF_STEPS)
    signs = signs_of(evaluations)
    shown = range(min(len(calls), _BRIEF_CALLS))
    views = tuple([brief_call_view(place, calls, signs.get(place + 1, "")) for place in shown])
    page = _page(result, evaluations, views, _BRIEF_TEXT)
    return msgspec.structs.replace(page, is_brief=True, calls_left_out=len(calls) - len(views))


def case_html(page: CasePage, links: Links) -> str:
    """Render the page of a case. Raises `MissingExtraError`."""
    return render("case.html", page, links)


def _name(result: CaseResult) -> str:
    """Return the name of a result. If its id is that of its trace, the user's request is used instead."""
    trajectory = result.trajectory
    is_trace = trajectory is not None and trajectory.trace_id == result.case_id
    name = title_of(result) if is_trace else ""
    return f"{shown_text(name or result.case_id, 80, one_line=True)}{result.repeat_note}"


def _page(
    result: CaseResult,
    evaluations: tuple[EvaluationView, ...],
    calls: tuple[CallView, ...],
    most: int = _LONG,
) -> CasePage:
    trajectory, outcome = result.trajectory, result.outcome
    problems = problem_views(result)
    turns = trajectory.turn_outputs if trajectory is not None else ()
    asked = trajectory.turn_inputs if trajectory is not None else ()
    return CasePage(
        title=_name(result),
        asked=title_of(result),
        is_named=trajectory is None or trajectory.trace_id != result.case_id,
        key=case_key(result.case_id, result.repeat),
        case_id=shown_text(result.case_id, _ID, one_line=True),
        repeat=result.repeat,
        number=result.number,
        verdict=result.verdict,
        score=result.score,
        place=str(result.source)[:_ID] if result.source.file else "",
        took=seconds_text(outcome.seconds) if outcome is not None else "",
        size=len(trajectory.calls) if trajectory is not None else 0,
        sentence=(sentence := shown_text(sentence_of(result), 1_000)),
        headline=headline_of(sentence, problems, evaluations),
        problems=problems,
        codes=codes_of(problems),
        evaluations=evaluations,
        calls=calls,
        warnings=tuple([shown_text(each, 1_000) for each in (*result.warnings[:20], *_not_made(trajectory))]),
        is_recorded=trajectory is not None,
        input=value_shown(trajectory.input, most) if trajectory is not None else None,
        output=value_shown(trajectory.output, most) if trajectory is not None else None,
        turn_inputs=tuple([value_shown(each, most) for each in asked[:100]]) if len(asked) == len(turns) > 1 else (),
        turn_outputs=tuple([value_shown(each, most) for each in turns[:100]]) if len(turns) > 1 else (),
        error=shown_text(error, most) if (error := _other_error(result)) else None,
        traceback=shown_text(outcome.traceback, most) if outcome is not None and outcome.traceback else None,
        printed=shown_text(outcome.stdout, most) if outcome is not None and outcome.stdout.strip() else None,
        complaints=shown_text(outcome.stderr, most) if outcome is not None and outcome.stderr.strip() else None,
    )


def _not_made(trajectory: Trajectory | None) -> list[str]:
    """Return a sentence for each call that was requested and not executed."""
    withheld = trajectory.withheld[:20] if trajectory is not None else ()
    return [f"not made: {call_text(call.name, call.args or {})}: {call.reason}" for call in withheld]


def _calls(
    calls: Sequence[ToolCall], page: int, signs: Mapping[int, str], spans: Mapping[str, Any], run_id: str, links: Links
) -> tuple[CallView, ...]:
    """Return the calls on one page."""
    begin = min([call.start_ns for call in calls if call.start_ns is not None], default=None)
    makers = {call.span_id: place for place, call in reversed(list(enumerate(calls, 1))) if call.span_id is not None}
    groups: dict[str, list[int]] = {}
    for place, call in enumerate(calls, 1):
        if call.group:
            groups.setdefault(call.group, []).append(place)
    first = (page - 1) * CALLS_A_PAGE
    return tuple(
        [
            call_view(
                place,
                calls,
                begin=begin,
                makers=makers,
                groups=groups,
                spans=spans,
                href=links.tool(run_id, calls[place].name),
                sign=signs.get(place + 1, ""),
                most=_TEXT if len(calls) <= CALLS_A_PAGE else _TEXT_OF_MANY,
            )
            for place in range(first, min(first + CALLS_A_PAGE, len(calls)))
        ]
    )


def _other_error(result: CaseResult) -> str:
    """Return the agent's error, unless a problem already has the same text."""
    error = result.outcome.error if result.outcome is not None else None
    return "" if error is None or any([placed.finding.message == error for placed in result.findings]) else error


class Copy(msgspec.Struct, frozen=True):
    """A labelled text to copy."""

    label: str
    text: str
    is_command: bool = False


def copies_of(result: CaseResult, agent: str, evalset: str) -> tuple[Copy, ...]:
    """Return the strings to copy for a case. Very long strings are left out."""
    made = []
    if agent and evalset:
        words = ["rightcall", "run", agent, evalset, "--case", result.case_id]
        made.append(Copy("Command", " ".join(map(shlex.quote, words)), is_command=True))
    calls = [call for call in result.trajectory.calls if not call.internal] if result.trajectory is not None else []
    if calls and len(calls) <= _MOST_CALLS:
        made.append(Copy("Expectation", _expectation(calls)))
        made.append(Copy("Pytest test", _test(result, agent, calls)))
    return tuple([each for each in made if len(each.text) <= _LONGEST])


def _expectation(calls: Sequence[ToolCall]) -> str:
    """Return calls as an eval set expects them. Values are written as JSON, which is YAML, too."""
    lines = [f"  - {dump_json(call.name)}: {dump_json(_expected(call))}" for call in calls]
    return "\n".join(["calls:", *lines]) + "\n"


def _expected(call: ToolCall) -> Any:
    """Return the arguments of a call, with `$literal` around those that could be taken for matchers."""
    args = {} if call.args is None else dict(call.args)
    return {key: {"$literal": value} if "$" in dump_json(value) else value for key, value in args.items()}


def _test(result: CaseResult, agent: str, calls: Sequence[ToolCall]) -> str:
    found = _FUNCTION.fullmatch(agent)
    given = result.trajectory.input if result.trajectory is not None else None
    name = _OTHER.sub("_", result.case_id)[:60].strip("_") or "case"
    lines = ["from rightcall import capture, check", ""]
    lines += [f"from {found[1]} import {found[2]}", ""] if found else []
    asked = f"{found[2]}({given!r})" if found else "...  # ask your agent"
    lines += ["", f"def test_{name}():", "    with capture() as captured:", f"        {asked}", "    check(captured, ["]
    lines += [f"        {{{call.name!r}: {_expected(call)!r}}}," for call in calls]
    return "\n".join([*lines, "    ])"]) + "\n"


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a diff: `kept`, `removed`, `added`, or the `head` of a hunk."""

    kind: str
    text: Marked
    old: int = 0
    """The line number before the edit; 0 for none."""
    new: int = 0


class EditScope(msgspec.Struct, frozen=True):
    """The scope of an edit: one case, or all cases with the same cause."""

    label: str
    href: str
    is_chosen: bool = False


class EditPage(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed edit of a file."""

    title: str
    sentence: str
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False
    path: str = ""
    """The file, as the user names it; empty if nothing can be written."""
    rows: tuple[DiffRow, ...] = ()
    left_out: int = 0
    patch: str = ""
    notes: tuple[str, ...] = ()
    """What the edit does not do, and why."""
    refusal: str = ""
    """Why there is no edit."""
    scopes: tuple[EditScope, ...] = ()
    action: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """The hidden fields of the form."""
    back: str = ""


def edit_html(page: EditPage, links: Links) -> str:
    """Render an edit. Raises `MissingExtraError`."""
    return render("edit.html", page, links)


def diff_rows(lines: Sequence[str]) -> tuple[tuple[DiffRow, ...], int]:
    """Return the lines of a unified diff with their numbers, and how many more there are."""
    rows: list[DiffRow] = []
    old = new = 0
    removed: list[int] = []
    for line in lines[2 : MOST_LINES + 2]:
        sign, text = line[:1], line[1 : _LINE + 1]
        if found := _HUNK.match(line):
            old, new, removed = int(found[1]), int(found[2]), []
            rows.append(DiffRow(kind="head", text=Marked(line[:_LINE], "")))
        elif sign == "-":
            rows.append(DiffRow(kind="removed", text=Marked(text, ""), old=old))
            removed.append(len(rows) - 1)
            old += 1
        elif sign == "+":
            shown = Marked(text, "")
            if removed:  # pair added with removed lines in order, and mark what differs
                place = removed.pop(0)
                was, shown = marked_pair(rows[place].text.before, text)
                rows[place] = msgspec.structs.replace(rows[place], text=was)
            rows.append(DiffRow(kind="added", text=shown, new=new))
            new += 1
        elif sign == " ":
            rows.append(DiffRow(kind="kept", text=Marked(text, ""), old=old, new=new))
            removed, old, new = [], old + 1, new + 1
    return tuple(rows), max(0, len(lines) - 2 - MOST_LINES)
