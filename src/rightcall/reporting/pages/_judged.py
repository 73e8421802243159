"""What a judge says of a case."""

from __future__ import annotations

import msgspec

from rightcall.values.results import JudgeJustification

from ._texts import Shown, shown_text

_TEXT = 2_000
_MOST = 100


class RubricView(msgspec.Struct, frozen=True):
    """One rubric, whether it is met, and why."""

    text: Shown
    met: bool
    reason: Shown


class JudgedView(msgspec.Struct, frozen=True):
    """What a judge says: its reason, the call it is about, what it took, and its verdict on each rubric."""

    reason: Shown
    facts: str
    number: int = 0
    """Which call decided the matter, from 1; 0 for none."""
    call: str = ""
    rubrics: tuple[RubricView, ...] = ()


def judged_view(details: object) -> JudgedView | None:
    """What a judge says, if the details of a result are those of a judge."""
    if not isinstance(details, JudgeJustification):
        return None
    rubrics = sorted(details.rubrics, key=lambda rubric: rubric.met)[:_MOST]
    return JudgedView(
        shown_text(details.reason, _TEXT),
        _facts(details),
        details.call.position + 1 if details.call is not None else 0,
        details.call.text[:300] if details.call is not None else "",
        tuple(
            [RubricView(shown_text(one.text, _TEXT), one.met, shown_text(one.reason, _TEXT)) for one in rubrics[:_MOST]]
        ),
    )


def _facts(details: JudgeJustification) -> str:
    """Who was asked, how often, how far the answers agree, and what they took."""
    said = [details.model[:100]]
    if (count := len(details.samples)) > 1:
        said.append(f"{count} answers, {details.agreement:.0%} agree")
    if details.cached:
        said.append(f"{details.cached} known from before")
    if details.input_tokens or details.output_tokens:
        said.append(f"{details.input_tokens:,} + {details.output_tokens:,} tokens")
    if details.cost is not None:
        said.append(f"cost {details.cost:.4g}")
    return ", ".join(said)
