"""Results and runs that say hostile texts wherever somebody else than us may say something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace
from tests.hostile import corpus

from rightcall import CaseResult, ToolCall, Trajectory, judge
from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import error_result, not_measured_result
from rightcall.judging import EVALUATORS
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reporting.store import RunFolder, create_run
from rightcall.values.results import Aggregates, Cause, Outcome, Source, Tally, measures_of
from rightcall.values.trajectory import Message, MessageWriter

_SECOND = 1_000_000_000
_LONG = 10_000


def hostile_results(text: str) -> Iterator[CaseResult]:
    """Results of one case with each verdict, made by judging it: its id, its path and its expectations are the text."""
    trajectory = hostile_trajectory(text)
    outcome = Outcome(seconds=1.0, stdout=text)
    case = hostile_case(text)
    yield replace(judge(case, trajectory), outcome=outcome)
    yield replace(not_measured_result(case, "RC302", text, trajectory), repeat=1, outcome=outcome)
    failed = Outcome(seconds=1.0, cause="raised", error=text, traceback=text, stdout=text)
    yield replace(error_result(case, failed, trajectory), repeat=2, outcome=failed)


def hostile_case(text: str) -> Case:
    """A case that expects what nobody does: calls of tools whose names and arguments are the text, and an answer."""
    tool = expected_name(text)
    source = Source(text, 3, 5, text)
    args = {text: text, "same": 1}
    literal = {"$literal": args} if text.startswith("$") else args
    expected = [{"name": tool, "args": literal}, {"name": expected_name("not " + text), "args": {}}]
    criteria: dict[str, dict[str, Any]] = {
        "tool-trajectory": {"expected": expected},
        "tool-call-order": {"tool_calls_order": [tool, expected_name("not " + text)]},
        "tool-call-count": {"tool_calls_count": {tool: ("=", 7)}},
        "tool-call-args": {"tool_calls": expected},
        "tool-call-output": {"tool_outputs": [{"name": tool, "output": text + "?"}]},
    }
    if len(text) > _LONG:  # it stands in a result so often that the journal would not take a line with more
        criteria = {"tool-trajectory": criteria["tool-trajectory"]}
    checks = [_check(type_id, text, written, source) for type_id, written in criteria.items()]
    return Case(id=text, source=source, checks=tuple(checks), input=text, tags=(text,))


def hostile_trajectory(text: str) -> Trajectory:
    """Calls whose every field is the text: nested ones, ones at once, one in error, one without a record."""
    tool = tool_name(text)
    calls = [
        ToolCall(tool, {text: text + "!", "same": 1}, {text: [text]}, span_id="1", start_ns=0, end_ns=9 * _SECOND),
        ToolCall(tool, {"a": text}, text, text, span_id="2", parent_id="1", start_ns=_SECOND, end_ns=2 * _SECOND),
        ToolCall(tool_name(text * 2), {}, None, span_id=text, parent_id=text, start_ns=_SECOND, end_ns=3 * _SECOND),
        ToolCall(tool, agent=text, group=text, call_id=text, tool_id=text, start_ns=4 * _SECOND),
    ]
    said = [
        Message(
            writer=writer, text=text, at=at, asks=at, agent=text, model=text, parent_id="1", left_out=at, start_ns=0
        )
        for at, writer in enumerate(get_args(MessageWriter))
    ]
    return Trajectory(
        calls=tuple(calls),
        input=text,
        output={text: text},
        trace_id=text,
        metadata={text: text},
        warnings=(text,),
        messages=tuple(said),
    )


def gathered_result(kind: str) -> CaseResult:
    """A case with a call for every payload of a kind, which is its tool, argument, output and error."""
    texts = corpus.PAYLOADS[kind]
    calls = [
        ToolCall(tool_name(text), {text: text, "same": number}, text, text if number % 3 == 0 else None)
        for number, text in enumerate(texts)
    ]
    source = Source("hostile.yaml", 3, 5, kind)
    expected = [
        {"name": expected_name(text), "args": {"same": number + number % 2}} for number, text in enumerate(texts)
    ]
    check = _check("tool-trajectory", "calls", {"expected": expected}, source)
    trajectory = Trajectory(calls=tuple(calls), input=texts[0], output=texts[-1])
    return judge(Case(id=kind, source=source, checks=(check,), input=texts[0]), trajectory)


def tool_name(text: str) -> str:
    """The text as far as a tool may be called by it."""
    return text[: DEFAULT_LIMITS.name_length]


def expected_name(text: str) -> str:
    """The same for a tool that is expected, whose name may have no `*`: that would be taken for a pattern."""
    return tool_name(text).replace("*", "+")


def write_hostile_runs(runs: Path) -> RunFolder:
    """A folder with a run for every kind of payload and, as the last one, a run with all of them; that one."""
    for kind, texts in corpus.PAYLOADS.items():
        write_run(runs, (gathered_result(kind), *hostile_results(texts[0])), texts[-1])
    return write_run(runs, _every_payload(), corpus.SHORT[0])


def write_run(runs: Path, results: Iterable[CaseResult], text: str = "", **known: Any) -> RunFolder:
    """A run with these results, whose header says the text wherever it says something of its own."""
    fields: dict[str, Any] = {
        "agent": text,
        "evalset": text,
        "evalset_hash": text,
        "branch": text,
        "commit": text,
        "options": {text: text},
        **known,
    }
    run = create_run(runs, **fields)
    tally, aggregates = Tally(), Aggregates()
    journal = run.journal()
    for result in results:
        journal.append(result, "digest")
        tally.count(result.case_id, result.verdict, result.repeat)
        aggregates.add(measures_of(result.results))
    journal.close()
    return run.finish(tally.totals(), aggregates.by_evaluator(), 1.0, is_complete=True)


def _every_payload() -> Iterator[CaseResult]:
    causes: tuple[Cause, ...] = ("raised", "timed_out", "died", "memory", "output", "mock")
    for number, text in enumerate([*corpus.SHORT, *corpus.LONG]):
        case = hostile_case(text)
        outcome = Outcome(seconds=0.1, cause=causes[number % 6], error=text, traceback=text, stdout=text)
        if number % 10 == 0:
            yield replace(error_result(case, outcome, hostile_trajectory(text)), outcome=outcome)
        else:
            yield replace(judge(case, hostile_trajectory(text)), outcome=Outcome(seconds=0.1, stdout=text))


def _check(type_id: str, key: str, written: dict[str, Any], source: Source) -> Check:
    evaluator = EVALUATORS[type_id](key)
    return Check(key=key, evaluator=evaluator, criteria=evaluator.criteria(written), source=lambda _: source)
