"""What a judge answers, if it is one well-formed judgement and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import shown

from ._question import JudgeError, Question

MOST_REPLY_BYTES = 256 * 1024
_MOST_REASON = 2_000


class RubricReply(msgspec.Struct, frozen=True):
    """Whether one rubric is met, and why."""

    id: str
    met: bool
    reason: str


class Reply(msgspec.Struct, frozen=True):
    """One judgement."""

    score: float
    """From 0.0 to 1.0: what was said, or the share of rubrics that are met."""
    reason: str
    call: int | None = None
    """The position of the call that decided the matter, from 0."""
    rubrics: tuple[RubricReply, ...] = ()


def parse_reply(given: Any, question: Question) -> Reply:
    """The judgement in an answer: a JSON text, or the object of such a text.

    Raises:
        JudgeError: it is not exactly one judgement of the schema that was asked for. Nothing is guessed, searched
            for in a text, rounded or clamped.
    """
    value = _decoded(given) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise _malformed(f"it is {shown(value)}, not an object")
    wanted = set(question.schema()["properties"])
    if value.keys() != wanted:
        other = sorted(map(str, value.keys() ^ wanted))
        raise _malformed(f"its keys are not {', '.join(sorted(wanted))}: {shown(other[0])} is missing or too much")
    reason, call = _reason(value["reason"]), _call(value.get("call"), question)
    if not question.rubrics:
        return Reply(_score(value["score"]), reason, call)
    rubrics = _rubrics(value["rubrics"], question)
    return Reply(sum(rubric.met for rubric in rubrics) / len(rubrics), reason, call, rubrics)


def _decoded(text: str) -> Any:
    if len(text) > MOST_REPLY_BYTES:
        raise _malformed(f"it is longer than {MOST_REPLY_BYTES:,} characters")
    if not text.strip():
        raise _malformed("it is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise _malformed("it is nested too deeply") from None
    except ValueError as problem:
        raise _malformed(f"it is not one JSON value ({problem}): {shown(text)}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. The same key twice would be two answers, and the last one would win."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("the same key twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _malformed(f"its score is {shown(value)}, not a number")
    if not 0 <= value <= 100:
        raise _malformed(f"its score is {shown(value)}, outside of the scale from 0 to 100")
    return value / 100


def _reason(value: Any) -> str:
    if not isinstance(value, str):
        raise _malformed(f"its reason is {shown(value)}, not a text")
    return value if len(value) <= _MOST_REASON else value[: _MOST_REASON - 1] + "…"


def _call(value: Any, question: Question) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= question.calls:
        raise _malformed(f"it is about call {shown(value)}; there are {question.calls}, numbered from 1")
    return value - 1


def _rubrics(value: Any, question: Question) -> tuple[RubricReply, ...]:
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise _malformed(f"its rubrics are {shown(value)}, not a list of objects")
    found: dict[str, RubricReply] = {}
    for one in value:
        if one.keys() != {"id", "reason", "met"} or not isinstance(one["id"], str) or not isinstance(one["met"], bool):
            raise _malformed(f"its verdict on a rubric is {shown(dict(one))}; one has id, reason and met")
        if one["id"] in found:
            raise _malformed(f"it has two verdicts on the rubric {shown(one['id'])}")
        found[one["id"]] = RubricReply(one["id"], one["met"], _reason(one["reason"]))
    wanted = [rubric.id for rubric in question.rubrics]
    if other := sorted(found.keys() ^ set(wanted)):
        raise _malformed(f"the rubric {shown(other[0])} has no verdict, or is not one that was asked about")
    return tuple([found[name] for name in wanted])


def _malformed(reason: str) -> JudgeError:
    return JudgeError("RC604", f"the judge's answer is not a judgement: {reason}")
