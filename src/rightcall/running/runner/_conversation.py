"""One run of one case, inside a worker: ask the agent turn by turn, and capture what it does.

A conversation is a generator that yields requests and takes answers, so that one piece of code serves plain and
asynchronous agents.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import AgentError, RightcallError, shown
from rightcall.running.agents import (
    Agent,
    AgentAnswer,
    AgentRequest,
    listen_to_documents,
    listen_to_errors,
    traceback_of,
)
from rightcall.running.frameworks import DispatchedCall, logging_calls
from rightcall.running.tracing import Captured, capture
from rightcall.values.decoding import admit
from rightcall.values.results import Cause
from rightcall.values.trajectory import ToolCall, Trajectory, Usage, summed_usage

from ._case_record import CaseSpans, CaseTrajectory, Done, plain
from ._process_state import describe_opened, new_case_output, note_opened, processes_started
from ._run_plan import CaptureOptions, CaseJob
from ._witness import Witness

_LONGEST_TRACEBACK = 64 * 1024
_LONGEST_MESSAGE = 500
_SECOND = 1_000_000_000

Conversation: TypeAlias = Generator[AgentRequest, AgentAnswer, Done]
"""Yields requests, takes answers or has the agent's exception thrown in, and returns how the job ended."""
Failure: TypeAlias = tuple[Cause, str, str | None]
"""Why a case has an error: the cause, the message, the traceback if there is one."""


def converse(number: int, job: CaseJob, options: CaptureOptions, witness: Witness) -> Conversation:
    """Run a case from its first turn to its last, or to the first one that fails, and report it to the witness."""
    with note_opened() as opened:
        done = yield from _take_turns(number, job, options, witness)
    if not opened or done.trajectory is None:
        return done
    if options.is_strict and done.error is None:
        return msgspec.structs.replace(done, cause="read", error=describe_opened(opened))
    warnings = (*done.trajectory.warnings, f"RC507 agent-read-answers: {describe_opened(opened)}")
    return msgspec.structs.replace(done, trajectory=msgspec.structs.replace(done.trajectory, warnings=warnings))


def _take_turns(number: int, job: CaseJob, options: CaptureOptions, witness: Witness) -> Conversation:
    began = monotonic()
    path = CaseTrajectory(job.is_conversation, options.are_all_seen, keeps_messages=options.spans)
    failure: Failure | None = None
    outputs: list[Any] = []
    usages: list[Usage | None] = []
    memory: dict[str, Any] = {}
    tools, complaints = _Tools(job, options), new_case_output()
    spans = CaseSpans() if options.spans else None
    for turn, given in enumerate(job.turns):
        answer: AgentAnswer | None = None
        before = processes_started()
        witness.begin(turn)
        log: list[DispatchedCall] = []
        with _watched(tools, log, witness) as captured, listen_to_errors(complaints.add):
            try:
                answer = yield _request(job, number, turn, memory)
            except BaseException as raised:  # noqa: BLE001 - anything an agent raises costs its case, not the worker
                failure = "raised", f"the agent raised {_one_line(raised)}", _lines_of(raised)
        seconds = monotonic() - began
        seen = witness.answer() if answer is None else answer
        shown = Trajectory()
        try:
            after = processes_started()
            shown = path.add(captured, seen, given, after != before or after[1], log)
            # The tokens of a result are those of the run that it is of.
            usages.append(None if answer is None or path.is_result_partial else answer.usage)
            outputs.append(None if answer is None else admit(answer.output, where="its output"))
        except RightcallError as problem:
            failure = failure or ("output", f"what the agent returned cannot be kept: {problem}", None)
        if spans is not None:
            spans.add(captured, seen, witness)
        failure = tools.failure(shown) or failure
        if failure is not None:
            break
    whole = _completed(_with_tokens(path.trajectory(), usages), job, outputs, seconds)
    kept = None if spans is None else spans.kept(whole)
    done = _done(failure, number=number, seconds=seconds, trajectory=whole, recorded=tools.recorded(), spans=kept)
    return msgspec.structs.replace(done, complaints=complaints.text())


def _request(job: CaseJob, number: int, turn: int, memory: dict[str, Any]) -> AgentRequest:
    return AgentRequest(
        input=job.turns[turn],
        case_id=job.case_id,
        turn=turn,
        turns=len(job.turns),
        session=job.session,
        memory=memory,
        run=f"{job.case_id}#{number}",
    )


@contextmanager
def _watched(tools: _Tools, log: list[DispatchedCall], witness: Witness) -> Iterator[Captured]:
    """Have mocks answer, and record all that the agent does, for the length of a turn."""
    with (
        tools.mocked(),
        logging_calls(log),
        listen_to_documents(witness.see_document),
        capture(watch=witness.see) as captured,
    ):
        yield captured


def _done(failure: Failure | None, **known: Any) -> Done:
    cause, error, traceback = failure or ("", None, None)
    return Done(cause=cause, error=error, traceback=traceback, **known)


def _with_tokens(path: Trajectory, usages: list[Usage | None]) -> Trajectory:
    """Take the tokens that the results of a framework count, where spans record none, or fewer.

    Spans may lack a run that continues another one, and results those of agents that a tool asked: the larger counts.
    """
    known = path.usage or Usage()
    reported = summed_usage(usages)
    if reported is None or reported.total_tokens is None or reported.total_tokens <= (known.total_tokens or 0):
        return path
    if known.total_tokens is None and (known.input_tokens is not None or known.output_tokens is not None):
        return path
    tokens = {"input_tokens": reported.input_tokens, "output_tokens": reported.output_tokens}
    return msgspec.structs.replace(path, usage=msgspec.structs.replace(known, **tokens))


def _completed(path: Trajectory, job: CaseJob, outputs: list[Any], seconds: float) -> Trajectory:
    """Add the inputs, the outputs and the duration to a trajectory."""
    usage = msgspec.structs.replace(path.usage or Usage(), duration_ns=round(seconds * _SECOND))
    whole = msgspec.structs.replace(path, input=job.turns[0], output=outputs[-1] if outputs else None, usage=usage)
    if not job.is_conversation:
        return whole
    return msgspec.structs.replace(whole, turn_inputs=tuple(job.turns[: len(outputs)]), turn_outputs=tuple(outputs))


def run_sync(agent: Agent, conversation: Conversation) -> Done:
    """Run a conversation with an agent that is called."""
    try:
        request = next(conversation)
        while True:
            try:
                answer: Any = agent.answer(request)
            except BaseException as raised:  # noqa: BLE001 - the conversation handles it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


async def run_async(agent: Agent, conversation: Conversation) -> Done:
    """Run a conversation with an agent that is awaited."""
    try:
        request = next(conversation)
        while True:
            try:
                awaitable: Any = agent.answer(request)
                answer = await awaitable
            except BaseException as raised:  # noqa: BLE001 - the conversation handles it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


def _lines_of(raised: BaseException) -> str | None:
    """Return the lines of the agent that led to an exception, in its own language: those that a command wrote."""
    if isinstance(raised, AgentError):
        return raised.traceback[-_LONGEST_TRACEBACK:] or None
    return traceback_of(raised)[-_LONGEST_TRACEBACK:]


def _one_line(raised: BaseException) -> str:
    """Return an exception in one line, even if its `__str__` fails; of a group of one, the one."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]  # task groups wrap what their tasks raise, as around a session of MCP
    try:
        text = str(raised)
    except Exception:  # noqa: BLE001 - a text that fails must not hide what was raised
        text = ""
    if isinstance(raised, RightcallError):
        return f"{type(raised).__name__}: {text}"
    if isinstance(raised, SystemExit):
        return f"SystemExit({shown(raised.code)})"
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


class _Tools:
    """The tools and models of one run of one case. Mocks answer first, then the recording; then the real ones do."""

    def __init__(self, job: CaseJob, options: CaptureOptions) -> None:
        self._mocks: list[Any] = []
        self._mocked_names = frozenset(job.mocks)
        self._recorder: Any = None
        self._tap: Any = None
        is_replayed = job.recording is not None
        if not (job.mocks or is_replayed or options.tool_answers or options.model_answers):
            return  # most runs need no mocks, and do not even load them
        from rightcall.running import mocking

        if job.mocks:
            self._mocks.append(mocking.Mocks.of(job.mocks))
        if job.recording is not None:
            recording = mocking.Recording.of_values(job.recording)
            if "tools" not in options.live:
                self._mocks.append(recording.replay(job.case_id))
            if "model" not in options.live:
                self._tap = recording.model_replay(job.case_id)
        if options.tool_answers:
            self._recorder = mocking.Recorder(job.case_id)
        if options.model_answers:
            self._tap = mocking.ModelRecorder(job.case_id)

    @contextmanager
    def mocked(self) -> Iterator[None]:
        """Let mocks answer for tools and models, and record what the real ones return, during the block."""
        if not self._mocks and self._recorder is None and self._tap is None:
            yield
            return
        from rightcall.running import mocking

        with ExitStack() as stack:
            if self._mocks:
                stack.enter_context(mocking.use_mocks(*self._mocks))
            if self._recorder is not None:
                stack.enter_context(mocking.recording_to(self._recorder))
            if self._tap is not None:
                stack.enter_context(mocking.tapping_models(self._tap))
            yield

    def failure(self, path: Trajectory) -> Failure | None:
        """Return the first call that mocks should have answered and did not, even if the agent handled that."""
        unanswered = [str(problem) for problem in getattr(self._tap, "problems", ())]
        if unanswered:
            return "model", unanswered[0], None
        problems = [str(problem) for each in self._mocks for problem in each.problems]
        if self._mocks and not problems:
            problems = self._unmocked(path.calls)
        return ("mock", problems[0], None) if problems else None

    def _unmocked(self, calls: Sequence[ToolCall]) -> list[str]:
        """Return a message for each call of a tool that ran for real although it is mocked."""
        outer = {call.parent_id for call in calls} - {None}
        return [_unmocked_message(call.name) for call in calls if _has_run(call) and self._is_passed_over(call, outer)]

    def _is_passed_over(self, call: ToolCall, outer: Set[str | None]) -> bool:
        """Whether a mock answers for the tool of a call, and was never asked."""
        if call.span_id in outer and call.name not in self._mocked_names:
            return False  # it consists of other calls, which are checked themselves
        responsible = next((each for each in self._mocks if each.answers_for(call.name)), None)
        return responsible is not None and not responsible.was_asked(call.name)

    def recorded(self) -> tuple[Any, ...]:
        """Return what the real tools and models answered, as plain data."""
        made = [*getattr(self._recorder, "entries", ()), *getattr(self._tap, "entries", ())]
        return tuple(plain(made))


def _has_run(call: ToolCall) -> bool:
    """Whether a call was carried out, and not only requested by a model, or refused before it began."""
    return call.error is None and not call.internal and (call.source == "span" or "output" not in call.unrecorded)


def _unmocked_message(tool: str) -> str:
    return (
        f"the tool {shown(tool)} is mocked, but ran for real; mocks and recordings answer for tools of Pydantic AI, "
        "LangChain, OpenAI Agents, ADK and MCP, and for functions marked with @tool or @mockable"
    )
