"""One run of one case, inside a worker: the agent is asked turn by turn, and what it does is captured."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any

import msgspec

from rightcall.errors import RightcallError, shown
from rightcall.running.agents import Agent, Answer, Request, hearing, traceback_of
from rightcall.running.tracing import capture
from rightcall.values.decoding import admit
from rightcall.values.results import Cause
from rightcall.values.trajectory import Trajectory, Usage

from ._paths import Path
from ._plan import Job, Keeping
from ._reading import noticing, told
from ._replies import Done
from ._spans import TakenSpans
from ._surroundings import processes_started
from ._tools import Tools
from ._witness import Witness

_LONGEST_TRACEBACK = 64 * 1024
_SECOND = 1_000_000_000

Conversation = Generator[Request, Answer, Done]
"""Gives the requests, takes the answers or what was raised instead, and comes to an end with all there is to say."""


def converse(number: int, job: Job, keeping: Keeping, witness: Witness) -> Conversation:
    """A case from its first turn to its last, or to the first one that fails; the witness sees it as it goes on."""
    with noticing() as opened:
        done = yield from _conversed(number, job, keeping, witness)
    if not opened or done.trajectory is None:
        return done
    if keeping.is_strict and done.error is None:
        return msgspec.structs.replace(done, cause="read", error=told(opened))
    warnings = (*done.trajectory.warnings, f"RC507 agent-read-answers: {told(opened)}")
    return msgspec.structs.replace(done, trajectory=msgspec.structs.replace(done.trajectory, warnings=warnings))


def _conversed(number: int, job: Job, keeping: Keeping, witness: Witness) -> Conversation:
    began = monotonic()
    path = Path(job.is_conversation)
    failure: tuple[Cause, str, str | None] | None = None
    outputs: list[Any] = []
    tools = Tools(job, keeping.answers)
    spans = TakenSpans() if keeping.spans else None
    for turn, given in enumerate(job.turns):
        answer: Answer | None = None
        before = processes_started()
        witness.begin(turn)
        with tools.answering(), hearing(witness.see_document), capture(watch=witness.see) as captured:
            try:
                answer = yield Request(
                    input=given, case_id=job.case_id, turn=turn, session=job.session, run=f"{job.case_id}#{number}"
                )
            except BaseException as raised:  # noqa: BLE001 - whatever an agent raises costs its case, not the worker
                failure = "raised", f"the agent raised {_named(raised)}", traceback_of(raised)[-_LONGEST_TRACEBACK:]
        seconds = monotonic() - began
        shown = Trajectory()
        try:
            after = processes_started()
            seen = witness.answer() if answer is None else answer
            shown = path.add(captured, seen, given, after != before or after[1])
            outputs.append(None if answer is None else admit(answer.output, where="its output"))
        except RightcallError as problem:
            failure = failure or ("output", f"what the agent gave back cannot be kept: {problem}", None)
        if spans is not None:
            spans.take(captured, witness.answer() if answer is None else answer)
        failure = tools.failure([shown]) or failure
        if failure is not None:
            break
    cause, error, traceback = failure or ("", None, None)
    told = _told(job, path.trajectory(), outputs, seconds)
    return Done(
        number=number,
        seconds=seconds,
        cause=cause,
        error=error,
        traceback=traceback,
        trajectory=told,
        recorded=tools.recorded(),
        spans=None if spans is None else spans.kept(told),
    )


def _told(job: Job, path: Trajectory, outputs: list[Any], seconds: float) -> Trajectory:
    """A path with what the case was given, what came of it, and how long that took."""
    usage = msgspec.structs.replace(path.usage or Usage(), duration_ns=round(seconds * _SECOND))
    told = msgspec.structs.replace(path, input=job.turns[0], output=outputs[-1] if outputs else None, usage=usage)
    if not job.is_conversation:
        return told
    return msgspec.structs.replace(told, turn_inputs=tuple(job.turns[: len(outputs)]), turn_outputs=tuple(outputs))


def ask(agent: Agent, conversation: Conversation) -> Done:
    """Lead a conversation with an agent that is called."""
    try:
        request = next(conversation)
        while True:
            try:
                answer: Any = agent.answer(request)
            except BaseException as raised:  # noqa: BLE001 - the conversation deals with it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


async def ask_waiting(agent: Agent, conversation: Conversation) -> Done:
    """Lead a conversation with an agent that is awaited."""
    try:
        request = next(conversation)
        while True:
            try:
                waiting: Any = agent.answer(request)
                answer = await waiting
            except BaseException as raised:  # noqa: BLE001 - the conversation deals with it
                request = conversation.throw(raised)
            else:
                request = conversation.send(answer)
    except StopIteration as end:
        done: Done = end.value
        return done


def _named(raised: BaseException) -> str:
    """An exception in one line, whatever its own text does."""
    try:
        text = str(raised)
    except Exception:  # noqa: BLE001 - a text that fails must not hide what was raised
        text = ""
    if isinstance(raised, RightcallError):
        return f"{type(raised).__name__}: {text}"
    if isinstance(raised, SystemExit):
        return f"SystemExit({shown(raised.code)})"
    text = " ".join(text.split())
    text = text if len(text) <= 500 else f"{text[:499]}…"
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__
