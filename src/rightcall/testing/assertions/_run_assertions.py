"""Assertions about one run: `check` for all expectations at once, `calls` for one rule at a time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec

from rightcall.cases.evalsets import Case, Check, EvalSet, compile_expectation
from rightcall.cases.verdicts import judge
from rightcall.errors import CriteriaError, nearest, shown
from rightcall.judging import EVALUATORS
from rightcall.values.results import CaseResult, Source
from rightcall.values.trajectory import ToolCall, Trajectory

from ._delivery import anonymous_case, calling_place, deliver, hide_internal_frames
from ._subjects import trajectory_of, written_step


class CheckSettings(TypedDict, total=False):
    """What may be said beside expected calls. A setting that is left out, or `None`, is as the default says."""

    match: str | None
    """`exact`, `in_order`, `any_order`, `unordered` or `subset`; `exact` by default."""
    args: str | None
    """`subset`, `exact`, `superset` or `ignore`; `subset` by default."""
    threshold: float | None
    """The lowest score that passes; 1.0 by default."""
    partial_credit: bool | str | None
    """Whether part of a path earns part of the score; not by default."""
    extra: str | None
    """Calls that no step takes: `allow`, `forbid`, or `others` for those of tools that no step names; by default as
    `match` says."""
    parallel: str | None
    """Which calls have no order: `recorded`, the default, `in_order`, `any_order` or `overlap`; see `calls`."""
    failed: str | None
    """Calls that failed: `count`, the default, `ignore`, or `ignore_suspected`."""
    ignore_tools: tuple[str, ...] | list[str] | None
    """Tools whose calls are left out."""
    agent: str | None
    """Look only at the calls of this agent."""
    top_level: bool | None
    """Look only at calls that no other tool made."""


@hide_internal_frames
def check(subject: Any, expected: Any, **settings: Unpack[CheckSettings]) -> CaseResult:
    """Check what an agent did against expectations, and raise if it differs. The message has all problems.

    Args:
        subject: What the agent did: a trajectory, what `capture` captured, a path, spans, messages, a list of calls.
        expected: A list of calls and other steps, or a trajectory, compared as `match` says; or an object with any of
            the keys of `expect` in an eval set, such as `{"order": […], "never": […]}`; or a case of an eval set.
        settings: What is said beside expected calls: `match`, `args`, `threshold`, `partial_credit`, `extra`,
            `parallel`, `failed`, `ignore_tools`, `agent`, `top_level`; see `CheckSettings`.

    Returns:
        The result, with the score and the trajectory.

    Raises:
        CheckFailedError: the agent did something else. This is an `AssertionError`.
        NotMeasuredError: the result is unknown, because something was not recorded, or judging broke.
        CriteriaError: the expectation is wrong.
        InputError: no calls can be read from the subject.
        TypeError: there is no such setting.
    """
    __tracebackhide__ = True
    for name in settings:
        if name not in CheckSettings.__annotations__:
            raise TypeError(
                f"check() has no setting {name!r:.40}; {nearest(name, tuple(CheckSettings.__annotations__))}"
            )
    case = _case(expected, dict(settings))
    return deliver(case, judge(case, trajectory_of(subject)))


def _case(expected: Any, settings: dict[str, Any]) -> Case:
    if isinstance(expected, Case):
        if given := [name for name, value in settings.items() if value is not None]:
            raise CriteriaError(f"a case has its own settings; leave out {', '.join(given)}")
        return expected
    if isinstance(expected, Trajectory):
        expected = expected.calls
    if isinstance(expected, (list, tuple)):
        expected = {"calls": [written_step(item) for item in expected]}
    if isinstance(expected, (str, EvalSet)) or not isinstance(expected, Mapping):
        raise CriteriaError(
            f"what is expected is a list of calls, an object such as {{'never': ['delete']}}, or a case, "
            f"not {shown(expected)}"
        )
    place = calling_place()
    return anonymous_case(compile_expectation(expected, place, **settings), place)


_CallsT = TypeVar("_CallsT", bound="Calls")


class _Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls rules look at, and how they compare arguments."""

    args: str = "subset"
    ignore_tools: tuple[str, ...] = ()
    agent: str | None = None
    top_level: bool = False
    parallel: str = "recorded"
    failed: str = "count"
    extra: str | None = None

    def criteria(self) -> dict[str, Any]:
        """Return the keys that all criteria have for the calls they look at."""
        return {
            "ignore_tools": list(self.ignore_tools),
            "agent": self.agent,
            "top_level": self.top_level,
            "parallel": self.parallel,
            "failed": self.failed,
            "wildcards": True,
        }


@hide_internal_frames
def calls(
    subject: Any,
    *,
    args: str = "subset",
    ignore_tools: tuple[str, ...] | list[str] = (),
    agent: str | None = None,
    top_level: bool = False,
    parallel: str = "recorded",
    failed: str = "count",
    extra: str | None = None,
) -> Calls:
    """Return the calls of a run, to check one rule after the other. A rule that fails raises at once.

    Args:
        subject: What the agent did: a trajectory, what `capture` captured, a path, spans, messages, a list of calls.
        args: How arguments are compared: `subset`, `exact`, `superset` or `ignore`.
        ignore_tools: Tools whose calls are left out.
        agent: Look only at the calls of this agent.
        top_level: Look only at calls that no other tool made.
        parallel: Which calls have no order: `recorded`, those of one recorded group; `in_order`, none; `any_order`,
            those of one group, unknown where groups were not recorded; `overlap`, those that ran at once.
        failed: Whether calls that failed count: `count`; `ignore` leaves them out; `ignore_suspected` also those whose
            results read like errors.
        extra: Calls that no step of a path takes: `allow`, `forbid`, or `others` for those of tools that no step names;
            by default as the rule says.

    Raises:
        InputError: no calls can be read from the subject.
    """
    scope = _Scope(
        args=args,
        ignore_tools=tuple(ignore_tools),
        agent=agent,
        top_level=top_level,
        parallel=parallel,
        failed=failed,
        extra=extra,
    )
    return Calls(trajectory_of(subject), scope, calling_place())


class Calls:
    """The calls of one run. Every rule returns them, so that rules can be chained.

    An expected call is a name, `{name: arguments}`, or a `ToolCall`; for a path, it may be any step of
    `rightcall.steps`. Each rule raises `CheckFailedError` if it fails,
    `NotMeasuredError` if the recording does not show the result, `CriteriaError` if the rule is wrong. Without any
    rule there is a `RuntimeWarning`: a test that says `calls(trace)` and no more checks nothing.
    """

    def __init__(self, trajectory: Trajectory, scope: _Scope, place: Source) -> None:
        self.trajectory = trajectory
        self.results: list[CaseResult] = []
        """The result of each rule so far."""
        self._scope = scope
        self._place = place
        self._is_asked = False

    def exactly(self: _CallsT, *expected: Any) -> _CallsT:
        """Expect these calls in this order, and no others."""
        __tracebackhide__ = True
        return self._path("exactly", "EXACT", expected)

    def exactly_in_any_order(self: _CallsT, *expected: Any) -> _CallsT:
        """Expect these calls and no others, in any order."""
        __tracebackhide__ = True
        return self._path("exactly_in_any_order", "UNORDERED", expected)

    def in_order(self: _CallsT, *expected: Any) -> _CallsT:
        """Expect these calls in this order; others may come in between."""
        __tracebackhide__ = True
        return self._path("in_order", "IN_ORDER", expected)

    def in_any_order(self: _CallsT, *expected: Any) -> _CallsT:
        """Expect each of these calls, in any order; there may be others."""
        __tracebackhide__ = True
        return self._path("in_any_order", "ANY_ORDER", expected)

    def only(self: _CallsT, *expected: Any) -> _CallsT:
        """Expect no calls but these; not all of them have to be made."""
        __tracebackhide__ = True
        return self._path("only", "SUBSET", expected)

    def none(self: _CallsT) -> _CallsT:
        """Expect no calls at all."""
        __tracebackhide__ = True
        return self._hold("none", "tool-trajectory", {"expected": []}, {"match_type": "EXACT"})

    def never(self: _CallsT, *forbidden: Any) -> _CallsT:
        """Expect none of these calls; with arguments, none with such arguments."""
        __tracebackhide__ = True
        return self._hold(
            "never", "forbidden-tools", {"never": _read("forbidden-tools", self._given("never", forbidden))}
        )

    def at_most(self: _CallsT, times: int, tool: str) -> _CallsT:
        """Expect at most this number of calls of a tool."""
        __tracebackhide__ = True
        return self._count("at_most", "<=", times, tool)

    def at_least(self: _CallsT, times: int, tool: str) -> _CallsT:
        """Expect at least this number of calls of a tool."""
        __tracebackhide__ = True
        return self._count("at_least", ">=", times, tool)

    def times(self: _CallsT, times: int, tool: str) -> _CallsT:
        """Expect exactly this number of calls of a tool."""
        __tracebackhide__ = True
        return self._count("times", "=", times, tool)

    def called(self: _CallsT, tool: str, /, **arguments: Any) -> _CallsT:
        """Expect a call of a tool with these arguments, anywhere in the run; `args` says whether it may have others."""
        __tracebackhide__ = True
        expected: dict[str, Any] = {"name": tool, "args": arguments} if arguments else {"name": tool}
        policy = {"match_type": "ANY_ORDER", "args_match": self._scope.args if arguments else "ignore"}
        return self._hold("called", "tool-trajectory", {"expected": [expected]}, policy)

    def returned(self: _CallsT, tool: str, output: Any) -> _CallsT:
        """Expect a call of a tool that returned this output."""
        __tracebackhide__ = True
        return self._hold("returned", "tool-call-output", {"tool_outputs": [{"name": tool, "output": output}]})

    def answered(self: _CallsT, output: Any) -> _CallsT:
        """Expect this final answer."""
        __tracebackhide__ = True
        return self._hold("answered", "final-output", {"output": output})

    @hide_internal_frames
    def rule(self: _CallsT, call: Any = None, /, **relation: Any) -> _CallsT:
        """Expect a rule of `rules` to hold: `.rule("pay", only_after="confirm")`, `.rule(first="login")`."""
        __tracebackhide__ = True
        self._is_asked = True
        written = relation if call is None else {"call": call, **relation}
        return self._hold("rule", "call-rules", {"rules": [_with_plain_calls(written)]})

    @hide_internal_frames
    def meets(self: _CallsT, key: str, criteria: Any, **settings: Any) -> _CallsT:
        """Expect any rule to pass, by its key in `expect` or type id: `.meets("tool-f1", […], threshold=0.8)`.

        The criteria themselves say which calls they look at.
        """
        __tracebackhide__ = True
        self._is_asked = True
        written = {"criteria": list(criteria) if isinstance(criteria, tuple) else criteria, **settings}
        [check] = compile_expectation({key: written}, calling_place())
        return self._judge(check)

    @hide_internal_frames
    def _path(self: _CallsT, key: str, match: str, expected: tuple[Any, ...]) -> _CallsT:
        __tracebackhide__ = True
        config = {"match_type": match, "args_match": self._scope.args, "extra": self._scope.extra}
        steps = _read("tool-trajectory", self._given(key, expected))
        return self._hold(key, "tool-trajectory", {"expected": steps}, config)

    @hide_internal_frames
    def _count(self: _CallsT, key: str, sign: str, times: int, tool: str) -> _CallsT:
        __tracebackhide__ = True
        return self._hold(key, "tool-call-count", {"tool_calls_count": {tool: (sign, times)}})

    @hide_internal_frames
    def _hold(
        self: _CallsT, key: str, type_id: str, criteria: dict[str, Any], config: dict[str, Any] | None = None
    ) -> _CallsT:
        __tracebackhide__ = True
        self._is_asked = True
        evaluator = EVALUATORS[type_id](key, config)
        place = calling_place()
        checked = evaluator.criteria({**criteria, **self._scope.criteria()})
        return self._judge(Check(key, evaluator, checked, lambda _: place))

    def _judge(self: _CallsT, check: Check) -> _CallsT:
        __tracebackhide__ = True
        case = anonymous_case([check], check.source(None))
        result = judge(case, self.trajectory)
        self.results.append(result)
        deliver(case, result)
        return self

    @hide_internal_frames
    def _given(self, key: str, expected: tuple[Any, ...]) -> list[Any]:
        """Return expected calls. There has to be one: `never()` would pass whatever was called."""
        self._is_asked = True
        if not expected:
            raise CriteriaError(f"{key}() names no call; name at least one, or use none() if nothing may be called")
        return [written_step(item) for item in expected]

    def __del__(self) -> None:
        if not self._is_asked:
            warnings.warn_explicit(
                "calls(…) was used, but nothing was checked; add a rule, such as .in_order('search')",
                RuntimeWarning,
                self._place.file,
                self._place.line,
            )


def _read(type_id: str, steps: list[Any]) -> Any:
    """Read steps as an eval set reads them."""
    shorthand = EVALUATORS[type_id].shorthand
    return steps if shorthand is None else shorthand.read(steps)


def _with_plain_calls(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule in which each `ToolCall`, alone or in a list, is a call as a file would have it."""
    return {
        key: written_step(value) if isinstance(value, (ToolCall, list, tuple)) and key != "same" else value
        for key, value in rule.items()
    }
