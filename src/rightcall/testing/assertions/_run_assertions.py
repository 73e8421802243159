"""Assertions about one run, in any form: `check` for all expectations at once, `calls` for one rule after the other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec

from rightcall.cases.evalsets import Case, Check, EvalSet, compile_expectation
from rightcall.cases.mutants import Allowances, Asking, Pool, described, mutants_of, operators_named
from rightcall.cases.verdicts import judge
from rightcall.errors import CriteriaError, InputError, NotMeasuredError, nearest, shown
from rightcall.judging import EVALUATORS, STEP_WORDS, AgentExecution
from rightcall.running.tracing import Captured
from rightcall.values.results import WORLD_OPERATORS, CaseResult, Source
from rightcall.values.trajectory import ToolCall, Trajectory

from ._delivery import anonymous_case, calling_place, deliver, hide_internal_frames

_FIELDS = frozenset(ToolCall.__struct_fields__)
_MOST_COUNTED = 100


class CheckSettings(TypedDict, total=False):
    """Settings for expected calls. A setting that is left out, or `None`, has its default."""

    match: str | None
    """`exact`, `in_order`, `any_order`, `unordered` or `subset`; `exact` by default."""
    args: str | None
    """`subset`, `exact`, `superset` or `ignore`; `subset` by default."""
    threshold: float | None
    """The lowest score that passes; 1.0 by default."""
    partial_credit: bool | str | None
    """Whether a path that matches in part earns part of the score; not by default."""
    extra: str | None
    """What to do with calls that no step matches: `allow`, `forbid`, or `others`, which allows calls of tools that no
    step names; the default depends on `match`."""
    parallel: str | None
    """Which calls have no order: `recorded`, the default, `in_order`, `any_order` or `overlap`; see `calls`."""
    failed: str | None
    """What to do with calls that failed: `count`, the default, `ignore`, or `ignore_suspected`; see `calls`."""
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
        expected: A list of calls and other steps, or a trajectory, compared according to `match`; or an object with
            any of the keys of `expect` in an eval set, such as `{"order": […], "never": […]}`; or a case of an eval
            set.
        settings: Settings for expected calls: `match`, `args`, `threshold`, `partial_credit`, `extra`, `parallel`,
            `failed`, `ignore_tools`, `agent`, `top_level`; see `CheckSettings`.

    Returns:
        The result, with the score and the trajectory.

    Raises:
        CheckFailedError: the agent did something else. This is an `AssertionError`.
        NotMeasuredError: the result is unknown, because something was not recorded, or judging failed.
        CriteriaError: the expectation is invalid.
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
        """Return the keys of all criteria that select calls."""
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
    """Return the calls of a run, to check one rule after another. A rule that fails raises at once.

    Args:
        subject: What the agent did: a trajectory, what `capture` captured, a path, spans, messages, a list of calls.
        args: How arguments are compared: `subset`, `exact`, `superset` or `ignore`.
        ignore_tools: Tools whose calls are left out.
        agent: Look only at the calls of this agent.
        top_level: Look only at calls that no other tool made.
        parallel: Which calls have no order: `recorded`, those of one recorded group; `in_order`, none; `any_order`,
            those of one group, but unknown if groups were not recorded; `overlap`, those that ran at the same time.
        failed: What to do with calls that failed: `count` them; `ignore` them; `ignore_suspected` also ignores calls
            whose results read like errors.
        extra: What to do with calls that no step of a path matches: `allow`, `forbid`, or `others`, which allows calls
            of tools that no step names; the default depends on the rule.

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
    `rightcall.steps`. Each rule raises `CheckFailedError` if it fails, `NotMeasuredError` if the recording does not
    show the result, and `CriteriaError` if the rule is invalid. Without any rule there is a `RuntimeWarning`: a test
    with `calls(trace)` alone checks nothing.
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
        """Expect a rule to hold, as in `rules`: `.rule("pay", only_after="confirm")`, `.rule(first="login")`."""
        __tracebackhide__ = True
        self._is_asked = True
        written = relation if call is None else {"call": call, **relation}
        return self._hold("rule", "call-rules", {"rules": [_with_plain_calls(written)]})

    @hide_internal_frames
    def meets(self: _CallsT, key: str, criteria: Any, **settings: Any) -> _CallsT:
        """Expect any evaluator to pass, by its key in `expect` or type id: `.meets("tool-f1", […], threshold=0.8)`.

        The criteria select calls themselves; the settings of `calls` do not apply.
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
        """Return expected calls, of which there has to be at least one: `never()` would always pass."""
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
    return steps if shorthand is None or shorthand.read is None else shorthand.read(steps)


def _with_plain_calls(rule: dict[str, Any]) -> dict[str, Any]:
    """Convert each `ToolCall` in a rule, alone or in a list, to the form that files use."""
    return {
        key: written_step(value) if isinstance(value, (ToolCall, list, tuple)) and key != "same" else value
        for key, value in rule.items()
    }


def trajectory_of(subject: Any) -> Trajectory:
    """Return the trajectory of the subject of a test.

    The subject may be:

    - a `Trajectory`, what `capture` captured, or an `AgentExecution`;
    - a path, bytes or a decoded document: a trace or a log of messages, in any format that `read` knows;
    - what an SDK returned: a message, or the completion around it;
    - what a framework returned: `AgentRunResult` of Pydantic AI, `RunResult` of OpenAI Agents, the state of a LangGraph
      graph, events of Google ADK, results of LlamaIndex, Agno, smolagents, AutoGen, Haystack and Agent Framework;
    - a list of spans, of messages, or of calls: names, `{"search": {"query": "laptop"}}`, `{"name": …, "args": …}`
      or `ToolCall`s. A call given by its name only has no recorded arguments.

    An empty list means that calls are unknown: there may have been none, or they were not recorded. `Trajectory()`
    means that there were none.

    Raises:
        InputError: nothing can be read from it, or it has several runs.
    """
    if isinstance(subject, Trajectory):
        return subject
    if isinstance(subject, Captured):
        return subject.trajectory()
    if isinstance(subject, AgentExecution):
        return subject.trajectory
    returned = None if isinstance(subject, (list, tuple)) else _of_framework(subject)
    if returned is not None:
        return returned
    if isinstance(subject, (str, bytes, bytearray, os.PathLike, Mapping)) or hasattr(subject, "read"):
        return _only_one(subject)
    if hasattr(type(subject), "model_dump"):
        from rightcall.reading import read_messages

        return read_messages(subject)  # an SDK's message, or a completion with one
    if isinstance(subject, Iterable):
        return _listed(list(subject))
    raise InputError(f"no calls can be read from {shown(subject)}; give a trajectory, a trace, spans or messages")


def written_step(item: Any) -> Any:
    """Convert an expected step to the form that files use: `ToolCall`s become objects with name and arguments.

    Raises:
        InputError: it is not a step.
    """
    if isinstance(item, ToolCall):
        return {"name": item.name} if "args" in item.unrecorded else {"name": item.name, "args": item.args}
    if isinstance(item, str):
        return item
    if isinstance(item, (list, tuple)):
        return [written_step(each) for each in item]
    if not isinstance(item, Mapping):
        raise InputError(f"an expected call is a name or {{name: arguments}}, not {shown(item)}")
    words = item.keys() & {*STEP_WORDS}
    if len(item) != 1 and not words and not isinstance(item.get("name"), str):
        raise InputError(f"an expected call is a name or {{name: arguments}}, not {shown(item)}")
    return {key: _inside(value) if key in words else value for key, value in item.items()}


def _inside(value: Any) -> Any:
    """Convert the value of a step word, unless the word is the name of a tool and the value its arguments."""
    is_group = isinstance(value, Mapping) and bool(value.keys() & {*STEP_WORDS})
    return written_step(value) if is_group or isinstance(value, (list, tuple, ToolCall)) else value


def _of_framework(subject: Any) -> Trajectory | None:
    """Return the trajectory in the result of a framework; None if the subject is not such a result.

    Raises:
        InputError: results of this framework do not contain calls.
    """
    from rightcall.running.agents import answer_of, form_of

    form = form_of(subject)
    if form is None:
        return None
    answer = answer_of(subject)
    if answer.messages is None:
        raise InputError(
            f"a result of {form.framework} does not hold the calls of its run; capture them: with capture() as captured"
        )
    from rightcall.reading import read_messages

    read = read_messages(answer.messages)
    usage = answer.usage if read.usage is None else read.usage
    return msgspec.structs.replace(read, output=answer.output, usage=usage)


def _only_one(source: Any) -> Trajectory:
    from rightcall.reading import read

    found = []
    for trajectory in read(source):
        found.append(trajectory)
        if len(found) > _MOST_COUNTED:  # a log can have millions of runs
            break
    if len(found) != 1:
        count = f"more than {_MOST_COUNTED}" if len(found) > _MOST_COUNTED else str(len(found) or "no")
        raise InputError(f"{shown(source)} has {count} runs, and an assertion is about one; choose one with read(…)")
    return found[0]


def _listed(items: Sequence[Any]) -> Trajectory:
    if not items:
        return Trajectory(calls_recorded=False)
    if all([_is_call(item) for item in items]):
        return Trajectory.of([_made(item) for item in items])
    from rightcall.reading import read_messages, read_spans

    if all([_is_live_span(item) for item in items]):
        return read_spans(items)
    if all([callable(getattr(item, "to_input_item", None)) for item in items]):
        return read_messages([item.to_input_item() for item in items])  # `new_items` of OpenAI Agents
    if any([not isinstance(item, Mapping) for item in items]):
        return read_messages(items)
    return _only_one(items)


def _is_call(item: Any) -> bool:
    if isinstance(item, Mapping):
        is_spelt_out = isinstance(item.get("name"), str) and item.keys() <= _FIELDS
        return is_spelt_out or _is_short(item)
    return isinstance(item, (str, ToolCall))


def _is_short(item: Mapping[Any, Any]) -> bool:
    """Whether an object is `{name: arguments}`."""
    return len(item) == 1 and all([isinstance(args, Mapping) or args is None for args in item.values()])


def _made(item: Any) -> Any:
    if isinstance(item, Mapping) and "name" not in item:
        [(name, args)] = item.items()
        return {"name": name} if args is None else {"name": name, "args": args}
    return item


def _is_live_span(item: Any) -> bool:
    return hasattr(item, "attributes") and hasattr(item, "start_time") and not isinstance(item, Mapping)


def survivors(
    run: Any, check: Callable[[Trajectory], object], *, others: Iterable[Any] = (), operators: Sequence[str] = ()
) -> list[str]:
    """Return descriptions of the faults that a check does not notice; an empty list if it notices all of them.

    Each fault is put into a copy of the run: a call left out, made twice or made earlier, another tool, another
    argument, another answer. `check` is called with each copy. It notices a fault by raising, as a failing test does.

    Args:
        run: A run that passes: a trajectory, a trace, a list of calls.
        check: The check. What it returns does not matter.
        others: Other runs of the agent, whose tools and values are used to make faults.
        operators: Only these kinds of faults; by default all that an agent can have.

    Raises:
        InputError: the check does not pass with the unchanged run, or an operator is unknown.
    """
    original = trajectory_of(run)
    if _passes(check, original) is not True:
        raise InputError("the check does not pass with the run as it is; give it a run that passes")
    known = {str(number): trajectory_of(each) for number, each in enumerate((original, *others))}
    wanted = operators_named(operators)
    if not operators:
        wanted = tuple([operator for operator in wanted if operator not in WORLD_OPERATORS])
    asking = Asking(Allowances(), original, lambda trajectory: _passes(check, trajectory) is False)
    return [
        described(mutant)
        for mutant in mutants_of(original, Pool.of(known), wanted)
        if _passes(check, mutant.trajectory) and not asking.reason(mutant)
    ]


def _passes(check: Callable[[Trajectory], object], trajectory: Trajectory) -> bool | None:
    """Return whether a check passes; `None` if that could not be measured."""
    try:
        check(trajectory)
    except NotMeasuredError:
        return None
    except Exception:  # noqa: BLE001 - whatever a test raises, it has failed
        return False
    return True
