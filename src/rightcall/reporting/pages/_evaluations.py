"""The results of each evaluator for a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall.reporting.reports import (
    Bracket,
    ExpectedPath,
    group_labels,
    held_share,
    order_text,
    path_rows,
    paths_of,
    with_brackets,
)
from rightcall.values.results import (
    BudgetCheck,
    CaseResult,
    ComparedAnswer,
    CountCheck,
    EvaluationResult,
    JudgeJustification,
    Justification,
    Source,
    Step,
    Verdict,
    call_text,
    figure_text,
)
from rightcall.values.trajectory import ToolCall

from ._rows import ProblemView
from ._templates import Change, Marked, ShownText, change_of, marked_pair, pieces, shown_text

MOST_STEPS = 400
"""Most lines of one comparison on a page."""
_MOST_CHANGES = 20
_CALL = 300
_TEXT = 4_000
_JUDGED_TEXT = 2_000
_MOST = 100
_NO_DETAILS = Justification()


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a comparison: the expected and the actual call, and what is wrong."""

    kind: str
    expected: str = ""
    place: str = ""
    """The line of the file where the expected call is written."""
    actual: str = ""
    number: int = 0
    """The number of the actual call, from 1; 0 for none."""
    note: str = ""
    changes: tuple[Change, ...] = ()
    more_changes: int = 0
    depth: int = 0
    """The number of groups around it."""
    opens: tuple[str, ...] = ()
    """The groups that begin with it, in words."""


class TableView(msgspec.Struct, frozen=True):
    """Expected and actual calls side by side: of a turn, or of the whole conversation."""

    title: str
    steps: tuple[StepView, ...]
    left_out: int = 0
    is_silent: bool = False
    """Whether no call was expected and none was made."""


class CheckView(msgspec.Struct, frozen=True):
    """The expected and the actual number of calls of a tool."""

    tool: str
    expected: str
    actual: int
    holds: bool


class BudgetView(msgspec.Struct, frozen=True):
    """A figure of the run and its limit, and the kind of sign for how they compare."""

    what: str
    limit: str
    actual: str
    kind: str


class AnswerView(msgspec.Struct, frozen=True):
    """An expected and an actual answer, with the differing parts marked, and the differences inside them."""

    title: str
    expected: Marked
    actual: Marked
    changes: tuple[Change, ...] = ()


class EvaluationView(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one evaluator for a case."""

    evaluator: str
    verdict: Verdict
    score: float | None
    threshold: float
    held: str = ""
    """How much of it matched, if it did not pass: `4 of 6`; empty if that cannot be counted."""
    rule: str = ""
    """The way calls were compared, such as `IN_ORDER, arguments subset`."""
    tables: tuple[TableView, ...] = ()
    checks: tuple[CheckView, ...] = ()
    budgets: tuple[BudgetView, ...] = ()
    answers: tuple[AnswerView, ...] = ()
    forbidden: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    """The calls of forbidden tools that were made."""
    judged: JudgedView | None = None
    error: ShownText | None = None
    traceback: ShownText | None = None
    warnings: tuple[ShownText, ...] = ()


def evaluation_views(result: CaseResult, most_steps: int = MOST_STEPS) -> tuple[EvaluationView, ...]:
    """Return the results of all evaluators, those that did not pass first. With `most_steps` 0, without calls."""
    ordered = sorted(result.results, key=lambda one: one.passed)
    return tuple([_evaluation(result, one, most_steps) for one in ordered])


def expected_calls(result: CaseResult) -> dict[int, str]:
    """Return the expected calls that actual calls were compared with, as text, by position."""
    steps = [step for view in evaluation_views(result) for table in view.tables for step in table.steps]
    return {step.number - 1: step.expected for step in reversed(steps) if step.number and step.expected}


def signs_of(views: Sequence[EvaluationView]) -> dict[int, str]:
    """Return the sign of each call, by number: that of the first comparison that is not a match."""
    signs: dict[int, str] = {}
    for view in views:
        for table in view.tables:
            for step in table.steps:
                if step.number and signs.get(step.number, "match") == "match":
                    signs[step.number] = step.kind
    return signs


class RubricView(msgspec.Struct, frozen=True):
    """One rubric, whether it is met, and why."""

    text: ShownText
    met: bool
    reason: ShownText


class JudgedView(msgspec.Struct, frozen=True):
    """The answer of a judge: its reason, the call it is about, its cost, and its verdict on each rubric."""

    reason: ShownText
    facts: str
    number: int = 0
    """The number of the call that decided the matter, from 1; 0 for none."""
    call: str = ""
    rubrics: tuple[RubricView, ...] = ()


def judged_view(details: object) -> JudgedView | None:
    """Return the answer of a judge; `None` if the details are not those of a judge."""
    if not isinstance(details, JudgeJustification):
        return None
    rubrics = sorted(details.rubrics, key=lambda rubric: rubric.met)[:_MOST]
    return JudgedView(
        shown_text(details.reason, _JUDGED_TEXT),
        _facts(details),
        details.call.position + 1 if details.call is not None else 0,
        details.call.text[:300] if details.call is not None else "",
        tuple(
            [
                RubricView(shown_text(one.text, _JUDGED_TEXT), one.met, shown_text(one.reason, _JUDGED_TEXT))
                for one in rubrics[:_MOST]
            ]
        ),
    )


def _evaluation(result: CaseResult, one: EvaluationResult, most_steps: int) -> EvaluationView:
    details: Justification = one.details or _NO_DETAILS
    return EvaluationView(
        evaluator=one.evaluator[:200],
        verdict=one.verdict,
        score=one.score,
        threshold=one.threshold,
        held=_share(result, one) if most_steps and not one.passed else "",
        rule=details.rule[:100],
        tables=tuple(_tables(result, one, most_steps)),
        checks=tuple(_checks(details.checks)[:MOST_STEPS]),
        budgets=tuple([_budget(each) for each in details.budgets[:MOST_STEPS]]),
        answers=tuple([_answer(each) for each in details.answers[:MOST_STEPS]]),
        forbidden=_short(details.forbidden),
        made=_short(details.made),
        judged=judged_view(details),
        error=shown_text(one.error, _TEXT) if one.error else None,
        traceback=shown_text(one.traceback, _TEXT) if one.traceback else None,
        warnings=tuple([shown_text(warning, _TEXT) for warning in one.warnings[:10] if warning not in result.warnings]),
    )


def _share(result: CaseResult, one: EvaluationResult) -> str:
    right, is_counted, expected = held_share(result, one).partition("/")
    return f"{right} of {expected}" if is_counted else ""


def _tables(result: CaseResult, one: EvaluationResult, most_steps: int) -> Iterator[TableView]:
    calls = result.trajectory.calls if result.trajectory is not None else ()
    paths = list(paths_of(result, one)) if most_steps else []
    for number, path in enumerate(paths, 1):
        steps = [step for step in path.alignment.steps if step.kind != "extra" or _shows(path, step)]
        views = tuple(_step_views(steps, path, calls, most_steps))
        left = len(steps) - len(views) + path.alignment.left_out
        yield TableView(f"Turn {number}" if len(paths) > 1 else "", views, left, not path.alignment.steps and not left)


def _step_views(steps: Sequence[Step], path: ExpectedPath, calls: Sequence[ToolCall], most: int) -> Iterator[StepView]:
    """Yield the lines of a path, with the groups they are in."""
    rows = path_rows(steps, path.alignment.groups, rounds=False)
    labels = group_labels(rows)
    opened: list[str] = []
    for item in list(with_brackets(rows[:most], rows)):
        if isinstance(item, Bracket):
            opened += [labels[item.group.path]] if item.group is not None else []
            continue
        view = _step(item.step, path, calls)
        note = view.note or item.left_out
        yield msgspec.structs.replace(view, note=note, depth=min(len(item.groups), 4), opens=tuple(opened))
        opened = []


def _shows(path: ExpectedPath, step: Step) -> bool:
    return path.shows_extras or path.is_reported(step)


def _step(step: Step, path: ExpectedPath, calls: Sequence[ToolCall]) -> StepView:
    kind, source = path.kind(step), path.source(step)
    call = calls[step.actual] if step.actual is not None and step.actual < len(calls) else None
    args = None if call is None or "args" in call.unrecorded else call.args
    note = ""
    if kind == "moved" or (step.kind == "mismatch" and step.out_of_place and path.heeds_order):
        note = order_text(step, path.alignment.steps)
    if kind == "not_measured":
        note = "not recorded"
    if kind == "extra" and not path.is_reported(step):
        note = "allowed"
    return StepView(
        kind=kind,
        expected=_expected(step, path, source) if step.expected is not None else "",
        place=f"line {source.line}" if source is not None else "",
        actual=call_text(step.name, args, _CALL, 80) if step.actual is not None else "",
        number=step.actual + 1 if step.actual is not None else 0,
        note=note[:_CALL],
        changes=tuple([change_of(each) for each in step.differences[:_MOST_CHANGES]]),
        more_changes=max(0, len(step.differences) - _MOST_CHANGES),
    )


def _expected(step: Step, path: ExpectedPath, source: Source | None) -> str:
    """Return the expected call: its line in the eval set if it is alone there, else from a finding, else its name."""
    if source is not None and path.is_alone(source):
        line = source.excerpt.strip().removeprefix("- ").rstrip(",")
        if line.startswith(step.name):
            return line[:_CALL]
    for placed in path.problems:
        named = placed.finding.expected
        if named is not None and named.position == step.expected:
            return named.text[:_CALL]
    return step.name[:_CALL]


def _short(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple([text[:_CALL] for text in texts[:MOST_STEPS]])


def _checks(counted: Sequence[CountCheck]) -> list[CheckView]:
    checks = [
        CheckView(check.tool[:200], f"{check.operator} {check.expected:,}", check.actual, check.holds)
        for check in counted
    ]
    return sorted(checks, key=lambda check: check.holds)


def _budget(budget: BudgetCheck) -> BudgetView:
    kind = "not_measured" if budget.holds is None else "match" if budget.holds else "mismatch"
    actual = "not recorded" if budget.actual is None else figure_text(budget.actual)
    return BudgetView(budget.what[:200], figure_text(budget.at_most), actual, kind)


def _answer(answer: ComparedAnswer) -> AnswerView:
    title = f"Turn {answer.turn + 1}" if answer.turn is not None else ""
    expected, actual = answer.expected[:_TEXT], answer.actual[:_TEXT]
    is_matcher = expected.startswith('{"$')
    pair = (Marked(expected, ""), Marked(actual, "")) if is_matcher else marked_pair(expected, actual)
    changes = tuple([change_of(each) for each in answer.differences[:_MOST_CHANGES] if each.path not in ("", "$")])
    return AnswerView(title, *pair, changes)


def _facts(details: JudgeJustification) -> str:
    """Return the model, the number of answers, how far they agree, and their cost."""
    facts = [details.model[:100]]
    if (count := len(details.samples)) > 1:
        facts.append(f"{count} answers, {details.agreement:.0%} agree")
    if details.cached:
        facts.append(f"{details.cached} known from before")
    if details.input_tokens or details.output_tokens:
        facts.append(f"{details.input_tokens:,} + {details.output_tokens:,} tokens")
    if details.cost is not None:
        facts.append(f"cost {details.cost:.4g}")
    return ", ".join(facts)


def headline_of(
    sentence: ShownText, problems: Sequence[ProblemView], evaluations: Sequence[EvaluationView]
) -> tuple[tuple[str, str], ...]:
    """Split the sentence that says why into pieces: `code`, and values that were `wanted` and `given`."""
    number = problems[0].number if problems else 0
    steps = [step for view in evaluations for table in view.tables for step in table.steps if step.number == number]
    changes = [change for step in steps if number for change in step.changes]
    text = str(sentence)
    found = [(piece, "code" if is_code else "") for piece, is_code in pieces(text[:1].upper() + text[1:])]
    for change in changes:
        found = [
            each for piece, kind in found for each in ((None if kind else _marked_in(piece, change)) or [(piece, kind)])
        ]
    return tuple(found)


def _marked_in(text: str, change: Change) -> list[tuple[str, str]] | None:
    """Split a string that describes a change into pieces, with the given and the expected value marked; else None."""
    if change.expected is None or change.actual is None:
        return None
    given, wanted = [f"{each.before}{each.marked}{each.after}" for each in (change.actual, change.expected)]
    before, found, after = text.partition(f"{change.path} {given}, expected {wanted}")
    if not found:
        return None
    parts = [(f"{before}{change.path} ", ""), *_of_value(change.actual, "given"), (", expected ", "")]
    return [each for each in (*parts, *_of_value(change.expected, "wanted"), (after, "")) if each[0]]


def _of_value(value: Marked, kind: str) -> list[tuple[str, str]]:
    return [(value.before, "mono"), (value.marked, kind), (value.after, "mono")]
