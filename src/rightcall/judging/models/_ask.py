"""Ask a judge: from the cache, an endpoint or a function; and what its answers say together."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rightcall.judging.core import Execution
from rightcall.values.results import Finding, JudgedRubric, JudgedSample, JudgeJustification, NamedCall, call_text

from ._endpoint import Asked, EndpointJudge, Sampling, Settings
from ._reply import FIXED, JudgeError, Question, Reply, Rubric, RubricReply, parse_reply

_FORMAT = 1
_MOST_BYTES = 1024 * 1024


class Cache:
    """Answers in a private folder, one file each. Whatever is read is checked like an answer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "judge"

    def get(self, key: str) -> Asked | None:
        """The answer that was kept; none where there is none that can be read."""
        try:
            with self._path(key).open("rb") as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=Asked)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, asked: Asked) -> str:
        """Keep an answer. Why that was not possible, if it was not."""
        path = self._path(key)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _make_private(path.parent)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)
                file.write(msgspec.json.encode(asked))
            os.replace(beside, path)
        except OSError as problem:
            return f"the judge's answer was not kept: {path}: {problem.strerror or problem}"
        return ""

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


def key_of(question: Question, settings: Settings, sampling: Sampling, sample: int) -> str:
    """Return a key for an answer: a hash of who is asked, what, and how often before."""
    asked = [_FORMAT, settings.base_url, question.messages(FIXED), sampling.parameters(question), sample]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it, each for its owner alone where it is made now."""
    if folder.exists():
        return
    _make_private(folder.parent)
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)
    except FileExistsError:
        return  # another process made it in the meantime


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The result of all answers to a question."""

    score: float
    samples: tuple[Reply, ...]
    rubrics: tuple[tuple[RubricReply, float], ...] = ()
    """The verdict of the majority on each rubric, and the share of answers that agree with it."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0
    """How many of the answers were known from before."""
    warnings: tuple[str, ...] = ()

    def decisive(self) -> Reply:
        """Return the answer that represents all: the first of those nearest to the score."""
        return min(self.samples, key=lambda reply: abs(reply.score - self.score))


class Answer(msgspec.Struct, frozen=True):
    """One answer, where it is from and what it took."""

    reply: Reply
    asked: Asked
    cached: bool = False
    warning: str = ""


async def ask_endpoint(
    question: Question, settings: Settings, sampling: Sampling, samples: int, deadline: float
) -> Ruling:
    """Ask a model behind an endpoint. Answers in the cache are not asked for again.

    Raises:
        JudgeError: one of the answers is not a judgement, or there is no endpoint to ask.
    """
    settings.check()
    question.check_size()
    judge = EndpointJudge(settings, sampling)
    cache = Cache(settings.cache) if settings.cache is not None else None
    answers = []
    for sample in range(samples):
        key = key_of(question, settings, sampling, sample)
        answers.append(await _answer(question, judge, cache, key, deadline))
    return _ruling(answers, question)


async def ask_callable(judge: Callable[[Question], Awaitable[Any]], question: Question, samples: int) -> Ruling:
    """Ask a function that takes the question and returns an answer of its schema.

    Raises:
        JudgeError: one of the answers is none.
    """
    answers = [Answer(parse_reply(await judge(question), question), Asked("")) for _ in range(samples)]
    return _ruling(answers, question)


async def _answer(question: Question, judge: EndpointJudge, cache: Cache | None, key: str, deadline: float) -> Answer:
    known = cache.get(key) if cache is not None else None
    if known is not None:
        try:
            return Answer(parse_reply(known.content, question), known, cached=True)
        except JudgeError:  # the file was changed
            known = None
    asked = await judge.ask(question, deadline)
    reply = parse_reply(asked.content, question)
    return Answer(reply, asked, warning=cache.put(key, asked) if cache is not None else "")


def _ruling(answers: Sequence[Answer], question: Question) -> Ruling:
    """The median of the scores; of rubrics, the share that the majority holds to be met. Samples are odd in number."""
    replies = tuple([answer.reply for answer in answers])
    new = [answer.asked for answer in answers if not answer.cached]
    rubrics = tuple(
        [_majority([reply.rubrics[number] for reply in replies]) for number in range(len(question.rubrics))]
    )
    if rubrics:
        score = sum(verdict.met for verdict, _ in rubrics) / len(rubrics)
    else:
        score = sorted([reply.score for reply in replies])[len(replies) // 2]
    return Ruling(
        score=score,
        samples=replies,
        rubrics=rubrics,
        input_tokens=sum(asked.input_tokens for asked in new),
        output_tokens=sum(asked.output_tokens for asked in new),
        cached=len(answers) - len(new),
        warnings=tuple(dict.fromkeys([answer.warning for answer in answers if answer.warning])),
    )


def _majority(verdicts: list[RubricReply]) -> tuple[RubricReply, float]:
    is_met = sum(verdict.met for verdict in verdicts) * 2 > len(verdicts)
    agreeing = [verdict for verdict in verdicts if verdict.met == is_met]
    return agreeing[0], len(agreeing) / len(verdicts)


def justification_of(
    ruling: Ruling,
    model: str,
    execution: Execution,
    rubrics: tuple[Rubric, ...],
    settings: Settings,
    threshold: float,
) -> JudgeJustification:
    """The details of a result: what was answered, how far the answers agree, and what they took."""
    decisive, has_passed = ruling.decisive(), ruling.score >= threshold
    agreeing = [reply for reply in ruling.samples if (reply.score >= threshold) == has_passed]
    judged = zip(rubrics, ruling.rubrics, strict=True)
    return JudgeJustification(
        model=model,
        reason=decisive.reason,
        samples=[JudgedSample(reply.score, reply.reason, reply.call) for reply in ruling.samples],
        agreement=len(agreeing) / len(ruling.samples),
        rubrics=[JudgedRubric(one.id, one.text, said.met, share, said.reason) for one, (said, share) in judged],
        call=_named(decisive.call, execution),
        input_tokens=ruling.input_tokens,
        output_tokens=ruling.output_tokens,
        cost=settings.cost(ruling.input_tokens, ruling.output_tokens),
        cached=ruling.cached,
    )


def _named(position: int | None, execution: Execution) -> NamedCall | None:
    if position is None:
        return None
    call = execution.calls[position]
    return NamedCall(position, call_text(call.name, call.args))


def findings_of(
    ruling: Ruling, told: JudgeJustification, rubrics: tuple[Rubric, ...], shared: int, threshold: float
) -> tuple[Finding, ...]:
    """Why the run is not good enough: each rubric that is not met, or what the judge says of the whole."""
    if ruling.score >= threshold:
        return ()
    if not rubrics:
        return (Finding("RC110", f"the judge gives {ruling.score:.4g}: {_shortened(told.reason)}", actual=told.call),)
    unmet = [(number, one) for number, one in enumerate(told.rubrics) if not one.met]
    return tuple(
        [
            Finding(
                "RC110",
                f"the rubric {_shortened(one.text, 80)!r} is not met: {_shortened(one.reason)}",
                actual=told.call,
                path=f"rubrics[{number - shared}]" if number >= shared else None,
            )
            for number, one in unmet
        ]
    )


def _shortened(text: str, width: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
