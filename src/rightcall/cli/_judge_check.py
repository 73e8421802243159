"""`rightcall judge-check`: how far does a judge agree with people? Or Rightcall with the source of its traces?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from rightcall.errors import InputError, UnknownNameError, nearest
from rightcall.judging.models import Agreement, Compared, read_labels
from rightcall.scale.local import Scoring
from rightcall.values.results import EvaluationResult, JudgeJustification, Measure, measures_of

from ._options import (
    GroupedCommand,
    Number,
    joining_options,
    no_cache_option,
    option,
    request_of,
    sources_of,
    trust_option,
)
from ._output import Screen, print_error, stdout_guard
from ._runs import opened

_OF_JUDGES = "RC6"
_WORDS = {True: "passed", False: "failed"}
MOST_SHOWN = 50
"""The most cases to list on which they differ."""


@click.command(name="judge-check", cls=GroupedCommand)
@click.argument("labels", metavar="LABELS")
@click.argument("traces", nargs=-1, metavar="[TRACES...]")
@option("What", "--run", metavar="RUN", help="The run whose verdicts are compared with the labels; last by default.")
@option("What", "--runs", metavar="DIR", help="The folder of runs; .rightcall/runs by default.")
@option("What", "--evalset", metavar="FILE", help="Judge TRACES now, with the judge of this eval set.")
@option("What", "--evaluator", metavar="NAME", help="Which evaluator; the judge by default, if there is only one.")
@joining_options
@no_cache_option
@trust_option
@option(
    "Output",
    "--min-agreement",
    type=Number(0, 1),
    metavar="SHARE",
    help="Exit with 1 if they agree on a smaller share of cases.",
)
@option("Output", "--min-kappa", type=Number(-1, 1), metavar="KAPPA", help="Exit with 1 if Cohen's kappa is smaller.")
def command(**options: Any) -> int:
    """Compare the verdicts of a judge with human LABELS: CSV, JSON Lines, YAML or JSON.

    Exit code: 0, 1 if they agree less than asked for, 2 if a labelled case has no verdict.
    """
    return _Checking(options).run()


class _Checking:
    """One run of the command."""

    def __init__(self, options: dict[str, Any]) -> None:
        if (options["evalset"] is None) != (not options["traces"]):
            raise click.UsageError("give TRACES and --evalset to have them judged now, or neither to take a run")
        if options["evalset"] is not None and options["run"] is not None:
            raise click.UsageError("--run takes the verdicts of a run, --evalset judges now: give one of them")
        if options["evalset"] is None and (options["cases"] or options["tags"]):
            raise click.UsageError("--case and --tag choose cases of an eval set; give --evalset and TRACES")
        self._options = options
        self._labels = read_labels(options["labels"])
        self._compared: list[Compared] = []
        self._unjudged: dict[str, str] = {}

    def run(self) -> int:
        name, found = self._found()
        for case_id, measures in found:
            if case_id in self._labels:
                self._compare(case_id, [measure for measure in measures if measure[0] == name])
        seen = {one.case_id for one in self._compared}
        missing = {case: "there is no result of it" for case in self._labels if case not in seen | set(self._unjudged)}
        self._unjudged |= missing
        agreement = Agreement.of(self._compared)
        self._print(name, agreement)
        return self._exit_code(agreement)

    def _compare(self, case_id: str, measures: list[Measure]) -> None:
        for _, verdict, score in measures:
            if verdict in ("passed", "failed"):
                self._compared.append(Compared(case_id, self._labels[case_id], verdict == "passed", score))
            else:
                self._unjudged[case_id] = verdict.replace("_", " ")

    def _found(self) -> tuple[str, list[tuple[str, tuple[Measure, ...]]]]:
        """Return the name of the evaluator to compare, and the verdicts and scores of all evaluators for each case."""
        if self._options["evalset"] is None:
            return self._of_run()
        request = request_of(self._options)
        cases = request.expected.cases
        checks = [check for case in cases for check in case.checks]
        if self._options["cases"] or self._options["tags"]:
            chosen = {case.id for case in cases}
            self._labels = {case_id: label for case_id, label in self._labels.items() if case_id in chosen}
        judges = [check.key for check in checks if check.evaluator.type_id.startswith("llm-judge-")]
        name = self._chosen(judges, [check.key for check in checks])
        scoring = Scoring(request, sources_of(self._options, request), workers=1)
        with stdout_guard(), closing(scoring.results()) as results:
            return name, [(scored.result.case_id, measures_of(scored.result.results)) for scored in results]

    def _of_run(self) -> tuple[str, list[tuple[str, tuple[Measure, ...]]]]:
        run = opened(self._options["run"] or "last", self._options["runs"])
        judges: list[str] = []
        found: list[tuple[str, tuple[Measure, ...]]] = []
        for result in run.results():
            found.append((result.case_id, measures_of(result.results)))
            judges += [one.evaluator for one in result.results if _is_of_judge(one)]
        return self._chosen(judges, [measure[0] for _, measures in found for measure in measures]), found

    def _chosen(self, judges: list[str], known: list[str]) -> str:
        judges, known = list(dict.fromkeys(judges)), list(dict.fromkeys(known))
        wanted: str | None = self._options["evaluator"]
        if wanted is not None:
            if wanted not in known:
                raise UnknownNameError(f"no evaluator {wanted!r:.80} has judged; {nearest(wanted, known)}")
            return wanted
        if len(judges) != 1:
            several = f"there are several judges ({', '.join(judges)})" if judges else "there is no judge"
            raise InputError(f"{several}; name an evaluator with --evaluator")
        return judges[0]

    def _print(self, name: str, agreement: Agreement) -> None:
        labels = self._options["labels"]
        screen = Screen()
        screen.line((name, "bold"), f" against {len(self._labels):,} labels of {labels}\n")
        for line in agreement_lines(agreement, "people", "judge"):
            screen.line(line)
        for case_id, reason in list(self._unjudged.items())[:MOST_SHOWN]:
            print_error(f"{case_id}: no verdict of the judge: {reason}")

    def _exit_code(self, agreement: Agreement) -> int:
        for value, least in (
            (agreement.share, self._options["min_agreement"]),
            (agreement.kappa, self._options["min_kappa"]),
        ):
            if least is not None and value is not None and value < least:
                return 1
            if least is not None and value is None:
                return 2
        return 2 if self._unjudged else 0


def _is_of_judge(result: EvaluationResult) -> bool:
    return isinstance(result.details, JudgeJustification) or (result.error or "").startswith(_OF_JUDGES)


def agreement_lines(agreement: Agreement, theirs: str, ours: str) -> Iterator[str]:
    """Yield the share, kappa, the table of both and the cases on which they differ, a line each.

    Args:
        agreement: Both verdicts on each case.
        theirs: Who gave the other verdict, such as `people`.
        ours: Who gave this one, such as `judge`.
    """
    share, kappa = agreement.share, agreement.kappa
    total, agreed = agreement.total, agreement.agreed
    yield f"agreement  {figure(share)}" + (f"  ({agreed:,} of {total:,})" if total else "")
    yield f"kappa      {figure(kappa)}" + ("" if kappa is not None else "  (undefined: no two verdicts)")
    width = len(f"{theirs} passed")
    columns = [f"{ours} {_WORDS[verdict]}" for verdict in (True, False)]
    yield "\n" + " " * width + "".join([f"{column:>{len(ours) + 9}}" for column in columns])
    for verdict in (True, False):
        counts = [f"{agreement.count(verdict, each):>{len(ours) + 9},}" for each in (True, False)]
        yield f"{theirs} {_WORDS[verdict]}".ljust(width) + "".join(counts)
    yield from _differences(agreement.differing, theirs, ours)


def _differences(differing: tuple[Compared, ...], theirs: str, ours: str) -> Iterator[str]:
    if differing:
        yield "\nThey differ on:"
    for one in differing[:MOST_SHOWN]:
        score = "" if one.score is None else f" ({one.score:.4g})"
        yield f"  {one.case_id}: {theirs} {_WORDS[one.people]}, {ours} {_WORDS[one.judge]}{score}"
    if len(differing) > MOST_SHOWN:
        yield f"  and {len(differing) - MOST_SHOWN:,} more"


def figure(value: float | None) -> str:
    """Format a share or kappa; `none` if it is not defined."""
    return "none" if value is None else f"{value:.4g}"


def plain_agreement(agreement: Agreement, **beside: Any) -> dict[str, Any]:
    """Return an agreement as plain data for JSON."""
    table = {
        f"{_WORDS[theirs]}_{_WORDS[ours]}": agreement.count(theirs, ours)
        for theirs in (True, False)
        for ours in (True, False)
    }
    differing = [
        {"case": one.case_id, "source": _WORDS[one.people], "verdict": _WORDS[one.judge]} for one in agreement.differing
    ]
    return {
        **beside,
        "compared": agreement.total,
        "agreement": agreement.share,
        "kappa": agreement.kappa,
        "source_and_verdict": table,
        "differing": differing,
    }
