"""Raise an exception for a result that did not pass, at once or at the end of a `soft` block."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from rightcall.cases.evalsets import Case, Check
from rightcall.errors import CheckFailedError, NotMeasuredError, RightcallError
from rightcall.reporting.reports import Paper, side_by_side, summary
from rightcall.values.redaction import redacted, redacted_text
from rightcall.values.results import CaseResult, Source

_HINTS = {
    "pydantic_ai": "Pydantic AI records its calls after Agent.instrument_all()",
    "langchain_core": "LangChain records its calls with OpenInference's LangChainInstrumentor().instrument()",
    "agents.run": "OpenAI Agents record their calls with OpenInference's OpenAIAgentsInstrumentor().instrument()",
}
_P = ParamSpec("_P")
_R = TypeVar("_R")

Problem = CheckFailedError | NotMeasuredError
Listener = Callable[[Case, CaseResult], None]

# A context variable, so that threads and tasks have their own blocks.
soft_problems: ContextVar[list[Problem] | None] = ContextVar("rightcall_waiting", default=None)
"""The problems of the open `soft` block; None outside of one, where a problem is raised at once."""
_listeners: list[Listener] = []
_MARGIN = 6  # room for what test runners put before each line, such as the "E   " of pytest


def hide_internal_frames(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Remove the frames of Rightcall from the traceback of its own exceptions.

    pytest then shows only the line of the test and the message. Other exceptions are defects and keep their traceback.
    """

    @wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (CheckFailedError, RightcallError) as problem:
            raise problem.with_traceback(None)  # noqa: B904 - it is the same exception

    return wrapper


def deliver(case: Case, result: CaseResult) -> CaseResult:
    """Return the result if it passed. Otherwise raise its problem, or keep it for the end of a `soft` block.

    Raises:
        CheckFailedError: the agent did something else.
        NotMeasuredError: the recording does not show whether it did, or judging failed.
    """
    __tracebackhide__ = True
    for listener in tuple(_listeners):
        listener(case, result)
    problem = problem_of(case, result)
    if problem is not None:
        raise_or_keep(problem)
    return result


def raise_or_keep(problem: Problem) -> None:
    """Raise a problem, or keep it for the end of a `soft` block."""
    __tracebackhide__ = True
    kept = soft_problems.get()
    if kept is None:
        raise problem
    kept.append(problem)


def problem_of(case: Case, result: CaseResult, width: int | None = None) -> Problem | None:
    """Return the exception for a case that did not pass. Its text is redacted, its results are not."""
    if result.passed:
        return None
    paper = Paper(width=width or _width())
    named = f"{paper.text(result.case_id)}: " if result.case_id else ""
    shown = redacted(result)
    text = redacted_text("\n".join([named + summary(shown), *side_by_side(case, shown, paper)]))
    if result.verdict == "failed":
        return CheckFailedError(text, (result,))
    return NotMeasuredError(text + _instrumentation_hint(result), (result,))


def _instrumentation_hint(result: CaseResult) -> str:
    """Return how to record the calls of each imported framework, if calls were not recorded."""
    if result.trajectory is None or result.trajectory.calls_recorded:
        return ""
    found = [f"\nnote: {hint}, or check what the run returned" for name, hint in _HINTS.items() if name in sys.modules]
    return "".join(found)


def combine_problems(problems: Sequence[Problem]) -> Problem:
    """Combine problems into one exception: a failure if any of them is one, else not measured."""
    if len(problems) == 1:
        return problems[0]
    kind = CheckFailedError if any(isinstance(each, CheckFailedError) for each in problems) else NotMeasuredError
    graver = sorted(problems, key=lambda each: not isinstance(each, CheckFailedError))
    first, _, _ = str(graver[0]).partition("\n")
    others = len(problems) - 1
    lines = [f"{first}, and {others:,} more assertion{'s' * (others > 1)} failed"]
    for number, each in enumerate(problems, start=1):
        head, *below = str(each).splitlines()
        lines += ["", f"{number}. {head}", *[f"   {line}" for line in below]]
    return kind("\n".join(lines), tuple([result for each in problems for result in each.results]))


def anonymous_case(checks: Sequence[Check], place: Source) -> Case:
    """Return a case that consists of checks only."""
    return Case(id="", source=place, checks=tuple(checks))


def calling_place() -> Source:
    """Return the file and line of the nearest frame outside of Rightcall, which is that of the test."""
    # `sys._getframe`, because `inspect.stack()` reads the source of every frame.
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("rightcall."):
        frame = frame.f_back
    return Source(frame.f_code.co_filename, frame.f_lineno, 1)


@contextmanager
def listen_to_results(listener: Listener) -> Iterator[None]:
    """Call a listener with every result, passed or not, inside the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _width() -> int:
    """Return the width of lines: that of the terminal, without the margin of test runners."""
    return max(60, min(160, shutil.get_terminal_size((120, 24)).columns) - _MARGIN)


class Soft:
    """A block that collects the problems of its assertions, and raises one exception at its end."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._token: Token[list[Problem] | None] | None = None

    def __enter__(self) -> Soft:
        self._token = soft_problems.set(self.problems)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if self._token is not None:
            soft_problems.reset(self._token)
        if not self.problems:
            return
        problem = combine_problems(self.problems)
        if raised is not None:  # that exception is raised, with what was found before as a note
            raised.add_note(f"Before this, in the same soft block:\n{problem}")
            return
        outer = soft_problems.get()
        if outer is None:
            raise problem
        outer.extend(self.problems)


def soft() -> Soft:
    """Collect problems: `with rightcall.soft(): …` raises the problems of all assertions at its end, as one exception.

    It applies to assertions of this thread or task, and of tasks that it starts. Blocks may nest; the outermost one
    raises. If something else is raised inside, that exception gets a note of the problems found before.
    """
    return Soft()
