"""The base of all evaluators: what each declares about itself, and how it judges a trajectory by criteria."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from time import perf_counter
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from rightcall.errors import ConfigurationError, CriteriaError, LimitError, pattern_problem, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits
from rightcall.values.results import (
    Classification,
    EvaluationResult,
    Explained,
    Explainer,
    Explanation,
    Finding,
    Justification,
    Verdict,
)
from rightcall.values.trajectory import ToolCall, Trajectory

from ._expected_calls import AgentExecution, Config, Naming, are_names_and_args
from ._selection import Criteria, Selection, select
from ._user_model import parse_model

if TYPE_CHECKING:
    from rightcall.matching.matchers import Pattern


class Plan(Protocol):
    """Criteria, compiled for one evaluator."""

    @property
    def names(self) -> Set[str]:
        """The tools that are expected."""

    @property
    def size(self) -> int:
        """How many calls, or counts, are expected."""

    @property
    def spends(self) -> bool:
        """Whether there are matchers in it, so that comparing with it may take many steps."""


class NoPlan:
    """The plan of criteria that need no compiling."""

    names: frozenset[str] = frozenset()
    size = 0
    spends = False


class Measurement(msgspec.Struct, frozen=True):
    """A score, or its bounds if the trace leaves it open, and how to explain it."""

    low: float
    high: float
    account: Explainer
    warnings: tuple[str, ...] = ()


def spanning(measured: Sequence[Measurement]) -> Measurement:
    """Combine measurements of all worlds, one of which happened, into bounds. The first, as recorded, is explained."""
    low, high = min([each.low for each in measured]), max([each.high for each in measured])
    return Measurement(low, high, measured[0].account, measured[0].warnings)


ConfigT = TypeVar("ConfigT", bound=Config)
CriteriaT = TypeVar("CriteriaT", bound=Criteria)
PlanT = TypeVar("PlanT", bound=Plan)


class Evaluator(ABC, Generic[ConfigT, CriteriaT, PlanT]):
    """Judges trajectories by one rule. Keeps no state between calls, so one instance serves many threads.

    Raises:
        ConfigurationError: `config` has a misspelt key, an unknown value or a wrong type.
        CriteriaError: the default criteria in it are wrong.
    """

    type_id: str
    reads_calls: bool = True
    """Whether the verdict depends on the calls that were made."""
    orders_calls: ClassVar[bool] = False
    """Whether the verdict may depend on the order of calls, so that `parallel` of the criteria counts."""
    takes_wildcards: ClassVar[bool] = False
    """Whether the names of expected tools may be patterns, if the criteria say so."""
    forbidden: ClassVar[str | None] = None
    """The key of its criteria with calls that must not be made, if there is one."""
    waits: ClassVar[bool] = False
    """Whether it waits for something outside, so that several of them run at once."""
    fingerprint: str = ""
    """A string that changes whenever the user's code that judges changes; empty without such code."""
    config_type: ClassVar[type[Any]]
    criteria_type: ClassVar[type[Any]]
    justification_type: ClassVar[type[Justification] | UnionType]
    """The kind of details that its results have, or a union of kinds."""
    shorthand: ClassVar[Shorthand | None] = None
    """How eval sets write its criteria in short, if they can."""
    empty_turn: ClassVar[Any] = None
    """The expectation of a turn without one, if other turns of its conversation have one; `None` for anything."""
    default_criteria: ClassVar[Mapping[str, Any] | None] = None
    """The criteria if neither a case nor the configuration has any; `None` if that is a mistake."""
    compiled_late: ClassVar[str | None] = None
    """A list of calls in its criteria: if it is given, and they have nothing but names and arguments without matchers,
    compiling the criteria can find no mistake."""
    code_settings: ClassVar[tuple[str, ...]] = ()
    """Keys of its configuration that may name code of the user: `file.py:function`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A subclass may look at more than its parent: a scope that it does not declare itself would be a guess, and
        # two runs that differ would get one verdict.
        if "scope" not in cls.__dict__:
            cls.scope = Evaluator.scope  # type: ignore[method-assign]

    def __init__(
        self,
        id: str | None = None,
        config: Mapping[str, Any] | ConfigT | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if id is not None and not isinstance(id, str):
            raise ConfigurationError(f"an evaluator's id is a string, not {shown(id)}")
        self.id = id or self.type_id
        self.limits = limits
        self.config: ConfigT = parse_model(
            self.config_type, {} if config is None else config, self.id, ConfigurationError
        )
        self._threshold = self.config.threshold
        self._most_calls = limits.compared_calls
        self.renames = getattr(self.config, "tool_names", "exact") == "uipath"
        """Whether calls are renamed to the expected tools, by UiPath's rule, before they are compared."""
        default = self.config.default_evaluation_criteria
        default = self.default_criteria if default is None else default
        self._default = None if default is None else self.criteria(default)

    def criteria(self, value: Mapping[str, Any] | CriteriaT | None = None, *, has_matchers: bool = True) -> CriteriaT:
        """Return criteria, checked and compiled, for any number of calls of `evaluate`.

        `None` means the default criteria of the configuration. `has_matchers` is false for decoded JSON within the
        limits that has no `$` in it. If compiling can then find no mistake, criteria are compiled on first use:
        compiling
        was two fifths of loading 10,000 cases, of which a command may judge one.

        Raises:
            CriteriaError: they are wrong, or there is no default.
        """
        if value is None:
            if self._default is None:
                raise CriteriaError(f"{self.id!r} was given no criteria, and its configuration has no default")
            return self._default
        criteria: CriteriaT = parse_model(self.criteria_type, value, self.id, CriteriaError)
        if self in criteria.plans:
            return criteria
        if not (criteria.wildcards and self.takes_wildcards):
            self._check_stars(criteria)
        is_plain = not (has_matchers or self.renames or criteria.ignore_tools)
        if is_plain and self.compiled_late and are_names_and_args(getattr(criteria, self.compiled_late)):
            return criteria
        plan = self.compile(criteria)
        if self.renames:
            self._naming(criteria)
        elif criteria.takes_ids and any([getattr(each, "id", None) is not None for each in criteria.expected_tools()]):
            raise CriteriaError(
                f"criteria of {self.id!r}: 'id' needs 'tool_names: uipath' in the evaluator's configuration"
            )
        if criteria.ignore_tools and (both := [name for name in plan.names if name in criteria.ignored]):
            raise CriteriaError(f"criteria of {self.id!r}: {shown(min(both))} is both expected and ignored")
        # The plan is kept with the criteria: evaluators have no state, and it goes when the criteria go.
        criteria.plans[self] = plan
        return criteria

    def evaluate(
        self,
        trajectory: Trajectory | Iterable[str | Mapping[str, Any] | ToolCall],
        criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge a trajectory, given as one or as anything `Trajectory.of` takes.

        Raises:
            CriteriaError: the criteria are wrong or missing.
            InputError: the trajectory is not one.
        """
        checked = criteria if isinstance(criteria, Criteria) else self.criteria(criteria)
        plan: PlanT | None = checked.plans.get(self)
        if plan is None:
            plan = self.plan(checked)
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.of(trajectory, limits=self.limits)
        started = perf_counter()
        try:
            if self.renames:
                trajectory = self._naming(checked).renamed(trajectory)
            if len(trajectory.calls) > self._most_calls or plan.size > self._most_calls:
                raise LimitError(f"{max(len(trajectory.calls), plan.size):,} calls; the limit is {self._most_calls:,}")
            # The frameworks' own calls count only if they are expected, hence the names.
            selection = select(trajectory, checked, plan.names)
            # Entering a budget takes a tenth of the time of a plain comparison, which needs none.
            if getattr(plan, "spends", False):
                with Budget(self.limits.steps):
                    measured = self._measure(selection, plan)
            elif selection.doubts is None:
                measured = self.measure(selection, plan)
            else:
                measured = self._measure(selection, plan)
            if selection.suspected:
                measured = _with_suspected(measured, selection.suspected)
        except LimitError as problem:
            return self._error("RC401", f"limit exceeded: {problem}", trajectory, perf_counter() - started)
        except Exception as problem:  # noqa: BLE001 - a fault costs this result, never the run, and is not a score
            from traceback import format_exc

            reason = f"{type(problem).__name__} while judging: {problem}"
            return self._error("RC402", reason, trajectory, perf_counter() - started, format_exc())
        return self._result(measured, trajectory, perf_counter() - started)

    def scope(self, criteria: CriteriaT) -> Scope | None:
        """Return which properties of calls the verdict depends on; `None` if it may depend on anything.

        With a scope, runs in columns that look the same are judged once. It is only asked for with criteria that select
        all calls. A scope is not inherited: it is true of the class that declares it.
        """
        return None

    def tools_to_miss(self, criteria: CriteriaT) -> Sequence[str]:
        """Return the tools in the criteria that no run has to call, so that a typo in a name would go unnoticed."""
        return ()

    def without_effect(self, criteria: CriteriaT) -> Sequence[tuple[str, str]]:
        """Return the parts of the criteria that can change no verdict: the path of each, and a sentence."""
        return ()

    def plan(self, criteria: CriteriaT) -> PlanT:
        """Return the compiled form of criteria."""
        plan: PlanT | None = criteria.plans.get(self)
        return self.criteria(criteria).plans[self] if plan is None else plan

    def given_up(self, trajectory: Trajectory, seconds: float) -> EvaluationResult:
        """Return the result of an evaluation that took too long."""
        return self._error("RC404", f"{self.id!r} did not answer within {seconds:g} s", trajectory, seconds)

    async def validate_and_evaluate_criteria(
        self,
        agent_execution: AgentExecution,
        evaluation_criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge an execution: `evaluate`, in the calling style of UiPath's documents."""
        return self.evaluate(agent_execution.trajectory, evaluation_criteria)

    @abstractmethod
    def compile(self, criteria: CriteriaT) -> PlanT:
        """Compile criteria to a form that is quick to compare with. Raises `CriteriaError`."""

    @abstractmethod
    def measure(self, selection: Selection, plan: PlanT) -> Measurement:
        """Return the score of the selected calls, from 0.0 to 1.0, if everything about them is known."""

    def bound(self, selection: Selection, plan: PlanT) -> Measurement:
        """Return the bounds of the score if the trace leaves open which calls were made, or in which order.

        If there are only a few ways to fill in the gaps, each is measured. Evaluators that can compute their bounds
        override this.
        """
        worlds = selection.worlds()
        if worlds is None:
            return self.estimate(selection, plan)
        return spanning([self.measure(world, plan) for world in worlds])

    def estimate(self, selection: Selection, plan: PlanT) -> Measurement:
        """Return bounds that surely hold, if there are too many ways to fill in what the trace leaves open."""
        return Measurement(0.0, 1.0, Explained())

    def _measure(self, selection: Selection, plan: PlanT) -> Measurement:
        if selection.doubts is None or not self.reads_calls:
            return self.measure(selection, plan)
        bounds = self.bound(selection, plan)
        if (bounds.low >= self._threshold) == (bounds.high >= self._threshold):
            return bounds
        # A finding of one of many ways to fill in the trace would be a guess: report what is not known instead.
        return msgspec.structs.replace(bounds, account=_InDoubt(bounds.account, selection.doubts.reasons))

    def _check_stars(self, criteria: CriteriaT) -> None:
        """Refuse names with a `*` if they are not patterns: no tool has such a name. Raises `CriteriaError`."""
        ignored = [(("ignore_tools", at), name) for at, name in enumerate(criteria.ignore_tools) if "*" in name]
        for path, name in [*([] if criteria.wildcards else ignored), *criteria.names_with_stars()]:
            where = "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in path])[1:]
            raise CriteriaError(f"criteria of {self.id!r}: {where}: {pattern_problem(name)}", path)

    def _naming(self, criteria: CriteriaT) -> Naming:
        known: Naming | None = criteria.plans.get((self, "naming"))
        if known is None:
            known = criteria.plans[self, "naming"] = Naming.of(criteria.expected_tools())
        return known

    def _result(self, measured: Measurement, trajectory: Trajectory, seconds: float) -> EvaluationResult:
        low, high, threshold = measured.low, measured.high, self._threshold
        # The verdict is known if both bounds are on one side of the threshold, however far apart they are.
        passed = low >= threshold
        if passed != (high >= threshold):
            return self._not_measured(measured, trajectory, seconds)
        warnings = trajectory.warnings + measured.warnings if measured.warnings else trajectory.warnings
        if low != high:
            warnings = (
                *warnings,
                f"the score lies between {low:.4g} and {high:.4g}: the trace did not record enough to tell",
            )
        return EvaluationResult(
            evaluator=self.id,
            verdict="passed" if passed else "failed",
            score=low,
            threshold=threshold,
            warnings=warnings,
            evaluation_time=seconds,
            explanation=Explanation(measured.account),
        )

    def _not_measured(self, measured: Measurement, trajectory: Trajectory, seconds: float) -> EvaluationResult:
        reason = (
            f"not measured: the score lies between {measured.low:.4g} and {measured.high:.4g}, depending on what "
            "the trace did not record"
        )

        return EvaluationResult(
            evaluator=self.id,
            verdict="not_measured",
            threshold=self.config.threshold,
            warnings=(*trajectory.warnings, *measured.warnings, reason),
            evaluation_time=seconds,
            explanation=Explanation(_Unmeasured(measured.account, reason)),
        )

    def _error(
        self,
        code: str,
        reason: str,
        trajectory: Trajectory,
        seconds: float = 0.0,
        trace: str | None = None,
        justification: Justification | None = None,
    ) -> EvaluationResult:
        return EvaluationResult(
            evaluator=self.id,
            verdict="error",
            threshold=self.config.threshold,
            error=f"{code} {reason}",
            traceback=trace,
            warnings=trajectory.warnings,
            evaluation_time=seconds,
            explanation=Explanation(Explained(justification, (Finding(code, reason),))),
        )


def _with_suspected(measured: Measurement, count: int) -> Measurement:
    """Add a warning about the number of calls that were left out although they may not have failed."""
    text = f"{count:,} call{'s were' if count > 1 else ' was'} left out that may have failed"
    return msgspec.structs.replace(measured, warnings=(*measured.warnings, text))


class _InDoubt(msgspec.Struct, frozen=True):
    """The account of a result that depends on what the trace leaves open: its findings say what is not known."""

    account: Explainer
    unknown: tuple[Finding, ...]

    def justify(self) -> Justification | None:
        return self.account.justify()

    def find(self) -> tuple[Finding, ...]:
        return self.unknown


class _Unmeasured(msgspec.Struct, frozen=True):
    """The account of a result without a score: it always has a finding that says why there is none."""

    account: Explainer
    reason: str

    def justify(self) -> Justification | None:
        return self.account.justify()

    def find(self) -> tuple[Finding, ...]:
        found = self.account.find()
        # What was not recorded (RC301) or not understood (RC304) says more than the bounds of the score.
        is_told = any([finding.code in {"RC301", "RC304"} for finding in found])
        return found if is_told else (Finding("RC301", self.reason), *found)


class Shorthand(msgspec.Struct, frozen=True):
    """How `expect` in an eval set may write an evaluator and its criteria in short: `order: [search, book]`."""

    key: str
    """The key of `expect`."""
    criteria_key: str
    """The key of the criteria that the value goes to."""
    read: Callable[[Any], Any] | None = None
    """Turns the short value into that of the criteria, if they differ. Raises `CriteriaError`."""
    schema: Mapping[str, Any] = {}
    """The JSON Schema of the short value, for editors; empty for any value."""
    config: Callable[[Any, Any], dict[str, Any]] | None = None
    """The configuration that follows from `match` and `args` under `defaults`, if any does."""

    @property
    def has_data_keys(self) -> bool:
        """Whether the short value may be an object whose keys are data: names of tools, or parts of an answer."""
        kinds = self.schema.get("type", "object")
        return "object" in ([kinds] if isinstance(kinds, str) else kinds)


class CallScope(msgspec.Struct, frozen=True):
    """A verdict that depends only on the calls of some tools, and on which of some patterns they satisfy.

    Two runs with the same calls, as far as the scope goes, get the same verdict and score.
    """

    names: frozenset[str]
    patterns: tuple[Pattern, ...] = ()
    """What calls are compared with; empty if names are enough."""
    others: bool = False
    """Whether calls of other tools count, by their number and their names."""
    order: bool = False
    """Whether the order of calls counts."""
    finds_calls: bool = False
    """Whether findings are about single calls rather than about expectations, so that their number grows with calls."""

    @property
    def reads(self) -> str | None:
        """The field of calls that is read beside their names."""
        return next((pattern.part for pattern in self.patterns if not pattern.accepts_all), None)


Scoring: TypeAlias = Literal["share", "equal", "in order", "in common"]


class NameScope(msgspec.Struct, frozen=True):
    """A verdict that follows from the names of calls alone, by one of four formulas.

    Scores: `share` is the part of the expected names that is in order, `in common` the part that was called at all;
    `equal` is 1.0 if the calls are the expected ones, `in order` if these are among them in order; else 0.0.
    """

    expected: tuple[str, ...]
    scoring: Scoring
    order: bool = True
    """Whether a call at another position than expected is a finding."""
    extras: bool = False
    """Whether a call that is not expected is a finding."""

    reads: ClassVar[None] = None
    """No field of calls is read beside their names."""

    @property
    def names(self) -> frozenset[str]:
        """The tools that the verdict depends on."""
        return frozenset(self.expected)

    @property
    def others(self) -> bool:
        """Whether calls of other tools count."""
        return self.extras


Scope: TypeAlias = CallScope | NameScope

CALLS: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/step"}}
"""The JSON Schema of the steps of a path in their short form."""
SOME_CALLS: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1}
"""The JSON Schema of single calls in their short form."""
TEXT: Mapping[str, Any] = {"type": "string"}
WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
NUMBER: Mapping[str, Any] = {"type": "number", "minimum": 0}


STEP_WORDS = ("any_order", "at_once", "optional", "one_of", "repeat", "steps")
"""The words that begin a step that is not a call."""


def is_word(name: str) -> bool:
    """Return whether a tool of this name has to be written as `{name: …}`, because as a key it means something else."""
    return name in ("name", *STEP_WORDS) or name.startswith("$")


def read_calls(value: Any) -> Any:
    """Return expected calls that are written as `name`, `{name: args}` or `{name: …, args: …}`.

    Raises:
        CriteriaError: the value is not a list of those; the path leads to the one that is wrong.
    """
    if not isinstance(value, (list, tuple)):
        raise CriteriaError(f"a list of calls is expected, not {shown(value)}")
    return [_call(item, index) for index, item in enumerate(value)]


def _call(item: Any, index: int) -> Any:
    if not isinstance(item, dict):
        return item
    if problem := misplaced_word(item):
        raise CriteriaError(problem, (index,))
    if isinstance(item.get("name"), str):
        return item
    if len(item) != 1:
        raise CriteriaError(f"a call is a name or an object with one key, its name, not {shown(item)}")
    [(name, args)] = item.items()
    return {"name": name, "args": args}


def misplaced_word(call: dict[Any, Any]) -> str | None:
    """Return what to write if a call has a word in the wrong place; `None` if it has none."""
    if matcher := next((key for key in call if isinstance(key, str) and key.startswith("$")), ""):
        return f"{shown(matcher)} is a matcher, and a call begins with the name of its tool; {_SEVERAL}"
    # A word followed by an object is a tool of that name, and the object its arguments.
    word = next((key for key in call if key in STEP_WORDS and not isinstance(call[key], dict)), "")
    if word == "one_of":
        return f"'one_of' is a word for steps of 'calls', and here are single calls; {_SEVERAL}"
    if word:
        return f"{word!r} is a word for steps of 'calls', around a call; here are single calls, without order"
    value = call.get("name", "")
    # `{name: {query: laptop}}` is a call of a tool that is called `name`.
    if isinstance(value, str) or (len(call) == 1 and isinstance(value, dict) and not _is_matcher(value)):
        return None
    return f"'name' is the name of a tool, a string, not {shown(value)}; {_SEVERAL}"


_SEVERAL = "* in a name stands for any characters, and 'one_of' in 'calls' for one of several"


def _is_matcher(value: dict[Any, Any]) -> bool:
    return any([isinstance(key, str) and key.startswith("$") for key in value])


def read_outputs(value: Any) -> Any:
    """Return expected outputs that are written as `{name: output}`, alone or in a list.

    Raises:
        CriteriaError: the value is neither.
    """
    if isinstance(value, dict):
        return [{"name": name, "output": output} for name, output in value.items()]
    if not isinstance(value, (list, tuple)):
        raise CriteriaError(f"a list of outputs is expected, not {shown(value)}")
    return [_output(item) for item in value]


def _output(item: Any) -> Any:
    if not isinstance(item, dict) or {"name", "output"} <= item.keys():
        return item
    if len(item) != 1:
        raise CriteriaError(f"an expected output is an object with one key, the tool's name, not {shown(item)}")
    [(name, output)] = item.items()
    return {"name": name, "output": output}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case, or one repeat of it, as an evaluator of all cases sees it."""

    case_id: str
    repeat: int = 0
    verdict: Verdict
    score: float | None = None
    scores: Mapping[str, float | None] = {}
    """The score of each evaluator of the case, by its key in `expect`."""
    is_measured: bool = True
    """Whether there is an answer: false if the agent broke, or no trace belongs to the case."""
    output: Any = None
    tools: tuple[str, ...] = ()
    """The names of the tools that were called, in order."""
    seconds: float | None = None
    metadata: Mapping[str, Any] = {}


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """The result of all rows: a score, or why there is none."""

    score: float | None = None
    reason: str = ""
    is_error: bool = False
    classification: Classification | None = None
    details: Any = None


class RowTally(Protocol):
    """The rows counted so far."""

    def add(self, seen: Any) -> None:
        """Add what `see` returned for one more row."""

    def conclude(self) -> Conclusion:
        """Return the result of all rows."""


class OverallEvaluator(ABC):
    """Judges all cases together. Of each row it keeps only what `see` returns, which may be far less."""

    id: str
    threshold: float

    @abstractmethod
    def see(self, row: Row) -> Any:
        """Return what is needed of a row. It is called in the process that judges the case."""

    @abstractmethod
    def tally(self) -> RowTally:
        """Return an empty tally."""
