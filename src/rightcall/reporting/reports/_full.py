"""The diagnosis: lines of the user's eval set with the verdict beside each, and common causes of failures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from rightcall.values.results import (
    CODES,
    GRAVITY,
    Alignment,
    CaseResult,
    Difference,
    EvaluationResult,
    Finding,
    PlacedFinding,
    RulesJustification,
    Step,
    ToolCallCountEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
    group_words,
    is_unmeasured,
)

from ._case_lines import headline, matrices, matrix_lines, repeats_headline
from ._expected_paths import ExpectedPath, order_text, paths_of
from ._gutter import Gutter
from ._paper import NARROWEST, Line, Paper, fit, line_text, wrap
from ._report import CaseBlock, Report, case_blocks, ending, repeat_lines

_LINES_OF_A_TRACEBACK = 8
_LINES_PRINTED = 4
_LINES_OF_A_MESSAGE = 6
_MOST_OF_A_CASE = 12
_MOST_QUARANTINED = 20
_MOST_UNEXPLAINED = 20
"""Most causes listed in one line each, after those that are explained."""
_PREAMBLE = "not measured: "
_MOST_NAMED = 5
_MOST_ARGUMENTS = 3
_LONGEST_NAME = 40
_LONGEST_RULE = 100
_BOUNDS = {
    "<=": "called more than {}",
    "<": "called {} or more",
    ">=": "called less than {}",
    ">": "called {} or less",
    "!=": "called {}",
}
_GRAVEST = (
    "RC107",
    "RC101",
    "RC104",
    "RC106",
    "RC105",
    "RC103",
    "RC102",
    "RC108",
    "RC112",
    "RC111",
    "RC113",
    "RC114",
    "RC115",
)


def full_lines(report: Report, paper: Paper, max_detail: int = 10) -> Iterator[Line]:
    """Yield all results: a line for each case that did not pass, diagnoses, and totals.

    Up to `max_detail` cases are explained one by one. If there are more, one case of each cause is explained, the most
    common cause first.
    """
    explained: list[CaseBlock] = []
    causes: dict[Cause, CauseCount] = {}
    listed, problems, made_up = 0, 0, 0
    for block in case_blocks(report):
        is_quarantined = block.quarantine is not None
        if block.result.passed and not is_quarantined:
            continue
        listed += 1
        made_up += block.is_made_up
        yield repeats_headline(block, paper) if block.shares else headline(block, paper)
        if not block.result.passed:
            problems += 1
            cause = cause_of(block)
            causes.setdefault(cause, CauseCount(cause)).add(block)
            if len(explained) < max_detail:
                explained.append(block)
    # The report may lack results that passed, so their number comes from the totals, without those listed above.
    steady = report.totals.passed - made_up
    if steady:
        reported = f"{steady:,} more" if listed else f"{steady:,} passed"
        yield ((f"  {paper.sign('passed')} ", "green"), reported)
    if problems > max_detail:
        yield from _by_cause(report, by_weight(causes.values()), paper, max_detail, problems)
    else:
        for block in explained:
            yield from diagnosis(block.result, paper, report.run_id, is_note=block.is_note)
    yield from _closing(report, paper)


def _by_cause(report: Report, causes: list[CauseCount], paper: Paper, max_detail: int, problems: int) -> Iterator[Line]:
    """Yield each cause with its number of cases, and a diagnosis of one case for each of the most common causes."""
    firsts = firsts_of([each.cause for each in causes[:max_detail]], case_blocks(report))
    yield ()
    for each in causes[: max_detail + _MOST_UNEXPLAINED]:
        yield from _cause_lines(each, paper)
        if (block := firsts.get(each.cause)) is not None:
            yield from diagnosis(block.result, paper, report.run_id, is_note=block.is_note)
            yield ()
    if left := causes[max_detail + _MOST_UNEXPLAINED :]:
        yield ((f"{len(left):,} more causes, {sum([each.cases for each in left]):,} cases", "dim"),)
    if len(causes) > max_detail:
        yield from () if max_detail else [()]
        hint = f"--max-detail {len(causes)} explains a case of each cause, --max-detail {problems} every case"
    else:
        hint = f"one case of each cause is explained; --max-detail {problems} explains every case"
    yield from (((piece, "dim"),) for piece in wrap(hint, max(NARROWEST, paper.width)))


def _cause_lines(counted: CauseCount, paper: Paper) -> Iterator[Line]:
    """Yield a cause: `49 cases: `search` called out of order`, and the names of the first of these cases."""
    number = "1 case" if counted.cases == 1 else f"{counted.cases:,} cases"
    note = " (other repeats passed)" if counted.cause.verdict == "passed" else ""
    sentence = paper.text(f"{number}: {counted.cause.problem.sentence}{note}")
    text = fit(sentence, max(NARROWEST, paper.width), plain=paper.plain)
    yield ((text, "bold"),)
    more = counted.cases - len(counted.names)
    names = ", ".join(counted.names) + (f" and {more:,} more" if more else "")
    if counted.cases > 1:
        yield ((f"  {fit(paper.text(names), max(NARROWEST, paper.width - 2), plain=paper.plain)}", "dim"),)


def _closing(report: Report, paper: Paper) -> Iterator[Line]:
    """Yield how flaky cases are, confusion matrices, notes and totals."""
    yield from repeat_lines(report, paper)
    yield ()
    for names, found in matrices(report.overall):
        yield ((f"{paper.text(names)}:", "bold"),)
        yield from ((f"  {paper.text(line)}",) for line in matrix_lines(found, plain=paper.plain))
        yield ()
    quarantine = [f"note: {case_id} is {each}" for case_id, each in report.quarantined.items()][:_MOST_QUARANTINED]
    for line in (*quarantine, *ending(report)):
        style = "yellow" if line.startswith("note") else ""
        yield from (((piece, style),) for piece in wrap(paper.text(line), max(NARROWEST, paper.width)))


def full_report(report: Report, paper: Paper, max_detail: int = 10) -> Iterator[str]:
    """Yield the same as plain text, line by line."""
    for line in full_lines(report, paper, max_detail):
        yield line_text(line) + "\n"


def diagnosis(result: CaseResult, paper: Paper, run_id: str = "", *, is_note: bool = False) -> Iterator[Line]:
    """Yield the problems of one case, each below an empty line. Nothing if it passed.

    With the id of the run, the last line is the command that shows all calls. With `is_note`, problems are notes, not
    errors.
    """
    if result.passed:
        return
    # Several expectations may report the same problem of the same lines: show it once. The headline names them all.
    blocks = list(dict.fromkeys([tuple(block) for block in _blocks(result, paper)]))
    for block in blocks[:_MOST_OF_A_CASE]:
        yield ()
        yield from _as_note(block) if is_note else block
    if (left := len(blocks) - _MOST_OF_A_CASE) > 0:
        yield ()
        yield ((f"{left:,} more problems of this case", "dim"),)
    if run_id and result.trajectory is not None and result.trajectory.calls:
        command = f"rightcall show {run_id} --case {shlex.quote(result.case_id)}"
        yield from Gutter((result.source,), paper).remark("help", f"`{command}` for the whole path")


def _as_note(block: tuple[Line, ...]) -> Iterator[Line]:
    """Yield a block whose first line says `note` instead of `error`."""
    first, *rest = block[0]
    word = first if isinstance(first, str) else first[0]
    yield ((word.replace("error", "note", 1), "bold yellow"), *rest)
    yield from block[1:]


def case_name(result: CaseResult) -> str:
    """Return the name of a result."""
    return f"{result.case_id}{result.repeat_note}"


def _blocks(result: CaseResult, paper: Paper) -> Iterator[Iterator[Line]]:
    reported: set[int] = set()
    for one in result.results:
        if one.passed:
            continue
        for path in paths_of(result, one):
            if path.problems:
                reported.update(map(id, path.problems))
                yield _path_block(result, path, paper)
        mine = [placed for placed in result.findings if placed.expectation == one.evaluator]
        rest = [placed for placed in _without_preamble(mine) if id(placed) not in reported]
        reported.update(map(id, mine))
        for placed in rest:
            yield _block(result, placed, one, paper)
        yield from _idle_rules(one, paper)
    for placed in result.findings:
        if id(placed) not in reported:
            yield _block(result, placed, None, paper)
    if not result.findings:
        yield _unexplained(result, paper)


def _without_preamble(placed: list[PlacedFinding]) -> list[PlacedFinding]:
    """Drop findings that only say "not measured", if another says what was not."""
    reported = [each for each in placed if not each.finding.message.startswith("not measured: ")]
    return reported or placed


def _path_block(result: CaseResult, path: ExpectedPath, paper: Paper) -> Iterator[Line]:
    head = path.problems[0]
    gutter = Gutter((*path.sources, head.source), paper)
    calls = result.trajectory.calls if result.trajectory is not None else ()
    yield from _title(head, paper)
    yield gutter.arrow(head.source, case_name(result))
    yield from gutter.path(path, calls)
    for placed in path.problems:
        if placed.finding.help:
            yield from gutter.remark("help", placed.finding.help)
    yield from _recording(result, head, gutter)


def _block(result: CaseResult, placed: PlacedFinding, one: EvaluationResult | None, paper: Paper) -> Iterator[Line]:
    gutter = Gutter((placed.source,), paper)
    yield from _title(placed, paper)
    yield gutter.arrow(placed.source, case_name(result))
    outcome = result.outcome if one is None else None
    traceback = outcome.traceback if outcome is not None else one.traceback if one is not None else None
    if traceback:
        yield from _tail(traceback, _LINES_OF_A_TRACEBACK, gutter, paper)
    else:
        yield from gutter.single(placed.source, placed.finding)
    if outcome is not None and outcome.error is not None and outcome.stdout.strip():
        yield gutter.bar((" printed:", "dim"))
        yield from _tail(outcome.stdout, _LINES_PRINTED, gutter, paper)
    if outcome is not None and outcome.error is not None and outcome.stderr.strip() and not traceback:
        yield gutter.bar((" standard error:", "dim"))
        yield from _tail(outcome.stderr, _LINES_PRINTED, gutter, paper)
    if placed.finding.why:
        yield from gutter.remark("why", placed.finding.why)
    if placed.finding.help:
        yield from gutter.remark("help", placed.finding.help)
    yield from _recording(result, placed, gutter)


def _idle_rules(one: EvaluationResult, paper: Paper) -> Iterator[Iterator[Line]]:
    """Yield a note for each rule that holds only because it never applied."""
    checks = one.details.rules if isinstance(one.details, RulesJustification) else ()
    for check in checks:
        if check.status == "never_applied":
            yield _note("RC118", f"{check.rule}: {check.note}", paper)


def _note(code: str, message: str, paper: Paper) -> Iterator[Line]:
    label = f"note[{code} {CODES[code].name}]"
    first, *others = wrap(f"{label}: {paper.text(message)}", paper.width, 2)
    yield ((first[: len(label)], "bold yellow"), first[len(label) :])
    yield from (("  " + piece,) for piece in others)


def _unexplained(result: CaseResult, paper: Paper) -> Iterator[Line]:
    gutter = Gutter((result.source,), paper)
    yield (("error", "bold red"), (f": {result.verdict.replace('_', ' ')}, score {result.score}", "bold"))
    yield gutter.arrow(result.source, case_name(result))
    yield from gutter.single(result.source)


def _title(placed: PlacedFinding, paper: Paper) -> Iterator[Line]:
    finding = placed.finding
    word, style = ("note", "bold yellow") if is_unmeasured(finding.code) else ("error", "bold red")
    name = CODES[finding.code].name if finding.code in CODES else ""
    label = paper.text(f"{word}[{finding.code}{f' {name}' if name else ''}]")
    message = fit(paper.text(finding.message[:10_000]), _LINES_OF_A_MESSAGE * paper.width, plain=paper.plain)
    first, *others = wrap(f"{label}: {message}", paper.width, 2)
    yield ((first[: len(label)], style), (first[len(label) :], "bold"))
    yield from ((("  " + piece, "bold"),) for piece in others)


def _recording(result: CaseResult, placed: PlacedFinding, gutter: Gutter) -> Iterator[Line]:
    """Yield notes on how to record what was not measured."""
    if placed.finding.code == "RC301":
        for warning in result.notes[:3]:
            yield from gutter.remark("note", warning)


def _tail(text: str, lines: int, gutter: Gutter, paper: Paper) -> Iterator[Line]:
    """Yield the last lines of a traceback or of printed text."""
    for line in text[-20_000:].rstrip().splitlines()[-lines:]:
        yield gutter.bar(" ", *paper.pieces(line.replace("\t", "    "), max(NARROWEST, paper.width - 6)))


class Problem(msgspec.Struct, frozen=True, order=True, gc=False):
    """What findings of different cases have in common: a code, a tool, and words that follow the tool's name."""

    code: str
    tool: str = ""
    words: str = ""
    """For example `amount differs`, or `called out of order` if nothing more is known."""

    @property
    def sentence(self) -> str:
        """The problem in words: `` `search` called out of order``."""
        return f"`{self.tool}` {self.words}" if self.tool else self.words

    @property
    def general(self) -> Problem:
        """The problem by its code and tool alone."""
        return Problem(self.code, self.tool, group_words(self.code, self.tool))


class Cause(msgspec.Struct, frozen=True):
    """What cases are grouped by: the verdict, and the worst problem."""

    verdict: str
    """`passed` for a case that passes because of its other repeats."""
    problem: Problem = Problem("", words="no reason given")


class CauseCount(msgspec.Struct):
    """The number of cases with a cause, and the names of the first of them."""

    cause: Cause
    cases: int = 0
    names: list[str] = []

    def add(self, block: CaseBlock) -> None:
        """Count a case."""
        self.cases += 1
        if len(self.names) < _MOST_NAMED:
            self.names.append(block.name)


def cause_of(block: CaseBlock) -> Cause:
    """Return the cause of a case that did not pass."""
    verdict = "passed" if block.is_note else block.result.verdict
    for worst in problems_of(block.result, 1):
        return Cause(verdict, worst)
    return Cause(verdict)


def by_weight(counts: Iterable[CauseCount]) -> list[CauseCount]:
    """Sort causes as the pages do: failures before errors, then the most common first."""
    return sorted(counts, key=lambda each: (_rank(each.cause.verdict), -each.cases, each.cause.problem))


def firsts_of(causes: Sequence[Cause], blocks: Iterable[CaseBlock]) -> dict[Cause, CaseBlock]:
    """Return the first case of each of these causes. Reading stops when all are found."""
    wanted, found = set(causes), dict[Cause, CaseBlock]()
    for block in blocks:
        if not wanted:
            break
        if not block.result.passed and (cause := cause_of(block)) in wanted:
            wanted.remove(cause)
            found[cause] = block
    return found


def problems_of(result: CaseResult, most: int | None = None) -> tuple[Problem, ...]:
    """Return the problems of a case, the worst first, each once; from at most `most` findings."""
    by_name = {one.evaluator: one for one in result.results}
    return tuple(
        dict.fromkeys(
            [
                Problem(each.finding.code, each.finding.tool, _words(each.finding, by_name.get(each.expectation)))
                for each in reported_findings(result)[:most]
            ]
        )
    )


def _words(finding: Finding, one: EvaluationResult | None) -> str:
    """Return what a finding says about its tool, without details that differ between cases."""
    code, general = finding.code, group_words(finding.code, finding.tool)
    if not finding.tool:
        return general
    if code == "RC101":
        return "not called often enough" if " is missing" in finding.message else "never called"
    if finding.ended is not None:
        return finding.ended
    details = one.details if one is not None else None
    if isinstance(details, ToolCallCountEvaluatorJustification):
        checks = [check for check in details.checks if check.tool == finding.tool and not check.holds]
        if not checks:
            return general
        times = "once" if checks[0].expected == 1 else f"{checks[0].expected:,} times"
        return _BOUNDS.get(checks[0].operator, "not called {}").format(times)
    if isinstance(details, RulesJustification) and code == "RC116":
        broken = [f"rules[{number}]" for number in range(len(details.rules))]
        rule = details.rules[broken.index(finding.path)].rule if finding.path in broken else ""
        return f"breaks “{rule[:_LONGEST_RULE].replace('`', '')}”" if rule else general
    return _of_step(code, *_step_of(finding, details)) or general


def _step_of(finding: Finding, details: object) -> tuple[Step | None, Sequence[Step]]:
    """Return the step of an alignment that a finding is about, and all steps of that alignment."""
    if isinstance(details, ToolTrajectoryEvaluatorJustification):
        alignments = [turn.alignment for turn in details.turns]
    else:
        found = getattr(details, "alignment", None)
        alignments = [found] if isinstance(found, Alignment) else []
    at = finding.actual.position if finding.actual is not None else None
    for alignment in alignments if at is not None else ():
        for step in alignment.steps:
            if step.actual == at:
                return step, alignment.steps
    return None, ()


def _of_step(code: str, step: Step | None, steps: Sequence[Step]) -> str:
    if step is None:
        return ""
    if code == "RC103":
        order = order_text(step, steps)
        return f"called {order}" if order else ""
    names = _arguments(step.differences)
    if not names:
        return ""
    if code == "RC117":
        return f"{names} made up"
    several = len(set(map(_argument, step.differences))) > 1
    if code == "RC106":
        return f"returned other {names}" if several else f"returned another {names}"
    return f"{names} {'differ' if several else 'differs'}" if code == "RC104" else ""


def _arguments(differences: Sequence[Difference]) -> str:
    """Return the names of the arguments that differ, without paths inside them: `amount and currency`."""
    names = list(dict.fromkeys(map(_argument, differences)))
    if not all(names):
        return ""
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_ARGUMENTS]]
    if len(names) > _MOST_ARGUMENTS:
        return f"{', '.join(shown)} and {len(names) - _MOST_ARGUMENTS:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _argument(difference: Difference) -> str:
    return difference.name.removeprefix("output.").partition(".")[0].partition("[")[0]


def reported_findings(result: CaseResult) -> list[PlacedFinding]:
    """Return the findings of a case that did not pass, the worst first, each message once.

    A finding that only says "not measured" is left out if another one says what was not measured.
    """
    if result.passed:
        return []
    blamed = {one.evaluator for one in result.results if not one.passed}
    mine = [each for each in result.findings if each.expectation in blamed or not result.results] or result.findings
    once = {(each.finding.code, each.finding.message): each for each in reversed(mine)}
    reported = [each for each in reversed(once.values()) if not each.finding.message.startswith(_PREAMBLE)]
    return sorted(reported or list(mine[:1]), key=lambda each: _weight(result, each.finding))


def _weight(result: CaseResult, finding: Finding) -> int:
    """Return the rank of a finding. Those that explain the verdict come first."""
    if result.verdict == "error" and finding.code >= "RC4":
        return -1
    if result.verdict == "not_measured" and is_unmeasured(finding.code):
        return -1
    return _GRAVEST.index(finding.code) if finding.code in _GRAVEST else len(_GRAVEST)


def _rank(verdict: str) -> int:
    return 8 if verdict == "passed" else GRAVITY[verdict]  # type: ignore[index]
