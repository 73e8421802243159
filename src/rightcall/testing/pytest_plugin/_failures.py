"""How pytest shows failures."""

from __future__ import annotations

from typing import Any

from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from rightcall.errors import CheckFailedError, NotMeasuredError
from rightcall.reporting.reports import printable
from rightcall.values.results import CaseResult, Source
from rightcall.values.trajectory import ToolCall, Trajectory

_MARGIN = "E   "
_NAME = "rightcall: "
"""Shown instead of the names of Rightcall's exceptions."""


def failure_representation(problem: BaseException, source: Source) -> ExceptionChainRepr:
    """Return what pytest shows for the problem of a case: the message, and its position in the eval set."""
    text = str(problem)
    result = next(iter(getattr(problem, "results", ())), None)
    named = ""
    if isinstance(result, CaseResult):
        named = f"{printable(result.case_id, one_line=True)}: "
        source = next((placed.source for placed in result.findings), source)
    lead = _lead(problem)
    first, *others = text.splitlines() or [""]
    lines = [_MARGIN + line for line in (lead + first, *others)]
    place = ReprFileLocation(source.file, source.line, type(problem).__name__)
    crash = ReprFileLocation(source.file, source.line, lead.removeprefix(_NAME) + first.removeprefix(named))
    entry = ReprEntry(lines, None, None, place, "long")
    return ExceptionChainRepr([(ReprTraceback([entry], None, "long"), crash, None)])


def shorten(report: Any, problem: BaseException) -> None:
    """Replace the name of the exception by `rightcall:` in a report, to leave more room on each line."""
    is_ours = isinstance(problem, (CheckFailedError, NotMeasuredError))
    if not is_ours or not isinstance(report.longrepr, ExceptionChainRepr):
        return
    lead = _lead(problem)
    name = f"{type(problem).__module__}.{type(problem).__qualname__}: "
    for traceback, crash, _ in report.longrepr.chain:
        if crash is not None:
            crash.message = crash.message.replace(name, lead, 1).partition("\n")[0]
        for entry in traceback.reprentries:
            entry.lines = [_shorter(line, name, lead) for line in entry.lines]


def explain_comparison(left: object, right: object) -> list[str] | None:
    """Explain why two trajectories, or a trajectory and a list of calls, are not equal. None if neither is one."""
    if not isinstance(left, Trajectory) and not isinstance(right, Trajectory):
        return None
    paths = [_calls(left), _calls(right)]
    if None in paths:
        return None
    lines = _differing(paths[0] or (), paths[1] or ())
    if lines:
        return [lines[0], "left is actual, right is expected:", *lines[1:]]
    if isinstance(left, Trajectory) and isinstance(right, Trajectory):
        calls = dict.fromkeys([name for pair in zip(left.calls, right.calls, strict=False) for name in _unlike(*pair)])
        names = [f"calls ({', '.join(calls)})" if name == "calls" else name for name in _unlike(left, right)]
        return [f"the calls match, but the trajectories differ in other fields: {', '.join(names)}", *_HINT]
    return ["the calls match, but a trajectory is never equal to a list", *_HINT]


def _unlike(left: Any, right: Any) -> list[str]:
    """Return the fields in which two structs differ."""
    return [name for name in left.__struct_fields__ if getattr(left, name) != getattr(right, name)]


_HINT = ("compare calls with rightcall.check(trajectory, expected)",)


def _differing(made: tuple[Any, ...], expected: tuple[Any, ...]) -> list[str]:
    from rightcall.testing.assertions import check, soft

    policy = "subset" if any("args" in call.unrecorded for call in expected) else "exact"
    with soft() as block:
        check(Trajectory(calls=made), [*expected], match="exact", args=policy)
        lines = [line for problem in block.problems for line in str(problem).splitlines()]
        block.problems.clear()  # so that the block does not raise
    return lines


def _calls(value: object) -> tuple[Any, ...] | None:
    """Return the calls of a trajectory, or of a list of names, objects and `ToolCall`s."""
    if isinstance(value, Trajectory):
        return value.calls
    if isinstance(value, (list, tuple)) and all(isinstance(each, (str, dict, ToolCall)) for each in value):
        return Trajectory.of(value).calls if all(_is_plain(each) for each in value) else None
    return None


def _is_plain(item: Any) -> bool:
    return not isinstance(item, dict) or "name" in item


def _lead(problem: BaseException) -> str:
    """Return the start of a message: `rightcall:` and, if the result is unknown, the reason."""
    if not isinstance(problem, NotMeasuredError):
        return _NAME
    verdicts = {result.verdict for result in problem.results if isinstance(result, CaseResult)}
    return f"{_NAME}{'error' if 'error' in verdicts else 'not measured'}: "


def _shorter(line: str, name: str, lead: str) -> str:
    is_first = line.startswith("E") and line[1:].lstrip().startswith(name)
    return line.replace(name, lead, 1) if is_first else line
