"""The spans of a case, taken turn by turn, to be kept beside its path. Nothing about them costs a result."""

from __future__ import annotations

from rightcall.reading import raw_span, raw_spans
from rightcall.running.agents import Answer
from rightcall.running.tracing import Captured
from rightcall.values.trajectory import KeptSpans, RawSpan, Trajectory


class TakenSpans:
    """What is known so far of the spans of one run of a case: of each id the span that says most."""

    def __init__(self) -> None:
        self._spans: dict[str, RawSpan] = {}
        self._left_out = 0

    def take(self, captured: Captured, answer: Answer | None) -> None:
        """Take the spans of one turn: those of this process, and those that an agent elsewhere sent."""
        self._left_out += captured.left_out
        for span in captured.spans:
            try:
                self._add(raw_span(span))
            except Exception:  # noqa: BLE001 - whatever an agent made of its spans: they are only looked at
                self._left_out += 1
        for document in answer.documents if answer is not None else ():
            self._take_document(document)

    def kept(self, path: Trajectory) -> KeptSpans:
        """As many of them as there is room for, those of calls first."""
        kept = KeptSpans.of(self._spans.values(), {call.span_id for call in path.calls})
        return KeptSpans(kept.text, kept.left_out + self._left_out)

    def _take_document(self, document: bytes) -> None:
        try:
            for span in raw_spans(document):
                self._add(span)
        except Exception:  # noqa: BLE001 - whatever it sent: where it cannot be read, its path has said so
            self._left_out += 1

    def _add(self, span: RawSpan) -> None:
        known = self._spans.get(span.span_id)
        if known is None or len(span.attributes) > len(known.attributes):
            self._spans[span.span_id] = span
