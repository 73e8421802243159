"""Verdicts to send to a trace server: one for the trace of a case, and one for each span that has a finding."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import msgspec

from rightcall.values.results import SIGNS, CaseResult, PlacedFinding

_NAMESPACE = uuid.UUID("6f0f4a0e-3f5a-5d0e-9a58-4b0f6a5c7d21")
"""A namespace of our own, so that the same verdict has the same id on every machine (RFC 9562, section 5.5)."""
_MOST_TEXT = 2000
"""The maximum number of characters in an explanation. Servers truncate or refuse longer ones."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict on a trace, or on a span of it."""

    id: str
    """Depends on trace, span, eval set, case and expectation only, so that sending a verdict again replaces it."""
    trace_id: str
    span_id: str | None = None
    name: str
    label: str
    """`passed`, `failed`, `not measured` or `error`."""
    score: float | None = None
    """None if there is no score: what was not measured is not zero."""
    explanation: str
    metadata: dict[str, Any]
    time_ns: int | None = None
    """When the last call ended, so that it is the same each time the verdict is sent."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What the verdicts of a command have in common."""

    evalset: str
    """The file of the eval set, or a name for the expectation."""
    run_id: str = ""
    link: str = ""
    """A URL for people, in which `{run}` and `{case}` are replaced."""

    @property
    def name(self) -> str:
        """The name of the verdicts on the server, such as `rightcall:shop`."""
        return f"rightcall:{PurePath(self.evalset).stem or 'expectation'}"


def marks_of(result: CaseResult, origin: Origin) -> list[Mark]:
    """Return the marks of one result; none if its trace has no id."""
    trajectory = result.trajectory
    if trajectory is None or not trajectory.trace_id:
        return []
    ended = max([call.end_ns for call in trajectory.calls if call.end_ns is not None], default=None)
    common: dict[str, Any] = {"trace_id": trajectory.trace_id, "time_ns": ended}
    whole = Mark(
        id=_id(origin, result, "", ""),
        name=origin.name,
        label=SIGNS[result.verdict].word.removeprefix("in "),
        score=result.score if result.verdict in ("passed", "failed") else None,
        explanation=_explained([placed.finding.message for placed in result.findings]) or _verdict_text(result),
        metadata=_metadata(result, origin, result.findings, ""),
        **common,
    )
    return [whole, *_span_marks(result, origin, common)]


def _span_marks(result: CaseResult, origin: Origin, common: dict[str, Any]) -> Iterator[Mark]:
    for (span_id, expectation), placed in _by_span(result).items():
        yield Mark(
            id=_id(origin, result, span_id, expectation),
            span_id=span_id,
            name=f"{origin.name}:{expectation}",
            label=_label(placed),
            explanation=_explained([each.finding.message for each in placed]),
            metadata=_metadata(result, origin, placed, expectation),
            **common,
        )


def _by_span(result: CaseResult) -> dict[tuple[str, str], list[PlacedFinding]]:
    """Return the findings about a call, by the span of the call and the expectation."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    found: dict[tuple[str, str], list[PlacedFinding]] = {}
    for placed in result.findings:
        actual = placed.finding.actual
        span_id = calls[actual.position].span_id if actual is not None and actual.position < len(calls) else None
        if span_id is not None:
            found.setdefault((span_id, placed.expectation), []).append(placed)
    return found


def _label(placed: list[PlacedFinding]) -> str:
    """Return the most serious verdict of findings: codes below RC300 are failures, below RC400 not measured."""
    codes = [each.finding.code for each in placed]
    if any([code < "RC300" for code in codes]):
        return "failed"
    return "not measured" if any([code < "RC400" for code in codes]) else "error"


def _id(origin: Origin, result: CaseResult, span_id: str, expectation: str) -> str:
    trace_id = result.trajectory.trace_id if result.trajectory is not None else ""
    parts = [trace_id, span_id, PurePath(origin.evalset).name, result.case_id, expectation]
    return str(uuid.uuid5(_NAMESPACE, msgspec.json.encode(parts).decode()))


def _metadata(result: CaseResult, origin: Origin, placed: Any, expectation: str) -> dict[str, Any]:
    values = {
        "case": result.case_id,
        "eval_set": origin.evalset,
        "expectation": expectation,
        "codes": ", ".join(dict.fromkeys([each.finding.code for each in placed])),
        "run": origin.run_id,
        "link": origin.link.replace("{run}", origin.run_id).replace("{case}", result.case_id),
    }
    return {name: value for name, value in values.items() if value}


def _explained(messages: list[str]) -> str:
    text = "\n".join(dict.fromkeys(messages))
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _verdict_text(result: CaseResult) -> str:
    return f"{result.case_id or 'the expectation'}: {SIGNS[result.verdict].word}"
