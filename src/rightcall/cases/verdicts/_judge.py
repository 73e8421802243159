"""Find the case of a trajectory, judge it by all of its expectations, and all cases together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from rightcall._lazy import lazy_pattern, light_imports
from rightcall.cases.evalsets import Case, Check, OverallCheck
from rightcall.errors import ConfigurationError, UnknownNameError, nearest
from rightcall.judging import Criteria
from rightcall.matching.matchers import NamePattern, bare_matcher
from rightcall.values.results import (
    GRAVITY,
    CaseResult,
    Cause,
    EvaluationResult,
    ExpectationSources,
    Finding,
    Outcome,
    OverallResult,
    PlacedFinding,
    RulesJustification,
    value_text,
    worst,
)
from rightcall.values.trajectory import Trajectory

if TYPE_CHECKING:
    from rightcall.judging import Row


_CODES: dict[Cause, str] = {
    "raised": "RC501",
    "timed_out": "RC502",
    "died": "RC503",
    "memory": "RC504",
    "output": "RC505",
    "mock": "RC506",
    "read": "RC507",
    "model": "RC508",
}
_MOST_WRITTEN = 200
"""Places kept per list of expected calls. Reports show only the lines around the first mistakes."""
_RULES = "call-rules"
_MOST_NOTES = 10
_LONGEST_NAME = 100
"""Characters of a name to compare: difflib is quadratic in the length of both strings."""

RuleUses: TypeAlias = tuple[tuple[str, str], ...]
"""Rules of one result in words, each with why it never applied; empty if it did."""
Join: TypeAlias = str
"""How trajectories are joined to cases.

`attribute`: an attribute of the spans has the id of the case. `trace`: the trace id is the id of the case, or is in its
metadata under `trace_id`. `order`: the first trajectory belongs to the first case, and so on. `key=NAME`: a key of the
log, a line, a row or a span has the id of the case. `file=PATTERN`: the name of the file has it, as in
`file={case}/{repeat}.json`. `auto`: by attribute or trace id; by order if neither names a case for any trajectory and
there are as many trajectories as cases.
"""

JoinKind = Literal["auto", "attribute", "trace", "order", "key", "file"]
JOINS: tuple[str, ...] = ("auto", "attribute", "trace", "order", "key=NAME", "file={case}/{repeat}.json")
"""The ways to join, for people."""

CASE_ATTRIBUTE = "rightcall.case.id"
REPEAT = "repeat"
"""The key of the metadata of a trace with the number of the repeat."""
_HOLE = lazy_pattern(r"\{([^{}]*)\}|(\*)")
_HOLES = {"case": "(?P<case>[^/]+?)", "repeat": "(?P<repeat>[0-9]{1,9})"}
_MOST_REPEATS = 10**9


def judge(case: Case, trajectory: Trajectory) -> CaseResult:
    """Return the result of a case: every expectation of it, checked against one trajectory.

    It blocks while async evaluators wait. Use `JudgingExecutor` to judge many such cases at once.
    """
    if not has_async_evaluators(case):
        return judge_at_once(case, trajectory)
    from ._executor import JudgingExecutor

    with JudgingExecutor() as judging:
        return judging.submit(case, trajectory).result()


def judge_at_once(case: Case, trajectory: Trajectory) -> CaseResult:
    """Return the result of a case whose evaluators do not wait."""
    if not case.checks:
        return not_measured_result(case, "RC302", "nothing is expected of this case", trajectory)
    return combine_results(
        case, trajectory, [check.evaluator.evaluate(trajectory, check.criteria) for check in case.checks]
    )


def has_async_evaluators(case: Case) -> bool:
    """Return whether an evaluator of a case may have to wait, for a model for example."""
    return any([check.evaluator.waits for check in case.checks])


def combine_results(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> CaseResult:
    """Return the result of a case, given the results of its checks in their order."""
    failed = [(check, result) for check, result in zip(case.checks, results, strict=True) if not result.passed]
    written = [
        ExpectationSources(check.key, path, tuple([check.source(place) for place in places[:_MOST_WRITTEN]]))
        for check, _ in failed
        if isinstance(check.criteria, Criteria) and check.criteria.lists_calls
        for path, places in check.criteria.call_places()
    ]
    # The findings that decide the verdict come first, because some reports show only one. `sorted` is stable: findings
    # of equal gravity keep the order of the file.
    findings = [
        PlacedFinding(check.key, finding, check.source(finding.path))
        for check, result in sorted(failed, key=lambda pair: GRAVITY[pair[1].verdict])
        for finding in result.findings
    ]
    return CaseResult(
        case_id=case.id,
        verdict=worst(result.verdict for result in results),
        score=weighted_score(case.checks, [result.score for result in results]),
        source=case.source,
        trajectory=trajectory,
        results=tuple(results),
        findings=tuple(findings),
        written=tuple(written),
        warnings=trajectory.warnings,
    )


def judge_outcome(case: Case, outcome: Outcome, trajectory: Trajectory | None, repeat: int = 0) -> CaseResult:
    """Return the result of a case that an agent was run for: an error if the agent did not finish."""
    if outcome.error is not None or trajectory is None:
        result = error_result(case, outcome, trajectory)
    else:
        result = judge(case, trajectory)
    return msgspec.structs.replace(result, repeat=repeat, outcome=outcome)


def not_measured_result(case: Case, code: str, reason: str, trajectory: Trajectory | None = None) -> CaseResult:
    """Return the result of a case that cannot be judged, because something is missing."""
    finding = PlacedFinding("", Finding(code, reason), case.source)
    return CaseResult(
        case_id=case.id,
        verdict="not_measured",
        score=None,
        source=case.source,
        trajectory=trajectory,
        findings=(finding,),
        warnings=trajectory.warnings if trajectory is not None else (),
    )


def error_result(case: Case, outcome: Outcome, trajectory: Trajectory | None = None) -> CaseResult:
    """Return the result of a case whose agent did not finish: an error, whatever it did until then."""
    finding = Finding(_CODES[outcome.cause], outcome.error or "")
    return CaseResult(
        case_id=case.id,
        verdict="error",
        score=None,
        source=case.source,
        trajectory=trajectory,
        findings=(PlacedFinding("", finding, case.source),),
        warnings=trajectory.warnings if trajectory is not None else (),
    )


def weighted_score(checks: Sequence[Check], scores: Sequence[float | None]) -> float | None:
    """Return the weighted mean of the scores, or the plain mean if all weights are 0. None if a score is None."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    if known.count(known[0]) == len(known):  # the common case, and exact without arithmetic
        return known[0]
    with light_imports("fractions"):
        from fractions import Fraction  # with `decimal` and `numbers`, for cases whose scores differ

    # Exact, so that the order of the checks never decides whether a mean reaches a threshold.
    weights = [Fraction(check.weight) for check in checks]
    if not any(weights):
        weights = [Fraction(1)] * len(checks)
    total = sum(Fraction(score) * weight for score, weight in zip(known, weights, strict=True))
    return float(total / sum(weights))


class Seen(msgspec.Struct, frozen=True):
    """What is needed of one trajectory to judge all cases together. It can be made in one process, added in another."""

    overall: tuple[Any, ...] = ()
    """For the evaluators of all cases."""
    tools: tuple[str, ...] = ()
    """The tools that were called, if rules name tools that must not be called."""
    rules: RuleUses = ()
    """Its rules, each with why it never applied."""


class AllCases:
    """Looks at all cases together: overall results, rules about unknown tools, and rules that never applied.

    It keeps only what the cases ask for. Most eval sets ask for nothing of this: then nothing has to be added.
    """

    def __init__(self, cases: Sequence[Case] = (), checks: Sequence[OverallCheck] = ()) -> None:
        self._overall = Overall(checks) if checks else None
        judging = [(check.evaluator, check.criteria) for case in cases for check in case.checks]
        ignores = any([isinstance(criteria, Criteria) and criteria.ignore_tools for _, criteria in judging])
        rules_out = ignores or any(evaluator.tools_to_miss(criteria) for evaluator, criteria in judging)
        self._names = ToolNames(cases) if rules_out else None
        has_rules = any([evaluator.type_id == _RULES for evaluator, _ in judging])
        self._rules = RuleUse() if has_rules else None
        self.is_asked = bool(checks or rules_out or has_rules)
        """Whether the cases ask for anything of this."""

    def see(self, case: Case, result: CaseResult, trajectory: Trajectory | None, *, counts: bool = True) -> Seen:
        """Return what is needed of a result; if it does not count, evaluators of all cases do not see it."""
        return Seen(
            self._overall.see(case, result) if self._overall is not None and counts else (),
            self.tools_in(trajectory) if self._names is not None else (),
            self._rules.see(case, result) if self._rules is not None else (),
        )

    def tools_in(self, trajectory: Trajectory | None) -> tuple[str, ...]:
        """Return the tools of a trajectory that matter, also of one that belongs to no case.

        A tool whose calls were withheld exists: its name in an expectation is not a mistake.
        """
        if self._names is None or trajectory is None:
            return ()
        return self._names.seen_in((*trajectory.names, *[call.name for call in trajectory.withheld]))

    def add(self, seen: Seen, case_id: str = "") -> None:
        """Add what `see` returned of a case."""
        if self._overall is not None:
            self._overall.add(seen.overall)
        if self._names is not None:
            self._names.add(seen.tools)
        if self._rules is not None:
            self._rules.add(case_id, seen.rules)

    def results(self) -> tuple[OverallResult, ...]:
        """Return the result of each evaluator of all cases."""
        return () if self._overall is None else self._overall.results()

    def notes(self) -> Iterator[str]:
        """Yield sentences about rules without effect: their tool is unknown, or they never applied."""
        yield from () if self._names is None else self._names.notes()
        yield from () if self._rules is None else self._rules.notes()


class Overall:
    """Judges all cases together. It is given one result at a time and keeps only what its evaluators need."""

    def __init__(self, checks: Sequence[OverallCheck] = ()) -> None:
        self._checks = checks
        self._tallies = [check.evaluator.tally() for check in checks]

    def see(self, case: Case, result: CaseResult) -> tuple[Any, ...]:
        """Return what each evaluator needs of a result. It can be computed in one process and added in another."""
        if not self._checks:
            return ()
        row = row_of(case, result)
        return tuple([check.evaluator.see(row) for check in self._checks])

    def add(self, seen: Sequence[Any]) -> None:
        """Add what `see` returned."""
        for tally, each in zip(self._tallies, seen, strict=False):
            tally.add(each)

    def results(self) -> tuple[OverallResult, ...]:
        """Return the result of each evaluator for everything that was added."""
        return tuple(
            [_result(check, tally.conclude()) for check, tally in zip(self._checks, self._tallies, strict=True)]
        )


def row_of(case: Case, result: CaseResult) -> Row:
    """Return the row of one result, as evaluators of all cases see it."""
    from rightcall.judging import Row  # few eval sets judge all cases together

    trajectory, outcome = result.trajectory, result.outcome
    has_ended = outcome is None or not outcome.cause
    return Row(
        case_id=result.case_id,
        repeat=result.repeat,
        verdict=result.verdict,
        score=result.score,
        scores={one.evaluator: one.score for one in result.results},
        is_measured=has_ended and trajectory is not None and trajectory.output is not None,
        output=trajectory.output if trajectory is not None else None,
        tools=trajectory.names if trajectory is not None else (),
        seconds=outcome.seconds if outcome is not None else None,
        metadata=case.metadata,
    )


def _result(check: OverallCheck, found: Any) -> OverallResult:
    threshold = check.evaluator.threshold
    if found.score is None:
        verdict: Any = "error" if found.is_error else "not_measured"
    else:
        verdict = "passed" if found.score >= threshold else "failed"
    return OverallResult(
        evaluator=check.evaluator.id,
        verdict=verdict,
        score=found.score,
        threshold=threshold,
        reason=found.reason,
        source=check.source,
        classification=found.classification,
        details=found.details,
    )


class ToolNames:
    """Finds rules about tools that no trace, mock or other expectation names.

    `never: [delete_usr]` passes because no tool has this name. The verdict cannot show the typing error, so the report
    has a note; it also notes `{gt: 5}` in a forbidden call, where `{$gt: 5}` may be meant. A step that may be left out,
    such as `optional: receipt`, is fine without a call: it is noted only if a tool with a similar name was called. If
    no trace shows a call, the names of tools are not known, and there is no note on them.
    """

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self.ruled_out: dict[str, str] = {}
        """The names that no run has to call, each with the key of its rule."""
        self._optional: set[str] = set()
        self._known: set[str] = set()
        self._expected: set[str] = set()
        self._has_calls = False
        self._bare: dict[str, str] = {}
        """Objects in forbidden calls that may be meant as matchers, each with the key of its rule."""
        cases = list(cases)
        missed = [(check, check.evaluator.tools_to_miss(check.criteria)) for case in cases for check in case.checks]
        for check, names in missed:
            ignored = check.criteria.ignore_tools if isinstance(check.criteria, Criteria) else ()
            for name in names if not check.evaluator.orders_calls else ():
                self.ruled_out.setdefault(name, check.key)
            for name in ignored:
                self.ruled_out.setdefault(name, "ignore_tools")
            forbidden = check.evaluator.forbidden
            for call in () if forbidden is None else getattr(check.criteria, forbidden):
                values = list(call.args.values()) if isinstance(call.args, dict) else ()
                if (found := bare_matcher(values)) is not None:
                    self._bare.setdefault(value_text(found), check.key)
        optional = {name: check.key for check, names in missed for name in names if name not in self.ruled_out}
        self._optional.update(optional)
        self.ruled_out.update(optional)
        if self.ruled_out:
            self._known.update(*[case.mocks for case in cases])
            for check, names in missed:
                self._expect(check, names)

    def seen_in(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of a trajectory that matter. They can be collected in one process and added in another."""
        return tuple(sorted(set(names))) if self.ruled_out else ()

    def add(self, seen: Iterable[str]) -> None:
        """Add names of tools that a trajectory shows."""
        names = set(seen)
        self._known |= names
        self._has_calls = self._has_calls or bool(names)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each name in a rule that no tool has, up to ten."""
        known = sorted([name for name in self._known if "*" not in name])
        # Names that the eval set expects elsewhere are spelt as intended, so they are not suggested.
        others = [name for name in known if name not in self._expected]
        ruled_out = self.ruled_out if self._has_calls else ()
        unknown = [name for name in ruled_out if name not in self._known and not _fits_any(name, known)]
        shown = [name for name in unknown if name not in self._optional or _suggestion(name, others)]
        for name in shown[:_MOST_NOTES]:
            rule, hint = self.ruled_out[name], _suggestion(name, others)
            yield f"note: no trace shows a tool `{name}`, which `{rule}` names{hint}"
        if len(shown) > _MOST_NOTES:
            yield f"note: no trace shows {len(shown) - _MOST_NOTES:,} more tools that such rules name"
        for text, rule in islice(self._bare.items(), _MOST_NOTES):
            yield f'note: `{rule}` compares {text} as an object; did you mean {{"${text[2:]}?'

    def _expect(self, check: Check, missed: Sequence[str]) -> None:
        # A name that is expected elsewhere counts as known: that check fails if no tool has it.
        named = [call if isinstance(call, str) else call.name for _, calls in check.lists() for call in calls]
        self._known.update({*named} - {*missed})
        self._expected.update({*named} if check.evaluator.orders_calls else {*named} - {*missed})


def _fits_any(name: str, known: Sequence[str]) -> bool:
    """Return whether a name with `*` in it is that of a known tool, or of every tool there may be."""
    pattern = NamePattern.of(name) if "*" in name else None
    return pattern is not None and (pattern.takes_all or any(map(pattern.matches, known)))


class RuleUse:
    """Finds rules of several cases that never applied in any of them.

    Such a rule holds in every case and says nothing: its tool may be misspelt, or no case reaches what it is about.
    """

    def __init__(self) -> None:
        self._cases: dict[str, set[str]] = {}
        self._reasons: dict[str, str] = {}
        self._settled: set[int] = set()

    def see(self, case: Case, result: CaseResult) -> RuleUses:
        """Return the rules of a result. They can be collected in one process and added in another."""
        # Details are computed when they are read: not those of other evaluators, nor of rules that are all known to
        # have applied. Cases of one eval set share the criteria of its rules.
        checks = [check for check in case.checks if check.evaluator.type_id == _RULES]
        checks = [check for check in checks if id(check.criteria) not in self._settled]
        found: list[tuple[str, str]] = []
        for check in checks:
            uses = rule_uses(result, check.key)
            if uses and not any([reason for _, reason in uses]):
                self._settled.add(id(check.criteria))
            found += uses
        return tuple(found)

    def add(self, case_id: str, uses: Iterable[tuple[str, str]]) -> None:
        """Add the rules of a result."""
        for rule, reason in uses:
            self._cases.setdefault(rule, set()).add(case_id)
            if not reason:
                self._reasons[rule] = ""
            else:
                self._reasons.setdefault(rule, reason)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each rule of several cases that never applied, up to ten."""
        idle = [rule for rule, reason in self._reasons.items() if reason and len(self._cases[rule]) > 1]
        for rule in idle[:_MOST_NOTES]:
            count = len(self._cases[rule])
            yield f"note: the rule {rule} never applied in {count:,} cases: {self._reasons[rule]}"
        if len(idle) > _MOST_NOTES:
            yield f"note: {len(idle) - _MOST_NOTES:,} more rules never applied"


def rule_uses(result: CaseResult, key: str | None = None) -> list[tuple[str, str]]:
    """Return the rules of a result, each with why it never applied; those of one expectation, or of all."""
    chosen = [one for one in result.results if key is None or one.evaluator == key]
    details = [one.details for one in chosen]
    checks = [check for each in details if isinstance(each, RulesJustification) for check in each.rules]
    return [(check.rule, check.note if check.status == "never_applied" else "") for check in checks]


def _suggestion(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    same = [other for other in known if other.casefold() == name.casefold()]
    shortened = [other[:_LONGEST_NAME] for other in known]
    near = same or get_close_matches(name[:_LONGEST_NAME], shortened, n=1, cutoff=0.75)
    return f"; did you mean `{near[0]}`?" if near else ""


class JoinRule(msgspec.Struct, frozen=True):
    """A way to join, parsed."""

    kind: JoinKind
    name: str = ""
    """The key, or the pattern of files."""

    @property
    def reads_file(self) -> bool:
        """Whether the name of a file names the case."""
        return self.kind == "file"

    def read_path(self, path: str) -> dict[str, Any]:
        """Return the id of a case and the number of a repeat in the name of a file; empty if it does not fit.

        The pattern is compared with the end of the path, folder by folder.
        """
        found = _path_pattern(self.name).search(path.replace("\\", "/")) if self.reads_file else None
        if found is None:
            return {}
        held = found.groupdict()
        repeat = held.get("repeat")
        return {CASE_ATTRIBUTE: held["case"], **({} if repeat is None else {REPEAT: int(repeat)})}


def join_rule(join: str) -> JoinRule:
    """Parse a way to join.

    Raises:
        ConfigurationError: a key or pattern is missing, or wrong.
        UnknownNameError: it is not one of the ways to join.
    """
    kind, equals, name = join.partition("=")
    known = get_args(JoinKind)
    if kind not in known or (equals and kind not in ("key", "file")):
        raise UnknownNameError(f"unknown way to join {join!r:.60}; {nearest(kind, known)}")
    if kind == "key" and not name:
        raise ConfigurationError("--join key=NAME needs the name of a key, such as key=ticket_id")
    if kind == "file":
        _check_pattern(name)
    return JoinRule(kind, name)  # type: ignore[arg-type] # one of them, by the check above


def _check_pattern(pattern: str) -> None:
    holes = [hole for hole, star in _HOLE.findall(pattern) if not star]
    odd = next((hole for hole in holes if hole not in _HOLES), None)
    if odd is not None:
        raise ConfigurationError(f"--join file=: unknown part {{{odd}}}; {{case}} and {{repeat}} are known")
    if holes.count("case") != 1 or holes.count("repeat") > 1:
        raise ConfigurationError(
            f"--join file=: the pattern {pattern!r:.80} has to have {{case}} once, and {{repeat}} at most once, as in "
            "file={case}/{repeat}.json"
        )


def _path_pattern(pattern: str) -> re.Pattern[str]:
    made, end = "", 0
    for found in _HOLE.finditer(pattern):
        made += re.escape(pattern[end : found.start()])
        made += "[^/]*" if found[2] else _HOLES[found[1]]
        end = found.end()
    return re.compile(f"(?:^|/){made}{re.escape(pattern[end:])}$")


def recorded_repeat(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of the repeat in the metadata of a trace; `None` if there is none."""
    held = metadata.get(REPEAT)
    if isinstance(held, str) and held.isascii() and held.isdigit() and len(held) < 10:
        held = int(held)
    if not isinstance(held, int) or isinstance(held, bool):
        return None
    return held if 0 <= held < _MOST_REPEATS else None


class Match(msgspec.Struct, frozen=True):
    """A case that a trajectory belongs to, or may belong to."""

    case: Case
    doubt: str = ""
    """Why it is unknown whether the case applies; empty if it does."""


class CaseFinder:
    """Finds the cases of a trajectory by what is recorded in it.

    `known` are all cases of the eval set: a trajectory may name one that is not chosen.

    Raises:
        ConfigurationError: the key or pattern to join by is wrong.
        UnknownNameError: `join` is not one of the ways to join.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        join: Join = "auto",
        attribute: str = CASE_ATTRIBUTE,
        every: Case | None = None,
        known: Sequence[Case] = (),
    ) -> None:
        self.rule = join_rule(join)
        self._known = frozenset([name for case in known for name in (case.id, str(case.metadata.get("trace_id")))])
        self._attribute = {"key": self.rule.name, "file": CASE_ATTRIBUTE}.get(self.rule.kind, attribute)
        named = [case for case in cases if case.when is None]
        self._by_id = {case.id: case for case in named}
        self._by_trace = {str(case.metadata["trace_id"]): case for case in named if "trace_id" in case.metadata}
        self.by_fit = [case for case in cases if case.when is not None]
        """The cases that apply to every trajectory that fits them."""
        self._every = every
        self.is_by_file = self.rule.kind == "file"
        """Whether trajectories are joined by the name of their file, so that `named_by_file` comes first."""

    def named_by_file(self, trajectory: Trajectory, file: str | None) -> Trajectory:
        """Add to a trajectory the case and repeat in the name of its file."""
        # The case that the trace itself names does not count then: the user asked for the file.
        held = {key: value for key, value in trajectory.metadata.items() if key != CASE_ATTRIBUTE}
        return msgspec.structs.replace(trajectory, metadata={**held, **self.rule.read_path(file or "")})

    def matches(self, trajectory: Trajectory) -> list[Match]:
        """Return the cases that a trajectory belongs to: the one it names, and those it fits or may fit."""
        case = self.case_named(trajectory.metadata.get(self._attribute), trajectory.trace_id)
        found = [] if case is None else [Match(case)]
        for fitting in self.by_fit:
            fit = fitting.when.fit(trajectory) if fitting.when is not None else None
            if fit is not None and fit.is_possible:
                found.append(Match(fitting, fit.doubt))
        # A case that may not apply does not replace what is expected of every trajectory.
        is_sure = any([not match.doubt for match in found])
        return found if self._every is None or is_sure else [*found, Match(self._every)]

    def case_of(self, trajectory: Trajectory) -> Case | None:
        """Return the case that a trajectory names by an attribute or by its trace id, if any."""
        return self.case_named(trajectory.metadata.get(self._attribute), trajectory.trace_id)

    def names_another(self, trajectory: Trajectory) -> bool:
        """Return whether a trajectory says that it belongs to a case that is not one of these."""
        if self.case_of(trajectory) is not None:
            return False
        return trajectory.metadata.get(self._attribute) is not None or trajectory.trace_id in self._known

    def case_named(self, named: object, trace_id: str | None) -> Case | None:
        """Return the case with this id or, failing that, the case of this trace, if any."""
        case = None
        if self.rule.kind in ("auto", "attribute", "key", "file") and named is not None:
            # The attribute was set for this purpose, so it wins over the trace id.
            case = self._by_id.get(str(named))
        if case is None and self.rule.kind in ("auto", "trace") and trace_id is not None:
            case = self._by_trace.get(trace_id) or self._by_id.get(trace_id)
        return case
