"""Asks a judge as often as is wanted, and says what the answers come to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from ._cache import Cache, key_of
from ._endpoint import Asked, EndpointJudge, Sampling
from ._problem import JudgeError
from ._question import Question
from ._reply import Reply, RubricReply, parse_reply
from ._settings import Settings


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What all answers to a question come to."""

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
        """An answer that says what all of them come to: the first of those nearest to the score."""
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
    """What a model behind an endpoint says. Answers that are known from before are not asked for again.

    Raises:
        JudgeError: one of the answers is none, or there is nobody to ask.
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
    """What somebody else says, who is given the question and gives back an answer of its schema.

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
        except JudgeError:  # somebody has changed it
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
