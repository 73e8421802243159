"""What a comparison found wrong, one sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rightcall.matching.alignment import common_length
from rightcall.values.results import Finding, end_text, failure_text, nth_text, order_phrase, wrong_side
from rightcall.values.trajectory import ToolCall

from ._comparison import Comparison, difference_text
from ._lines import Line

MOST_FINDINGS = 30
_MOST_NAMES = 1_000
_LONGEST_NAME = 100
_SIMILAR = 0.75


class Rule(msgspec.Struct, frozen=True):
    """Which differences are findings: another order, calls that are not expected, expected calls that were not made."""

    order: bool = False
    extras: bool = False
    missing: bool = True

    def is_broken_by(self, line: Line) -> bool:
        """Return whether a line of an alignment is wrong by this rule."""
        wrong = {"mismatch": True, "missing": self.missing, "extra": self.extras, "moved": self.order}
        return wrong.get(line.kind, False)


class Subject(msgspec.Struct, frozen=True):
    """The words for a comparison in its findings."""

    path: str
    """The key of the criteria that lists the expected calls."""
    code: str = "RC104"
    verb: str = "was called"
    having: str = "with"
    lacking: str = "without"
    unknown: str = "its arguments were not recorded"
    prefix: str = ""


def find(comparison: Comparison, rule: Rule, subject: Subject) -> tuple[Finding, ...]:
    """Return the findings by a rule, in the order of the alignment, at most thirty."""
    wrong = [line for line in comparison.lines if rule.is_broken_by(line)]
    findings = [_finding(comparison, line, rule, subject) for line in wrong[:MOST_FINDINGS]]
    if len(wrong) > len(findings):
        findings.append(Finding(findings[-1].code, f"… and {len(wrong) - len(findings):,} more"))
    return tuple(findings)


def _finding(comparison: Comparison, line: Line, rule: Rule, subject: Subject) -> Finding:
    code, message, advice = _sentence(comparison, line, rule, subject)
    return Finding(
        code,
        subject.prefix + message,
        comparison.expected_call(line.expected) if line.expected >= 0 else None,
        comparison.actual_call(line.actual) if line.actual >= 0 else None,
        f"{subject.path}[{line.expected}]" if line.expected >= 0 else None,
        advice,
        ended=ended(code, comparison.selection.calls[line.actual]) if line.actual >= 0 else None,
    )


def ended(code: str, call: ToolCall) -> str | None:
    """Return how a call ended, if a finding with this code is about that."""
    is_about_end = code == "RC120" or (code == "RC106" and call.error is not None and call.output is None)
    return end_text(call.error) if is_about_end else None


def _sentence(comparison: Comparison, line: Line, rule: Rule, subject: Subject) -> tuple[str, str, str | None]:
    """The code, the sentence and, where there is one, the advice of a finding."""
    if line.kind == "extra":
        return "RC102", f"`{comparison.actual_call(line.actual).text}` was called, but not expected", None
    if line.kind == "missing":
        return "RC101", *_missing(comparison, line.expected)
    name = comparison.expected[line.expected]
    if line.kind == "moved":
        text = comparison.expected_call(line.expected).text if comparison.expected.count(name) > 1 else name
        together = _at_once(comparison, line)
        return "RC103", f"`{text}` was called {_out_of_order(comparison, line)}{together}", _advice(together)
    differences = comparison.differences(line.expected, line.actual)
    made_up = comparison.made_up(line.expected, line.actual) if subject.code == "RC104" else ()
    if made_up and len(made_up) == len(differences):
        more = f"; and {len(made_up) - 1} more" if len(made_up) > 1 else ""
        return "RC117", f"`{comparison.selection.names[line.actual]}`: {made_up[0]}{more}", None
    said = difference_text([each.clause(subject.having, subject.lacking) for each in differences])
    if not said:
        return "RC301", f"`{name}`: {subject.unknown}", None
    call = comparison.selection.calls[line.actual]
    if subject.code == "RC106" and call.error is not None:
        if call.output is None:
            return subject.code, f"`{name}` {failure_text(call.error)} and returned nothing", None
        said += f"; it {failure_text(call.error)}"
    order = ""
    if rule.order and line.out_of_place:
        order = f"; it was called {_out_of_order(comparison, line)}{_at_once(comparison, line)}"
    return subject.code, f"`{name}` {subject.verb} {said}{order}", None


def _missing(comparison: Comparison, index: int) -> tuple[str, str | None]:
    name, names = comparison.expected[index], comparison.selection.names
    times = sum([comparison.is_about(index, each) for each in names])
    if times:
        calls = f"the only call of `{name}` is" if times == 1 else f"all {times:,} calls of `{name}` are"
        return f"`{comparison.expected_call(index).text}` is missing: {calls} paired with other expectations", None
    similar = _most_similar(name[:_LONGEST_NAME], {other[:_LONGEST_NAME] for other in names[:_MOST_NAMES]})
    return f"`{name}` was never called", f"`{similar}` was called: is it the same tool?" if similar else None


def _most_similar(name: str, others: Iterable[str]) -> str | None:
    """The name that shares most of its letters with another, in order; none where that is less than three quarters.

    A longest common subsequence takes a hundredth of the time of Python's own `get_close_matches`.
    """
    letters = list(map(ord, name))
    best: tuple[float, str] | None = None
    for other in sorted(others):
        size = len(name) + len(other)
        if 2 * min(len(name), len(other)) < _SIMILAR * size:
            continue
        share = 2 * common_length(letters, list(map(ord, other))) / size
        if share >= _SIMILAR and (best is None or share > best[0]):
            best = share, other
    return None if best is None else best[1]


def _out_of_order(comparison: Comparison, line: Line) -> str:
    """Which call in place this one is on the wrong side of."""
    in_place = ((other.expected, other.actual) for other in _in_place(comparison))

    def name(expected: int, actual: int) -> str:
        return _which(comparison, expected, actual, comparison.expected[line.expected])

    return order_phrase((line.expected, line.actual), in_place, name, expectation=True)


def _at_once(comparison: Comparison, line: Line) -> str:
    """Whether a call and the one that it is on the wrong side of were made at once: then their order says little."""
    pairs = ((other.expected, other.actual) for other in _in_place(comparison))
    wrong = wrong_side((line.expected, line.actual), pairs)
    trajectory = comparison.selection.trajectory
    if wrong is None or trajectory is None:
        return ""
    first, second = (trajectory.calls[comparison.selection.position(index)] for index in (line.actual, wrong[1]))
    if trajectory.concurrent(first, second):
        return "; they ran at the same time"
    return "; the model asked for both at once" if first.group is not None and first.group == second.group else ""


def _advice(together: str) -> str | None:
    if not together:
        return None
    word = "overlap" if "ran" in together else "any_order"
    return f"with `parallel: {word}` calls made at once have no order"


def _which(comparison: Comparison, expected: int, actual: int, moved: str) -> str:
    """A call by its name and, where several of them were made, which one of them it is."""
    name, names = comparison.expected[expected], comparison.selection.names
    if name == moved:
        return f"`{comparison.expected_call(expected).text}`"
    return nth_text(f"`{name}`", names[: actual + 1].count(name), names.count(name))


def _in_place(comparison: Comparison) -> Iterator[Line]:
    return (line for line in comparison.lines if line.expected >= 0 and line.actual >= 0 and not line.out_of_place)
