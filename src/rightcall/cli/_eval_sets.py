"""The commands about eval sets themselves: `check`, `convert`, `schema` and `mutate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rightcall.cases.evalsets import EvalSet, convert_eval_set, eval_set_mistakes, eval_set_schema, load_eval_set
from rightcall.errors import DocumentError, InputError, RightcallError, StoreError
from rightcall.judging import CODE_OF_YOURS, UnavailableEvaluator, UnimportedOverall
from rightcall.reporting.reports import report_schema
from rightcall.values.decoding import dump_json

from ._options import (
    FormatType,
    GroupedCommand,
    Number,
    joining_options,
    no_cache_option,
    option,
    request_of,
    runs_folder,
    runs_option,
    sources_of,
    trust_option,
)
from ._output import Screen, print_error

if TYPE_CHECKING:
    from rightcall.cases.evalsets import Case, EvalSet
    from rightcall.cases.mutants import Strengthened
    from rightcall.reporting.store import RunFolder
    from rightcall.values.trajectory import Trajectory


_MOST_NOTES = 10
_SOON = 14
"""How many days before its end a quarantine is mentioned."""
_FORMATS = {"native": "", "uipath": " (UiPath)", "adk": " (ADK)"}
_FORMATS_OF_MUTANTS = ("text", "json", "html")
_MARK = "\ufeff"


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
    """Return notes on evaluators that are not available: each by name, and in how many cases."""
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
    """Return notes on parts of the eval set that can change no verdict, each with its place."""
    found: dict[str, None] = {}
    for check in [check for case in eval_set.cases for check in case.checks]:
        for path, sentence in check.evaluator.without_effect(check.criteria):
            place = check.source(path)
            found[f"{place.file}:{place.line}:{place.column}: {sentence}"] = None
    more = len(found) - _MOST_NOTES
    return [*list(found)[:_MOST_NOTES], *([f"… and {more:,} more without effect"] if more > 0 else [])]


def _quarantine_notes(eval_set: EvalSet) -> list[str]:
    """Return notes on cases in quarantine: which have no end, which end soon, and which count again."""
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


@click.command(name="mutate", cls=GroupedCommand)
@click.argument("evalset", required=False, metavar="[EVALSET|RUN]")
@click.argument("traces", nargs=-1, metavar="[TRACES...]")
@option("What", "--run", "run", metavar="RUN", help="The run whose trajectories are used; the last of EVALSET.")
@option("What", "--operators", multiple=True, metavar="NAMES", help="Only these faults, separated by commas.")
@option("What", "--all", "count_all", is_flag=True, help="Also count faults that the case explicitly allows.")
@option("What", "--judges", is_flag=True, help="Include cases that a model judges: one request for each mutant.")
@joining_options
@no_cache_option
@trust_option
@option("Gate", "--min-score", type=Number(0, 1), metavar="X", help="Exit with 1 if a smaller share is noticed.")
@option("Output", "--write", "writes", is_flag=True, help="Add the suggested lines to the eval set.")
@option(
    "Output",
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[=FILE]",
    type=FormatType(_FORMATS_OF_MUTANTS),
    help=f"Print a format or, with =FILE, write it: {', '.join(_FORMATS_OF_MUTANTS)}; repeatable. By default text.",
)
@runs_option
def mutate(**options: Any) -> int:
    """Show whether an eval set would notice if the agent went wrong.

    Takes trajectories that pass, puts one fault into each copy (a call left out, another argument, another answer),
    and judges all copies. No agent is run. Without EVALSET the last run is meant, and the eval set it was made with;
    with TRACES these are used. Exit code: 0, 1 below --min-score, 2 if no case passes.
    """
    return _Mutating(options).run()


class _Mutating:
    """One run of the command."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._screen = Screen()
        if options["traces"] and options["run"] is not None:
            raise click.UsageError("give either TRACES or --run")
        given = options["evalset"]
        if given is not None and not options["traces"] and not Path(given).exists():
            if given.endswith((".yaml", ".yml", ".json")):
                raise InputError(f"{given}: No such file or directory")
            # `rightcall mutate last`: every other command takes a run in this place.
            options |= {"evalset": None, "run": options["run"] or given}
        self._run = None if options["traces"] else _run(options)
        self._path = options["evalset"] or (self._run.header.evalset if self._run is not None else "")

    def run(self) -> int:
        from rightcall.cases.evalsets import load_eval_set_with_code, select_cases
        from rightcall.running.project import trusted_project

        eval_set = load_eval_set_with_code(self._path, trust=self._options["trust"], home=trusted_project())
        cases = select_cases(eval_set.cases, self._options["cases"], self._options["tags"])
        made = self._mutated(eval_set, cases)
        if not made.report.cases:
            raise InputError(f"no case of {self._path} can be tried: {_reasons(made.report.not_tried)}")
        self._print(made, len(cases) == len(eval_set.cases))
        least = self._options["min_score"]
        if least is not None and made.report.share < least:
            print_error(f"{made.report.share:.2f} of the mutants were noticed; --min-score asks for {least:g}")
            return 1
        return 0

    def _mutated(self, eval_set: EvalSet, cases: Sequence[Case]) -> Strengthened:
        from rightcall.cases.mutants import mutate, operators_named

        operators = operators_named(self._options["operators"])
        is_native = eval_set.format == "native"
        if self._options["writes"] and not is_native:
            raise InputError(
                f"{self._path}: lines are added to native eval sets; first: rightcall convert {self._path}"
            )
        text = Path(self._path).read_text(encoding="utf-8").removeprefix(_MARK) if is_native else None
        return mutate(
            eval_set,
            self._observed(cases, eval_set.cases),
            cases=cases,
            text=text,
            operators=operators,
            count_all=self._options["count_all"],
            judges=self._options["judges"],
            edits=self._options["writes"],
        )

    def _observed(self, cases: Sequence[Case], known: Sequence[Case]) -> Mapping[str, Sequence[Trajectory]]:
        if self._run is not None:
            found: dict[str, list[Trajectory]] = {}
            for result in self._run.results():
                if result.trajectory is not None and (result.outcome is None or result.outcome.error is None):
                    found.setdefault(result.case_id, []).append(result.trajectory)
            return found
        from rightcall.scale.local import Observing

        request = request_of({**self._options, "evalset": self._path})
        return Observing(request, sources_of(self._options, request)).by_case(cases, known)

    def _print(self, made: Strengthened, is_whole: bool) -> None:
        from msgspec.structs import replace

        report = replace(made.report, run=self._run.short_id if self._run is not None else "")
        if self._run is not None and is_whole and not self._options["operators"]:
            from rightcall.reporting.store import keep_mutation

            keep_mutation(self._run.folder, report)
        for name, _, path in [each.partition("=") for each in self._options["formats"] or ("text",)]:
            self._write(name, path, replace(made, report=report))
        if self._options["writes"]:
            self._edit(made)

    def _write(self, name: str, path: str, made: Strengthened) -> None:
        from rightcall.reporting.reports import Paper, mutation_json, mutation_lines

        if name == "text" and not path:
            for line in mutation_lines(made.report, self._screen.paper()):
                self._screen.line(*line)
            self._hint(made)
            return
        if name == "text":
            lines = mutation_lines(made.report, Paper(width=100))
            text = "".join(
                ["".join([part if isinstance(part, str) else part[0] for part in line]) + "\n" for line in lines]
            )
        elif name == "json":
            text = mutation_json(made.report)
        else:
            from rightcall.reporting.pages import Links, mutants_html, mutants_page

            text = mutants_html(mutants_page(made.report), Links(is_one_file=True))
        if not path:
            click.echo(text, nl=False)
            return
        from ._files import new_file

        with new_file(path) as file:
            file.write(text)

    def _hint(self, made: Strengthened) -> None:
        lines = {(case.case_id, each.line) for case in made.report.cases for each in case.survivors if each.line}
        if lines and not self._options["writes"]:
            count = "the line" if len(lines) == 1 else f"the {len(lines):,} lines"
            self._screen.line(f"rightcall mutate --write adds {count} above, as an edit to review")

    def _edit(self, made: Strengthened) -> None:
        from rightcall.reporting.reports import diff_lines

        from ._files import replace_file

        content = Path(self._path).read_bytes()
        text = content.decode()
        for line in diff_lines(text.removeprefix(_MARK), made.edits, self._path, self._path):
            self._screen.line(line)
        for case_id, reason in made.refused.items():
            self._screen.line(f"{self._path}: {case_id}: left alone: {reason}")
        if not made.edits:
            self._screen.line("nothing to add")
            return
        replace_file(self._path, content, (_MARK * text.startswith(_MARK) + made.after).encode())


def _run(options: dict[str, Any]) -> RunFolder:
    """Return the run that is named, or the last one of the eval set. Raises `StoreError`."""
    from rightcall.reporting.store import list_runs, open_run

    runs = runs_folder(options["runs"])
    if options["run"] is not None or options["evalset"] is None:
        run = open_run(options["run"] or "last", runs)
    else:
        meant = Path(options["evalset"]).resolve()
        opened = (open_run(str(folder)) for folder in reversed(list_runs(runs)))
        found = next((each for each in opened if Path(each.header.evalset).resolve() == meant), None)
        if found is None:
            raise StoreError(f"{runs}: no run of {options['evalset']} yet; run it first, or give traces of it")
        run = found
    if run.header.options.get("redact") is True:
        raise StoreError(f"run {run.short_id} was kept with --redact: its values are not those that were judged")
    if not run.header.evalset:
        raise StoreError(f"run {run.short_id} was checked against one expectation, not an eval set")
    return run


def _reasons(not_tried: Mapping[str, Sequence[str]]) -> str:
    return "; ".join([f"{reason}: {', '.join(ids[:5])}" for reason, ids in not_tried.items()]) or "it has none"
