"""What a judge ruled, as the details and findings of a result."""

from __future__ import annotations

from rightcall.judging.core import Execution
from rightcall.values.results import Finding, JudgedRubric, JudgedSample, JudgeJustification, NamedCall, call_text

from . import Rubric, Ruling, Settings


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
        return (Finding("RC110", f"the judge gives {ruling.score:.4g}: {_told(told.reason)}", actual=told.call),)
    unmet = [(number, one) for number, one in enumerate(told.rubrics) if not one.met]
    return tuple(
        [
            Finding(
                "RC110",
                f"the rubric {_told(one.text, 80)!r} is not met: {_told(one.reason)}",
                actual=told.call,
                path=f"rubrics[{number - shared}]" if number >= shared else None,
            )
            for number, one in unmet
        ]
    )


def _told(text: str, width: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
