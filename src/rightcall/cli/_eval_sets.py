"""The commands about eval sets themselves: `check`, `convert` and `schema`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from rightcall.cases.evalsets import EvalSet, convert_eval_set, eval_set_mistakes, eval_set_schema, load_eval_set
from rightcall.errors import DocumentError, RightcallError
from rightcall.judging import CODE_OF_YOURS, UnavailableEvaluator, UnimportedOverall
from rightcall.reporting.reports import report_schema
from rightcall.values.decoding import dump_json

from ._terminal import Screen, print_error

_MOST_NOTES = 10
_SOON = 14
"""Days before its end at which a quarantine is noted."""
_FORMATS = {"native": "", "uipath": " (UiPath)", "adk": " (ADK)"}


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def check(files: tuple[str, ...]) -> int:
    """Check eval sets and report every mistake in them. Nothing is scored and nothing is imported.

    FILE may be in the native format, in UiPath's or in ADK's.
    """
    screen, wrong = Screen(), 0
    for file in files:
        try:
            eval_set = load_eval_set(file)
        except RightcallError as problem:
            mistakes = [problem] if not isinstance(problem, DocumentError) else eval_set_mistakes(file) or [problem]
            for mistake in mistakes:
                print_error(mistake)
            wrong += len(mistakes)
            continue
        checks = sum(len(case.checks) for case in eval_set.cases)
        whose = _FORMATS[eval_set.format]
        screen.line(f"{file}: {_count(len(eval_set.cases), 'case')}, {_count(checks, 'expectation')}{whose}")
        for note in [*_unavailable(eval_set), *_without_effect(eval_set), *_quarantine_notes(eval_set)]:
            screen.line(f"  note: {note}")
    if wrong > 1:
        screen.line(f"{_count(wrong, 'mistake')}")
    return 2 if wrong else 0


def _unavailable(eval_set: EvalSet) -> list[str]:
    """What the eval set asks for that is not available: each by name, and in how many cases."""
    evaluators = [check.evaluator for case in eval_set.cases for check in case.checks]
    code = [each.evaluator for each in eval_set.overall if isinstance(each.evaluator, UnimportedOverall)]
    missing = [each for each in evaluators if isinstance(each, UnavailableEvaluator)]
    counted = Counter((each.id, each.type_id, each.reason) for each in missing)
    return [
        f"{name!r} ({wanted}) was not checked: {reason}"
        if reason == CODE_OF_YOURS
        else f"{name!r} ({wanted}) is not yet available: {reason}; {_count(cases, 'case')} cannot pass"
        for (name, wanted, reason), cases in counted.items()
    ] + [f"{each.id!r} ({each.type_id}) was not checked: {CODE_OF_YOURS}" for each in code]


def _without_effect(eval_set: EvalSet) -> list[str]:
    """What the eval set says that can change no verdict, each with its place."""
    found: dict[str, None] = {}
    for check in [check for case in eval_set.cases for check in case.checks]:
        for path, sentence in check.evaluator.without_effect(check.criteria):
            place = check.source(path)
            found[f"{place.file}:{place.line}:{place.column}: {sentence}"] = None
    more = len(found) - _MOST_NOTES
    return [*list(found)[:_MOST_NOTES], *([f"… and {more:,} more without effect"] if more > 0 else [])]


def _quarantine_notes(eval_set: EvalSet) -> list[str]:
    """What there is to know of cases in quarantine: which have no end, which end soon, and which count again."""
    notes = []
    for case in eval_set.cases:
        if case.quarantine is None:
            continue
        left = case.quarantine.days_left
        where = f"{case.source}: the quarantine of {case.id!r:.80}"
        if left is None:
            notes.append(f"{where} has no end; give it one: until: 2026-12-31")
        elif left < 0:
            notes.append(f"{where} ended on {case.quarantine.until}: the case counts again; take the key out")
        elif left <= _SOON:
            notes.append(f"{where} ends in {_count(left, 'day')}, on {case.quarantine.until}")
    return notes


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


@click.command(name="convert")
@click.argument("file")
@click.option("--output", metavar="FILE", help="Write to this file, which must not exist yet.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def convert(file: str, output: str | None, force: bool) -> int:
    """Convert an eval set of UiPath or ADK to the native format, losing nothing. Nothing is imported."""
    text = convert_eval_set(file).encode()
    if output is None:
        click.echo(text, nl=False)  # bytes, because a file is UTF-8 whatever the terminal is
        return 0
    try:
        with Path(output).open("wb" if force else "xb") as stream:
            stream.write(text)
    except FileExistsError:
        raise RightcallError(f"{output}: already exists; choose another name, or use --force") from None
    except OSError as problem:
        raise RightcallError(f"{output}: {problem.strerror or problem}") from None
    return 0


@click.command(name="schema")
@click.option("--report", "is_of_report", is_flag=True, help="Print the schema of JSON reports instead.")
def schema(is_of_report: bool) -> int:
    """Print the JSON Schema of native eval sets, so that editors can complete and check keys."""
    click.echo(dump_json(report_schema() if is_of_report else eval_set_schema(), indent=2))
    return 0
