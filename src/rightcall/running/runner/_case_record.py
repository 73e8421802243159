"""The record of one run of a case, made turn by turn in a worker: trajectory, spans, reports to the parent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rightcall.reading import Turn, raw_span, raw_spans
from rightcall.running.agents import AgentAnswer
from rightcall.running.tracing import Captured, captured_trajectory, tools_are_marked
from rightcall.values.trajectory import KeptSpans, RawSpan, Trajectory

from ._messages import Seen

_OTHER_PROCESSES = "the agent started Python processes of its own: calls of tools inside them were not seen"

MOST_REPORTED = 4 << 20
"""Characters of spans that are reported of one run of a case while it runs; the rest is in its result only."""


class CaseTrajectory:
    """The trajectory of one run of a case: from the spans of this process, the messages, and what the agent sent."""

    def __init__(self, is_conversation: bool) -> None:
        self._is_conversation = is_conversation
        self._turns: list[Turn] = []
        self._latest = Trajectory()
        self._has_others = False

    def add(self, captured: Captured, answer: AgentAnswer | None, asked: Any, has_others: bool) -> Trajectory:
        """Add a turn, and return its own trajectory.

        If the agent `has_others`, Python processes that it started meanwhile, tools may have been called there. Then
        no calls seen here does not mean that none were made.

        Raises:
            InputError: what the agent sent cannot be read; the turn is not added.
            LimitError: there were more spans than the limit; the turn is not added.
        """
        said = AgentAnswer() if answer is None else answer
        turn = captured.turn(messages=said.messages, documents=said.documents, asked=asked)
        latest = self._read([turn], has_others)
        self._turns.append(turn)
        self._has_others = self._has_others or has_others
        self._latest = latest
        return latest

    def trajectory(self) -> Trajectory:
        """Return all turns as one trajectory: calls that a later turn shows again are counted once."""
        path = self._read(self._turns, self._has_others) if len(self._turns) > 1 else self._latest
        return msgspec.structs.replace(path, warnings=(*path.warnings, _OTHER_PROCESSES)) if self._has_others else path

    def _read(self, turns: list[Turn], has_others: bool) -> Trajectory:
        seen = tools_are_marked() and not has_others
        return captured_trajectory(turns, is_conversation=self._is_conversation, tools_are_seen=seen)


class CaseSpans:
    """The spans of one run of a case; of two with the same id, the one with more attributes.

    They are kept for people to look at. A span that cannot be read is left out, and never costs a result.
    """

    def __init__(self) -> None:
        self._spans: dict[str, RawSpan] = {}
        self._left_out = 0

    def add(self, captured: Captured, answer: AgentAnswer | None) -> None:
        """Add the spans of one turn: those of this process, and those that an external agent sent."""
        self._left_out += captured.left_out
        for span in captured.spans:
            try:
                self._add(raw_span(span))
            except Exception:  # noqa: BLE001 - an agent may have put anything into its spans
                self._left_out += 1
        for document in answer.documents if answer is not None else ():
            self._add_document(document)

    def kept(self, path: Trajectory) -> KeptSpans:
        """Return as many spans as there is room for, those of calls first."""
        kept = KeptSpans.of(self._spans.values(), {call.span_id for call in path.calls})
        return KeptSpans(kept.text, kept.left_out + self._left_out)

    def _add_document(self, document: bytes) -> None:
        try:
            for span in raw_spans(document):
                self._add(span)
        except Exception:  # noqa: BLE001 - an agent may send anything; the trajectory has reported it
            self._left_out += 1

    def _add(self, span: RawSpan) -> None:
        known = self._spans.get(span.span_id)
        if known is None or len(span.attributes) > len(known.attributes):
            self._spans[span.span_id] = span


class Witness:
    """Reports the spans of one run of a case to the parent, as they begin and end.

    A process that dies or is killed sends no result, so this is all that is known of such a case. A span that cannot be
    read is not reported, and never costs a result.
    """

    def __init__(self, number: int, send: Callable[[Seen], None]) -> None:
        self._number = number
        self._send = send
        self._reported = 0
        self._turn = 0
        self._documents: list[bytes] = []

    def begin(self, turn: int) -> None:
        """Note that a turn begins."""
        self._turn = turn
        self._documents = []

    def answer(self) -> AgentAnswer:
        """Return what an external agent has sent in this turn, if it gave no answer that contains it."""
        return AgentAnswer(documents=tuple(self._documents))

    def see(self, span: Any) -> None:
        """Report a span that has begun or ended in this process."""
        try:
            self._report([raw_span(span)])
        except Exception:  # noqa: BLE001 - an agent may have put anything into its spans
            return

    def see_document(self, document: bytes) -> None:
        """Report the spans that an external agent sent."""
        self._documents.append(document)
        try:
            self._report(raw_spans(document))
        except Exception:  # noqa: BLE001 - an agent may send anything; the trajectory will report it
            return

    def _report(self, spans: Iterable[RawSpan]) -> None:
        if self._reported >= MOST_REPORTED:
            return
        kept = KeptSpans.of(list(spans))
        self._reported += len(kept.text)
        self._send(Seen(self._number, self._turn, kept))
