"""The values that custom evaluators return, and the results they become."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from rightcall.errors import InputError, LimitError, shown
from rightcall.judging.core import AsyncEvaluator, Execution, is_score
from rightcall.limits import Limits
from rightcall.values.decoding import admit, dump_json
from rightcall.values.results import CustomJustification, EvaluationResult, Finding

from ._foreign_models import is_model

_REASON = 1_000


class Judgement(msgspec.Struct, frozen=True):
    """The return value of a custom evaluator: a score, the reason, and any details.

    The score is true, false, or a number from 0 to 1; `None` where what it depends on was not recorded.
    """

    score: float | bool | None
    reason: str = ""
    """One sentence; it is shown where the case does not pass."""
    details: Any = None
    """Anything that can be written as JSON: an object, a pydantic model, a dataclass."""


def result_of(given: Any, evaluator: AsyncEvaluator[Any, Any], execution: Execution) -> EvaluationResult:
    """Return the result for a returned value; a value that is not a score is an error, RC402."""
    if isinstance(given, EvaluationResult):
        return msgspec.structs.replace(given, evaluator=evaluator.id)
    if not isinstance(given, Judgement):
        given = Judgement(given) if given is not None else given
    if not isinstance(given, Judgement):
        return _refused(None, evaluator, execution)
    if given.score is None:
        return evaluator.unmeasured(execution, given.reason or "the evaluator could not tell")
    if not is_score(given.score):
        return _refused(given.score, evaluator, execution)
    details, warnings = plain_details(given.details, evaluator.limits)
    score, reason = float(given.score), str(given.reason)[:_REASON]
    justification = CustomJustification(reason=reason, details=details)
    threshold = evaluator.config.threshold
    message = reason or f"{evaluator.id!r} scored {score:.4g}, and {threshold:.4g} is needed"
    findings = () if score >= threshold else (Finding("RC109", message),)
    return evaluator.scored(execution, score, justification, findings, warnings)


def plain_details(details: Any, limits: Limits) -> tuple[Any, tuple[str, ...]]:
    """Details as plain JSON; where they are none, or too many, they are left out, with a warning."""
    try:
        plain = admit(_dumped(details), limits)
        size = len(dump_json(plain))
    except (InputError, LimitError, ValueError, TypeError) as problem:
        return None, (f"the details of the evaluator were left out, they are not JSON: {problem}",)
    if size > limits.explanation_bytes:
        most = f"{limits.explanation_bytes:,}"
        return None, (f"the details of the evaluator were left out: {size:,} characters; the limit is {most}",)
    return plain, ()


def _dumped(details: Any) -> Any:
    if is_model(type(details)):
        return details.model_dump(mode="json")
    if isinstance(details, msgspec.Struct) or (dataclasses.is_dataclass(details) and not isinstance(details, type)):
        return msgspec.to_builtins(details)
    return details


def _refused(given: Any, evaluator: AsyncEvaluator[Any, Any], execution: Execution) -> EvaluationResult:
    wanted = "an evaluator gives back true, false, a number from 0 to 1, or a Judgement"
    return evaluator.broken(execution, "RC402", f"{evaluator.id!r} gave back {shown(given)}; {wanted}")
