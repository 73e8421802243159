"""Problems as pytest shows them."""

from __future__ import annotations

from typing import Any

from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from rightcall.errors import CheckFailedError, NotMeasuredError
from rightcall.reporting.reports import printable
from rightcall.values.results import CaseResult, Source
from rightcall.values.trajectory import ToolCall, Trajectory

_MARGIN = "E   "
_NAME = "rightcall: "
"""What stands in the place of the names of our exceptions."""


def failure_representation(problem: BaseException, source: Source) -> ExceptionChainRepr:
    """A problem with a case of an eval set, at the place in the file that it is about."""
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
    """Have a report of a test say `rightcall:` instead of the name of the exception, so that lines have room."""
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
    """Why two trajectories, or a trajectory and a list of calls, are not equal; nothing if neither is a trajectory."""
    if not isinstance(left, Trajectory) and not isinstance(right, Trajectory):
        return None
    paths = [_calls(left), _calls(right)]
    if None in paths:
        return None
    told = _differing(paths[0] or (), paths[1] or ())
    if told:
        return [told[0], "left is actual, right is expected:", *told[1:]]
    if isinstance(left, Trajectory) and isinstance(right, Trajectory):
        calls = dict.fromkeys([name for pair in zip(left.calls, right.calls, strict=False) for name in _unlike(*pair)])
        names = [f"calls ({', '.join(calls)})" if name == "calls" else name for name in _unlike(left, right)]
        return [f"the calls match, but the trajectories differ in other fields: {', '.join(names)}", *_HINT]
    return ["the calls match, but a trajectory is never equal to a list", *_HINT]


def _unlike(left: Any, right: Any) -> list[str]:
    """The fields in which two structs differ."""
    return [name for name in left.__struct_fields__ if getattr(left, name) != getattr(right, name)]


_HINT = ("compare calls with rightcall.check(trajectory, expected)",)


def _differing(made: tuple[Any, ...], expected: tuple[Any, ...]) -> list[str]:
    from rightcall.testing.assertions import check, soft

    policy = "subset" if any("args" in call.unrecorded for call in expected) else "exact"
    with soft() as block:
        check(Trajectory(calls=made), [*expected], match="exact", args=policy)
        told = [line for problem in block.problems for line in str(problem).splitlines()]
        block.problems.clear()
    return told


def _calls(value: object) -> tuple[Any, ...] | None:
    """The calls of a trajectory, or of a list of names, objects and `ToolCall`s."""
    if isinstance(value, Trajectory):
        return value.calls
    if isinstance(value, (list, tuple)) and all(isinstance(each, (str, dict, ToolCall)) for each in value):
        return Trajectory.of(value).calls if all(_is_plain(each) for each in value) else None
    return None


def _is_plain(item: Any) -> bool:
    return not isinstance(item, dict) or "name" in item


def _lead(problem: BaseException) -> str:
    """What a problem begins with: whose it is and, where nobody knows whether the agent did well, why."""
    if not isinstance(problem, NotMeasuredError):
        return _NAME
    verdicts = {result.verdict for result in problem.results if isinstance(result, CaseResult)}
    return f"{_NAME}{'error' if 'error' in verdicts else 'not measured'}: "


def _shorter(line: str, name: str, lead: str) -> str:
    is_first = line.startswith("E") and line[1:].lstrip().startswith(name)
    return line.replace(name, lead, 1) if is_first else line
