"""Evaluators that wait for something: a model that judges, or the user's code."""

from __future__ import annotations

import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import msgspec

from rightcall.errors import LimitError, shown
from rightcall.values.results import EvaluationResult, Explained, Explanation, Finding, Justification
from rightcall.values.trajectory import ToolCall, Trajectory

from ._checks import Before, Bounds
from ._criteria import Config, Criteria, number_in_text
from ._evaluator import Evaluator, Measurement, NoPlan
from ._selection import Selection, select
from ._uipath import AgentExecution

if TYPE_CHECKING:
    import asyncio

_OURS = str(Path(__file__).parents[2])
DEFAULT_TIMEOUT = 60.0
"""Seconds that one evaluation may take, unless its configuration says otherwise."""


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an agent, with what its case says."""

    trajectory: Trajectory
    case_id: str = ""
    input: Any = None
    """What the agent was given; the list of what it was given turn by turn, in a conversation of several turns."""
    expected_behavior: str = ""
    """What the agent should do, in words."""
    metadata: Mapping[str, Any] = {}
    """What the case says about itself."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that were made."""
        return self.trajectory.calls

    @property
    def output(self) -> Any:
        """The agent's final answer."""
        return self.trajectory.output


class AsyncConfig(Config):
    """The configuration of an evaluator that waits."""

    timeout: Annotated[float, Before(number_in_text), Bounds(above=0, finite=True)] = DEFAULT_TIMEOUT
    """Seconds that one evaluation may take."""


ConfigT = TypeVar("ConfigT", bound=AsyncConfig)
CriteriaT = TypeVar("CriteriaT", bound=Criteria)


class AsyncEvaluator(Evaluator[ConfigT, CriteriaT, NoPlan]):
    """Judges executions by a rule that waits for something. A subclass has `assess`, and keeps no state between calls.

    An evaluation that raises, takes longer than `timeout`, or returns anything but a result with a score from 0.0
    to 1.0, is an error: never a score. Nothing is asked about a trajectory whose trace has no tool data, unless
    `reads_calls` is false: that is `not_measured`.
    """

    waits: ClassVar[bool] = True
    config_type = AsyncConfig
    criteria_type = Criteria

    @property
    def lane(self) -> tuple[str, int] | None:
        """A resource that evaluators share and how many may use it at once, such as one endpoint; `None` by default."""
        return None

    @abstractmethod
    async def assess(self, execution: Execution, criteria: CriteriaT) -> EvaluationResult:
        """Judge an execution whose calls the criteria have chosen.

        Make results with `scored`, `broken` and `unmeasured`. Whatever is raised becomes an error, RC402.
        """

    async def evaluate_execution(
        self,
        execution: Execution,
        criteria: CriteriaT,
        on_start: Callable[[asyncio.Task[EvaluationResult]], None] = lambda task: None,
    ) -> EvaluationResult:
        """Judge an execution within the time limit. `on_start` is called with the task at work."""
        import asyncio

        started = perf_counter()
        chosen = _chosen(execution, criteria)
        doubts = chosen.doubts if self.reads_calls else None
        if doubts is not None and (doubts.members or doubts.missing):
            return self._in_doubt(execution, doubts.reasons)
        task = asyncio.ensure_future(self._attempt(_narrowed(execution, chosen), criteria))
        on_start(task)
        try:
            # Not `wait_for`, which waits until a cancelled task ends: one that ignores its cancellation would never.
            await asyncio.wait({task}, timeout=self.config.timeout)
        finally:
            task.cancel()
        result = self._answer(task, execution)
        seconds = result.evaluation_time or perf_counter() - started
        return msgspec.structs.replace(result, evaluation_time=seconds)

    def evaluate(
        self,
        trajectory: Trajectory | Iterable[str | Mapping[str, Any] | ToolCall],
        criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge a trajectory, and return when there is an answer or the time is over.

        Raises:
            CriteriaError: the criteria are wrong or missing.
            InputError: the trajectory is not one.
        """
        checked = self.criteria(criteria)
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.of(trajectory, limits=self.limits)
        from ._loop import Loop

        with Loop() as loop:
            return loop.ask(self, Execution(trajectory=trajectory, input=trajectory.input), checked).result()

    async def validate_and_evaluate_criteria(
        self,
        agent_execution: AgentExecution,
        evaluation_criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge an execution, in the calling style of UiPath's documents."""
        execution = Execution(
            trajectory=agent_execution.trajectory,
            input=agent_execution.agent_input,
            expected_behavior=agent_execution.expected_agent_behavior or "",
        )
        return await self.evaluate_execution(execution, self.criteria(evaluation_criteria))

    def scored(
        self,
        execution: Execution,
        score: float,
        justification: Justification | None = None,
        findings: tuple[Finding, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> EvaluationResult:
        """Return a result with a score, passed or failed by the threshold."""
        return EvaluationResult(
            evaluator=self.id,
            verdict="passed" if score >= self.config.threshold else "failed",
            score=score,
            threshold=self.config.threshold,
            warnings=(*execution.trajectory.warnings, *warnings),
            explanation=Explanation(Explained(justification, findings)),
        )

    def broken(
        self,
        execution: Execution,
        code: str,
        reason: str,
        justification: Justification | None = None,
        traceback: str | None = None,
    ) -> EvaluationResult:
        """Return a result that is an error: nothing was measured, and the reason says why."""
        return self._error(code, reason, execution.trajectory, trace=traceback, justification=justification)

    def unmeasured(self, execution: Execution, reason: str) -> EvaluationResult:
        """Return a result without a score: what it depends on was not recorded."""
        return EvaluationResult(
            evaluator=self.id,
            verdict="not_measured",
            threshold=self.config.threshold,
            warnings=(*execution.trajectory.warnings, f"not measured: {reason}"),
            explanation=Explanation(Explained(None, (Finding("RC301", reason),))),
        )

    def _in_doubt(self, execution: Execution, reasons: tuple[Finding, ...]) -> EvaluationResult:
        result = self.unmeasured(execution, "; ".join([reason.message for reason in reasons]))
        return msgspec.structs.replace(result, explanation=Explanation(Explained(None, reasons)))

    def timed_out(self, execution: Execution, reason: str = "") -> EvaluationResult:
        """Return the result of an evaluation that took too long."""
        late = f"{self.id!r} gave no answer within {self.config.timeout:g} s"
        return self.broken(execution, "RC404", f"{late}: {reason}" if reason else late)

    def compile(self, criteria: CriteriaT) -> NoPlan:
        """Return an empty plan: criteria are read when there is something to judge."""
        return NoPlan()

    def measure(self, selection: Selection, plan: NoPlan) -> Measurement:
        """Not called: `assess` gives a result, not a measurement."""
        raise NotImplementedError

    def _answer(self, task: asyncio.Task[EvaluationResult], execution: Execution) -> EvaluationResult:
        if not task.done():
            return self.timed_out(execution)
        if task.cancelled():
            return self.broken(execution, "RC402", f"{self.id!r} cancelled itself while judging")
        return task.result()

    async def _attempt(self, execution: Execution, criteria: CriteriaT) -> EvaluationResult:
        """Return what `assess` returns, or an error where it raises."""
        try:
            return self._checked(execution, await self.assess(execution, criteria))
        except LimitError as problem:
            return self.broken(execution, "RC401", f"limit exceeded: {problem}")
        # An event loop ends with SystemExit and KeyboardInterrupt, and this one serves many.
        except (Exception, SystemExit, KeyboardInterrupt) as problem:  # noqa: BLE001 - a fault costs this result only
            reason = f"{type(problem).__name__} while judging: {problem}"
            return self.broken(execution, "RC402", reason, traceback=_traceback_of(problem))

    def _checked(self, execution: Execution, result: Any) -> EvaluationResult:
        if not isinstance(result, EvaluationResult):
            return self.broken(execution, "RC402", f"{self.id!r} returned {shown(result)}, which is not a result")
        if result.verdict in ("passed", "failed") and not is_score(result.score):
            return self.broken(execution, "RC402", f"{self.id!r} gave the score {shown(result.score)}; one is 0 to 1")
        return result


def _traceback_of(problem: BaseException) -> str:
    """The traceback of an exception, without our own lines, unless there are no others."""
    trace = traceback.TracebackException.from_exception(problem, limit=-200)
    theirs = [frame for frame in trace.stack if not frame.filename.startswith(_OURS)]
    if theirs:
        trace.stack = traceback.StackSummary.from_list(theirs)
    return "".join(trace.format())


def is_score(value: object) -> bool:
    """Return whether a value is a score: a number from 0 to 1. NaN is not."""
    return isinstance(value, (int, float)) and 0.0 <= value <= 1.0


def _chosen(execution: Execution, criteria: Any) -> Selection:
    """The calls that the criteria are about."""
    wanted = criteria if isinstance(criteria, Criteria) else _EVERY_CALL
    return select(execution.trajectory, wanted, {call.name for call in execution.calls})


def _narrowed(execution: Execution, chosen: Selection) -> Execution:
    """The execution with the chosen calls only."""
    if chosen.positions is None:
        return execution
    trajectory = msgspec.structs.replace(execution.trajectory, calls=tuple(chosen.calls), unordered=chosen.loose)
    return msgspec.structs.replace(execution, trajectory=trajectory)


_EVERY_CALL = Criteria()

WaitingConfig = AsyncConfig
"""The former name."""
WaitingEvaluator = AsyncEvaluator
"""The former name."""
