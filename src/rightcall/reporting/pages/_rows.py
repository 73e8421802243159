"""Cases as rows of a list, with their problems, and each call of a case with everything recorded about it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.reporting.reports import (
    CallRow,
    Problem,
    duration_text,
    problems_of,
    reported_findings,
    rows,
    seconds_between,
)
from rightcall.values.results import (
    CODES,
    CaseResult,
    Code,
    EvaluatorTotals,
    PlacedFinding,
    Totals,
    Verdict,
    call_text,
    value_text,
)
from rightcall.values.trajectory import Message, ToolCall

from ._templates import ShownText, case_key, shown_text

_SENTENCE = 300
_CASE_ID = 400
_TITLE = 120
_MOST_PROBLEMS = 20
_MOST_TOOLS = 50
_PROBLEM_SENTENCE = 1_000
_PLACE = 300
_MOST = 40
_SHORT = 72
_LINE = 160
_TEXT = 2_000
_BRIEF = 200
_MOST_TOGETHER = 10
_pretty = json.JSONEncoder(ensure_ascii=False, default=repr, indent=2).encode
WIDTH = 1_000
"""The width of the whole duration, in units of the drawing."""
_NARROWEST = 4
_DEEPEST = 12
_MOST_LANES = 40


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a case, as a small row of a list: strings are shortened, and lists limited."""

    key: str
    """Its key in addresses."""
    case_id: str
    repeat: int
    number: int
    """The number of the repeat, for display."""
    verdict: Verdict
    score: float | None
    why: str
    """One sentence; empty if it passed."""
    problems: tuple[Problem, ...] = ()
    """The worst first."""
    tools: tuple[str, ...] = ()
    """The names of the tools called, each once."""
    calls: int = 0
    seconds: float | None = None
    """The time the agent took; `None` if it was not run and its calls have no times."""
    tags: tuple[str, ...] = ()
    title: str = ""
    """The user's request, on one line; empty if it is not a string."""


def row_of(result: CaseResult, tags: Sequence[str] = ()) -> CaseRow:
    """Return the row of a result."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    return CaseRow(
        key=case_key(result.case_id, result.repeat),
        case_id=result.case_id[:_CASE_ID],
        repeat=result.repeat,
        number=result.number,
        verdict=result.verdict,
        score=result.score,
        why=sentence_of(result)[:_SENTENCE],
        problems=problems_of(result, _MOST_PROBLEMS),
        tools=tuple(dict.fromkeys([call.name[:200] for call in calls[:10_000]]))[:_MOST_TOOLS],
        calls=len(calls),
        seconds=result.outcome.seconds if result.outcome is not None else _seconds(result),
        tags=tuple(tags),
        title=title_of(result),
    )


_ASKED = ("query", "text", "question", "message", "prompt", "input", "content", "request")
"""Keys under which an agent's input has the user's message. A value under another key may be anything."""


def title_of(result: CaseResult) -> str:
    """Return the user's request, on one line; empty if neither the input nor a message has it."""
    given = result.trajectory.input if result.trajectory is not None else None
    if isinstance(given, (list, tuple)) and given:
        given = given[0]
    if isinstance(given, dict):
        given = next((given[key] for key in _ASKED if isinstance(given.get(key), str)), None)
    if not isinstance(given, str) and result.trajectory is not None:
        given = next((each.text for each in result.trajectory.messages if each.writer == "user"), None)
    return " ".join(given[:_TITLE].split()) if isinstance(given, str) else ""


def sentence_of(result: CaseResult) -> str:
    """Return why a case did not pass, in one sentence; empty if it passed."""
    if result.passed:
        return ""
    reported = reported_findings(result)
    if reported:
        return reported[0].finding.message
    if result.outcome is not None and result.outcome.error:
        return result.outcome.error
    return next((one.error for one in result.results if one.error), None) or "no reason given"


class Group(msgspec.Struct, frozen=True):
    """Cases with the same problem."""

    problem: Problem
    cases: int


class ToolTotal(msgspec.Struct, frozen=True):
    """The number of calls of a tool, and of calls that failed."""

    name: str
    calls: int
    errors: int


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a run."""

    totals: Totals
    """The number of cases by verdict, each once however often it was run."""
    rate: float | None = None
    """The pass rate if cases were repeated; otherwise that of the totals is used."""
    results: Totals
    """The number of results by verdict: each repeat of a case is one."""
    groups: tuple[Group, ...] = ()
    """The largest first."""
    calls: float | None = None
    """Mean calls per result; `None` if there are no results."""
    evaluators: Mapping[str, EvaluatorTotals] = {}
    tools: tuple[ToolTotal, ...] = ()
    """The most called first; empty if tools were not counted."""


class RowCounter:
    """Count rows, one at a time."""

    def __init__(self) -> None:
        self._problems: Counter[Problem] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._calls = 0

    def add(self, row: CaseRow) -> None:
        """Count a row."""
        self._verdicts[row.verdict] += 1
        self._problems.update(set(row.problems))
        self._calls += row.calls

    def remove(self, row: CaseRow) -> None:
        """Remove a row that another one replaces."""
        self._verdicts[row.verdict] -= 1
        self._problems.subtract(set(row.problems))
        self._calls -= row.calls

    def groups(self) -> tuple[Group, ...]:
        """Return the failures by problem, the largest group first."""
        found = [Group(problem, count) for problem, count in self._problems.items() if count > 0]
        return tuple(sorted(found, key=lambda group: (-group.cases, group.problem)))

    def counts(self, totals: Totals, evaluators: Mapping[str, EvaluatorTotals]) -> RunCounts:
        """Return the totals of all rows, given totals that cannot be computed from rows."""
        verdicts = self._verdicts
        results = Totals(verdicts["passed"], verdicts["failed"], verdicts["not_measured"], verdicts["error"])
        number = results.passed + results.failed + results.not_measured + results.error
        calls = self._calls / number if number else None
        return RunCounts(totals=totals, results=results, groups=self.groups(), calls=calls, evaluators=evaluators)


class ProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in one sentence, with its code, its expectation, the location of that, and help."""

    code: str
    name: str
    """The name of the code; empty if unknown."""
    message: ShownText
    expectation: str
    place: str
    help: str = ""
    why: str = ""
    """The `why` of the expectation, if it has one."""
    number: int = 0
    """The number of the call it is about, from 1; 0 for none."""
    path: str = ""
    """The part of the criteria it is about."""


def problem_views(result: CaseResult) -> tuple[ProblemView, ...]:
    """Return the problems of a case, the worst first, at most 40."""
    return tuple([problem_view(placed) for placed in reported_findings(result)[:_MOST]])


def codes_of(problems: Iterable[ProblemView]) -> tuple[Code, ...]:
    """Return the explanation of each code, once."""
    return tuple([CODES[code] for code in dict.fromkeys([each.code for each in problems]) if code in CODES])


def _seconds(result: CaseResult) -> float | None:
    """Return the time from the start of the first call to the end of the last one."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    begin = min((call.start_ns for call in calls if call.start_ns is not None), default=None)
    end = max((call.end_ns for call in calls if call.end_ns is not None), default=None)
    return seconds_between(begin, end)


def problem_view(placed: PlacedFinding) -> ProblemView:
    """Return a finding as pages show it."""
    finding = placed.finding
    return ProblemView(
        code=finding.code[:40],
        name=CODES[finding.code].name if finding.code in CODES else "",
        message=shown_text(finding.message, _PROBLEM_SENTENCE),
        expectation=placed.expectation[:100],
        place=str(placed.source)[:_PLACE] if placed.source.file else "",
        help=(finding.help or "")[:_PROBLEM_SENTENCE],
        why=(finding.why or "")[:_PROBLEM_SENTENCE],
        number=finding.actual.position + 1 if finding.actual is not None else 0,
        path=(finding.path or "")[:_PLACE],
    )


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `args` and `output` are `None` if not recorded, `output` also if the call failed."""

    number: int
    name: str
    href: str = ""
    """The page of its tool."""
    sign: str = ""
    """The kind of its step in a comparison; empty if it is in none."""
    line: str = ""
    """The arguments on one line, shortened."""
    gave: str = ""
    """The output on one line, shortened."""
    args: ShownText | None = None
    output: ShownText | None = None
    error: ShownText | None = None
    suspected_error: bool = False
    internal: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    """Everything else that was recorded: agent, turn, times."""
    made_by: int = 0
    """The number of its parent call; 0 for none."""
    together: tuple[int, ...] = ()
    """The numbers of the first other calls of its group, which the model requested in one message."""
    more_together: int = 0
    unrecorded: tuple[str, ...] = ()
    record: ShownText | None = None
    span: ShownText | None = None


def call_view(
    position: int,
    calls: Sequence[ToolCall],
    *,
    begin: int | None,
    makers: Mapping[str, int],
    groups: Mapping[str, Sequence[int]],
    spans: Mapping[str, Any],
    href: str = "",
    sign: str = "",
    most: int = _TEXT,
) -> CallView:
    """Return a call with everything recorded; times are relative to the start of the first call.

    Values are shortened to `most` characters. `makers` has the numbers of calls by span id, `groups` those of calls
    that belong together by the name of the group.
    """
    call = calls[position]
    group = groups.get(call.group or "", ())
    span = msgspec.to_builtins(spans.get(call.span_id)) if call.span_id is not None else None
    return CallView(
        number=position + 1,
        name=call.name[:1_000],
        href=href,
        sign=sign,
        line="" if "args" in call.unrecorded else call_text("", call.args, _LINE, 60),
        gave="" if "output" in call.unrecorded or call.output is None else value_text(call.output, _LINE),
        args=None if "args" in call.unrecorded else value_shown(call.args, most, whole=most == _TEXT),
        output=value_shown(call.output, most, whole=most == _TEXT) if _has_output(call) else None,
        error=shown_text(_error_text(call.error, span), most, whole=most == _TEXT) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        facts=_facts(call, begin),
        made_by=makers.get(call.parent_id, 0) if call.parent_id is not None else 0,
        together=tuple([each for each in group[: _MOST_TOGETHER + 1] if each != position + 1][:_MOST_TOGETHER]),
        more_together=max(0, len(group) - 1 - _MOST_TOGETHER),
        unrecorded=tuple(sorted(call.unrecorded)),
        record=shown_text(_pretty(_plain(call)), 10 * most) if most == _TEXT else None,
        span=shown_text(_pretty(span), 10 * most, whole=True) if span is not None and most == _TEXT else None,
    )


def brief_call_view(position: int, calls: Sequence[ToolCall], sign: str = "") -> CallView:
    """Return a call in a line or two, for files with very many calls."""
    call = calls[position]
    return CallView(
        number=position + 1,
        name=call.name[:200],
        sign=sign,
        args=None if "args" in call.unrecorded else ShownText(value_text(call.args, _BRIEF)),
        output=ShownText(value_text(call.output, _BRIEF)) if _has_output(call) else None,
        error=shown_text(call.error, _BRIEF) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        unrecorded=tuple(sorted(call.unrecorded)),
    )


def _has_output(call: ToolCall) -> bool:
    """Return whether there is an output to show. A failed call that returned nothing has none, not even null."""
    return "output" not in call.unrecorded and (call.output is not None or call.error is None)


def _error_text(error: str, span: Any) -> str:
    """Return an error message with its type in front, if the span of the call recorded one that the message lacks.

    The message of a `KeyError` is only the key: OpenTelemetry records the type of an exception apart from its message.
    """
    events = span.get("events", ()) if isinstance(span, dict) else ()
    for event in reversed(events):
        attributes = event.get("attributes", {}) if event.get("name") == "exception" else {}
        kind = attributes.get("exception.type")
        if attributes.get("exception.message") == error and isinstance(kind, str) and kind:
            return error if error.startswith((kind, kind.rpartition(".")[2])) else f"{kind}: {error}"
    return error


def value_shown(value: Any, most: int = _TEXT, *, whole: bool = True) -> ShownText:
    """Return a value as JSON, on one line if it is short. A long string keeps its line breaks."""
    if isinstance(value, str) and ("\n" in value or len(value) > _SHORT):
        return shown_text(value, most, whole=whole)
    text = _pretty(value)
    if len(text) <= 3 * _SHORT:
        line = value_text(value, 3 * _SHORT)
        text = line if len(line) <= _SHORT else text
    return shown_text(text, most, whole=whole)


class BarView(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its bar: where it begins and how wide it is. A width of 0 means that its time is unknown."""

    number: int
    name: str
    depth: int
    begin: float = 0
    width: float = 0
    took: str = ""
    together: str = ""
    """Why it belongs together with others, in words."""
    is_error: bool = False
    is_internal: bool = False
    is_model: bool = False


class Scale(msgspec.Struct, frozen=True):
    """The start and the length of everything, in nanoseconds, and whether bars are drawn."""

    begin: int = 0
    length: int = 1
    is_drawn: bool = True

    @property
    def text(self) -> str:
        """The length in words; empty if nothing is drawn."""
        return duration_text(self.length) if self.is_drawn and self.length > 1 else ""


def scale_of(calls: Sequence[ToolCall], messages: Sequence[Message] = (), most: int = 0) -> Scale:
    """Return the scale on which all calls and messages are drawn. Clocks may run backwards.

    With more than `most` calls, if given, no bars are drawn: each would be a dot.
    """
    timed: list[ToolCall | Message] = [*calls, *messages]
    starts = [each.start_ns for each in timed if each.start_ns is not None]
    ends = [each.end_ns for each in timed if each.end_ns is not None]
    begin, end = min(starts, default=0), max([*ends, *starts], default=0)
    return Scale(begin, max(1, end - begin), not most or len(calls) <= most)


def bars_of(calls: Sequence[ToolCall], numbers: range, scale: Scale) -> dict[int, BarView]:
    """Return the bars of the calls with these numbers.

    A call without a start has no bar, and one without an end has the narrowest.
    """
    chosen = [row for row in rows(calls, _MOST_LANES) if row.position + 1 in numbers]
    return {row.position + 1: _bar(row, scale) for row in chosen}


def message_bar(message: Message, scale: Scale) -> BarView | None:
    """Return the bar of a model's message; `None` for others, and if no time is known."""
    if message.writer != "model" or message.start_ns is None:
        return None
    left, width, took = _extent(message.start_ns, message.end_ns, scale)
    return BarView(number=0, name="", depth=0, begin=round(left, 1), width=round(width, 1), took=took, is_model=True)


def _extent(start_ns: int, end_ns: int | None, scale: Scale) -> tuple[float, float, str]:
    """Return where a bar begins, how wide it is, and the duration in words."""
    left = min(WIDTH - _NARROWEST, WIDTH * (start_ns - scale.begin) / scale.length)
    if end_ns is None:
        return left, float(_NARROWEST) if scale.is_drawn else 0.0, ""
    width = min(WIDTH - left, max(float(_NARROWEST), WIDTH * (end_ns - start_ns) / scale.length))
    return left, width if scale.is_drawn else 0.0, duration_text(end_ns - start_ns)


def _facts(call: ToolCall, begin: int | None) -> tuple[tuple[str, str], ...]:
    took = "unknown"
    if call.start_ns is not None and call.end_ns is not None:
        took = duration_text(call.end_ns - call.start_ns)
    known = (
        (
            "started",
            f"+{duration_text(call.start_ns - begin)}" if call.start_ns is not None and begin is not None else "",
        ),
        ("took", took),
        ("agent", call.agent or ""),
        ("turn", str(call.turn + 1) if call.turn is not None else ""),
        ("recorded as", call.source or ""),
    )
    return tuple([(name, value[:200]) for name, value in known if value])


def _plain(call: ToolCall) -> Any:
    plain = msgspec.to_builtins(call)
    plain["unrecorded"].sort()
    return {key: value for key, value in plain.items() if value not in (None, False, []) or key in ("args", "output")}


def _bar(row: CallRow, scale: Scale) -> BarView:
    call = row.call
    left, width, took = (0.0, 0.0, "") if call.start_ns is None else _extent(call.start_ns, call.end_ns, scale)
    bond, _ = row.lanes[-1] if row.lanes else ("", "")
    together = {"": "", "concurrent": "at the same time"}.get(bond, "asked for at once")
    return BarView(
        number=row.position + 1,
        name=call.name[:200],
        depth=min(row.depth, _DEEPEST),
        begin=round(left, 1),
        width=round(width, 1),
        took=took,
        together=together,
        is_error=call.error is not None or call.suspected_error,
        is_internal=call.internal is True,
    )
